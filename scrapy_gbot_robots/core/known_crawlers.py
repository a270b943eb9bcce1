"""The well-known crawlers, as their operators described them in November 2026.

To add a crawler, add a row, and set `AS_OF`. A crawler that falls back, such as Applebot to
Googlebot, has several tokens: the first that has a group counts, else "*". `agents`, `lint` and
hints about names use them.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import chain
from typing import NamedTuple

from .crawlers import BETWEEN_PRODUCTS, GOOGLE_NAMES, UserAgent, product_token

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
        "Amazonbot": "Amazon",
    },
    # data for models; a "-Extended" token fetches nothing, it only asks for permission
    "AI training": {
        "GPTBot": "OpenAI",
        "ClaudeBot": "Anthropic",
        "Google-Extended": "Google",
        "Applebot-Extended": "Apple",
        "meta-externalagent": "Meta",
        "Bytespider": "ByteDance",
        "CCBot": "Common Crawl",
    },
    "user-triggered": {  # one page that a person asked for
        "ChatGPT-User": "OpenAI",
        "Claude-User": "Anthropic",
        "Perplexity-User": "Perplexity",
        "MistralAI-User": "Mistral",
        "meta-externalfetcher": "Meta",
    },
    "data": {  # link indexes, archives, research
        "AhrefsBot": "Ahrefs",
        "SemrushBot": "Semrush",
        "MJ12bot": "Majestic",
        "DotBot": "Moz",
        "Diffbot": "Diffbot",
    },
    "preview": {  # the card for a link
        "facebookexternalhit": "Meta",
        "Twitterbot": "X",
        "LinkedInBot": "LinkedIn",
    },
}
_FALL_BACK = {"Applebot": ("Googlebot",), "YandexBot": ("Yandex",)}
_DISOBEDIENT = {
    "ChatGPT-User",
    "Perplexity-User",
    "meta-externalfetcher",
    "facebookexternalhit",
}
# That sites leave out on purpose: they index a part of a site, or a large host leaves them out.
_LEFT_OUT = {"Googlebot-Image", "Googlebot-News", "PetalBot"}
PURPOSES = tuple(_CRAWLERS)


class KnownCrawler(NamedTuple):
    """A well-known crawler.

    Attributes:
        tokens: its product tokens, in fall-back order.
        operator: the company that runs it.
        purpose: one of `PURPOSES`.
        obeys: whether it always obeys robots.txt, by its operator's own words.
    """

    tokens: tuple[str, ...]
    operator: str
    purpose: str
    obeys: bool

    @property
    def crawler(self) -> UserAgent:
        """What it heeds in a robots.txt."""
        return UserAgent.of(self.tokens)._replace(name=self.tokens[0])


def _rows() -> Iterator[KnownCrawler]:
    for purpose, operators in _CRAWLERS.items():
        for token, operator in operators.items():
            tokens = (token, *_FALL_BACK.get(token, ()))
            yield KnownCrawler(tokens, operator, purpose, token not in _DISOBEDIENT)


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
