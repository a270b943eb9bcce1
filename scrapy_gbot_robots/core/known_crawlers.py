"""The well-known crawlers, as their operators describe them.

To add a crawler, add a row, and its operator's page, with the day on which it was read, if that is
another one. A month alone means that the row was taken over from the list of that month, and that
the page was not read again. "Second hand" means that somebody else's account of the page was read.
A crawler that falls back, such as Applebot to Googlebot, has several tokens: the first that has a
group counts, else "*". `agents`, `lint` and hints about names use them.
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
    product_token,
)

AS_OF = "2026-11"

# The product tokens of crawlers and their operators, by what they fetch pages for.
_CRAWLERS = {
    "search": {  # an index for a search engine
        "Googlebot": "Google",
        "Googlebot-Image": "Google",
        "Googlebot-News": "Google",
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
    "AI answers": {  # an index for answers that a model writes
        "OAI-SearchBot": "OpenAI",
        "Claude-SearchBot": "Anthropic",
        "PerplexityBot": "Perplexity",
        "DuckAssistBot": "DuckDuckGo",
        "Amzn-SearchBot": "Amazon",
        "MistralAI-Index": "Mistral",
        "meta-webindexer": "Meta",
    },
    # data for models; a "-Extended" token fetches nothing, it only asks for permission
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
    "user-triggered": {  # one page that a person asked for
        "ChatGPT-User": "OpenAI",
        "Claude-User": "Anthropic",
        "Perplexity-User": "Perplexity",
        "MistralAI-User": "Mistral",
        "Amzn-User": "Amazon",
        "meta-externalfetcher": "Meta",
        "Google-Agent": "Google",
        "Google-GeminiNotebook": "Google",
    },
    "ads": {  # the pages that advertisements lead to, and what advertisers use
        "OAI-AdsBot": "OpenAI",
        "meta-externalads": "Meta",
    },
    "data": {  # link indexes, archives, research, pages for customers
        "AhrefsBot": "Ahrefs",
        "SemrushBot": "Semrush",
        "MJ12bot": "Majestic",
        "DotBot": "Moz",
        "Diffbot": "Diffbot",
        "CloudflareBrowserRenderingCrawler": "Cloudflare",
    },
    "preview": {  # the card for a link
        "facebookexternalhit": "Meta",
        "Twitterbot": "X",
        "LinkedInBot": "LinkedIn",
    },
}
# What operators say: the address of the page, and when it was read. None is known of the others.
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
    "Cloudflare": ("https://developers.cloudflare.com/bots", "2026-08"),
    "X": ("https://developer.x.com/en/docs/tweets/optimize-with-cards/guides", "2026-11-28"),
}
# Of these rows somebody else's account was read, of that day or month.
_SECOND_HAND = {
    "Amzn-SearchBot": "2026-04-19",
    "Amzn-User": "2026-04-19",
    "meta-webindexer": "2026-11-28",
    "meta-externalads": "2026-11-28",
    "OAI-AdsBot": "2026-10-28",
    "Google-Agent": "2026-08-19",
    "Google-GeminiNotebook": "2026-08-19",
    "CloudflareBrowserRenderingCrawler": "2026-08",
    "Bytespider": "2026-11-28",
    "LinkedInBot": "2026-11-28",
}
_FALL_BACK = {"Applebot": ("Googlebot",), "YandexBot": ("Yandex",)}
# Their operators say that they may ignore robots.txt, or generally do.
_DISOBEDIENT = {
    "ChatGPT-User",
    "Perplexity-User",
    "Amzn-User",
    "meta-externalfetcher",
    "facebookexternalhit",
    "Google-Agent",
    "Google-GeminiNotebook",
}
# No page of their operators is known that says whether they obey.
_UNSTATED = {"Bytespider", "OAI-AdsBot", "CloudflareBrowserRenderingCrawler", "LinkedInBot"}
# That sites leave out on purpose: they index a part of a site, or a large host leaves them out.
_LEFT_OUT = {"Googlebot-Image", "Googlebot-News", "PetalBot"}
PURPOSES = tuple(_CRAWLERS)


class KnownCrawler(NamedTuple):
    """A well-known crawler.

    Attributes:
        tokens: its product tokens, in fall-back order.
        operator: the company that runs it.
        purpose: one of `PURPOSES`.
        obeys: whether it always obeys robots.txt, by its operator's own words; None if no page of
            the operator's is known that says so.
        source: the address of the operator's page, "" if none is known.
        as_of: the day or month of what was read, as YYYY-MM-DD or YYYY-MM.
        second_hand: whether somebody else's account of the page was read, and not the page.
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
        """What it heeds in a robots.txt."""
        return UserAgent.of(self.tokens)._replace(name=self.tokens[0])


