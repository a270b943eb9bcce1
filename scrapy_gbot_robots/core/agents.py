"""Which crawler asks: the product token in a User-Agent header, and what a crawler of that name heeds.

A crawler with several tokens tries the most specific first and falls back; the first that has a group wins, then "*".
Source: Google's page ("Order of precedence for user agents"), and Google's lists of common crawlers, special-case
crawlers and user-triggered fetchers, as of September 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from . import grammar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# (name, robots.txt tokens in fall-back order, whether it heeds "*"). A row is found by its name and by its first token.
# No token and no "*": the crawler does not heed robots.txt at all.
_GOOGLE: Final[tuple[tuple[str, tuple[str, ...], bool], ...]] = (
    # Common crawlers
    ("Googlebot", ("Googlebot",), True),
    ("Googlebot-Image", ("Googlebot-Image", "Googlebot"), True),
    ("Googlebot-Images", ("Googlebot-Image", "Googlebot"), True),  # so Google's page once wrote it
    ("Googlebot-Video", ("Googlebot-Video", "Googlebot"), True),
    ("Googlebot-News", ("Googlebot-News", "Googlebot"), True),
    ("Storebot-Google", ("Storebot-Google",), True),
    ("Google-InspectionTool", ("Google-InspectionTool", "Googlebot"), True),
    ("GoogleOther", ("GoogleOther",), True),
    ("GoogleOther-Image", ("GoogleOther-Image", "GoogleOther"), True),
    ("GoogleOther-Video", ("GoogleOther-Video", "GoogleOther"), True),
    ("Google-CloudVertexBot", ("Google-CloudVertexBot", "Googlebot"), True),
    ("Google-Extended", ("Google-Extended",), True),
    # Special-case crawlers
    ("APIs-Google", ("APIs-Google",), False),
    ("AdsBot-Google-Mobile", ("AdsBot-Google-Mobile",), False),
    ("AdsBot-Google", ("AdsBot-Google",), False),
    ("Mediapartners-Google", ("Mediapartners-Google",), False),
    ("Google-Safety", (), False),
    # Retired
    ("AdsBot-Google-Mobile-Apps", ("AdsBot-Google-Mobile-Apps", "AdsBot-Google"), False),
    ("DuplexWeb-Google", ("DuplexWeb-Google",), True),  # "*" might have been ignored: here the site is believed
    ("Google Favicon", ("Googlebot-Image", "Googlebot"), True),
    ("googleweblight", (), False),
    # User-triggered fetchers
    ("Google-CWS", (), False),
    ("FeedFetcher-Google", (), False),
    ("Google-Agent", (), False),
    ("GoogleMessages", (), False),
    ("Google-GeminiNotebook", (), False),
    ("Google-NotebookLM", (), False),
    ("Google-Pinpoint", (), False),
    ("GoogleProducer", (), False),
    ("Google-Read-Aloud", (), False),
    ("google-speakr", (), False),
    ("Google-Site-Verification", (), False),
)
_BY_NAME: Final = {row[0].lower(): row for row in _GOOGLE}
GOOGLE_NAMES: Final = tuple(row[0] for row in _GOOGLE)

_TOKEN: Final = r"[A-Za-z_-]+"  # noqa: S105 - of a product
_PRODUCT: Final = r"([A-Za-z_-]+)(?:/\S*)?\Z"
_COMMENT: Final = r"\(([^()]*)\)"
_COMPATIBLE: Final = "compatible"
_MAX_HEADER: Final = 1_000  # characters of a header that are looked at
_BOT_WORDS: Final = ("bot", "crawl", "spider", "google")

# Products that browsers name, in lower case. What else a browser-like header names is the crawler.
_BROWSER: Final = frozenset(
    """
    mozilla opera applewebkit khtml gecko chrome chromium safari mobile version firefox edge edg edga edgios opr crios
    fxios headlesschrome seamonkey konqueror epiphany vivaldi yabrowser samsungbrowser ucbrowser ubuntu fedora debian
    msie trident presto windows macintosh linux android iphone ipad ipod cros compatible like build web minefield
    iceweasel palemoon waterfox electron instagram fban fbav whale brave miuibrowser silk phantomjs qtwebengine
    """.split()
)


class Crawler(NamedTuple):
    """What a crawler heeds in a robots.txt.

    `name` is its product token; `tokens` are tried in order, the first that has a group wins; only a crawler with
    `heeds_global` falls back to "*". All of it is data: the header itself is not kept.
    """

    name: str
    tokens: tuple[str, ...]
    heeds_global: bool = True

    @classmethod
    def of(cls, user_agent: str | bytes | Iterable[str | bytes]) -> Crawler:
        """Return the crawler that a product token or a whole User-Agent header names.

        Google's crawlers are as Google lists them; any other heeds its one token and "*". If there is no token in
        `user_agent`, there is "*" alone. Of several names, the crawler follows the first that has a group, else "*".

        Raises:
            ValueError: there is no name in a list of names.
        """
        if not isinstance(user_agent, (str, bytes)) and isinstance(user_agent, Iterable):
            return _first_of([cls.of(each) for each in user_agent])
        header = _as_text(user_agent)
        token = product_token(header)
        row = _BY_NAME.get(token.lower())
        if "google favicon" in header.lower():
            row = _BY_NAME["google favicon"]
        if row is not None:
            return cls(*row)
        return cls(token, (token,) if token else ())

    @property
    def ignores_robots(self) -> bool:
        """Whether it heeds no group at all, so that everything is allowed."""
        return not self.tokens and not self.heeds_global


def _first_of(crawlers: Sequence[Crawler]) -> Crawler:
    if not crawlers:
        raise ValueError("no crawler is named")
    tokens: dict[str, str] = {}
    for token in (token for crawler in crawlers for token in crawler.tokens):
        tokens.setdefault(token.lower(), token)
    heeds_global = any(crawler.heeds_global for crawler in crawlers)
    return Crawler(_names(crawlers), tuple(tokens.values()), heeds_global)


def _names(crawlers: Iterable[Crawler]) -> str:
    return ", ".join(dict.fromkeys(crawler.name for crawler in crawlers if crawler.name))


class AllOf(tuple[Crawler, ...]):
    """Several crawlers at once: a URL is refused if it is refused to any of them.

    Made of product tokens, User-Agent headers and `Crawler`s; it may be asked for wherever a `Crawler` may. Of several
    crawl-delays the largest counts.
    """

    __slots__ = ()

    def __new__(cls, user_agents: Iterable[str | bytes | Crawler]) -> AllOf:
        """Take the crawlers in the order in which they are to be asked; each counts once.

        Raises:
            ValueError: no crawler is named.
            TypeError: `user_agents` is one name, or holds something else than names and crawlers.
        """
        if isinstance(user_agents, (str, bytes, Crawler)):
            raise TypeError("AllOf takes a list of crawlers, not one")
        crawlers = dict.fromkeys(each if isinstance(each, Crawler) else Crawler.of(each) for each in user_agents)
        if not crawlers:
            raise ValueError("no crawler is named")
        return super().__new__(cls, crawlers)

    @property
    def name(self) -> str:
        """The names of all."""
        return _names(self)


RobotsAgent: TypeAlias = Crawler | AllOf


@lru_cache(maxsize=1_000, typed=True)
def agents_heeded(user_agent: str | bytes | Crawler) -> tuple[bytes, ...]:
    """Return whose groups to look for, in this order: tokens in lower case, and "*" last if it is heeded at all.

    A product token or header stands for its one token, then "*"; a crawler that ignores robots.txt has none.
    """
    if not isinstance(user_agent, Crawler):
        token = product_token(user_agent)
        user_agent = Crawler(token, (token,) if token else ())
    tokens = tuple(token.lower().encode("ascii", "replace") for token in user_agent.tokens if token)
    return (*tokens, grammar.GLOBAL) if user_agent.heeds_global else tokens


def product_token(user_agent: str | bytes) -> str:
    """Return the product token in a User-Agent header, "" if there is none; a token alone is itself.

    A token is letters, "-" and "_" (RFC 9309 2.2.1), so that "bot2000" gives "bot". "Bot/1.0 (+url)" and
    "Mozilla/5.0 (compatible; Bot/2.1; +url)" give "Bot"; a browser's header gives what it begins with: "Mozilla".
    """
    header = _as_text(user_agent)
    if len(header) == _MAX_HEADER and len(_leading_token(header)) == _MAX_HEADER:
        return _leading_token(_as_text(user_agent, grammar.MAX_LINE_BYTES))  # a token alone: no line names a longer one
    return _crawler_in(header) or _leading_token(header)


def is_browser_like(user_agent: str | bytes) -> bool:
    """Return whether the header is that of a browser and names no crawler, so that no robots.txt will ever name it."""
    header = _as_text(user_agent)
    return not _crawler_in(header) and _leading_token(header).lower() in _BROWSER


def _as_text(user_agent: str | bytes, most: int = _MAX_HEADER) -> str:
    if isinstance(user_agent, bytes):
        return user_agent[:most].decode("latin-1")
    if isinstance(user_agent, str):
        return user_agent[:most]
    raise TypeError(f"a user agent is str, bytes or Crawler, not {type(user_agent).__name__}")


def _leading_token(text: str) -> str:
    token = re.match(_TOKEN, text.lstrip())
    return token[0] if token else ""


def _crawler_in(header: str) -> str:
    """Return the token that does not belong to a browser, in the order of how surely it names the crawler."""
    if "/" not in header and "(" not in header:
        return "" if _leading_token(header).lower() in _BROWSER else _leading_token(header)
    comments = re.findall(_COMMENT, header)
    return (
        next(_after_compatible(comments), "")
        or _unless_browser(_leading_token(header))
        or next(_in_comments(comments), "")
        or next(_beside_comments(header), "")
    )


def _unless_browser(token: str) -> str:
    return "" if token.lower() in _BROWSER else token


def _after_compatible(comments: list[str]) -> Iterator[str]:
    """In "(compatible; Bot/2.1; +url)" and "(KHTML, like Gecko; compatible; Bot/2.1; +url)": Bot."""
    for comment in comments:
        items = [item.strip() for item in comment.split(";")]
        for before, item in pairwise(items):
            if before == _COMPATIBLE and _unless_browser(_leading_token(item)):
                yield _leading_token(item)


def _in_comments(comments: list[str]) -> Iterator[str]:
    """In "(X11; Linux x86_64; Bot/1.0)" and "(Bot/0.1; +url)": Bot."""
    for comment in comments:
        for item in comment.split(";"):
            product = re.match(_PRODUCT, item.strip())
            if product and _unless_browser(product[1]) and ("/" in item or _sounds_like_bot(product[1])):
                yield product[1]


def _beside_comments(header: str) -> Iterator[str]:
    """In "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/49.0 Safari/537.36 Bot/1.0": Bot."""
    for word in re.sub(_COMMENT, " ", header).split():
        product = re.match(_PRODUCT, word)
        if product and _unless_browser(product[1]):
            yield product[1]


def _sounds_like_bot(token: str) -> bool:
    lower = token.lower()
    return any(word in lower for word in _BOT_WORDS)
