"""Reports what robots.txt did to a crawl: a summary in the log, and a page if the user wants one.

The extension listens to the plugin's signals, and counts. The page is a single HTML file, so it
works offline, and on a phone. All text from outside is escaped, and the page's content security
policy allows only the page's own script. If the page cannot be written, the crawl stops at its
start and not after hours. If a process dies while it writes, the page of the last crawl stays.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from html import escape
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG
from string import Template
from tempfile import TemporaryFile

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later

from ..concurrency import run_in_thread
from ..core.urls import Origin, shown
from ..exceptions import ForbiddenByRobotsTxt
from ..meta import RETURNED
from ..obeying.events import DECIDED
from ..settings import GbotSettings
from ..signals import request_forbidden
from .summary import CrawlCounts, ForbiddingRule, summary

logger = logging.getLogger(__name__)

_ROWS = 1_000  # The greatest number of rows in each table.
_BARS = 10  # The greatest number of bars in the chart.

_OFF = '<p class="off">This crawl did not obey robots.txt: ROBOTSTXT_OBEY is False</p>'
# Each page begins with this title. A file without it is never replaced.
_TITLE = b"<title>robots.txt in the crawl of "
# Scrapy's meta key of start requests, and the meta keys of requests that were counted before.
_IS_START = "is_start_request"
_COUNTED = frozenset({"redirect_times", "retry_times", RETURNED})
_HEAD_BYTES = 1_024  # The title is in the first bytes of a page.


class RobotsReport:
    """The extension that logs the summary at INFO, and writes the page of `GBOT_ROBOTS_REPORT`."""

    def __init__(self, crawler: Crawler) -> None:
        self._path = GbotSettings.of(crawler.settings).report
        try:
            if self._path is not None:
                try_out(self._path)
        except OSError as error:
            rule = "GBOT_ROBOTS_REPORT must be the path of a file that can be written"
            raise ValueError(f"{rule}, got {str(self._path)!r}: {error}") from error
        self._counts = counts = CrawlCounts(crawler)
        connect = crawler.signals.connect
        connect(counts.count_answer, DECIDED)
        connect(counts.count_forbidden, request_forbidden)
        connect(self._spider_closed, signals.spider_closed)
        self._starts = StartRequests(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsReport:
        """Make the extension.

        Raises:
            ValueError: a setting has a wrong value, or the page cannot be written at its path.
        """
        return cls(crawler)

    async def _spider_closed(self, spider: Spider) -> None:
        counts = self._counts
        if counts.origins or counts.forbidden or counts.waiting or counts.given_back:
            logger.info("%s", summary(counts))
        if self._starts.all_forbidden:
            logger.warning(
                "robots.txt forbade all start requests (%d). The first was %s",
                self._starts.forbidden,
                self._starts.first,
            )
        if self._path is not None:
            try:
                await run_in_thread(write, self._path, page(counts, spider))
            except OSError as error:  # Only the page is lost.
                logger.error("GBOT_ROBOTS_REPORT cannot be written: %s", error)  # noqa: TRY400  The message names the path.
            else:
                logger.info(
                    "What robots.txt did to this crawl is shown in %s", self._path.absolute()
                )


class StartRequests:
    """Counts the start requests, until one of them has a response.

    Attributes:
        forbidden: the number of forbidden start requests.
        first: the URL of the first forbidden start request, and the verdict on it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._signals = crawler.signals
        self._scheduled = 0
        self._came = False
        self.forbidden = 0
        self.first = ""
        self._signals.connect(self._count, signals.request_scheduled)
        self._signals.connect(self._look_at, signals.response_received)
        self._signals.connect(self._count_forbidden, request_forbidden)

    @property
    def all_forbidden(self) -> bool:
        """Whether there were start requests, and robots.txt forbade each of them."""
        return not self._came and 0 < self.forbidden == self._scheduled

    def _count(self, request: Request) -> None:
        meta = request.meta
        # Redirects, retries and requests that went back to the scheduler are counted already.
        if _IS_START in meta and _COUNTED.isdisjoint(meta):
            self._scheduled += 1

    def _count_forbidden(self, request: Request, error: ForbiddenByRobotsTxt) -> None:
        if _IS_START in request.meta:
            self.forbidden += 1
            self.first = self.first or f"{shown(request.url)}: {error.verdict}"

    def _look_at(self, request: Request) -> None:
        if _IS_START in request.meta and not self._came:
            self._came = True
            # Not at once: the next handler would miss a signal whose handler disconnects itself.
            call_later(0, self._disconnect)

    def _disconnect(self) -> None:
        self._signals.disconnect(self._count, signals.request_scheduled)
        self._signals.disconnect(self._look_at, signals.response_received)
        self._signals.disconnect(self._count_forbidden, request_forbidden)


