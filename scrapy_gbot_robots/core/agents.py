"""Which crawler asks, and what it heeds: its tokens, from the most specific one on, and "*".

A crawler follows the groups of its first token that has any; if none has, those of "*".
Source: Google's page ("Order of precedence for user agents"), and Google's lists of common crawlers, special-case
crawlers and user-triggered fetchers, as of September 2026.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from . import grammar
from .product_token import as_text, product_token

if TYPE_CHECKING:
    from collections.abc import Sequence

# Name, robots.txt tokens in fall-back order, whether the crawler heeds "*". A crawler without a token that does not heed
# "*" ignores robots.txt.
_GOOGLE: Final[tuple[tuple[str, tuple[str, ...], bool], ...]] = (
    # Common crawlers
    ("Googlebot", ("Googlebot",), True),
    ("Googlebot-Image", ("Googlebot-Image", "Googlebot"), True),
    ("Googlebot-Images", ("Googlebot-Image", "Googlebot"), True),  # an old spelling of Google's page
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
    ("DuplexWeb-Google", ("DuplexWeb-Google",), True),  # it may have ignored "*"; here the site is believed
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


class Crawler(NamedTuple):
    """What a crawler heeds in a robots.txt.

    Attributes:
        name: its product token.
        tokens: are tried in order; the crawler follows the groups of the first that has any.
        heeds_global: whether the crawler falls back to the groups of "*".
    """

    name: str
    tokens: tuple[str, ...]
    heeds_global: bool = True

    @classmethod
    def of(cls, user_agent: str | bytes | Iterable[str | bytes]) -> Crawler:
        """Return the crawler that a product token or a whole User-Agent header names.

        Google's crawlers heed what Google lists for them. Any other heeds its one token and "*", or "*" alone if there is
        no token in `user_agent`. A list of names makes one crawler, which tries the tokens of all in this order.

        Raises:
            ValueError: the list of names is empty.
            TypeError: a name is neither str nor bytes.
        """
        if not isinstance(user_agent, (str, bytes)) and isinstance(user_agent, Iterable):
            return _first_of([cls.of(each) for each in user_agent])
        header = as_text(user_agent)
        token = product_token(header)
        row = _BY_NAME.get(token.lower())
        if "google favicon" in header.lower():
            row = _BY_NAME["google favicon"]
        if row is not None:
            return cls(*row)
        return cls(token, (token,) if token else ())

    @property
    def ignores_robots(self) -> bool:
        """Whether the crawler heeds no group, so that everything is allowed."""
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
    """Several crawlers at once. A URL is disallowed if it is disallowed to any of them; the largest crawl-delay counts.

    Every function that takes a `Crawler` takes an `AllOf`, too.
    """

    __slots__ = ()

    def __new__(cls, user_agents: Iterable[str | bytes | Crawler]) -> AllOf:
        """Take product tokens, User-Agent headers and `Crawler`s, in the order in which to ask them. Each counts once.

        Raises:
            ValueError: `user_agents` is empty.
            TypeError: `user_agents` is one name, or holds something that is neither a name nor a crawler.
        """
        if isinstance(user_agents, (str, bytes, Crawler)):
            raise TypeError("AllOf takes a list of crawlers, not one")
        crawlers = dict.fromkeys(each if isinstance(each, Crawler) else Crawler.of(each) for each in user_agents)
        if not crawlers:
            raise ValueError("no crawler is named")
        return super().__new__(cls, crawlers)

    @property
    def name(self) -> str:
        """The names of all crawlers, with commas between them."""
        return _names(self)


RobotsAgent: TypeAlias = Crawler | AllOf


@lru_cache(maxsize=1_000, typed=True)
def agents_heeded(user_agent: str | bytes | Crawler) -> tuple[bytes, ...]:
    """Return the agents whose groups to look for, in this order: tokens in lower case, and last "*" if it is heeded.

    A product token or a header means its one token, then "*". A crawler that ignores robots.txt has no agents.
    """
    if not isinstance(user_agent, Crawler):
        token = product_token(user_agent)
        user_agent = Crawler(token, (token,) if token else ())
    tokens = tuple(token.lower().encode("ascii", "replace") for token in user_agent.tokens if token)
    return (*tokens, grammar.GLOBAL) if user_agent.heeds_global else tokens
