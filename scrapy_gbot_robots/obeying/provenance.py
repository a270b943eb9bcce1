"""`GBOT_ROBOTS_PROVENANCE`: which robots.txt allowed each page, in its response and in its items.

The downloader middleware writes the provenance into the request's meta when it lets the request go on. A pipeline sees items
without their responses. So a spider middleware notes the provenance of each item, and the pipeline puts it into the item.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from ..meta import PROVENANCE
from ..settings import GbotSettings

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from ..core.verdict import Verdict
    from .answer import Answer

_MOST_ITEMS = 10_000  # on their way to the pipeline; beyond that, the first ones are forgotten

logger = logging.getLogger(__name__)


def attach(request: Request, answer: Answer, verdict: Verdict) -> None:
    """Write into the meta of `request` which robots.txt lets it go on."""
    source = answer.of_site
    fetched_at = None if source is None else source.fetched_at
    request.meta[PROVENANCE] = {
        "robots": None if source is None else source.robots_sha256,
        "fetched": None if fetched_at is None else _iso(fetched_at),
        "status": None if source is None else source.status,
        "line": None if verdict.rule is None else verdict.rule.line,
        "group": verdict.group,
        "override": verdict.override,
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat(timespec="seconds")


class ProvenanceSpiderMiddleware(BaseSpiderMiddleware):
    """Notes for each item that the spider yields which robots.txt allowed its page."""

    def __init__(self, crawler: Crawler) -> None:
        """Take part in the crawl.

        Raises:
            NotConfigured: `GBOT_ROBOTS_PROVENANCE` is off.
        """
        if not GbotSettings.of(crawler.settings).provenance:
            raise NotConfigured
        super().__init__(crawler)
        self._noted: OrderedDict[int, tuple[Any, dict[str, Any]]] = (
            OrderedDict()
        )  # by id: the item, which keeps its id, and the note
        for ended in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._ended, ended)

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Note the provenance of `item`."""
        if response is not None and response.meta.get(PROVENANCE) is not None:
            self._noted[id(item)] = (item, response.meta[PROVENANCE])
            if len(self._noted) > _MOST_ITEMS:
                self._noted.popitem(last=False)
        return item

    def noted(self, item: Any) -> dict[str, Any] | None:
        """Return the provenance of `item`; None if it has none, or if another pipeline made a new item of it."""
        return self._noted[id(item)][1] if id(item) in self._noted else None

    def _ended(self, item: Any) -> None:
        self._noted.pop(id(item), None)


class ProvenancePipeline:
    """Puts the provenance of its page into each item, in the field that `GBOT_ROBOTS_PROVENANCE_FIELD` names.

    It should come before pipelines that replace items by new ones.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Take part in the crawl.

        Raises:
            NotConfigured: `GBOT_ROBOTS_PROVENANCE` is off.
        """
        settings = GbotSettings.of(crawler.settings)
        if not settings.provenance:
            raise NotConfigured("GBOT_ROBOTS_PROVENANCE is off")
        self._crawler = crawler
        self._field = settings.provenance_field
        self._notes: ProvenanceSpiderMiddleware | None = None
        self._said = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the pipeline."""
        return cls(crawler)

    def open_spider(self) -> None:
        """Find the spider middleware that has the notes."""
        self._notes = self._crawler.get_spider_middleware(ProvenanceSpiderMiddleware)
        if self._notes is None:
            logger.warning(
                "ProvenancePipeline needs ProvenanceSpiderMiddleware in SPIDER_MIDDLEWARES, at 0; without it, items get no "
                "provenance"
            )

    def process_item(self, item: Any) -> Any:
        """Put the provenance into `item`. An item without the field goes on as it is."""
        noted = None if self._notes is None else self._notes.noted(item)
        if noted is not None:
            try:
                ItemAdapter(item)[self._field] = dict(noted)
            except (KeyError, TypeError):
                self._say_once(item)
        return item

    def _say_once(self, item: Any) -> None:
        self._crawler.stats.inc_value("gbot_robots/provenance/without_field")
        if not self._said:
            self._said = True
            logger.warning(
                "Items of %s have no field %r, so they go on without provenance; add the field, or set "
                "GBOT_ROBOTS_PROVENANCE_FIELD to another one",
                type(item).__qualname__,
                self._field,
            )