def _rows() -> Iterator[KnownCrawler]:
    for purpose, operators in _CRAWLERS.items():
        for token, operator in operators.items():
            tokens = (token, *_FALL_BACK.get(token, ()))
            obeys = None if token in _UNSTATED else token not in _DISOBEDIENT
            page, day = _PAGES.get(operator, ("", AS_OF))
            is_second_hand = token in _SECOND_HAND
            as_of = _SECOND_HAND.get(token, day)
            yield KnownCrawler(tokens, operator, purpose, obeys, page, as_of, is_second_hand)


KNOWN_CRAWLERS = tuple(_rows())


SEARCH_ENGINES = {
    row.tokens[0]: row.crawler
    for row in KNOWN_CRAWLERS
    if row.purpose == "search" and row.tokens[0] not in _LEFT_OUT
}


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _product(name: str) -> str:
    """Return the product that a crawler is named after: "claude" for Claude-User."""
    return name.partition("-")[0].lower().removesuffix("bot").removesuffix("spider")


# Operators document these names, although a token has no digits.
_WITH_DIGITS = ("AI2Bot", "Ai2Bot-Dolma", "img2dataset", "k2spider", "360Spider")
_NAMES = chain(GOOGLE_NAMES, _WITH_DIGITS, *(row.tokens for row in KNOWN_CRAWLERS))
_MAY_IGNORE = {row.tokens[0].lower() for row in KNOWN_CRAWLERS if row.obeys is False}
_CRAWLER_OF = {row.tokens[0].lower(): row.crawler for row in KNOWN_CRAWLERS}
_REAL = {name.lower(): name for name in _NAMES}
_LONGEST = max(map(len, _REAL))
_ALIKE = 0.8  # "GPTBot" with one other letter is
# The names that a word may stand for, by its letters: another spelling, a product, an operator.
_MEANT: dict[str, list[str]] = {}
for _row in KNOWN_CRAWLERS:
    for _word in {_product(_row.tokens[0]), _letters(_row.operator)}:
        _MEANT.setdefault(_word, []).append(_row.tokens[0])
_MEANT.update({_letters(name): [name] for name in _REAL.values()})


def is_known(name: str) -> bool:
    """Whether `name` is that of a well-known crawler, in any case."""
    return name.lower() in _REAL


def may_ignore(user_agent: str) -> bool:
    """Whether an agent is a crawler that may ignore robots.txt, as its operator says."""
    return user_agent in _MAY_IGNORE or agents_heeded(UserAgent.of(user_agent)) == ()


def known_name(user_agent: str) -> str:
    """Return the name of a well-known crawler as it is written; any other name as it is."""
    return _REAL.get(user_agent.lower(), user_agent)


def looks_known(name: str) -> bool:
    """Whether `name` is nearly that of a well-known crawler, for characters past ASCII in it."""
    if name.isascii() or len(name) > _LONGEST:
        return False
    return bool(get_close_matches(name.lower(), _REAL, n=1, cutoff=_ALIKE))


def well_known(user_agent: str) -> UserAgent | None:
    """Return the well-known crawler that a name or a User-Agent header names, None if none."""
    token = product_token(user_agent)
    for word in BETWEEN_PRODUCTS.split(user_agent):
        if token and word.startswith(token):  # it is longer than its token if it has a digit
            return _CRAWLER_OF.get(word.lower())
    return None


def did_you_mean(name: str) -> str:
    """Return the end of a message about `name`: which known crawlers it may mean, "" if none.

    "GPT-Bot" (a spelling), "ChatGPT" (a product) and "OpenAI" mean some.
    """
    meant = _MEANT.get(_letters(name), [])
    if is_known(name) or not meant:
        return ""
    return f"; did you mean {' or '.join(meant)}?"
