"""What robots.txt did to a crawl: a short summary in the log at its end, and an HTML page if a setting asks for one.

The extension listens to the plugin's signals. Its memory is bounded, however many origins a crawl meets. It follows the
first `MOST_ORIGINS` one by one. It keeps only the state of the next `MOST_OTHERS`, so that each is counted once. With more
origins than these the summary says "more than".
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scrapy import signals

from ..concurrency import run_in_thread
from ..core.urls import shown
from ..policy.ladder import State
from ..policy.purposes import GRANTED, REFUSED, UNSAID
from ..settings import GbotSettings
from ..signals import override_used, request_forbidden, robotstxt_known, robotstxt_unreachable
from . import file
from .over_time import OverTime
from .page import OriginRow, OverrideRow, PreferenceRow, Report, RuleRow, page
from .tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from ..core.origin import Origin
    from ..core.rules import Verdict
    from ..exceptions import ForbiddenByRobotsTxt
    from ..obeying.answer import Answer
    from ..policy.overrides import Override

MOST_ORIGINS = 10_000  # followed one by one
MOST_OTHERS = 90_000  # only counted, at some 200 bytes each

_IN_SUMMARY = 5  # rules, and unreachable robots.txt files
_ON_PAGE = 1_000  # rows of a table
_IN_CHART = 10  # reasons
_REASONS = 1_000  # counted one by one; a reason may contain a server's error text, so there is no limit to their number
_BY_A_RULE = "by a rule of the robots.txt"

logger = logging.getLogger(__name__)


class _Rule(NamedTuple):
    """A rule that forbade requests, by its robots.txt and line."""

    robots_txt: str
    line: int
    text: str
    group: str


class _Followed:
    """What is known of one origin. It keeps no `Answer`, which would keep all the rules in memory."""

    __slots__ = ("blocked", "robots_txt", "state", "status", "unreachable", "why")

    def __init__(self, answer: Answer) -> None:
        self.blocked = 0
        self.robots_txt = answer.origin.robots_url
        self.learn(answer)

    def learn(self, answer: Answer) -> None:
        """Note what applies to the origin now."""
        self.state, self.status, self.why, self.unreachable = answer.state, answer.status, answer.why, answer.temporary


class _Use:
    """How often one override decided, and how."""

    __slots__ = ("against", "key", "reason", "refused", "requests", "until", "what")

    def __init__(self, override: Override) -> None:
        self.key = override.key
        self.what = override.what
        self.reason = override.reason
        self.until = "" if override.until is None else override.until.isoformat()
        self.requests = self.refused = self.against = 0


class RobotsReport:
    """The extension: logs the summary at INFO, and writes the page that `GBOT_ROBOTS_REPORT` names."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._path = settings.report
        self._purposes = settings.purposes
        self._began = time.time()
        self._origins: dict[Origin, _Followed] = {}
        self._others: dict[int, tuple[State, bool]] = {}  # by hash: the state, and whether it is unreachable
        self._uncounted = False  # whether there were even more origins
        self._rules: Tally[_Rule] = Tally()
        self._reasons: Tally[str] = Tally(_REASONS)
        self._over_time = OverTime(self._began)
        self._blocked = 0
        self._uses: dict[str, _Use] = {}  # by the key of an override; bounded, as the user has written all of them

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

    def _learnt(self, origin: Origin, answer: Answer) -> None:
        followed = self._origins.get(origin)
        if followed is not None:
            followed.learn(answer)
        elif len(self._origins) < MOST_ORIGINS:
            self._origins[origin] = _Followed(answer)
        elif hash(origin) in self._others or len(self._others) < MOST_OTHERS:
            self._others[hash(origin)] = (answer.state, answer.temporary)
        else:
            self._uncounted = True

    def _request_forbidden(self, error: ForbiddenByRobotsTxt) -> None:
        self._blocked += 1
        self._over_time.add(time.time())
        self._reasons.add(_BY_A_RULE if error.verdict.rule is not None else error.verdict.reason)
        if error.origin is None:
            return
        if error.origin in self._origins:
            self._origins[error.origin].blocked += 1
        verdict = error.verdict
        if verdict.rule is not None and verdict.override is None:  # else it may be a rule of the override
            rule = verdict.rule
            self._rules.add(_Rule(error.origin.robots_url, rule.line, str(rule), verdict.group or ""))

    def _override_used(self, override: Override, refusal: Verdict | None, against_robotstxt: bool) -> None:
        use = self._uses.setdefault(override.key, _Use(override))
        use.requests += 1
        use.refused += refusal is not None
        use.against += against_robotstxt

    async def _spider_closed(self, spider: Spider) -> None:
        if self._origins or self._blocked or self._uses:
            logger.info("%s", self.summary(), extra={"spider": spider})
        if self._path is not None:
            await run_in_thread(_write, self._path, page(self._report(spider)))

    def _by_state(self) -> Counter[State]:
        followed = Counter(followed.state for followed in self._origins.values())
        return followed + Counter(state for state, _ in self._others.values())

    def _unreachable(self) -> list[_Followed]:
        unreachable = [followed for followed in self._origins.values() if followed.unreachable]
        return sorted(unreachable, key=lambda followed: -followed.blocked)

    def _unreachable_others(self) -> int:
        return sum(unreachable for _, unreachable in self._others.values())

    def summary(self) -> str:
        """Say in a few lines what robots.txt did to the crawl."""
        states = self._by_state()
        by_state = ", ".join(f"{states[state]:,} {state.value}" for state in State if states[state])
        origins = _many(states.total(), "origin", exact=not self._uncounted)
        lines = [f"robots.txt: {origins} ({by_state}), {_many(self._blocked, 'request')} blocked"]
        rules = self._rules.top(_IN_SUMMARY)
        lines += [f'  {count:,} by "{rule.text}" in {rule.robots_txt} (line {rule.line})' for rule, count in rules]
        if len(self._rules) > len(rules):
            rest = _many(len(self._rules) - len(rules), "other rule", exact=self._rules.exact)
            lines.append(f"  the rest by {rest}")
        unreachable = self._unreachable()
        for followed in unreachable[:_IN_SUMMARY]:
            blocked = _many(followed.blocked, "request")
            lines.append(f"  unreachable: {followed.robots_txt} ({shown(followed.why)}), {blocked} blocked")
        more = len(unreachable[_IN_SUMMARY:]) + self._unreachable_others()
        if more:
            lines.append(f"  unreachable: {'more than ' if self._uncounted else ''}{more:,} more")
        return "\n".join([*lines, *self._override_lines(), *self._preference_lines()])

    def _preference_lines(self) -> list[str]:
        return [
            f"  {row.purpose}: {_many(row.refused, 'page')} refused, {row.granted:,} granted, {row.unsaid:,} not said"
            for row in self._preferences()
        ]

    def _preferences(self) -> list[PreferenceRow]:
        """What sites said about each purpose of the crawl, by the stats."""
        get = self._crawler.stats.get_value
        words = (REFUSED, GRANTED, UNSAID)
        counts = {
            purpose: [get(f"gbot_robots/preference/{purpose}/{word}", 0) for word in words]
            for purpose in self._purposes
        }
        return [PreferenceRow(purpose, *numbers) for purpose, numbers in counts.items() if any(numbers)]

    def _most_used(self, most: int) -> list[_Use]:
        return sorted(self._uses.values(), key=lambda use: -use.requests)[:most]

    def _override_lines(self) -> list[str]:
        lines = []
        for use in self._most_used(_IN_SUMMARY):
            counts = [_many(use.requests, "request")]
            counts += [f"{use.refused:,} blocked"] if use.refused else []
            counts += [f"{use.against:,} against robots.txt"] if use.against else []
            what = f"{shown(use.what)}, {shown(use.reason)}"
            lines.append(f"  override for {shown(use.key)} ({what}): {', '.join(counts)}")
        more = len(self._uses) - len(lines)
        if more:
            lines.append(f"  overrides: {more:,} more")
        return lines

    def _report(self, spider: Spider) -> Report:
        followed = sorted(self._origins.values(), key=lambda each: -each.blocked)
        return Report(
            spider=spider.name,
            began=self._began,
            ended=time.time(),
            blocked=self._blocked,
            by_state={state.value: count for state, count in self._by_state().items()},
            unreachable=len(self._unreachable()) + self._unreachable_others(),
            exact=not self._uncounted,
            obeyed=self._crawler.settings.getbool("ROBOTSTXT_OBEY"),
            rules=[RuleRow(count, *rule) for rule, count in self._rules.top(_ON_PAGE)],
            rules_known=len(self._rules),
            rules_exact=self._rules.exact,
            reasons=self._reasons.top(_IN_CHART),
            over_time=self._over_time.counts,
            span_secs=self._over_time.span_secs,
            origins=[_row(each) for each in followed[:_ON_PAGE]],
            overrides=[_override_row(use) for use in self._most_used(_ON_PAGE)],
            overrides_used=len(self._uses),
            preferences=self._preferences(),
        )


def _row(followed: _Followed) -> OriginRow:
    return OriginRow(followed.blocked, followed.robots_txt, followed.state.value, followed.status, followed.why)


def _override_row(use: _Use) -> OverrideRow:
    return OverrideRow(use.requests, use.refused, use.against, use.key, use.what, use.reason, use.until)


def _many(count: int, what: str, *, exact: bool = True) -> str:
    return f"{'' if exact else 'more than '}{count:,} {what}{'' if count == 1 else 's'}"


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
