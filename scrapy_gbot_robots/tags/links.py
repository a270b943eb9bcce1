"""The links of a page that a crawler is asked not to follow.

A link is what Scrapy's link extractors take for one: the `href` of an `a` or `area`, resolved by the page's base URL.
Requests and links are compared as Scrapy writes URLs, without their fragments.
Source: Google's page "Qualify your outbound links to Google".
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urldefrag, urljoin

from scrapy.utils.response import get_base_url
from w3lib.html import strip_html5_whitespace
from w3lib.url import safe_url_string

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from scrapy.http import TextResponse

NOFOLLOW: Final = frozenset({"nofollow"})
QUALIFIED: Final = frozenset({"nofollow", "ugc", "sponsored"})


class PageLinks:
    """Which links of one page are to be left. What takes time is done when the first request asks for it.

    Args:
        response: the page.
        rels: the values of `rel`, in lower case, that ask to leave a single link.
        whole_page: whether the page asks to leave all its links.
    """

    def __init__(self, response: TextResponse, rels: Set[str], *, whole_page: bool) -> None:
        self._response = response
        self._rels = rels
        self._whole_page = whole_page

    def leaves(self, url: str) -> bool:
        """Whether a request for `url` follows a link that is to be left.

        A URL to which another link of the page leads that asks nothing may be followed.
        """
        key = _key_of(url)
        return key in self._asked and key not in self._free

    @cached_property
    def _asked(self) -> set[str]:
        if self._whole_page:
            return self._keys(lambda _: True)
        if not _names_one_of(self._rels, self._response.body):
            return set()
        return self._keys(self._is_asked)

    @cached_property
    def _free(self) -> set[str]:
        return set() if self._whole_page else self._keys(lambda element: not self._is_asked(element))

    def _is_asked(self, element: Any) -> bool:
        return not self._rels.isdisjoint((element.get("rel") or "").lower().split())

    def _keys(self, wanted: Callable[[Any], bool]) -> set[str]:
        """The keys of the links that are `wanted`. The page is parsed once: Scrapy keeps the selector for the callback."""
        base, encoding = get_base_url(self._response), self._response.encoding
        keys = set()
        for element in self._response.selector.root.iter("a", "area"):
            href = element.get("href")
            if href is not None and wanted(element):
                with suppress(ValueError):  # no request can be made of it
                    url = urljoin(base, strip_html5_whitespace(href))
                    keys.add(_key_of(safe_url_string(url, encoding=encoding)))
        return keys


def _key_of(url: str) -> str:
    """What requests and links are compared by."""
    return urldefrag(url).url


def _names_one_of(rels: Set[str], body: bytes) -> bool:
    """Whether it is worth while to parse the page."""
    lower = body.lower()
    return b"rel" in lower and any(rel.encode() in lower for rel in rels)
