"""`GBOT_ROBOTS_PROVENANCE_FIELD`: which robots.txt allowed an item's page, in a field of the item.

The downloader middleware writes it into the request's meta when it lets the request go on. It is
copied from there before any pipeline sees the item.
"""

from __future__ import annotations

import logging
from typing import Any

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from ..meta import PROVENANCE
from ..settings import GbotSettings

logger = logging.getLogger(__name__)


class ProvenanceSpiderMiddleware(BaseSpiderMiddleware):
    """Puts the provenance of its page into each item that the spider yields."""

    def __init__(self, crawler: Crawler) -> None:
        """Take part in the crawl.

        Raises:
            NotConfigured: `GBOT_ROBOTS_PROVENANCE` is off, or no field is named.
        """
        settings = GbotSettings.of(crawler.settings)
        if not (settings.provenance and settings.provenance_field):
            raise NotConfigured
        super().__init__(crawler)
        self._field = settings.provenance_field
        self._has_warned = False

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Put the provenance into `item`. An item without the field goes on as it is."""
        proof = response.meta.get(PROVENANCE) if response is not None else None
        if proof is not None:
            try:
                ItemAdapter(item)[self._field] = dict(proof)
            except (KeyError, TypeError):
                self.crawler.stats.inc_value("gbot_robots/provenance/without_field")
                if not self._has_warned:
                    self._has_warned = True
                    logger.warning(
                        "Items of %s have no field %r, so they go on without provenance; "
                        "add the field, or set GBOT_ROBOTS_PROVENANCE_FIELD to another one",
                        type(item).__qualname__,
                        self._field,
                    )
        return item
