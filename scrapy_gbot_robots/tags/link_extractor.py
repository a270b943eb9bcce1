"""`RobotsLinkExtractor`: a link extractor for `CrawlSpider` that leaves out links that a page asks not to follow.

It is Scrapy's own with one more filter. It uses `response.meta["robots_tags"]`. Where `GBOT_ROBOTS_TAGS` is off, it uses
what the page says to every crawler. The page is parsed once, by Scrapy's selector.
Source: Google's pages on robots meta tags and on qualifying links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from ..meta import TAGS
from .links import NOFOLLOW, PageLinks
from .middleware import directives_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.http import TextResponse
    from scrapy.link import Link


class RobotsLinkExtractor(LinkExtractor):
    """Scrapy's `LinkExtractor` without links that say nofollow. A page that says nofollow has no links at all.

    Args:
        rels: the values of `rel` for which a link is left out. {"nofollow"} by default; Google also knows "ugc" and
            "sponsored".
        args, kwargs: as for Scrapy's `LinkExtractor`.
    """

    def __init__(self, *args: Any, rels: Iterable[str] = NOFOLLOW, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rels = frozenset(rel.lower() for rel in rels)

    def extract_links(self, response: TextResponse) -> list[Link]:
        """The links of `response` that may be followed."""
        found = (response.request.meta if response.request is not None else {}).get(TAGS)
        if found is None:
            found = directives_of(response, ())
        if "nofollow" in found:
            return []
        links: list[Link] = super().extract_links(response)
        if not links or not isinstance(response, HtmlResponse):
            return links
        of_page = PageLinks(response, self._rels, whole_page=False)
        return [link for link in links if not of_page.leaves(link.url)]