# The page


def page(counts: CrawlCounts, spider: Spider) -> str:
    """Return the HTML page of a report."""
    off = ""
    if not counts.crawler.settings.getbool("ROBOTSTXT_OBEY"):
        off = _OFF
    origins = counts.most_blocking()[:_ROWS]
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        spider=_text(spider.name),
        when=f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC",
        off=off,
        lines="".join(f"<li>{_text(line)}</li>" for line in counts.lines()),
        reasons=_bars(counts.reasons.most_common(_BARS)),
        most=f"{_ROWS:,}",
        rules="\n".join(_row_of_rule(counts, rule) for rule, _ in counts.rules.most_common(_ROWS)),
        origins="\n".join(_row_of_origin(counts, origin) for origin in origins),
        nonce=token_hex(16),  # No text from outside can contain it.
    )


def _text(raw: str) -> str:
    """Return `raw` for HTML: escaped, printable, of bounded length."""
    return escape(shown(raw, limit=500))


def _bars(counted: Sequence[tuple[str, int]]) -> str:
    """Return a bar for each title and its number. The first number is the greatest: 100 %."""
    items = [
        f"<li><span>{_text(title)}</span>"
        '<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{100 * number / counted[0][1]:.2f}" height="1"/></svg><b>{number:,}</b></li>'
        for title, number in counted
    ]
    return "".join(items)


def _row_of_rule(counts: CrawlCounts, forbidding: ForbiddingRule) -> str:
    examples = " ".join(counts.rules.examples[forbidding])
    origin, rule, group = forbidding
    return _row(counts.rules[forbidding], rule, group, origin.robots_url, rule.line, examples)


def _row_of_origin(counts: CrawlCounts, origin: Origin) -> str:
    row = counts.row(origin)
    examples = " ".join(counts.forbidding.examples[origin])
    forbidden = counts.forbidding[origin]
    return _row(forbidden, origin.robots_url, row.state, row.status, row.why, examples)


def _row(*cells: object) -> str:
    """Return a row of a table. None makes an empty cell."""
    texts = ["" if cell is None else str(cell) for cell in cells]
    return f"<tr>{''.join(f'<td>{_text(text)}</td>' for text in texts)}</tr>"


# The file


def try_out(path: Path) -> None:
    """Make the directory of `path`, and check that a page can be written there.

    Raises:
        OSError: it cannot be written, or `path` exists and is not a page of an earlier crawl.
    """
    with suppress(FileNotFoundError):
        # `Path.is_file` hides a name that is too long, or a loop of links.
        if not S_ISREG(path.stat().st_mode):
            raise OSError("it is not a file")
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head and _TITLE not in head:
            raise OSError("it exists and is not a page of this plugin, so it is not overwritten")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=path.resolve().parent):
        pass


def write(path: Path, text: str) -> None:
    """Write `text` beside `path` and rename it, so that `path` is never half a page.

    Raises:
        OSError: the file cannot be written, or `path` exists by now and is not a page of an
        earlier crawl.
    """
    try_out(path)
    real = path.resolve()  # A symbolic link stays a link.
    beside = real.with_name(f".{real.name[:100]}.{token_hex(4)}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(real)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
