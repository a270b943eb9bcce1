"""The URLs and the rows of `audit`: reads the list, writes each verdict at once, and counts them for the summary."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeAlias

from ..core.urls import Origin, shown
from ..report.tally import Tally
from ..report.words import count
from .audit_formats import FORMATS, VerdictRow
from .command import FAILED, FINE, FOUND, CommandError
from .inputs import MAX_URL, size_of, url_batches

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection, Iterator

    from .output import Terminal

    Judged: TypeAlias = tuple[str, VerdictRow]  # a URL, and the rest of its row

_ABSOLUTE = ("http://", "https://")  # lines that begin so need no closer look
_EXAMPLE = 100  # characters of a line that is no URL


class Audit:
    """Writes verdicts at once, and counts them for the summary."""

    def __init__(self, options: Namespace, out: Terminal) -> None:
        self._path = options.urls
        self._format = FORMATS[options.format]()
        self._out = out
        self._titled = False
        self._began = time.monotonic()
        self.urls = self.disallowed = self.invalid = 0
        self.first_invalid = ""
        self.tally: Tally[VerdictRow] = Tally()
        self.unreachable: Tally[str] = Tally()  # robots.txt files, by URLs that need them
        self.compares = options.diff is not None

    def batches(self, err: Terminal) -> Iterator[list[str]]:
        """Yield the URLs to judge, some at a time. Other lines are counted and left out."""
        with err.progress("Auditing", size_of(self._path), beside=self._out) as progress:
            for lines, size in url_batches(self._path):
                good = [line for line in lines if line.startswith(_ABSOLUTE) and len(line) <= MAX_URL]
                if len(good) < len(lines):
                    good = [line for line in lines if self._is_url(line)]
                yield good
                self.urls += len(good)
                progress(size, f"{self.urls:,} URLs")
        if self.invalid and not self.urls:
            raise CommandError(f"{self._path}: no line of it is a URL: {self.first_invalid}")

    def _is_url(self, line: str) -> bool:
        if len(line) > MAX_URL:
            self._leave_out(f"longer than {MAX_URL} bytes: {line}")
            return False
        try:
            Origin.of(line)
        except ValueError as error:
            self._leave_out(str(error))
            return False
        return True

    def _leave_out(self, why: str) -> None:
        self.invalid += 1
        self.first_invalid = self.first_invalid or shown(why, _EXAMPLE)

    def origin_of(self, url: str) -> Origin | None:
        """Return the origin of a URL. If it has none, return None, and count the line as none that is a URL."""
        try:
            return Origin.of(url)
        except ValueError as error:
            self.urls -= 1
            self._leave_out(str(error))
            return None

    def take(self, rows: Collection[Judged]) -> None:
        """Write and count some verdicts."""
        if rows:
            self._write_titles()
        self._out.write(self._format.rows(rows))
        self.tally.update([row for _, row in rows])
        self.disallowed += sum([not row.verdict.allowed for _, row in rows])

    def finish(self) -> None:
        """Write the titles, if no row has needed them."""
        if self.urls:
            self._write_titles()

    def _write_titles(self) -> None:
        if not self._titled:
            self._titled = True
            self._out.write(self._format.titles(compares=self.compares))

    @property
    def status(self) -> int:
        """The exit status."""
        if self.unreachable.total:
            return FAILED
        found = self.tally.total if self.compares else self.disallowed
        return FOUND if found else FINE

    def summarise(self, most: int, err: Terminal) -> None:
        """Write the summary."""
        secs = time.monotonic() - self._began
        total = self.tally.total
        err.say()
        err.say(f"{count(self.urls, 'URL')} in {secs:.1f} s, {self.urls / max(secs, 1e-9):,.0f} a second")
        now = "now " if self.compares else ""
        err.say(f"{self.disallowed:,} {now}disallowed, {total - self.disallowed:,} {now}allowed")
        if self.invalid:
            err.say((f"{count(self.invalid, 'line')} left out; the first: {self.first_invalid}", "warning"))
        for robots_txt, urls in self.unreachable.top(1):
            others = f" and {count(len(self.unreachable) - 1, 'other')}" if len(self.unreachable) > 1 else ""
            err.say((f"could not be fetched: {robots_txt} ({count(urls, 'URL')}){others}", "bad"))
        top = sorted(self.tally.top(len(self.tally)), key=lambda pair: (pair[0].verdict.allowed, -pair[1]))[:most]
        if top:
            width = max(len(f"{urls:,}") for _, urls in top)
            rows = [
                (f"{urls:,}".rjust(width), each.word, each.crawler, each.why, each.robots_txt) for each, urls in top
            ]
            err.table(["URLS", "VERDICT", "CRAWLER", "RULE", "ROBOTS.TXT"], rows)
        if len(self.tally) > len(top):
            err.say(f"... and {count(len(self.tally) - len(top), 'other rule')}")
        if not self.tally.exact:
            err.say("There were too many rules to count all: these counts may be too low.")
