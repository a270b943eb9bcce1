"""Reads the rules of one page from its headers, its robots meta tags and its links.

`Directives` are plain values, so that `request.meta` and a JOBDIR can contain them. The value of a
word such as "noindex" is True, the value of a limit such as "max-snippet" is its text, and the
value of "unavailable_after" is a time in ISO 8601.

Most pages name no crawler in their first bytes, which a text search finds out. The head of other
pages is parsed in small steps up to the beginning of the body, or up to `MOST_HEAD_BYTES`. A link
is the `href` of an `a` or `area`, resolved against the page's base URL, as in Scrapy's link
extractors. URLs of requests and links are compared in Scrapy's form, without their fragments.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications". Several
statements add up. If two of them contradict each other, the more restrictive one counts. Google's
page on qualifying links; HTML's rules on where a head ends, as libxml2 has them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import TypeAlias
from urllib.parse import urldefrag, urljoin

from lxml import etree
from parsel import Selector
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.utils.response import get_base_url
from w3lib.html import strip_html5_whitespace
from w3lib.url import canonicalize_url, safe_url_string

from ..policy.headers import date_in

Directives: TypeAlias = "dict[str, bool | str]"

EVERYONE = "robots"  # The name for all crawlers in a meta tag.

# How many bytes of all header values together are read, and of all meta tags together. It is the
# longest header line that Twisted's client accepts.
MOST_BYTES = 16 * 1024
# How many directives of one page are kept. The directives that Google defines are always kept.
MOST_NAMES = 100

_SAY_NOTHING = frozenset({"all", "index", "follow"})
_WORDS = frozenset(
    """
    noindex nofollow noarchive nosnippet nocache notranslate noimageindex nositelinkssearchbox
    indexifembedded noai noimageai """.split()
)
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")
_DAYS = frozenset({"mon", "tue", "wed", "thu", "fri", "sat", "sun"})
_UNTIL = "unavailable_after"
_VALUED = frozenset({"max-snippet", "max-video-preview", "max-image-preview", _UNTIL})
_PREVIEWS = ("none", "standard", "large")
_LIMIT = re.compile(r"none|standard|large|-1|[0-9]{1,9}")
KNOWN = _WORDS | _VALUED

# Values of a link's `rel`. Google generally follows no link with one of them (Google's page on
# qualifying links).
_NOT_TO_FOLLOW = frozenset({"nofollow", "ugc", "sponsored"})
# How many bytes of a page are read for its head. Most heads take less than 8 KiB.
MOST_HEAD_BYTES = 64 * 1024
MOST_TAGS = 100
_STEP = 8 * 1024
# The elements in which a meta tag counts. In a template, for example, it does not.
_HOLD_TAGS = frozenset({"html", "head", "noscript"})


def in_headers(values: Iterable[str], names: Collection[str]) -> Directives:
    """Return the directives for a crawler in `X-Robots-Tag` headers.

    Args:
        values: the header's values, one for each header line. In a line, the directives behind
            "token:" are only for crawlers with that product token.
        names: the crawler's product tokens, in lower case.
    """
    directives: Directives = {}
    for value in "\n".join(values)[:MOST_BYTES].split("\n"):
        for addressee, name, text in _statements(value, addressed=True):
            if not addressee or addressee in names:
                _add(directives, name, text)
    return directives


def in_meta_tags(contents: Iterable[str], directives: Directives) -> Directives:
    """Add the directives in the contents of meta tags to `directives`, and return these.

    If a directive has different values, the more restrictive one counts.
    """
    joined = ",,".join(contents)  # Two commas, so that no date continues in the next content.
    for _, name, text in _statements(joined[:MOST_BYTES], addressed=False):
        _add(directives, name, text)
    return directives


def at_time(now: float, directives: Directives) -> Directives:
    """Return the directives that apply at `now`, in epoch seconds.

    After the date of "unavailable_after", they include "noindex".
    """
    until = directives.get(_UNTIL)
    if isinstance(until, str) and datetime.fromisoformat(until).timestamp() <= now:
        return {**directives, "noindex": True}
    return directives


def _statements(text: str, *, addressed: bool) -> Iterator[tuple[str, str, str]]:
    """Yield each directive in lower case, as (addressee, name, value).

    The addressee is "" if the directive is for all crawlers. The value may be "".
    """
    addressee = ""
    pieces = iter(text.lower().split(","))
    for piece in pieces:
        name, colon, value = (part.strip() for part in piece.partition(":"))
        while addressed and colon and name not in _VALUED and _WORD.match(name):
            addressee = name
            name, colon, value = (part.strip() for part in value.partition(":"))
        if name == _UNTIL and value[:3] in _DAYS:  # "wed, 25 jun 2031 15:00:00 gmt"
            value = f"{value},{next(pieces, '')}"
        if not colon or name in _VALUED:
            yield addressee, name, value


def _add(directives: Directives, name: str, text: str) -> None:
    """Keep a directive; of two values, keep the smaller limit or the earlier date.

    Dates are kept as text in UTC, so that the order of texts is the order in time. A value that
    cannot be read has no effect. Google's page has this rule for dates.
    """
    if name == "none":
        directives.update({"noindex": True, "nofollow": True})
    elif name == _UNTIL:
        when = date_in(re.sub(r"z\Z", "+00:00", text), datetime.fromisoformat)
        if when is None:
            when = date_in(text)
        if when is not None:
            date = when.isoformat()
            directives[name] = min(date, str(directives.get(name, date)))
    elif name in _VALUED:
        if _LIMIT.fullmatch(text):
            directives[name] = min(str(directives.get(name, text)), text, key=_limit_as_number)
    elif (
        name not in _SAY_NOTHING
        and _WORD.match(name)
        and (name in _WORDS or len(directives) < MOST_NAMES)
    ):
        directives[name] = True


def _limit_as_number(text: str) -> float:
    """A limit as a number: infinity for -1 (no limit), the index in `_PREVIEWS` for a word."""
    if text in _PREVIEWS:
        return _PREVIEWS.index(text)
    if text == "-1":
        return float("inf")
    return int(text)


# The directives of a page


def directives_of(response: Response, names: Iterable[str]) -> Directives:
    """Return the directives in the headers of `response` and, if it is an HTML page, in its head.

    Args:
        response: as downloaded.
        names: the crawler's product tokens, in lower case. Directives for all crawlers count, too.
    """
    tokens = frozenset(names)
    values = response.headers.getlist("X-Robots-Tag")
    directives = in_headers((value.decode("latin-1") for value in values), tokens)
    if isinstance(response, HtmlResponse):
        in_meta_tags(contents_of_tags(response, {EVERYONE, *tokens}), directives)
    return directives


def contents_of_tags(page: TextResponse, names: Collection[str]) -> list[str]:
    """Return the content of each meta tag in the head of `page` with one of `names`.

    The names are in lower case.
    """
    # A byte order mark would begin the body.
    start = page.body[:MOST_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf")
    lower = start.lower()
    if not any(name.encode("ascii", "replace") in lower for name in names):
        return []
    return list(islice(_contents(start, names), MOST_TAGS))


def _contents(start: bytes, names: Collection[str]) -> Iterator[str]:
    """Yield the contents of the meta tags with these names in a page that begins with `start`.

    Meta tags in the page's body do not count.
    """
    parser = etree.HTMLPullParser(
        events=("start",), tag=("meta", "body"), encoding="iso-8859-1", no_network=True
    )
    for at in range(0, len(start), _STEP):
        parser.feed(start[at : at + _STEP])
        for _, element in parser.read_events():
            if element.tag == "body":
                return
            name = element.get("name", "").strip().lower()
            parents = (parent.tag for parent in element.iterancestors())
            if name in names and _HOLD_TAGS.issuperset(parents):
                yield element.get("content", "")


# Links


def links_not_to_follow(response: TextResponse, *, whole_page: bool = False) -> set[str]:
    """Return the URLs, without fragments, of the links that a page asks not to follow.

    The set contains each URL as written and in canonical form, because
    `LinkExtractor(canonicalize=True)` makes requests from the canonical form. It does not contain a
    URL if one of several links to that URL may be followed.

    Args:
        response: the page.
        whole_page: whether the page asks to follow none of its links.
    """
    lower = response.body.lower()
    if not whole_page and not any(rel.encode() in lower for rel in _NOT_TO_FOLLOW):
        return set()
    try:
        # Scrapy keeps the parsed page, so it is parsed only once.
        base = get_base_url(response)
        root = response.selector.root
    except ValueError:  # Scrapy's selectors fail if the page names an impossible base URL.
        base = response.url
        root = Selector(text=response.text).root
    unfollowed: set[str] = set()
    free: set[str] = set()
    for element in root.iter("a", "area"):
        href = element.get("href")
        if href is None:
            continue
        with suppress(ValueError):  # No request can be made from an impossible URL.
            target = urljoin(base, strip_html5_whitespace(href))
            url = urldefrag(safe_url_string(target, encoding=response.encoding)).url
            # Commas may separate the values of `rel`, too.
            rels = element.get("rel", "").lower().replace(",", " ").split()
            if whole_page or not _NOT_TO_FOLLOW.isdisjoint(rels):
                unfollowed.add(url)
            else:
                free.add(url)
    unfollowed -= free
    return unfollowed | ({canonicalize_url(url) for url in unfollowed} - free)
