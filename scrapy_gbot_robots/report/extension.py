"""What robots.txt did to a crawl: a summary in the log at its end, and a page if one is asked for.

The extension listens to the plugin's signals, and counts. The page is one HTML file without others:
it works offline, and on a phone. All text from outside is escaped, and the page's content security
policy allows no script but ours. If the page could not be written, the crawl stops at its start and
not after hours. A process that dies while it writes leaves the page of the last crawl as it was.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from html import escape
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG
from string import Template
from tempfile import TemporaryFile
from typing import TypeAlias

from scrapy import Spider, signals
from scrapy.crawler import Crawler

from ..concurrency import run_in_thread
from ..core.urls import shown
from ..obeying.events import DECIDED
from ..settings import GbotSettings
from ..signals import request_forbidden
from .summary import CrawlCounts, summary

logger = logging.getLogger(__name__)

_Row: TypeAlias = Sequence[object]  # of a table

_ROWS = 1_000  # of each table
_BARS = 10  # in a chart

_OFF = '<p class="off">This crawl did not obey robots.txt: ROBOTSTXT_OBEY is False</p>'
_TITLE = b"<title>robots.txt in the crawl of "  # of each page; no file without it is replaced
_HEAD_BYTES = 1_024  # of a page: the title is in them


class RobotsReport:
    """The extension that logs the summary at INFO, and writes the page of `GBOT_ROBOTS_REPORT`."""

    def __init__(self, crawler: Crawler) -> None:
        self._path = GbotSettings.of(crawler.settings).report
        try:
            if self._path is not None:
                try_out(self._path)
        # RuntimeError: a loop of symbolic links, before Python 3.13
        except (OSError, RuntimeError) as error:
            rule = "GBOT_ROBOTS_REPORT must be the path of a file that can be written"
            raise ValueError(f"{rule}, got {str(self._path)!r}: {error}") from error
        self._counts = counts = CrawlCounts(crawler)
        connect = crawler.signals.connect
        connect(counts.count_answer, DECIDED)
        connect(counts.count_refusal, request_forbidden)
        connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsReport:
        """Make the extension.

        Raises:
            ValueError: a setting has a wrong value, or the page cannot be written at its path.
        """
        return cls(crawler)

    async def _spider_closed(self, spider: Spider) -> None:
        counts = self._counts
        if counts.origins or counts.blocked:
            logger.info("%s", summary(counts), extra={"spider": spider})
        if self._path is not None:
            try:
                await run_in_thread(write, self._path, page(counts))
            except (OSError, RuntimeError) as error:  # the page is lost and nothing else
                logger.error("GBOT_ROBOTS_REPORT cannot be written: %s", error)  # noqa: TRY400  it names the path
            else:
                logger.info(
                    "What robots.txt did to this crawl is shown in %s", self._path.absolute()
                )


# The page.


def page(counts: CrawlCounts) -> str:
    """Return the HTML page of a report."""
    script = _asset("page.js")
    sha = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    rules = [(str(rule), blocked) for rule, blocked in counts.rules.most_common(_BARS)]
    off = ""
    if not counts.crawler.settings.getbool("ROBOTSTXT_OBEY"):
        off = _OFF
    return Template(_asset("page.html")).substitute(
        spider=_text(getattr(counts.crawler.spider, "name", "")),
        when=f"{_clock(counts.began)} to {_clock(time.time())}",
        off=off,
        notes="".join(map(_sentence, counts.notes())),
        origins=f"{len(counts.origins):,}",
        blocked=f"{counts.blocked:,}",
        unreachable=f"{sum(row.cause is not None for row in counts.origins.values()):,}",
        states=_bars(counts.states(), "The crawl met no origin."),
        reasons=_bars(counts.reasons.most_common(_BARS), "Nothing was blocked."),
        rules=_bars(rules, "No rule blocked a request."),
        tables="".join(_tables(counts)),
        style=_asset("page.css"),
        script=script,
        script_hash=f"sha256-{sha}",
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip("\n")


def _text(raw: str) -> str:
    """Return `raw` for HTML: escaped, printable, of bounded length."""
    return escape(shown(raw, limit=500))


def _clock(secs: float) -> str:
    """Return a time, in seconds since the epoch, as UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(secs))


