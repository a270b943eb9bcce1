"""Crawls with and without the add-on, and the items that each gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .crawls import crawl

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class Keeps:
    """A pipeline that keeps the items of its crawl, after all others."""

    def __init__(self, crawler: Crawler) -> None:
        self.items: list[Any] = []
        crawler.items = self.items  # type: ignore[attr-defined]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_item(self, item: Any, spider: Any = None) -> Any:
        self.items.append(item)
        return item


async def items(spider: type[Spider], settings: dict[str, Any], *, addon: bool, **arguments: Any) -> list[Any]:
    """The items of a crawl, sorted by what they look like."""
    pipelines = {**settings.get("ITEM_PIPELINES", {}), Keeps: 900}
    crawler = await crawl(spider, {**settings, "ITEM_PIPELINES": pipelines}, addon=addon, **arguments)
    return sorted(crawler.items, key=repr)  # type: ignore[attr-defined]
