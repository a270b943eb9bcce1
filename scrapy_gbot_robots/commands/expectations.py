"""A file of expectations: what a site owner wants a robots.txt to say, one line each. Pure.

allow Googlebot /shop/        the crawler may fetch it; * is a crawler that no group names
deny * /cart/                 it may not; "disallow" means the same
sitemap https://example.com/sitemap.xml
# a comment
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.agents import Crawler
from ..core.origin import Origin
from .crawlers import Who
from .exits import CommandError
from .inputs import is_url
from .output import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERBS = {"allow": True, "deny": False, "disallow": False}
_WORDS = 3  # verb, crawler, URL
_LONGEST = 100  # characters of a line that is no expectation


class Expectation(NamedTuple):
    """One line of the file. `who` is None where a sitemap is expected: then `url` is that.

    Attributes:
        line: its number, from 1.
        text: the line, without a comment.
        url: absolute, or a path that begins with "/".
        allowed: whether the crawler should be allowed to fetch it.
    """

    line: int
    text: str
    url: str
    who: Who | None = None
    allowed: bool = True


def read_expectations(name: str, body: bytes) -> Iterator[Expectation]:
    """Yield the expectations of a file; `name` is for the errors.

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
    """Cut a comment: from a "#" that stands first or after white space. Another "#" is part of a URL."""
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
        raise ValueError('not "allow CRAWLER URL", "deny CRAWLER URL" or "sitemap URL"')
    _, name, url = words
    if is_url(url):
        Origin.of(url)
    elif not url.startswith("/"):
        raise ValueError('the URL is neither absolute nor a path that begins with "/"')
    crawler = Crawler.of("" if name == "*" else name)
    if not crawler.name and name != "*":
        raise ValueError(f'"{printable(name)}" names no crawler')
    return Expectation(number, text, url, Who(crawler, "the expectation", name), _VERBS[verb])
