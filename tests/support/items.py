"""Crawls with and without the add-on, and the items that each gives."""

from typing import Any

from pydispatch import dispatcher
from scrapy import Spider, signals

from .crawls import crawl


async def items(spider: type[Spider], settings: dict[str, Any], *, addon: bool) -> list[Any]:
    """The items of a crawl, as its pipelines have left them, sorted by what they look like."""
    kept: list[Any] = []

    def keep(item: Any) -> None:
        kept.append(item)

    dispatcher.connect(keep, signals.item_scraped)  # of any crawler
    await crawl(spider, settings, addon=addon)
    return sorted(kept, key=repr)
