"""What sites say about the use of their pages, noted or obeyed: `GBOT_ROBOTS_PURPOSES`, `GBOT_ROBOTS_PREFERENCES`.

The crawl reads the robots.txt before it fetches a page. The headers of a page are about that page only. The more restrictive
of both counts. A crawl without a purpose uses nothing of this module.
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

    from ..core.verdict import Verdict
    from ..settings import GbotSettings


def for_purposes(settings: GbotSettings, crawler: Crawler) -> PreferenceCheck | None:
    """Return the check of preferences for the purposes of a crawl; None if it has no purposes."""
    if not settings.purposes or settings.preferences == "off":
        return None
    return PreferenceCheck(settings.purposes, crawler, refuses=settings.preferences == "refuse")


class PreferenceCheck:
    """Compares the preferences of sites with the purposes of one crawl."""

    def __init__(self, purposes: tuple[str, ...], crawler: Crawler, *, refuses: bool) -> None:
        self._purposes = purposes
        self._crawler = crawler
        self._refuses = refuses

    def before(self, request: Request, said: Preferences) -> Verdict | None:
        """Note what robots.txt has `said` about the page of `request`; return a verdict if that forbids the request."""
        request.meta[PREFERENCES] = _note(said)
        verdict = refusal(self._purposes, said) if self._refuses else None
        if verdict is not None:
            self._count(said)
        return verdict

    def after(self, request: Request, response: Response) -> Verdict | None:
        """Add what the headers of `response` say; return a verdict if they keep the response from the spider."""
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
    """The preferences as plain values, for `request.meta`."""
    return {**{purpose: word_on(purpose, said) for purpose in PURPOSES}, "use": said.use, "lines": list(said.lines)}


def _from_note(noted: dict[str, Any]) -> Preferences:
    granted = {GRANTED: True, REFUSED: False}
    values: dict[str, Any] = {attribute: granted.get(noted[purpose]) for purpose, attribute in ATTRIBUTES.items()}
    return Preferences(**values, use=noted["use"], lines=tuple(noted["lines"]))