def _sentence(words: str) -> str:
    return f"<p>{_text(words[0].upper() + words[1:])}.</p>"


def _bars(counted: Sequence[tuple[str, int]], none: str) -> str:
    """A bar for each title and its number; the text `none` if there is no title."""
    if not counted:
        return f"<p>{none}</p>"
    longest = max(number for _, number in counted)
    items = [
        f"<li><span>{_text(title)}</span>"
        '<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{100 * number / longest:.2f}" height="1"/></svg><b>{number:,}</b></li>'
        for title, number in counted
    ]
    return f'<ol class="bars">{"".join(items)}</ol>'


def _tables(counts: CrawlCounts) -> Iterator[str]:
    yield _table(
        "rules",
        "All rules that blocked",
        ("Blocked", "Rule", "Group", "robots.txt", "Line", "Such as"),
        _rule_rows(counts),
        len(counts.rules),
    )
    yield _table(
        "origins",
        "Origins",
        ("Blocked", "robots.txt", "State", "Status", "Why", "Such as"),
        _origin_rows(counts),
        len(counts.origins),
    )


def _rule_rows(counts: CrawlCounts) -> Iterator[_Row]:
    for rule, blocked in counts.rules.most_common(_ROWS):
        examples = " ".join(counts.rules.examples.get(rule, ()))
        yield blocked, rule.text, rule.group, rule.robots_txt, rule.line, examples


def _origin_rows(counts: CrawlCounts) -> Iterator[_Row]:
    for origin, row, blocked in counts.most_blocking()[:_ROWS]:
        examples = " ".join(counts.blocking.examples.get(origin, ()))
        yield blocked, origin.robots_url, row.state, row.status, row.why, examples


def _table(name: str, title: str, heads: Sequence[str], rows: Iterable[_Row], number: int) -> str:
    """A section with a table of rows, which are the first of `number`."""
    columns = ""
    for head in heads:
        key = re.sub(r"\W+", "-", head.lower())
        columns += f'<th scope="col" data-key="{key}">{head}</th>'
    lines = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    note = ""
    if number > _ROWS:
        note = f"<p>The first {_ROWS:,} of {number:,}, by the first column.</p>"
    return Template(_asset("table.html")).substitute(
        name=name, title=title, heads=columns, rows=lines, note=note
    )


def _cell(cell: object) -> str:
    """A cell of a table: a number, a text, the value of an Enum, or nothing."""
    if isinstance(cell, int):
        return f'<td class="number" data-by="{cell}">{cell:,}</td>'
    if isinstance(cell, Enum):
        cell = cell.value
    return f"<td>{_text(str(cell or ''))}</td>"


# The file


def try_out(path: Path) -> None:
    """Make the directory of `path`, and check that a page can be written there.

    Raises:
        OSError: it cannot, or `path` exists and is no page of an earlier crawl.
    """
    _check_what_is_there(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=path.resolve().parent):
        pass


def write(path: Path, text: str) -> None:
    """Write `text` beside `path` and rename it, so that `path` is never half a page.

    Raises:
        OSError: the file cannot be written, or `path` exists by now and is no page of an earlier
        crawl.
    """
    _check_what_is_there(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    real = path.resolve()  # so that a symbolic link stays a link
    beside = real.with_name(f".{real.name[:100]}.{token_hex(4)}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(real)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _check_what_is_there(path: Path) -> None:
    """Check that a page may replace what is at `path`.

    Raises:
        OSError: it may not.
    """
    with suppress(FileNotFoundError):
        # `Path.is_file` hides a name that is too long, or a loop of links.
        if not S_ISREG(path.stat().st_mode):
            raise OSError("it is not a file")
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head and _TITLE not in head:
            raise OSError("it exists and is no page of this plugin, so it is not overwritten")
