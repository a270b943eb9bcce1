"""The product token in a User-Agent header: the name by which a robots.txt can speak to the crawler.

Browsers send long headers that name many products, and crawlers imitate them. So a header is searched for the one product
that no browser names, the surest places first:

1. after "compatible": in "Mozilla/5.0 (compatible; Bot/2.1; +url)" it is Bot
2. at the very beginning: "Bot/1.0 (+url)"
3. in a comment, with a version or with a name that sounds like a bot: "Mozilla/5.0 (X11; Linux x86_64; Bot/1.0)"
4. beside the comments: "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Safari/537.36 Bot/1.0"

Source: RFC 9309 2.2.1 for what a token is; the headers that Google lists for its crawlers.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from . import grammar

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN: Final = r"[A-Za-z_-]+"  # noqa: S105 - of a product
_PRODUCT: Final = r"([A-Za-z_-]+)(?:/\S*)?\Z"
_COMMENT: Final = r"\(([^()]*)\)"
_COMPATIBLE: Final = "compatible"
_MAX_HEADER: Final = 1_000  # characters of a header that are searched
_BOT_WORDS: Final = ("bot", "crawl", "spider", "google")

# Products that browsers name, in lower case. Any other product in a browser's header is the crawler.
_BROWSER: Final = frozenset(
    """
    mozilla opera applewebkit khtml gecko chrome chromium safari mobile version firefox edge edg edga edgios opr crios
    fxios headlesschrome seamonkey konqueror epiphany vivaldi yabrowser samsungbrowser ucbrowser ubuntu fedora debian
    msie trident presto windows macintosh linux android iphone ipad ipod cros compatible like build web minefield
    iceweasel palemoon waterfox electron instagram fban fbav whale brave miuibrowser silk phantomjs qtwebengine
    """.split()
)


def product_token(user_agent: str | bytes) -> str:
    """Return the product token in a User-Agent header, "" if there is none. The header may be a token alone.

    A token is letters, "-" and "_" (RFC 9309 2.2.1), so "bot2000" gives "bot". A browser's header gives its first word,
    which is "Mozilla".
    """
    header = as_text(user_agent)
    if len(header) == _MAX_HEADER and len(_leading_token(header)) == _MAX_HEADER:
        # A long token and nothing else. No line of a robots.txt names a longer one than fits into it.
        return _leading_token(as_text(user_agent, grammar.MAX_LINE_BYTES))
    return _crawler_in(header) or _leading_token(header)


def is_browser_like(user_agent: str | bytes) -> bool:
    """Whether the header is a browser's and names no crawler. No robots.txt will ever name it."""
    header = as_text(user_agent)
    return not _crawler_in(header) and _leading_token(header).lower() in _BROWSER


def as_text(user_agent: str | bytes, most: int = _MAX_HEADER) -> str:
    """Return a user agent as text, cut at `most` characters. Raises TypeError if it is neither str nor bytes."""
    if isinstance(user_agent, bytes):
        return user_agent[:most].decode("latin-1")
    if isinstance(user_agent, str):
        return user_agent[:most]
    raise TypeError(f"a user agent is str, bytes or Crawler, not {type(user_agent).__name__}")


def _leading_token(text: str) -> str:
    token = re.match(_TOKEN, text.lstrip())
    return token[0] if token else ""


def _crawler_in(header: str) -> str:
    """Return the product that no browser names, searched in the order above; "" if there is none."""
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
