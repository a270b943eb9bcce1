"""What a crawl is for, held against what sites say about the use of their pages.

A purpose is a label of the drafts, such as "train-ai". It is refused only if the site says so. A
crawl says its purposes by `GBOT_ROBOTS_PURPOSES`, and by `GBOT_ROBOTS_PREFERENCES` whether a
refusal is only noted; the command has `--purpose`.

The crawl reads the robots.txt before it fetches a page. The headers of a page are about that page
only. The more restrictive of both counts. A crawl without a purpose uses nothing of this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..core.verdict import Verdict
from ..meta import PREFERENCES
from .preferences import LABELS, Preferences, combined, of_headers

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

# of `Preferences`, by purpose
_ATTRIBUTES = {key.decode(): attribute for attribute, key, _ in LABELS}
PURPOSES = tuple(_ATTRIBUTES)

GRANTED, REFUSED, UNSAID = "granted", "refused", "unsaid"


def word_on(purpose: str, stated: Preferences) -> str:
    """Whether `stated` grants or refuses a purpose: "granted", "refused" or "unsaid"."""
    return {True: GRANTED, False: REFUSED}.get(getattr(stated, _ATTRIBUTES[purpose]), UNSAID)


def refusal(purposes: Iterable[str], stated: Preferences, who: str = "the site") -> Verdict | None:
    """Return why a page may not be used for `purposes`, None if it may.

    `who` names the author of `stated`.
    """
    refused = [purpose for purpose in purposes if word_on(purpose, stated) == REFUSED]
    if not refused:
        return None
    where = f" (line {', '.join(map(str, stated.lines))})" if stated.lines else ""
    return Verdict(allowed=False, rule=None, reason=f"{who} refuses {', '.join(refused)}{where}")


class PreferenceCheck:
    """Compares the preferences of sites with the purposes of one crawl."""

    def __init__(self, purposes: tuple[str, ...], crawler: Crawler, *, refuses: bool) -> None:
        self._purposes = purposes
        self._crawler = crawler
        self._refuses = refuses

    @classmethod
    def of_crawl(
        cls, crawler: Crawler, purposes: tuple[str, ...], preferences: str
    ) -> PreferenceCheck | None:
        """Return the check for the settings of a crawl.

        None if the crawl has no purposes, or reads no preferences.
        """
        if not purposes or preferences == "off":
            return None
        return cls(purposes, crawler, refuses=preferences == "refuse")

    def before(self, request: Request, stated: Preferences) -> Verdict | None:
        """Note what robots.txt has `stated` about the page of `request`.

        Returns a verdict if that forbids the request.
        """
        request.meta[PREFERENCES] = _note(stated)
        verdict = refusal(self._purposes, stated) if self._refuses else None
        if verdict is not None:
            self._count(stated)
        return verdict

    def after(self, request: Request, response: Response) -> Verdict | None:
        """Add what the headers of `response` say.

        Returns a verdict if they keep the response from the spider.
        """
        noted = request.meta.get(PREFERENCES)
        if noted is None:
            return None
        headers = response.headers
        by_header = of_headers(headers.getlist("Content-Usage"), headers.getlist("Content-Signal"))
        stated = combined([_from_note(noted), by_header])
        request.meta[PREFERENCES] = _note(stated)
        self._count(stated)
        for purpose in self._purposes:
            if word_on(purpose, by_header) == REFUSED:
                self._crawler.stats.inc_value(f"gbot_robots/preference/{purpose}/by_header")
        if not self._refuses:
            return None
        return refusal(self._purposes, by_header, "a header of the page")

    def _count(self, stated: Preferences) -> None:
        for purpose in self._purposes:
            self._crawler.stats.inc_value(
                f"gbot_robots/preference/{purpose}/{word_on(purpose, stated)}"
            )


def _note(stated: Preferences) -> dict[str, Any]:
    """The preferences as plain values, for `request.meta`."""
    return {
        **{purpose: word_on(purpose, stated) for purpose in PURPOSES},
        "use": stated.use,
        "lines": list(stated.lines),
    }


def _from_note(noted: dict[str, Any]) -> Preferences:
    granted = {GRANTED: True, REFUSED: False}
    values: dict[str, Any] = {
        attribute: granted.get(noted[purpose]) for purpose, attribute in _ATTRIBUTES.items()
    }
    return Preferences(**values, use=noted["use"], lines=tuple(noted["lines"]))
