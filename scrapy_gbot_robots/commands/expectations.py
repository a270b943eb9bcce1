"""A file of expectations: what a site owner wants a robots.txt to say. Pure.

allow Googlebot /shop/        this crawler may fetch it
deny * /cart/                 a crawler that no group names may not; "disallow" means the same
sitemap https://example.com/sitemap.xml
# a comment
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.origin import Origin
from .crawlers import Asker
from .exits import CommandError
from .inputs import is_url
from .output import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERBS = {"allow": True, "deny": False, "disallow": False}
_WORDS = 3  # verb, crawler, URL
_LONGEST = 100  # characters of a wrong line that an error shows


class Expectation(NamedTuple):
    """One line of the file.

    Attributes:
        line: its number, from 1.
        text: the line, without a comment.
        url: absolute, or a path that begins with "/"; or the sitemap.
        asker: the crawler; None if the line expects a sitemap.
        allowed: whether the crawler should be allowed to fetch `url`.
    """

    line: int
    text: str
    url: str
    asker: Asker | None = None
    allowed: bool = True


def read_expectations(name: str, body: bytes) -> Iterator[Expectation]:
    """Yield the expectations in a file. `name` is for errors.

    Raises:
        CommandError: a line is no expectation.
    """
    for number, raw in enumerate(body.decode("utf-8-sig", "surrogateescape").splitlines(), 1):
        words = _without_comment(raw).split()
        if words:
            try:
                yield _expectation(number, words)
            except ValueError as error:
                raise CommandError(f"{name}:{number}: {error}: {printable(raw.strip()[:_LONGEST])}") from None


def _without_comment(line: str) -> str:
    """Remove a comment: it begins with a "#" at the start or after white space. Another "#" is part of a URL."""
    start = line.find("#")
    while start > 0 and not line[start - 1].isspace():
        start = line.find("#", start + 1)
    return line if start < 0 else line[:start]


def _expectation(number: int, words: list[str]) -> Expectation:
    verb, text = words[0].lower(), " ".join(words)
    if verb == "sitemap" and len(words) == _WORDS - 1:
        Origin.of(words[1])
        return Expectation(number, text, words[1])
    if verb not in _VERBS or len(words) != _WORDS:
        raise ValueError('must be "allow CRAWLER URL", "deny CRAWLER URL" or "sitemap URL"')
    _, name, url = words
    if is_url(url):
        Origin.of(url)
    elif not url.startswith("/"):
        raise ValueError('the URL must be absolute, or a path that begins with "/"')
    return Expectation(number, text, url, Asker.of(name, "the expectation"), _VERBS[verb])
