"""What robots.txt did to a crawl: a short summary in the log at its end, and an HTML page if a setting asks for one.

The extension listens to the plugin's signals. Its memory is bounded, however many origins a crawl meets and however many
rules block requests.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scrapy import signals

from ..concurrency import run_in_thread
from ..experimental.purposes import GRANTED, REFUSED, UNSAID
from ..settings import GbotSettings
from ..signals import override_used, request_forbidden, robotstxt_known, robotstxt_unreachable
from ..sitemaps.feed import left_out
from . import file
from .facts import FINISHED, OverrideRow, PreferenceRow, Report, RuleRow
from .origins import Origins
from .over_time import OverTime
from .page import page
from .summary import summary
from .tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from ..core.verdict import Verdict
    from ..exceptions import ForbiddenByRobotsTxt
    from ..obeying.answer import Answer
    from ..policy.overrides import Override

_ROWS = 1_000  # of each table
_REASONS = 10  # on the page
_MOST_REASONS = 1_000  # counted one by one: a reason may contain a server's error text, so there may be any number
_BY_A_RULE = "by a rule of the robots.txt"

logger = logging.getLogger(__name__)


class _Rule(NamedTuple):
    """A rule that blocked requests, by its robots.txt and line."""

    robots_txt: str
    line: int
    text: str
    group: str


class _Use:
    """How often one override decided, and how."""

    __slots__ = ("against", "override", "refused", "requests")

    def __init__(self, override: Override) -> None:
        self.override = override
        self.requests = self.refused = self.against = 0

    @property
    def row(self) -> OverrideRow:
        """The row of a table."""
        override = self.override
        until = "" if override.until is None else override.until.isoformat()
        return OverrideRow(
            self.requests, self.refused, self.against, override.key, override.what, override.reason, until
        )


class RobotsReport:
    """The extension: logs the summary at INFO, and writes the page that `GBOT_ROBOTS_REPORT` names."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._path = settings.report
        self._purposes = settings.purposes
        self._began = time.time()
        self._origins = Origins()
        self._rules: Tally[_Rule] = Tally()
        self._reasons: Tally[str] = Tally(_MOST_REASONS)
        self._over_time = OverTime(self._began)
        self._blocked = 0
        self._uses: dict[str, _Use] = {}  # by the key of an override; bounded, as the user has written all of them
        self._finish_reason = FINISHED

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension.

        Raises:
            ValueError: a setting has a wrong value, or the page cannot be written at its path.
        """
        settings = GbotSettings.of(crawler.settings)
        if settings.report is not None:
            _try_out(settings.report)
        report = cls(crawler, settings)
        crawler.signals.connect(report._learnt, robotstxt_known)
        crawler.signals.connect(report._learnt, robotstxt_unreachable)
        crawler.signals.connect(report._request_forbidden, request_forbidden)
        crawler.signals.connect(report._override_used, override_used)
        crawler.signals.connect(report._spider_closed, signals.spider_closed)
        return report

    def summary(self) -> str:
        """Say in a few lines what robots.txt did to the crawl."""
        return summary(self._report())

    def _learnt(self, answer: Answer) -> None:
        self._origins.learn(answer)

    def _request_forbidden(self, error: ForbiddenByRobotsTxt) -> None:
        self._blocked += 1
        self._over_time.add(time.time())
        self._reasons.add(_BY_A_RULE if error.verdict.rule is not None else error.verdict.reason)
        if error.origin is None:
            return
        self._origins.blocked(error.origin)
        verdict = error.verdict
        if verdict.rule is not None and verdict.override is None:  # else it may be a rule of the override
            rule = verdict.rule
            self._rules.add(_Rule(error.origin.robots_url, rule.line, str(rule), verdict.group or ""))

    def _override_used(self, override: Override, refusal: Verdict | None, against_robotstxt: bool) -> None:
        use = self._uses.setdefault(override.key, _Use(override))
        use.requests += 1
        use.refused += refusal is not None
        use.against += against_robotstxt

    async def _spider_closed(self, spider: Spider, reason: str) -> None:
        self._finish_reason = reason
        report = self._report()
        if self._origins or self._blocked or self._uses:
            logger.info("%s", summary(report), extra={"spider": spider})
        if self._path is not None:
            await run_in_thread(_write, self._path, page(report))

    def _report(self) -> Report:
        met = list(self._origins.met())
        uses = sorted(self._uses.values(), key=lambda use: -use.requests)
        return Report(
            spider=self._crawler.spider.name if self._crawler.spider is not None else "",
            began=self._began,
            ended=time.time(),
            finish_reason=self._finish_reason,
            obeyed=self._crawler.settings.getbool("ROBOTSTXT_OBEY"),
            blocked=self._blocked,
            by_state=Counter(each.state for each in met),
            by_source=Counter(each.source for each in met if each.source is not None),
            oldest_secs=self._origins.oldest_secs,
            exact=self._origins.exact,
            unreachable=sum(each.unreachable for each in met),
            unreachable_origins=self._origins.rows(_ROWS, unreachable=True),
            rules=[RuleRow(count, *rule) for rule, count in self._rules.top(_ROWS)],
            rules_known=len(self._rules),
            rules_exact=self._rules.exact,
            reasons=self._reasons.top(_REASONS),
            over_time=self._over_time.counts,
            span_secs=self._over_time.span_secs,
            origins=self._origins.rows(_ROWS),
            overrides=[use.row for use in uses[:_ROWS]],
            overrides_used=len(self._uses),
            preferences=self._preferences(),
            walled=self._crawler.stats.get_value("gbot_robots/walled", 0),
            sitemaps_left_out=left_out(self._crawler),
        )

    def _preferences(self) -> list[PreferenceRow]:
        """What sites said about each purpose of the crawl, by the stats."""
        get = self._crawler.stats.get_value
        words = (REFUSED, GRANTED, UNSAID)
        counts = {
            purpose: [get(f"gbot_robots/preference/{purpose}/{word}", 0) for word in words]
            for purpose in self._purposes
        }
        return [PreferenceRow(purpose, *numbers) for purpose, numbers in counts.items() if any(numbers)]


def _try_out(path: Path) -> None:
    try:
        file.try_out(path)
    except OSError as error:
        raise ValueError(
            f"GBOT_ROBOTS_REPORT must be the path of a file that can be written, got {str(path)!r}: {error}"
        ) from error


def _write(path: Path, text: str) -> None:
    """Write the page. If that fails, the page is lost and nothing else."""
    try:
        file.write(path, text)
    except OSError as error:
        logger.error("GBOT_ROBOTS_REPORT cannot be written: %s", error)  # noqa: TRY400  the message names the path
    else:
        logger.info("What robots.txt did to this crawl is shown in %s", path)
