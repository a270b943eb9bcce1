"""Reads the rules of one page from its headers, its robots meta tags and its links.

`Directives` is a dict that maps names of rules to values. The value of a word such as "noindex" is
True, the value of a limit such as "max-snippet" is its text, and the value of "unavailable_after"
is a time in ISO 8601. These are plain values, so that `request.meta` and a JOBDIR can contain them.

If a page has several rules, all of them apply. If two of them contradict each other, the more
restrictive one applies.

Parsing a page is slow, and most pages have no robots meta tag. Therefore the first bytes of a page
are searched for the names of crawlers, such as "robots". If one of the names is found, the head of
the page is parsed in small steps, up to the beginning of the body or up to `MOST_HEAD_BYTES`.

A link is the `href` of an `a` or `area` element, resolved against the base URL of the page, as in
Scrapy's link extractors. The URLs of requests and links are compared in the form that Scrapy gives
them, without their fragments.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications", and
Google's page on qualifying links. libxml2 finds the end of a head as HTML defines it.
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

EVERYONE = "robots"  # A meta tag with this name is for all crawlers.

# Only this many characters are read from all `X-Robots-Tag` headers of a page together. The same
# limit applies to all robots meta tags of a page together. Twisted's client does not accept a
# longer header line.
MOST_BYTES = 16 * 1024
# If a page has this many directives, further ones are kept only if they are in `KNOWN`.
MOST_NAMES = 100

# These directives have no effect, because they state the default.
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

# Google generally does not follow a link that has one of these values in its `rel` (Google's page
# on qualifying links).
_NOT_TO_FOLLOW = frozenset({"nofollow", "ugc", "sponsored"})
# Only this many bytes at the beginning of a page are searched for robots meta tags. Most heads are
# shorter than 8 KiB.
MOST_HEAD_BYTES = 64 * 1024
MOST_TAGS = 100  # At most this many robots meta tags of a page are read.
_STEP = 8 * 1024  # The parser gets this many bytes of a page at a time.
# A meta tag is read only if all elements that contain it are of these kinds. A meta tag in a
# template, for example, is not read.
_HOLD_TAGS = frozenset({"html", "head", "noscript"})


def in_headers(values: Iterable[str], names: Collection[str]) -> Directives:
    """Return the directives for a crawler in `X-Robots-Tag` headers.

    Args:
        values: the value of each header line. In a value such as "mybot: noindex", the directives
            are only for crawlers with the product token before the colon.
        names: the crawler's product tokens, in lower case.
    """
    directives: Directives = {}
    for value in "\n".join(values)[:MOST_BYTES].split("\n"):
        for addressee, name, text in _statements(value, addressed=True):
            if not addressee or addressee in names:
                _add(directives, name, text)
    return directives


def in_meta_tags(contents: Iterable[str], directives: Directives) -> Directives:
    """Add the directives of a page's robots meta tags to `directives`, and return `directives`.

    `contents` are the values of the attribute `content` of the meta tags. If a directive has
    different values, the more restrictive value is kept.
    """
    # A date may contain one comma, as in "wed, 25 jun 2031". So two commas are put between the
    # contents. Otherwise the content after a date could be read as a part of the date.
    joined = ",,".join(contents)
    for _, name, text in _statements(joined[:MOST_BYTES], addressed=False):
        _add(directives, name, text)
    return directives


def at_time(now: float, directives: Directives) -> Directives:
    """Return the directives that apply at the time `now`, in seconds since the epoch.

    If the date of "unavailable_after" has passed, "noindex" is added.
    """
    until = directives.get(_UNTIL)
    if isinstance(until, str) and datetime.fromisoformat(until).timestamp() <= now:
        return {**directives, "noindex": True}
    return directives


def _statements(text: str, *, addressed: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the product token, the name and the value of each directive in `text`, in lower case.

    The token is "" if the directive is for all crawlers. The value is "" if there is none.

    Args:
        text: directives with commas between them.
        addressed: whether the text is a header. In a header, the product token of a crawler and a
            colon may come before directives.
    """
    addressee = ""
    pieces = iter(text.lower().split(","))
    for piece in pieces:
        name, colon, value = (part.strip() for part in piece.partition(":"))
        while addressed and colon and name not in _VALUED and _WORD.match(name):
            addressee = name
            name, colon, value = (part.strip() for part in value.partition(":"))
        # A date such as "wed, 25 jun 2031 15:00:00 gmt" contains a comma. So it was cut into
        # two pieces.
        if name == _UNTIL and value[:3] in _DAYS:
            value = f"{value},{next(pieces, '')}"
        if not colon or name in _VALUED:
            yield addressee, name, value


