"""List the well-known crawlers, as their operators describe them.

To add a crawler, add a row to `_CRAWLERS`. If the operator is new, also add its page to `_PAGES`,
with the day on which you read the page. (For some pages, only the month is known.) If you have read
only another author's description of a crawler, also add the crawler to `_SECOND_HAND`.

Some crawlers fall back to another token. For example, Applebot follows the groups of "Applebot". If
there are none, it follows the groups of "Googlebot". If there are none of these either, it follows
the groups of "*".

The commands `agents` and `lint`, and the hints about misspelt names, use this list.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import chain
from typing import NamedTuple

from .crawlers import (
    BETWEEN_PRODUCTS,
    GOOGLE_NAMES,
    UserAgent,
    agents_heeded,
    as_text,
    product_token,
)

AS_OF = "2026-11"

# The product tokens and operators of crawlers, by the purpose for which they fetch pages.
_CRAWLERS = {
    "search": {  # The pages go into the index of a search engine.
        "Googlebot": "Google",
        "Googlebot-Image": "Google",
        "Googlebot-News": "Google",
        "Storebot-Google": "Google",
        "Bingbot": "Microsoft",
        "Applebot": "Apple",
        "DuckDuckBot": "DuckDuckGo",
        "YandexBot": "Yandex",
        "Baiduspider": "Baidu",
        "Slurp": "Yahoo",
        "SeznamBot": "Seznam",
        "Yeti": "Naver",
        "PetalBot": "Huawei",
        "MojeekBot": "Mojeek",
    },
    "AI answers": {  # The pages are used in the answers of an AI assistant.
        "OAI-SearchBot": "OpenAI",
        "Claude-SearchBot": "Anthropic",
        "PerplexityBot": "Perplexity",
        "DuckAssistBot": "DuckDuckGo",
        "Amzn-SearchBot": "Amazon",
        "MistralAI-Index": "Mistral",
        "meta-webindexer": "Meta",
    },
    # Data for training models. A name that ends with "-Extended" is not the name of a program that
    # fetches pages. A site uses this name in its robots.txt to allow or forbid the use of its pages
    # for training.
    "AI training": {
        "GPTBot": "OpenAI",
        "ClaudeBot": "Anthropic",
        "Google-Extended": "Google",
        "Applebot-Extended": "Apple",
        "meta-externalagent": "Meta",
        "Amazonbot": "Amazon",
        "MistralAI-Training": "Mistral",
        "Bytespider": "ByteDance",
        "CCBot": "Common Crawl",
    },
    "user-triggered": {  # The crawler fetches a page when a person asks for it.
        "ChatGPT-User": "OpenAI",
        "Claude-User": "Anthropic",
        "Perplexity-User": "Perplexity",
        "MistralAI-User": "Mistral",
        "Amzn-User": "Amazon",
        "meta-externalfetcher": "Meta",
        "Google-Agent": "Google",
        "Google-GeminiNotebook": "Google",
    },
    "ads": {  # Operators choose or check advertisements, or improve products for advertisers.
        "AdsBot-Google": "Google",
        "Mediapartners-Google": "Google",
        "OAI-AdsBot": "OpenAI",
        "meta-externalads": "Meta",
    },
    "data": {  # These crawlers collect pages for link indexes, archives, research or customers.
        "GoogleOther": "Google",
        "AhrefsBot": "Ahrefs",
        "SemrushBot": "Semrush",
        "MJ12bot": "Majestic",
        "DotBot": "Moz",
        "Diffbot": "Diffbot",
        "CloudflareBrowserRenderingCrawler": "Cloudflare",
    },
    "preview": {  # The crawler reads the title and image that an app shows next to a link.
        "facebookexternalhit": "Meta",
        "Twitterbot": "X",
        "LinkedInBot": "LinkedIn",
    },
}
# The operators' pages about their crawlers, and the day or month when each page was read. For an
# operator that is missing here, no page is known.
_PAGES = {
    "Google": ("https://developers.google.com/crawling/docs/crawlers-fetchers", "2026-09"),
    "Microsoft": ("https://www.bing.com/webmasters/help", "2026-11"),
    "Apple": ("https://support.apple.com/en-us/119829", "2026-11"),
    "DuckDuckGo": ("https://duckduckgo.com/duckduckgo-help-pages", "2026-11"),
    "Yandex": ("https://yandex.com/support/webmaster", "2026-11"),
    "Baidu": ("https://www.baidu.com/search/robots_english.html", "2026-11"),
    "Yahoo": ("https://help.yahoo.com/kb/SLN22600.html", "2026-11"),
    "Seznam": ("https://o-seznam.cz/napoveda/vyhledavani/en/seznambot-crawler", "2026-11"),
    "Naver": ("https://searchadvisor.naver.com/guide", "2026-11"),
    "Huawei": ("https://webmaster.petalsearch.com/site/petalbot", "2026-11"),
    "Mojeek": ("https://www.mojeek.com/bot.html", "2026-11"),
    "OpenAI": ("https://developers.openai.com/api/docs/bots", "2026-11"),
    "Anthropic": ("https://support.claude.com/en/articles/8896518", "2026-11"),
    "Perplexity": ("https://docs.perplexity.ai/guides/bots", "2026-11"),
    "Amazon": ("https://developer.amazon.com/amazonbot", "2026-11-28"),
    "Mistral": ("https://docs.mistral.ai/robots", "2026-11-28"),
    "Meta": (
        "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers",
        "2026-11",
    ),
    "Common Crawl": ("https://commoncrawl.org/ccbot", "2026-11"),
    "Ahrefs": ("https://ahrefs.com/robot", "2026-11"),
    "Semrush": ("https://www.semrush.com/bot", "2026-11"),
    "Majestic": ("https://mj12bot.com", "2026-11"),
    "Moz": ("https://moz.com/help/moz-procedures/crawlers/dotbot", "2026-11"),
    "Diffbot": ("https://docs.diffbot.com/docs/does-crawl-respect-robotstxt", "2026-11-28"),
    "Cloudflare": (
        "https://developers.cloudflare.com/browser-run/reference/automatic-request-headers",
        "2026-11-28",
    ),
    "X": ("https://developer.x.com/en/docs/tweets/optimize-with-cards/guides", "2026-11-28"),
}
# For these crawlers, the facts come from a page of the operator that is not in `_PAGES`.
_OTHER_PAGES = {
    "Google-GeminiNotebook": (
        f"{_PAGES['Google'][0]}/google-user-triggered-fetchers",
        "2026-11-28",
    ),
}
# For these crawlers, a description by another author was read instead of the operator's page. Each
# value is the date of the description.
_SECOND_HAND = {
    "Amzn-SearchBot": "2026-04-19",
    "Amzn-User": "2026-04-19",
    "meta-webindexer": "2026-11-28",
    "meta-externalads": "2026-11-28",
    "OAI-AdsBot": "2026-10-28",
    "Google-Agent": "2026-08-19",
    "Bytespider": "2026-11-28",
    "LinkedInBot": "2026-11-28",
}
_FALL_BACK = {"Applebot": ("Googlebot",), "YandexBot": ("Yandex",)}
# For each of these crawlers, the operator states that the crawler ignores robots.txt or may do so.
_DISOBEDIENT = {
    "ChatGPT-User",
    "Perplexity-User",
    "Amzn-User",
    "meta-externalfetcher",
    "facebookexternalhit",
    "Google-Agent",
    "Google-GeminiNotebook",
}
# We do not know whether these crawlers always obey robots.txt, because we found no statement by
# their operators. Cloudflare states only that its crawler obeys robots.txt by default.
_UNSTATED = {"Bytespider", "OAI-AdsBot", "CloudflareBrowserRenderingCrawler", "LinkedInBot"}
# Sites often shut out these crawlers on purpose, so `SEARCH_ENGINES` does not contain them.
# Googlebot-Image, Googlebot-News and Storebot-Google index only images, news or products. A large
# hosting company shuts out PetalBot by default.
_LEFT_OUT = {"Googlebot-Image", "Googlebot-News", "Storebot-Google", "PetalBot"}
PURPOSES = tuple(_CRAWLERS)


class KnownCrawler(NamedTuple):
    """A well-known crawler.

    Attributes:
        tokens: the product tokens. The first is the crawler's own token. The others are the tokens
            to which the crawler falls back.
        operator: the company that runs the crawler.
        purpose: one of `PURPOSES`.
        obeys: whether the operator states that the crawler always obeys robots.txt; None if no
            statement is known.
        source: the address of the operator's page; "" if none is known.
        as_of: the day or month in which the page was read, as YYYY-MM-DD or YYYY-MM. If
            `second_hand` is True, this is the date of the other author's description.
        second_hand: whether another author's description was read instead of the page itself.
    """

    tokens: tuple[str, ...]
    operator: str
    purpose: str
    obeys: bool | None
    source: str
    as_of: str
    second_hand: bool

    @property
    def crawler(self) -> UserAgent:
        """The crawler as a `UserAgent`."""
        return UserAgent.of(self.tokens)._replace(name=self.tokens[0])


def _rows() -> Iterator[KnownCrawler]:
    for purpose, operators in _CRAWLERS.items():
        for token, operator in operators.items():
            tokens = (token, *_FALL_BACK.get(token, ()))
            obeys = None if token in _UNSTATED else token not in _DISOBEDIENT
            page, day = _OTHER_PAGES.get(token, _PAGES.get(operator, ("", AS_OF)))
            is_second_hand = token in _SECOND_HAND
            as_of = _SECOND_HAND.get(token, day)
            yield KnownCrawler(tokens, operator, purpose, obeys, page, as_of, is_second_hand)


KNOWN_CRAWLERS = tuple(_rows())


# The crawlers of search engines, by name. If a site shuts out one of them, the command `lint`
# reports this.
SEARCH_ENGINES = {
    row.tokens[0]: row.crawler
    for row in KNOWN_CRAWLERS
    if row.purpose == "search" and row.tokens[0] not in _LEFT_OUT
}


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _product(name: str) -> str:
    """Return the product to which a crawler belongs, such as "claude" for Claude-User.

    For AdsBot-Google, the result is "google", because "ads" is a word that means many things.
    """
    if name.endswith("-Google"):
        return "google"
    return name.partition("-")[0].lower().removesuffix("bot").removesuffix("spider")


# Names that contain digits. Operators use them for their crawlers, although a product token cannot
# contain digits.
_WITH_DIGITS = ("AI2Bot", "Ai2Bot-Dolma", "img2dataset", "k2spider", "360Spider")
_NAMES = chain(GOOGLE_NAMES, _WITH_DIGITS, *(row.tokens for row in KNOWN_CRAWLERS))
# The names, in lower case, of the crawlers that may ignore robots.txt.
_MAY_IGNORE = {row.tokens[0].lower() for row in KNOWN_CRAWLERS if row.obeys is False}
# For each name in lower case, the well-known crawler as a `UserAgent`.
_CRAWLER_OF = {row.tokens[0].lower(): row.crawler for row in KNOWN_CRAWLERS}
# For each name in lower case, the usual spelling of the name, such as "GPTBot" for "gptbot".
_REAL = {name.lower(): name for name in _NAMES}
_LONGEST = max(map(len, _REAL))
# Two names look alike if their similarity, as difflib computes it, has at least this value. For
# example, the similarity of "GPTBot" and "GPTBat" is 0.83.
_ALIKE = 0.8
# For each word that a user may write as a name, the names of the crawlers that the user may mean.
# The word is the name of a crawler, a product or an operator, in lower case and without spaces, "-"
# and "_". For example, a user who writes "openai" may mean any crawler of OpenAI.
_MEANT: dict[str, list[str]] = {}
for _row in KNOWN_CRAWLERS:
    for _word in {_product(_row.tokens[0]), _letters(_row.operator)}:
        _MEANT.setdefault(_word, []).append(_row.tokens[0])
_MEANT.update({_letters(name): [name] for name in _REAL.values()})


def is_known(name: str) -> bool:
    """Return whether `name` is the name of a well-known crawler. Case does not matter."""
    return name.lower() in _REAL


def may_ignore(user_agent: str) -> bool:
    """Return whether the operator of a crawler states that the crawler may ignore robots.txt.

    `user_agent` is the product token of the crawler in lower case.
    """
    return user_agent in _MAY_IGNORE or agents_heeded(UserAgent.of(user_agent)) == ()


def known_name(user_agent: str) -> str:
    """Return a well-known crawler's name in its usual spelling, and any other name unchanged."""
    return _REAL.get(user_agent.lower(), user_agent)


