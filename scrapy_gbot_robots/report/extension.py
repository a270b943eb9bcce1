"""What robots.txt did to a crawl: a short summary in the log at its end, and an HTML page of it if one is wanted.

Listens to the plugin's signals and knows nothing of who sends them. However many origins a crawl meets, what is kept of
them is bounded: the first `MOST_ORIGINS` are followed one by one, further ones only counted.
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
from ..settings import GbotSettings
from ..signals import request_forbidden, robotstxt_known, robotstxt_unreachable
from .page import OriginRow, Report, RuleRow, page
from .tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from ..core.origin import Origin
    from ..exceptions import ForbiddenByRobotsTxt
    from ..obeying.answer import Answer

MOST_ORIGINS = 10_000  # that are followed one by one

_IN_SUMMARY = 5  # rules, and robots.txt files that could not be had
_ON_PAGE = 1_000  # rows of a table

logger = logging.getLogger(__name__)


class _Rule(NamedTuple):
    """A rule that kept requests back, by where it stands."""

    robots_txt: str
    line: int
    text: str
    group: str


class _Followed:
    """What became of one origin; not its `Answer`, which holds rules."""

    __slots__ = ("blocked", "missing", "robots_txt", "state", "status", "why")

    def __init__(self, answer: Answer) -> None:
        self.blocked = 0
        self.robots_txt = answer.origin.robots_url
        self.learn(answer)

    def learn(self, answer: Answer) -> None:
        """Take note of what now holds."""
        self.state, self.status, self.why, self.missing = answer.state, answer.status, answer.why, answer.temporary


class RobotsReport:
    """The extension. Logs the summary at INFO; writes the page that `GBOT_ROBOTS_REPORT` names."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._path = settings.report
        self._began = time.time()
        self._origins: dict[Origin, _Followed] = {}
        self._not_followed: Counter[State] = Counter()
        self._rules: Tally[_Rule] = Tally()
        self._blocked = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension. Raises ValueError for settings that may not be."""
        report = cls(crawler, GbotSettings.of(crawler.settings))
        crawler.signals.connect(report._learnt, robotstxt_known)
        crawler.signals.connect(report._learnt, robotstxt_unreachable)
        crawler.signals.connect(report._request_forbidden, request_forbidden)
        crawler.signals.connect(report._spider_closed, signals.spider_closed)
        return report

    def _learnt(self, origin: Origin, answer: Answer) -> None:
        followed = self._origins.get(origin)
        if followed is not None:
            followed.learn(answer)
        elif len(self._origins) < MOST_ORIGINS:
            self._origins[origin] = _Followed(answer)
        else:
            self._not_followed[answer.state] += 1

    def _request_forbidden(self, error: ForbiddenByRobotsTxt) -> None:
        self._blocked += 1
        if error.origin is None:
            return
        if error.origin in self._origins:
            self._origins[error.origin].blocked += 1
        verdict = error.verdict
        if verdict.rule is not None:
            rule = verdict.rule
            self._rules.add(_Rule(error.origin.robots_url, rule.line, str(rule), verdict.group or ""))

    async def _spider_closed(self, spider: Spider) -> None:
        if self._origins or self._blocked:
            logger.info("%s", self.summary(), extra={"spider": spider})
        if self._path is not None:
            text = page(self._report(spider))
            await run_in_thread(_write, self._path, text)

    def _by_state(self) -> Counter[State]:
        return self._not_followed + Counter(followed.state for followed in self._origins.values())

    def _missing(self) -> list[_Followed]:
        missing = [followed for followed in self._origins.values() if followed.missing]
        return sorted(missing, key=lambda followed: -followed.blocked)

    def summary(self) -> str:
        """Say in a few lines what robots.txt did to the crawl."""
        states = self._by_state()
        by_state = ", ".join(f"{states[state]:,} {state.value}" for state in State if states[state])
        lines = [
            f"robots.txt: {_many(states.total(), 'origin')} ({by_state}), {_many(self._blocked, 'request')} blocked"
        ]
        rules = self._rules.top(_IN_SUMMARY)
        lines += [f'  {count:,} by "{rule.text}" in {rule.robots_txt} (line {rule.line})' for rule, count in rules]
        if len(self._rules) > len(rules):
            lines.append(f"  the rest by {_many(len(self._rules) - len(rules), 'other rule')}")
        missing = self._missing()
        for followed in missing[:_IN_SUMMARY]:
            blocked = _many(followed.blocked, "request")
            lines.append(f"  not to be had: {followed.robots_txt} ({shown(followed.why)}), {blocked} blocked")
        if len(missing) > _IN_SUMMARY:
            lines.append(f"  not to be had: {len(missing) - _IN_SUMMARY:,} more")
        return "\n".join(lines)

    def _report(self, spider: Spider) -> Report:
        followed = sorted(self._origins.values(), key=lambda each: -each.blocked)
        return Report(
            spider=spider.name,
            began=self._began,
            ended=time.time(),
            blocked=self._blocked,
            by_state={state.value: count for state, count in self._by_state().items()},
            missing=len(self._missing()),
            rules=[RuleRow(count, *rule) for rule, count in self._rules.top(_ON_PAGE)],
            rules_known=len(self._rules),
            origins=[_row(each) for each in followed[:_ON_PAGE]],
        )


def _row(followed: _Followed) -> OriginRow:
    return OriginRow(followed.blocked, followed.robots_txt, followed.state.value, followed.status, followed.why)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _write(path: Path, text: str) -> None:
    """Write the page; a path that cannot be written to costs the page and nothing else."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        logger.error("GBOT_ROBOTS_REPORT cannot be written: %s", error)  # noqa: TRY400  the path says it all
    else:
        logger.info("What robots.txt did to this crawl is shown in %s", path)