def _add(directives: Directives, name: str, text: str) -> None:
    """Add a directive to `directives`. If it is there already, keep the more restrictive value.

    The more restrictive value is the smaller limit or the earlier date. Dates are kept as texts in
    UTC, so that their alphabetical order is chronological. If a value cannot be read, the directive
    is ignored, as Google's page requires for dates.
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
    """Return a limit as a number, so that the smaller of two limits can be found.

    The limit -1 means that there is no limit, so it becomes infinity. A word, such as "large",
    becomes its index in `_PREVIEWS`.
    """
    if text in _PREVIEWS:
        return _PREVIEWS.index(text)
    if text == "-1":
        return float("inf")
    return int(text)


# The directives of a page


def directives_of(response: Response, names: Iterable[str]) -> Directives:
    """Return the directives for a crawler in the headers of `response` and in the head of its page.

    Directives for all crawlers are included. The head is read only if the page is HTML.

    Args:
        response: the response.
        names: the crawler's product tokens, in lower case.
    """
    tokens = frozenset(names)
    values = response.headers.getlist("X-Robots-Tag")
    directives = in_headers((value.decode("latin-1") for value in values), tokens)
    if isinstance(response, HtmlResponse):
        in_meta_tags(contents_of_tags(response, {EVERYONE, *tokens}), directives)
    return directives


def contents_of_tags(page: TextResponse, names: Collection[str]) -> list[str]:
    """Find the meta tags with one of `names` in the head of `page`, and return their contents.

    The names are in lower case.
    """
    # The parser would take a byte order mark for the beginning of the body.
    start = page.body[:MOST_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf")
    lower = start.lower()
    if not any(name.encode("ascii", "replace") in lower for name in names):
        return []
    return list(islice(_contents(start, names), MOST_TAGS))


def _contents(start: bytes, names: Collection[str]) -> Iterator[str]:
    """Find the meta tags with one of `names` in the head of a page, and yield their contents.

    `start` contains the first bytes of the page.
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
    """Return the URLs of the links that crawlers should not follow according to a page.

    The URLs have no fragments. A page may have several links to one URL. If crawlers may follow one
    of these links, the URL is left out. All other URLs are returned in two forms: the form that
    they have in a request, and the canonical form, as from a `LinkExtractor(canonicalize=True)`.

    Args:
        response: the page.
        whole_page: whether the page asks crawlers not to follow any of its links.
    """
    lower = response.body.lower()
    if not whole_page and not any(rel.encode() in lower for rel in _NOT_TO_FOLLOW):
        return set()
    try:
        # Scrapy keeps the parsed page, so it is parsed only once.
        base = get_base_url(response)
        root = response.selector.root
    except ValueError:  # Scrapy's selectors fail if the base URL in the page is not a valid URL.
        base = response.url
        root = Selector(text=response.text).root
    unfollowed: set[str] = set()
    free: set[str] = set()
    for element in root.iter("a", "area"):
        href = element.get("href")
        if href is None:
            continue
        with suppress(ValueError):  # The URL is not valid, so a spider cannot request it.
            target = urljoin(base, strip_html5_whitespace(href))
            # `response.follow` escapes a query in the encoding of the page, but a request for
            # `response.urljoin(href)` escapes it in UTF-8.
            encodings = {response.encoding} if target.isascii() else {response.encoding, "utf-8"}
            urls = set()
            for encoding in encodings:
                # If the encoding lacks a character, the page may contain its number ("&#8364;").
                with suppress(UnicodeEncodeError):
                    urls.add(urldefrag(safe_url_string(target, encoding=encoding)).url)
            # The values of `rel` may be separated by blanks or commas.
            rels = element.get("rel", "").lower().replace(",", " ").split()
            if whole_page or not _NOT_TO_FOLLOW.isdisjoint(rels):
                unfollowed.update(urls)
            else:
                free.update(urls)
    unfollowed -= free
    return unfollowed | ({canonicalize_url(url) for url in unfollowed} - free)
