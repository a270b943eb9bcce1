"""The links that a page asks crawlers not to follow.

A link is the `href` of an `a` or `area`, resolved by the page's base URL, as for Scrapy's link extractors. Requests and
links are compared as Scrapy writes URLs, without their fragments.
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
    """The links of one page that it asks not to follow. The page is parsed with the first question, if at all.

    Args:
        response: the page.
        rels: the values of `rel`, in lower case, by which a link asks not to be followed.
        whole_page: whether the page asks to follow none of its links.
    """

    def __init__(self, response: TextResponse, rels: Set[str], *, whole_page: bool) -> None:
        self._response = response
        self._rels = rels
        self._whole_page = whole_page

    def leaves(self, url: str) -> bool:
        """Whether the page asks not to follow the link to `url`.

        False if one of several links to `url` may be followed.
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
        """The keys of the links that are `wanted`. Scrapy keeps the parsed page for the callback."""
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
    """The form in which requests and links are compared."""
    return urldefrag(url).url


def _names_one_of(rels: Set[str], body: bytes) -> bool:
    """Whether the page may have such a link. False saves parsing it."""
    lower = body.lower()
    return b"rel" in lower and any(rel.encode() in lower for rel in rels)
