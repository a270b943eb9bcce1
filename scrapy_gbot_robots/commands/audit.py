"""Run `scrapy robots audit --urls FILE`, which judges millions of URLs in constant memory.

By default, each URL is judged by the robots.txt of its own host. With `--robots`, all URLs are
judged by one robots.txt. With `--diff`, all URLs are judged by two versions of a robots.txt, and
the output contains only the URLs that the two versions judge differently.

The package `bulk` reads the list of URLs, and judges them. This module defines the options, and
writes the output, which consists of a row for each URL and a summary.
"""

from __future__ import annotations

import csv
import io
import json
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from ..bulk.judging import (
    NO,
    NO_URL,
    UNREACHABLE,
    YES,
    BulkError,
    Decisions,
    Judge,
    decision_on,
    origins_of,
)
from ..bulk.url_list import MAX_URL, URL, Row, UrlList, need
from ..core.named_user_agent import NOBODY, NamedUserAgent
from ..core.urls import Origin, shown
from ..core.verdict import Verdict
from ..counts import Tally, plural
from ..policy.outages import Decision, Policy
from ..policy.overrides import Overrides, read_overrides
from .ending import FAILED, FINE, FOUND, CommandError, interruptible
from .inputs import (
    STDIN,
    add_shared,
    crawlers_named,
    is_url,
    opened,
    origin_of,
    versions_among,
)
from .output import Terminal, printable
from .sitemap_list import SitemapList, is_sitemap
from .world import RobotsFile, RobotsFiles, World

if TYPE_CHECKING:
    from .sites import RobotsState

_TOP = 20  # The summary shows at most 20 rules and at most 20 forbidden sitemaps.
_MOST_TROUBLES = 5  # The summary shows at most this many sitemaps that could not be read.
_AT_A_TIME = 1_000  # The robots.txt files for this many sitemaps are looked up at the same time.
_EXAMPLE = 100  # If a line is not a URL, at most this many characters of it are shown.

# The package `bulk` returns an answer as a number: NO (0), YES (1) or UNREACHABLE (2). The number
# is the index of the matching word in this tuple.
_WORDS = ("disallowed", "allowed", "unreachable")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "--urls",
        metavar="FILE|URL",
        required=True,
        help="one URL per line; a .csv file with a column url; a .jsonl file of objects with a "
        "key url; a sitemap, also gzipped or an index of sitemaps, as a file or the URL of one; "
        'or "-" for standard input, one URL per line or a sitemap',
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--robots",
        dest="versions",
        default=[],
        metavar="FILE",
        nargs=1,
        help="a robots.txt (default: the robots.txt of each URL's origin)",
    )
    source.add_argument(
        "--diff",
        dest="versions",
        metavar=("OLD", "NEW"),
        nargs=2,
        help="write only the URLs that two versions of a robots.txt judge differently: "
        "files or URLs",
    )
    add_shared(parser, "--user-agent")
    parser.add_argument(
        "--format",
        choices=("text", "jsonl", "csv"),
        default="text",
        help="the format of the rows (default: text)",
    )
    parser.add_argument(
        "--only",
        choices=("allowed", "disallowed"),
        help="write only URLs that each crawler may fetch (allowed), or only URLs that at least "
        "one crawler may not fetch, because of a rule or an unreachable robots.txt (disallowed)",
    )
    parser.add_argument(
        "--fail-on", choices=("disallowed",), help="exit with 1 if a crawler may not fetch a URL"
    )


