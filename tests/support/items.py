"""Crawls with and without the add-on, and the items that each gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import signals

from .crawls import crawl

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self


async def items(spider: type[Spider], settings: dict[str, Any], *, addon: bool) -> list[Any]:
    """The items of a crawl, as its pipelines have left them, sorted by what they look like."""
    kept: list[Any] = []

    def keep(item: Any) -> None:
        kept.append(item)

    class Kept(spider):  # type: ignore[misc,valid-type]
        @classmethod
        def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
            crawler.signals.connect(keep, signals.item_scraped, weak=False)
            made: Self = super().from_crawler(crawler, *args, **kwargs)
            return made

    await crawl(Kept, settings, addon=addon)
    return sorted(kept, key=repr)
