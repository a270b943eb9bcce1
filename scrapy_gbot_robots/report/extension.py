"""Reports which requests of a crawl were forbidden by robots.txt files, and why.

At the end of the crawl, the extension writes a summary to the log and, if `GBOT_ROBOTS_REPORT` is
set, an HTML page to a file. Handlers of the plugin's signals count what the extension reports.

The page is a single file, so it works without a network. All text from outside, such as a URL, is
escaped, and the content security policy of the page allows only its own script. When the crawl
starts, the extension checks whether the page can be written, so that a wrong path is noticed at
once. If the process ends while it writes the page, the page of the previous crawl stays unchanged.
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

from ..answers.events import DECIDED
from ..concurrency import run_in_thread
from ..core.urls import Origin, shown, without_login
from ..engine import is_offsite, refuse_as_add_on
from ..exceptions import ForbiddenByRobotsTxt
from ..meta import RETURNED
from ..obeying.middleware import REPLACED
from ..settings import GbotSettings
from ..signals import request_forbidden
from .summary import CrawlCounts, ForbiddingRule, summary

logger = logging.getLogger(__name__)

_ROWS = 1_000  # Each table of the page has at most this many rows.
_BARS = 10  # The chart of the page has at most this many bars.

_OFF = '<p class="off">This crawl did not obey robots.txt: ROBOTSTXT_OBEY is False</p>'
# The title of each page begins like this. A file without this title is not a page of the plugin,
# and is never replaced.
_TITLE = b"<title>robots.txt in the crawl of "
_IS_START = "is_start_request"  # The meta key with which Scrapy marks start requests.
# A request with one of these meta keys was scheduled before, and was counted then.
_COUNTED = frozenset({"redirect_times", "retry_times", RETURNED})
_HEAD_BYTES = 1_024  # The title is looked for in this many bytes at the beginning of a file.


class RobotsReport:
    """Logs the summary at INFO, and writes the HTML page to the path in `GBOT_ROBOTS_REPORT`."""

    def __init__(self, crawler: Crawler) -> None:
        refuse_as_add_on(type(self), crawler)
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
            ValueError: a setting has an invalid value, or the page cannot be written at its path.
        """
        return cls(crawler)

    async def _spider_closed(self, spider: Spider) -> None:
        counts = self._counts
        counts.count_left()
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
            except OSError as error:  # The crawl is complete, so the error is only logged.
                logger.error("GBOT_ROBOTS_REPORT cannot be written: %s", error)  # noqa: TRY400  The message contains the path.
            else:
                logger.info(
                    "What robots.txt did to this crawl is shown in %s", self._path.absolute()
                )


class StartRequests:
    """Counts the start requests of a crawl, to find out whether all of them are forbidden.

    When a start request has got a response, the counting ends. Start requests that Scrapy's
    OffsiteMiddleware drops are not counted.

    Attributes:
        forbidden: the number of forbidden start requests.
        first: a string with the URL of the first forbidden start request, the URL to which it was
            redirected (if any), and the verdict; "" if no start request was forbidden.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._signals = crawler.signals
        self._scheduled = 0
        self._came = False
        self.forbidden = 0
        self.first = ""
        self._signals.connect(self._count, signals.request_scheduled)
        self._signals.connect(self._count_out, signals.request_dropped)
        self._signals.connect(self._count_out, REPLACED)
        self._signals.connect(self._look_at, signals.response_received)
        self._signals.connect(self._count_forbidden, request_forbidden)

    @property
    def all_forbidden(self) -> bool:
        """Whether there were start requests, and robots.txt forbade each of them."""
        return not self._came and 0 < self.forbidden == self._scheduled

    def _count(self, request: Request) -> None:
        if _is_first_of_a_start(request) and not is_offsite(self._crawler, request):
            self._scheduled += 1

    def _count_out(self, request: Request) -> None:
        # `_count` counts one request too many in two cases. First, Scrapy may drop a request after
        # the signal `request_scheduled`, for example a second request for the same URL. Second, a
        # middleware may replace a start request by `request`, which is then scheduled as well.
        if _is_first_of_a_start(request):
            self._scheduled -= 1

    def _count_forbidden(self, request: Request, error: ForbiddenByRobotsTxt) -> None:
        if _IS_START in request.meta:
            self.forbidden += 1
            self.first = self.first or f"{_way_of(request)}: {error.verdict}"

    def _look_at(self, request: Request) -> None:
        if _IS_START in request.meta and not self._came:
            self._came = True
            # If a handler disconnects itself while its signal is being sent, the next handler is
            # not called. So this handler is disconnected a moment later.
            call_later(0, self._disconnect)

    def _disconnect(self) -> None:
        self._signals.disconnect(self._count, signals.request_scheduled)
        self._signals.disconnect(self._count_out, signals.request_dropped)
        self._signals.disconnect(self._count_out, REPLACED)
        self._signals.disconnect(self._look_at, signals.response_received)
        self._signals.disconnect(self._count_forbidden, request_forbidden)


def _is_first_of_a_start(request: Request) -> bool:
    """Whether `request` is a start request that is scheduled for the first time.

    For a redirect, a retry, or a request that was given back to the scheduler, the result is False.
    """
    return _IS_START in request.meta and _COUNTED.isdisjoint(request.meta)


def _way_of(request: Request) -> str:
    """Return the URL of a start request and, if it was redirected, also the URL of `request`."""
    urls = [request.url]
    if came_from := request.meta.get("redirect_urls"):  # Scrapy's list, with the start URL first
        urls = [came_from[0], request.url]
    return ", redirected to ".join([shown(without_login(url)) for url in urls])


# The page


def page(counts: CrawlCounts, spider: Spider) -> str:
    """Return the HTML page for a crawl, from its counts."""
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
        nonce=token_hex(16),  # It is random, so no text from outside can contain it.
    )


def _text(raw: str) -> str:
    """Return `raw` as text for HTML. It is escaped and printable, and long text is cut."""
    return escape(shown(raw, limit=500))


def _bars(counted: Sequence[tuple[str, int]]) -> str:
    """Return the bars of the chart as HTML.

    Args:
        counted: the title and the number of each bar. The first number is the greatest, and its bar
            takes the full width.
    """
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
    """Return a row of a table as HTML. If a cell is None, it is empty."""
    texts = ["" if cell is None else str(cell) for cell in cells]
    return f"<tr>{''.join(f'<td>{_text(text)}</td>' for text in texts)}</tr>"


# The file


def try_out(path: Path) -> None:
    """Make the directory of `path`, and check that a page can be written to `path`.

    Raises:
        OSError: no page can be written there, or the file exists and is not a page of an earlier
            crawl.
    """
    with suppress(FileNotFoundError):
        # `Path.is_file` would hide errors, such as a name that is too long or a loop of links.
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
    """Write `text` to a new file, and rename the file to `path`.

    So the file at `path` is always a whole page, even if the process ends during the writing.

    Raises:
        OSError: the file cannot be written, or a file that is not a page of an earlier crawl now
            exists at `path`.
    """
    try_out(path)
    real = path.resolve()  # If `path` is a symbolic link, the file behind the link is replaced.
    beside = real.with_name(f".{real.name[:100]}.{token_hex(4)}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(real)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
