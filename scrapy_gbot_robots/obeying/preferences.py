"""What sites say about the use of their pages, noted or kept to: `GBOT_ROBOTS_PURPOSES`, `GBOT_ROBOTS_PREFERENCES`.

Before a page is fetched its robots.txt has spoken; with the page its headers speak, for that page only. Of both the more
restrictive counts. Without a purpose nothing here is made, and nothing is paid.
Source: the drafts that `core.preferences` names. Experimental, as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.preferences import Preferences, combined, of_headers
from ..meta import PREFERENCES, PROVENANCE
from ..policy.purposes import ATTRIBUTES, GRANTED, PURPOSES, REFUSED, refusal, word_on

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from ..core.rules import Verdict
    from ..settings import GbotSettings


def for_purposes(settings: GbotSettings, crawler: Crawler) -> PreferenceCheck | None:
    """Return what holds preferences against the purposes of a crawl; None if it has none."""
    if not settings.purposes or settings.preferences == "off":
        return None
    return PreferenceCheck(settings.purposes, crawler, refuses=settings.preferences == "refuse")


class PreferenceCheck:
    """Holds what sites prefer against the purposes of one crawl."""

    def __init__(self, purposes: tuple[str, ...], crawler: Crawler, *, refuses: bool) -> None:
        self._purposes = purposes
        self._crawler = crawler
        self._refuses = refuses

    def before(self, request: Request, said: Preferences) -> Verdict | None:
        """Note what the robots.txt has `said` about the page of `request`; return why that may not be fetched, if so."""
        request.meta[PREFERENCES] = _note(said)
        verdict = refusal(self._purposes, said) if self._refuses else None
        if verdict is not None:
            self._count(said)
        return verdict

    def after(self, request: Request, response: Response) -> Verdict | None:
        """Add what the headers of `response` say; return why the spider may not see it, if so."""
        noted = request.meta.get(PREFERENCES)
        if noted is None:
            return None
        headers = response.headers
        by_header = of_headers(headers.getlist("Content-Usage"), headers.getlist("Content-Signal"))
        said = combined([_from_note(noted), by_header])
        request.meta[PREFERENCES] = _note(said)
        if isinstance(request.meta.get(PROVENANCE), dict):
            request.meta[PROVENANCE]["preferences"] = request.meta[PREFERENCES]
        self._count(said)
        for purpose in self._purposes:
            if word_on(purpose, by_header) == REFUSED:
                self._crawler.stats.inc_value(f"gbot_robots/preference/{purpose}/by_header")
        return refusal(self._purposes, by_header, "a header of the page") if self._refuses else None

    def _count(self, said: Preferences) -> None:
        for purpose in self._purposes:
            self._crawler.stats.inc_value(f"gbot_robots/preference/{purpose}/{word_on(purpose, said)}")


def _note(said: Preferences) -> dict[str, Any]:
    """What is said, as plain values for `request.meta`."""
    return {**{purpose: word_on(purpose, said) for purpose in PURPOSES}, "use": said.use, "lines": list(said.lines)}


def _from_note(noted: dict[str, Any]) -> Preferences:
    granted = {GRANTED: True, REFUSED: False}
    values: dict[str, Any] = {attribute: granted.get(noted[purpose]) for purpose, attribute in ATTRIBUTES.items()}
    return Preferences(**values, use=noted["use"], lines=tuple(noted["lines"]))
