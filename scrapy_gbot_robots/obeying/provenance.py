"""`GBOT_ROBOTS_PROVENANCE`: which robots.txt let a request go on, in the request's meta.

The downloader middleware writes it when it lets the request go on. The spider middleware copies it
into the items of the page, before any pipeline sees them, if `GBOT_ROBOTS_PROVENANCE_FIELD` names a
field. Source: our own.
"""

from __future__ import annotations

import logging
from hashlib import sha256
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from ..core.verdict import Verdict
from ..meta import PREFERENCES, PROVENANCE
from ..policy.outages import Copy, Kind, date_of
from ..settings import GbotSettings
from .answer import CachedAnswer

logger = logging.getLogger(__name__)


def hash_of(copy: Copy) -> str | None:
    """Return the SHA-256 of a robots.txt, in hexadecimal; None if the server has none."""
    return sha256(copy.body).hexdigest() if copy.kind is Kind.RULES else None


def write(request: Request, answer: CachedAnswer, verdict: Verdict) -> None:
    """Say by which `answer` and `verdict` the request goes on."""
    proof: dict[str, Any] = {
        "robots": answer.robots_sha256,
        "fetched": None,
        "status": answer.status,
        "line": None,
        "group": verdict.group,
        "override": verdict.override,
    }
    if answer.fetched_at is not None:
        date = date_of(answer.fetched_at)
        if date is not None:
            proof["fetched"] = date.isoformat(timespec="seconds")
    if verdict.rule is not None:
        proof["line"] = verdict.rule.line
    request.meta[PROVENANCE] = proof


def remove(request: Request) -> None:
    """Remove what is another page's, if the request was made from that page's meta."""
    request.meta.pop(PROVENANCE, None)
    request.meta.pop(PREFERENCES, None)


class ProvenanceSpiderMiddleware(BaseSpiderMiddleware):
    """Puts the provenance of a page into its items, if `GBOT_ROBOTS_PROVENANCE_FIELD` is set."""

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
            except (KeyError, TypeError, AttributeError):  # the last of a frozen dataclass
                self.crawler.stats.inc_value("gbot_robots/provenance/without_field")
                if not self._has_warned:
                    self._has_warned = True
                    logger.warning(
                        "Items of %s take no field %r, so they go on without provenance; "
                        "add the field, or set GBOT_ROBOTS_PROVENANCE_FIELD to another one",
                        type(item).__qualname__,
                        self._field,
                    )
        return item