def run(options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    """Judge the URLs, and return the exit status.

    The status is FAILED if a sitemap could not be read. Otherwise, with `--fail-on`, it is FOUND if
    a URL or a sitemap is not allowed for a crawler. In all other cases it is FINE.
    """
    if options.urls == STDIN and STDIN in options.versions:
        raise CommandError('"-" cannot be both the URLs and a robots.txt')
    crawlers, gbot = crawlers_named(options.user_agents, world, err), world.settings
    # With `--robots` or `--diff`, the user chooses the robots.txt, so overrides do not apply.
    overrides = Overrides()
    if not options.versions:
        overrides = read_overrides(gbot.overrides, gbot.parse)
    judge = Judge(
        [named.crawler for named in crawlers],
        policy=gbot.policy,
        max_bytes=gbot.max_bytes,
        overrides=overrides,
        now=time.time(),
    )
    source: AbstractContextManager[Any] = nullcontext()
    if not is_url(options.urls):
        source = opened(options.urls)
    with source as file:
        urls: UrlList | SitemapList
        if file is None:
            urls = SitemapList(options.urls)
        elif is_sitemap(options.urls, file):
            urls = SitemapList(options.urls, file)
        else:
            urls = UrlList(file, options.urls)
        audit = _Audit(options, crawlers, judge, urls, world, out, err)
        try:
            audit.take_all()
        except KeyboardInterrupt:
            err.show_state("")
            err.say(("Interrupted. So far:", "warning"))
            audit.summarise()
            raise
    audit.summarise()
    if audit.has_trouble:
        return FAILED
    if options.fail_on and audit.has_disallowed:
        return FOUND
    return FINE


def _decision_on(version: RobotsFile | RobotsState) -> Decision:
    if isinstance(version, RobotsFile):
        return decision_on(200, version.body, Policy())
    return version.decision


def _why(verdict: Verdict) -> str:
    if verdict.rule is None:
        return verdict.reason
    empty = "" if verdict.rule.pattern else "empty "
    return f"{empty}{verdict.rule} (line {verdict.rule.line})"


def _word(answer: int) -> str:
    if answer == NO_URL:
        return "not a URL"
    return _WORDS[answer]


def _run_at_once(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end without an event loop. The coroutine must never wait."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("work on files had to wait")


class _Audit:
    """Judges the rows of a list of URLs, writes and counts them, and writes the summary.

    Attributes:
        has_disallowed: whether a URL or sitemap is not allowed for one of the crawlers. If there
            are two versions of the robots.txt, the new version decides.
    """

    def __init__(
        self,
        options: Namespace,
        crawlers: Sequence[NamedUserAgent],
        judge: Judge,
        urls: UrlList | SitemapList,
        world: World,
        out: Terminal,
        err: Terminal,
    ) -> None:
        self._options, self._judge, self._urls = options, judge, urls
        self._world, self._out, self._err = world, out, err
        self._crawlers = crawlers
        self._names = [named.as_typed for named in crawlers]
        if len(options.versions) > 1:
            self._names += [f"{name}_before" for name in self._names]
        self._began = time.monotonic()
        self._judged = 0  # The number of URLs that were judged so far.
        # An error message ends with this text: a colon and the first line of the list that is not a
        # URL, such as ": foo". It is "" if every line is a URL.
        self._example = ""
        # For each column of the output, the number of URLs with each answer. The output has a
        # column for each crawler. With two versions of the robots.txt, it has two columns for each
        # crawler.
        self._answers: Counter[tuple[int, int]] = Counter()
        # The number of URLs for each combination of an answer, the name of a crawler, and the
        # reason for the answer, such as a rule.
        self._rules: Tally[tuple[int, str, str]] = Tally()
        # If a sitemap is not allowed for two crawlers, it is counted twice.
        self._forbidden_sitemaps = 0
        self._sitemap_rows: list[list[str]] = []
        self.has_disallowed = False

    @property
    def has_trouble(self) -> bool:
        """Whether a sitemap could not be read."""
        return isinstance(self._urls, SitemapList) and bool(self._urls.troubles)

    def take_all(self) -> None:
        """Judge the URLs of the list.

        If the list is a sitemap, the URLs of the sitemap files that were found are judged, too.
        Scrapy is imported only if a robots.txt or a sitemap has to be fetched.
        """
        has_to_fetch = not self._options.versions or any(map(is_url, self._options.versions))
        if isinstance(self._urls, SitemapList):
            has_to_fetch = has_to_fetch or self._urls.has_to_fetch()
        if has_to_fetch:
            self._world.run(self._take_all)
        else:
            _run_at_once(self._take_all(None))

    async def _take_all(self, files: RobotsFiles | None) -> None:
        robots: list[Decisions] | None = None
        if self._options.versions:
            robots = await self._versions(files)
        async for rows in self._pieces(files):
            urls = [row[URL] for row in rows]
            self.take(rows, robots or [await self._by_host(urls, files)])
        if isinstance(self._urls, SitemapList):
            listed = self._urls.listed
            for start in range(0, len(listed), _AT_A_TIME):
                urls = listed[start : start + _AT_A_TIME]
                self._take_sitemaps(urls, (robots or [await self._by_host(urls, files)])[0])

    async def _versions(self, files: RobotsFiles | None) -> list[Decisions]:
        """Return a `Decision` for each version of the robots.txt, the new version first.

        A `Decision` means that all URLs are allowed, that no URL is allowed, or that the rules of
        the robots.txt decide.
        """
        names = self._options.versions
        sites: dict[str, RobotsState] = {}
        if files is not None:
            origins = {name: origin_of(name) for name in names if is_url(name)}
            states = await files.states_of({*origins.values()}, fresh=True)
            sites = {name: states[origin] for name, origin in origins.items()}
        every = versions_among(names, sites, self._world, self._err)
        return [_decision_on(version) for version in reversed(every)]

    async def _by_host(self, urls: Sequence[str], files: RobotsFiles | None) -> Decisions:
        """Look up the robots.txt of each origin in `urls`, and return a `Decision` for each origin.

        The files are looked up as in a crawl. If an override replaces the robots.txt of an origin,
        the file is not looked up, and the result contains no `Decision` for the origin.
        """
        overrides, now = self._judge.overrides, self._judge.now
        to_look_up: list[Origin] = []
        for origin in origins_of(urls):
            override = overrides.of(origin, now)
            if override is None or not override.replaces:
                to_look_up.append(origin)
        states = {} if files is None else await files.states_of(to_look_up)
        return {origin: state.decision for origin, state in states.items()}

    async def _pieces(self, files: RobotsFiles | None) -> AsyncIterator[list[Row]]:
        """Yield the rows of the list in portions, and show the progress on standard error."""
        async for rows in self._read(files):
            yield rows
            # Rows on a terminal show the progress already.
            if not self._out.columns:
                self._err.show_state(f"Auditing: {self._judged:,} URLs")
        self._err.show_state("")

    async def _read(self, files: RobotsFiles | None) -> AsyncIterator[list[Row]]:
        if isinstance(self._urls, SitemapList):
            async for rows in self._urls.pieces(files):
                yield rows
            return
        pieces = self._urls.pieces()
        while True:
            with interruptible():
                piece = next(pieces, None)
            if piece is None:
                break
            yield piece

    def _take_sitemaps(self, urls: Sequence[str], robots: Decisions) -> None:
        """Count the sitemaps at `urls` that are not allowed for a crawler.

        `robots` is either one `Decision` for all sitemaps, or a dict with a `Decision` for each
        origin. If there are two versions of the robots.txt, `robots` is for the new version.
        """
        for url in urls:
            explained = self._judge.explained(url, robots)
            for name, (answer, verdict) in zip(self._names, explained, strict=False):
                if answer == YES:
                    continue
                self.has_disallowed = True
                self._forbidden_sitemaps += 1
                if len(self._sitemap_rows) < _TOP:
                    self._sitemap_rows.append([_word(answer), name, _why(verdict), printable(url)])

    def take(self, rows: Sequence[Row], robots: Sequence[Decisions]) -> None:
        """Judge the URLs of `rows`, and write and count the rows.

        Each item of `robots` is either one `Decision` for all URLs, or a dict with a `Decision` for
        each origin. With two versions of the robots.txt, the first item is for the new version.
        """
        urls = [row[URL] for row in rows]
        columns: list[bytearray] = []
        for version in robots:
            columns += self._judge.judged(urls, version)
        crawlers = len(self._judge.crawlers)
        for row, answers in zip(rows, zip(*columns, strict=True), strict=True):
            if answers[0] == NO_URL:
                self._urls.left_out += 1
                if not self._example:
                    self._example = f": {shown(row[URL], _EXAMPLE)}"
                continue
            if not self._judged:
                # The titles are written just before the first row. So nothing is written for a
                # list without URLs.
                self._begin()
            self._judged += 1
            new = answers[:crawlers]
            # If both versions give the same answers, the row is left out.
            if new == answers[crawlers:]:
                continue
            self._answers.update(enumerate(answers))
            is_allowed = set(new) == {YES}
            if not is_allowed:
                self.has_disallowed = True
            is_wanted = self._options.only in {None, "allowed" if is_allowed else "disallowed"}
            if self._options.format == "text":
                self._count_rules(row[URL], robots, is_written=is_wanted)
            elif is_wanted:
                self._write_row(row, answers)

    def _begin(self) -> None:
        """Choose the encoding of CSV and JSON. For text and CSV, write the titles of the columns.

        Raises:
            BulkError: two columns would have the same name.
        """
        form = self._options.format
        if form == "text":
            self._write(["ANSWER", "CRAWLER", "RULE", "URL"])
            return
        columns = [*self._urls.names, *self._names]
        need(columns, columns, f"--format {form}")
        self._out.begin_data()
        if form == "csv":
            self._write(columns)

    def _write_row(self, row: Row, answers: Sequence[int]) -> None:
        """Write a row of the list with its answers, as CSV or JSON.

        Raises:
            BulkError: the output would lose a key of the row. This happens in CSV if the key has no
                column, and in JSON if the key is also the name of a crawler.
        """
        form, names = self._options.format, self._urls.names
        if form == "csv":  # CSV has columns only for the keys of the first row.
            lost = [name for name in row if name not in names]
        else:
            lost = [name for name in self._names if name in row]
        if lost:
            where = shown(row[URL], _EXAMPLE)
            raise BulkError(f"--format {form} has no column for the key {lost[0]!r} of {where}")
        if form == "csv":
            self._write([*map(row.get, names), *answers])
        else:
            answered = row | dict(zip(self._names, answers, strict=True))
            self._out.write(json.dumps(answered) + "\n")

    def _write(self, cells: Sequence[Any]) -> None:
        if self._options.format == "csv":
            line = io.StringIO()
            # The CSV writer ends its lines with \r\n, so it quotes cells that contain \r or \n.
            csv.writer(line).writerow(map(self._cell, cells))
            self._out.write(line.getvalue().removesuffix("\r\n") + "\n")
        else:
            answer, name, rule, url = map(printable, cells)
            width = max(map(len, [*self._names, "CRAWLER"]))
            self._out.write(f"{answer:<11}  {name:<{width}}  {rule:<40}  {url}\n")

    def _cell(self, value: Any) -> Any:
        """Return `value` as a cell of CSV.

        A list or a dict becomes JSON. If the output is a terminal, text is made printable.
        """
        if isinstance(value, str) and self._out.columns:
            return printable(value)
        if isinstance(value, (list, dict)):
            return json.dumps(value)
        return value

    def _count_rules(self, url: str, robots: Sequence[Decisions], *, is_written: bool) -> None:
        """For each crawler, count the rule that allows or disallows `url`.

        If `is_written` is true, also write a line with the rule for each crawler.
        """
        explained = [pair for version in robots for pair in self._judge.explained(url, version)]
        for name, (answer, verdict) in zip(self._names, explained, strict=True):
            why = _why(verdict)
            self._rules.add((answer, name, why))
            if is_written:
                self._write([_WORDS[answer], name, why, url])

    def summarise(self) -> None:
        """Write the summary of all URLs that were judged so far.

        Raises:
            CommandError: the list has lines, but none of them is a URL.
        """
        err, invalid = self._err, self._urls.left_out
        if invalid and not self._judged:
            raise CommandError(f"{self._options.urls}: none of its lines is a URL{self._example}")
        err.say()
        judged = plural(self._judged, "URL")
        if len(self._options.versions) > 1:
            # With two versions, `_answers` counts only the URLs that the versions judge
            # differently. It counts these URLs in each column, so the total is divided by the
            # number of columns.
            changed = self._answers.total() // len(self._names)
            judged += f", {changed:,} of them judged differently,"
        err.say(f"{judged} in {time.monotonic() - self._began:.1f} s")
        if invalid:
            why = f"not a whole URL (https://host/path), or over {MAX_URL:,} characters"
            err.say((f"{plural(invalid, 'line')} left out: {why}{self._example}", "warning"))
        rows = []
        for column, name in enumerate(self._names):
            numbers = [self._answers[column, answer] for answer in (YES, NO, UNREACHABLE)]
            rows.append([name, *map("{:,}".format, numbers)])
        err.table(["CRAWLER", "ALLOWED", "DISALLOWED", "UNREACHABLE"], rows)
        if self._crawlers[0].source == NOBODY:
            err.say(f"CRAWLER {self._crawlers[0]}")
        self._summarise_rules()
        if isinstance(self._urls, SitemapList):
            self._summarise_sitemaps(self._urls)

    def _summarise_rules(self) -> None:
        """Write a table of the rules that apply to the most URLs. Disallow rules come first."""
        err = self._err
        rules = sorted(self._rules.most_common(), key=lambda rule: rule[0][0] == YES)
        rows = []
        for (answer, name, rule), urls in rules[:_TOP]:
            rows.append([f"{urls:,}", _WORDS[answer], name, rule])
        if rows:
            err.say()
            err.table(["URLS", "ANSWER", "CRAWLER", "RULE"], rows)
        if len(rules) > _TOP:
            others = plural(len(rules) - _TOP, "other rule")
            if not self._rules.exact:
                others = f"more than {others}"
            err.say(f"... and {others}")

    def _summarise_sitemaps(self, urls: SitemapList) -> None:
        """List the sitemaps that are not allowed for a crawler, and the sitemaps with errors."""
        err = self._err
        if self._sitemap_rows:
            err.say()
            err.table(["ANSWER", "CRAWLER", "RULE", "SITEMAP"], self._sitemap_rows)
        if self._forbidden_sitemaps > len(self._sitemap_rows):
            others = self._forbidden_sitemaps - len(self._sitemap_rows)
            err.say(f"... and {plural(others, 'other answer')} on sitemaps")
        for trouble in urls.troubles[:_MOST_TROUBLES]:
            err.say((f"sitemap: {trouble}", "warning"))
        if len(urls.troubles) > _MOST_TROUBLES:
            others = len(urls.troubles) - _MOST_TROUBLES
            err.say((f"... and {plural(others, 'other sitemap')} with trouble", "warning"))