def looks_known(name: str) -> bool:
    """Return whether a name has non-ASCII letters, but looks like a well-known crawler's name."""
    if name.isascii() or len(name) > _LONGEST:
        return False
    return _most_alike(name) is not None


def well_known(user_agent: str) -> UserAgent | None:
    """Return the well-known crawler that a name or a User-Agent header means; otherwise None."""
    token = product_token(user_agent)
    for word in BETWEEN_PRODUCTS.split(as_text(user_agent)):
        if token and word.startswith(token):  # The name "MJ12bot" is longer than its token "MJ".
            return _CRAWLER_OF.get(word.lower())
    return None


def did_you_mean(name: str) -> str:
    """Return a hint with the known crawlers that `name` may mean; "" if there are none.

    The hint is the end of a message, such as "; did you mean GPTBot?". For example, there is a hint
    for "GPT-Bot" (another spelling), "ChatGPT" (a product) and "OpenAI" (an operator).
    """
    meant = _MEANT.get(_letters(name), [])
    if is_known(name) or not meant:
        return ""
    return f"; did you mean {' or '.join(meant)}?"


def did_you_misspell(name: str) -> str:
    """Return a hint with the known name that looks most like `name`.

    The hint has the same form as a hint of `did_you_mean`. For "Gogglebot" it is
    "; did you mean Googlebot?". If `name` is a known name, or does not look like one, return "".
    """
    if is_known(name) or len(name) > 2 * _LONGEST:
        return ""
    meant = _most_alike(name)
    return f"; did you mean {meant}?" if meant else ""


def _most_alike(name: str) -> str | None:
    """Return the known name that looks most like `name`; None if no known name looks like it."""
    for found in get_close_matches(name.lower(), _REAL, n=1, cutoff=_ALIKE):
        return _REAL[found]
    return None
