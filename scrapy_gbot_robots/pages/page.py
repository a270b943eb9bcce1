"""What one page says to crawlers: by headers, by robots meta tags, by links not to follow.

Most pages name no crawler in their first bytes: one search tells. The head of other pages is parsed
in small steps up to where the body begins, and no further than `MOST_BYTES`. A link is the `href`
of an `a` or `area`, resolved by the page's base URL, as for Scrapy's link extractors. Requests and
links are compared as Scrapy writes URLs, without their fragments.
Source: Google's pages on robots meta tags, which it asks for in the head, and on qualifying links;
HTML's rules on where a head ends, as libxml2 has them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from contextlib import suppress
from itertools import islice
from typing import Any
from urllib.parse import urldefrag, urljoin

from lxml import etree
from parsel import Selector
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.link import Link
from scrapy.linkextractors import LinkExtractor
from scrapy.utils.response import get_base_url
from w3lib.html import strip_html5_whitespace
from w3lib.url import safe_url_string

from ..meta import TAGS
from .directives import EVERYONE, Directives, in_headers, in_meta_tags

NOFOLLOW = frozenset({"nofollow"})
QUALIFIED = frozenset({"nofollow", "ugc", "sponsored"})
MOST_BYTES = 64 * 1024  # that are read of a page; most heads take less than 8 KiB
MOST_TAGS = 100
_STEP = 8 * 1024
_HOLD_TAGS = frozenset({"html", "head", "noscript"})  # a tag in a template, say, is of no page


def directives_of(response: Response, names: Iterable[str]) -> Directives:
    """The directives in the headers of `response` and, if it is an HTML page, in its head.

    Args:
        response: as downloaded.
        names: the crawler's product tokens, in lower case. Directives for everyone always count.
    """
    tokens = frozenset(names)
    values = response.headers.getlist("X-Robots-Tag")
    directives = in_headers((value.decode("latin-1") for value in values), tokens)
    if isinstance(response, HtmlResponse):
        in_meta_tags(meta_tags(response, {EVERYONE, *tokens}), directives)
    return directives


def said_by(response: Response | None) -> Directives | None:
    """What the middleware has read of the page; None if it has not."""
    if response is None or response.request is None:
        return None
    directives: Directives | None = response.request.meta.get(TAGS)
    return directives


def meta_tags(page: TextResponse, names: Collection[str]) -> list[str]:
    """The content of each meta tag in the head of `page` that has one of `names`, in lower case."""
    # A byte order mark would begin the body.
    start = page.body[:MOST_BYTES].removeprefix(b"\xef\xbb\xbf")
    lower = start.lower()
    if b"<meta" not in lower:
        return []
    if not any(name.encode("ascii", "replace") in lower for name in names):
        return []
    return list(islice(_contents(start, names), MOST_TAGS))


def _contents(start: bytes, names: Collection[str]) -> Iterator[str]:
    """Yield what `meta_tags` returns, of a page that begins with `start`, until its body begins."""
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


def links_not_to_follow(
    response: TextResponse, rels: Set[str], *, whole_page: bool = False
) -> set[str]:
    """The URLs, without fragments, of the links that a page asks not to follow.

    A URL is not among them if one of several links to it may be followed.

    Args:
        response: the page.
        rels: the values of `rel`, in lower case, by which a link asks not to be followed.
        whole_page: whether the page asks to follow none of its links.
    """
    lower = response.body.lower()
    if not whole_page and not (b"rel" in lower and any(rel.encode() in lower for rel in rels)):
        return set()
    try:
        # Scrapy keeps the parsed page, so that it is parsed once only.
        base = get_base_url(response)
        root = response.selector.root
    except ValueError:  # the page names an impossible base URL, on which Scrapy's selectors fail
        base = response.url
        root = Selector(text=response.text).root
    unfollowed: set[str] = set()
    free: set[str] = set()
    for element in root.iter("a", "area"):
        href = element.get("href")
        if href is None:
            continue
        with suppress(ValueError):  # no request can be made of it
            target = urljoin(base, strip_html5_whitespace(href))
            url = urldefrag(safe_url_string(target, encoding=response.encoding)).url
            if whole_page or not rels.isdisjoint(element.get("rel", "").lower().split()):
                unfollowed.add(url)
            else:
                free.add(url)
    return unfollowed - free


class RobotsLinkExtractor(LinkExtractor):
    """Scrapy's `LinkExtractor` without links that say nofollow.

    A page that says nofollow has no links at all.

    Args:
        rels: the values of `rel` for which a link is left out. {"nofollow"} by default; Google also
            knows "ugc" and "sponsored".
        args, kwargs: as for Scrapy's `LinkExtractor`.
    """

    def __init__(self, *args: Any, rels: Iterable[str] = NOFOLLOW, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rels = frozenset(rel.lower() for rel in rels)

    def extract_links(self, response: TextResponse) -> list[Link]:
        """The links of `response` that may be followed."""
        directives = said_by(response)
        if directives is None:
            directives = directives_of(response, ())
        if "nofollow" in directives:
            return []
        links: list[Link] = super().extract_links(response)
        if not links or not isinstance(response, HtmlResponse):
            return links
        unfollowed = links_not_to_follow(response, self._rels)
        return [link for link in links if urldefrag(link.url).url not in unfollowed]
