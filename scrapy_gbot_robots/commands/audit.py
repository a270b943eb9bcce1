"""`scrapy robots audit --urls FILE`: the answers for millions of URLs, in constant memory.

They are by one robots.txt, by an archive of them, or by that of each URL's host. With two versions
of a robots.txt, only the URLs that these judge differently are written. bulk/ judges. This module
has the options, the table and the summary.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from ..bulk.arrow import URL
from ..bulk.audit import Piece, by_archive, collect_rarely, judged, take_urls
from ..bulk.files import TEXT, URL_SUFFIXES, UrlFile, answer_file, text_writer
from ..bulk.judging import NO, NO_URL, UNREACHABLE, YES, Judge, Served, sites
from ..core.urls import Origin, shown
from ..core.verdict import Verdict
from ..report.counters import Tally
from ..report.summary import count
from ..settings import GbotSettings
from . import archives
from .command import FINE, FOUND, CommandError
from .inputs import (
    STDIN,
    add_shared,
    crawlers_named,
    overrides_checked,
    size_of,
    url_batches,
    versions,
)
from .output import Part, Terminal, printable

if TYPE_CHECKING:
    from .project_crawl import ProjectCrawl

_TOP = 20  # rules in the summary
_EXAMPLE = 100  # characters of a line that is no URL
_WORDS = ("disallowed", "allowed", "unreachable")  # by answer
_WALLED, _UNREACHABLE = "a wall answered, not the site", "unreachable"
_IN_SUMMARY = (YES, NO, UNREACHABLE)
_ANSWER, _RULE = 12, 30  # widths in a table, whose later rows are not known yet
_URL = 20  # columns that are left for a URL, or no rule is shown
_GAP = "  "


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "--urls",
        metavar="FILE",
        required=True,
        help="a .csv or .parquet file with a column url, or one URL per line; "
        '"-" for standard input',
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--robots",
        metavar="FILE",
        nargs="+",
        default=[],
        help=f"a robots.txt, or archives: {archives.WHAT} "
        "(default: the robots.txt of each URL's host, fetched once)",
    )
    source.add_argument(
        "--diff",
        metavar=("OLD", "NEW"),
        nargs=2,
        help="write only the URLs that two versions of a robots.txt judge differently: "
        "files, URLs, ORIGIN@DATE",
    )
    add_shared(parser, "--as", "--purpose")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--format",
        choices=("table", "jsonl", "csv"),
        default="table",
        help="of rows (default: table)",
    )
    form.add_argument(
        "--output", metavar="FILE", help="write the rows to this .parquet, .csv or .jsonl file"
    )
    parser.add_argument(
        "--only", choices=("allowed",), help="write only URLs that each crawler may fetch"
    )
    parser.add_argument(
        "--rules",
        action="store_true",
        help="write the deciding rule, its line and the reason as well",
    )
    parser.add_argument(
        "--workers", metavar="N", type=int, default=1, help="processes that judge (default: 1)"
    )
    parser.add_argument(
        "--fail-on", choices=("disallowed",), help="exit with 1 if a URL may not be fetched"
    )


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Judge the URLs; return the exit status.

    It is FOUND if a URL may not be fetched and `--fail-on` says that this matters.
    """
    is_archive = archives.are_archives(options.robots)
    if len(options.robots) > 1 and not is_archive:
        raise CommandError(
            f"--robots takes one robots.txt, or archives, got {len(options.robots)} files"
        )
    if options.workers < 1:
        raise CommandError(f"--workers must be at least 1, got {options.workers}")
    askers, gbot = crawlers_named(options.agents, settings, err), GbotSettings.of(settings)
    files: list[str] = []
    if options.diff:
        files = [options.diff[1], options.diff[0]]  # the new one first
    elif not is_archive:
        files = options.robots
    judge = Judge(
        [asker.crawler for asker in askers],
        policy=gbot.policy,
        strict=gbot.strict,
        max_bytes=gbot.max_bytes,
        overrides=None if files else overrides_checked(settings),
        now=time.time(),
        purposes=options.purposes,
    )
    with archives.errors_in_a_line():
        audit = Audit(options, judge, out, err)
        with audit.writing():
            if is_archive:
                _by_archive(audit, gbot)
            elif files:
                read = versions(files, settings, err)
                robots = [Served(200, version.body) for version in read]
                audit.judge(Piece(columns, robots) for columns in audit.rows("Auditing"))
            else:
                _by_host(audit, settings)
    audit.summarise()
    if options.fail_on and audit.summary.has_disallowed:
        return FOUND
    return FINE


def _by_archive(audit: Audit, gbot: GbotSettings) -> None:
    """Judge each URL by the robots.txt of its origin in the archives."""
    collect_rarely()
    with archives.opened(audit.options.robots, gbot, audit.err) as (store, about):
        origins = count(len(store), "origin")
        audit.summary.about += [f"robots.txt files of {origins} in the archive", *about]
        take_urls(store, audit.rows("Reading the URLs"), audit.urls.others)
        with audit.progress("Judging", audit.urls.read) as progress:

            def show() -> None:
                progress(audit.summary.urls, f"{audit.summary.urls:,} URLs")

            audit.judge(by_archive(store), show)


def _by_host(audit: Audit, settings: Settings) -> None:
    """Judge each URL by the robots.txt of its own origin, as a crawl would.

    Each robots.txt is fetched once.
    """
    from ..concurrency import pause  # noqa: PLC0415  as below
    from .project_crawl import run_in_crawl  # noqa: PLC0415  loads Scrapy's crawler, which files do not need

    async def work(crawl: ProjectCrawl) -> None:
        for columns in audit.rows("Auditing"):
            origins: dict[Origin, None] = {}
            for origin, _ in sites(columns[0]):
                if origin is not None:
                    origins[origin] = None
            served = await crawl.served(origins)
            audit.judge([Piece(columns, [served])])
            await pause(0)  # the reactor has to run for Ctrl-C to be noticed

    audit.workers = 1  # what takes time is the fetching
    run_in_crawl(settings, work)


class Audit:
    """Takes the rows of a list through the judge: to the file or terminal, and into the summary."""

    def __init__(self, options: Namespace, judge: Judge, out: Terminal, err: Terminal) -> None:
        self.options, self.err, self.workers = options, err, options.workers
        self._judge, self._out = judge, out
        crawlers_named = [crawler.name or "*" for crawler in judge.crawlers]
        names = list(crawlers_named)
        if options.diff:
            names += [f"{name}_before" for name in crawlers_named]
        self.urls = UrlRows(options.urls)
        self.answers = AnswerRows(options, names, self.urls.others, out)
        self.summary = Summary(names, judge)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open what the rows are written to, and complete it if there is no error.

        Raises:
            CommandError: there were lines, but none of them is a URL.
        """
        try:
            with self.answers.opened():
                yield
                if self.summary.invalid + self.urls.left_out and not self.summary.urls:
                    example = self.summary.example
                    if example:
                        example = f": {example}"
                    raise CommandError(f"{self.options.urls}: no line of it is a URL{example}")
        except KeyboardInterrupt:
            if not self.options.output:
                self.err.say(("Interrupted. So far:", "warning"))
                self.summarise()
            raise

    def progress(self, what: str, total: int | None) -> Any:
        """Show the progress of long work, beside the rows unless these go to a file."""
        if self.options.output:
            return self.err.progress(what, total)
        return self.err.progress(what, total, beside=self._out)

    def rows(self, what: str) -> Iterator[list[Any]]:
        """Yield the columns of the list, some rows at a time, and show how far it is read."""
        with self.progress(what, size_of(self.options.urls)) as progress:
            for columns in self.urls:
                yield columns
                progress(self.urls.done, f"{self.urls.read:,} URLs")

    def judge(self, pieces: Iterable[Piece], show: Callable[[], object] = lambda: None) -> None:
        """Judge pieces of work, write the answers and count them."""
        gives_reasons = self.answers.gives_reasons
        for piece in judged(pieces, self._judge, gives_reasons=gives_reasons, workers=self.workers):
            self._take(piece)
            show()

    def _take(self, piece: Piece) -> None:
        self.summary.count_sites(piece.robots[0])
        self.summary.count_urls(piece)
        piece = self._wanted(piece)
        self.summary.count_answers(piece)
        if self.options.only:
            piece = piece.of([row for row, answers in _by_row(piece) if set(answers) == {YES}])
        self.answers.write(piece, hold=not self.summary.urls)

    def _wanted(self, piece: Piece) -> Piece:
        """Return the rows with a URL; if two versions judge, those on which they differ."""
        has_others = NO_URL in piece.answers[0]
        if not has_others and not self.options.diff:
            return piece
        new = len(self._judge.crawlers)  # the answers by the old version follow
        wanted = []
        for row, answers in _by_row(piece):
            if answers[0] == NO_URL:
                continue
            if answers[:new] != answers[new:]:
                wanted.append(row)
        return piece.of(wanted)

    def summarise(self) -> None:
        """Write the summary."""
        if not self.options.output:
            self.err.say()
        self.summary.say(
            self.err, left_out=self.urls.left_out, gives_reasons=self.answers.gives_reasons
        )


def _by_row(piece: Piece) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the number of each row, and the answers in it."""
    return enumerate(zip(*piece.answers, strict=True))


# Rows in


class UrlRows:
    """The list of URLs, whatever form it has.

    Iterate over it to read it, column by column, some rows at a time.
    Raises BulkError or CommandError if it cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: UrlFile | None = None
        self.others: dict[str, Any] = {}  # the names of the other columns, and what they hold
        self.read = 0  # rows
        self.done = 0  # bytes, roughly
        if path != STDIN and path.lower().endswith(URL_SUFFIXES):
            self._file = UrlFile(path)
            self.others = self._file.others

    @property
    def left_out(self) -> int:
        """How many rows of a table have no URL; lines that are no URL are judged as such."""
        if self._file is None:
            return 0
        return self._file.left_out

    def __iter__(self) -> Iterator[list[Any]]:
        if self._file is None:
            for lines, done in url_batches(self._path):
                yield self._counted([lines], done)
        else:
            for columns in self._file.rows():
                yield self._counted(columns, self._file.done)

    def _counted(self, columns: list[Any], done: int) -> list[Any]:
        self.read += len(columns[0])
        self.done = done
        return columns


# Answers out


class AnswerRows:
    """Where the answers go: into a file, or as lines of a table, CSV or JSON."""

    def __init__(
        self, options: Namespace, names: Sequence[str], others: dict[str, Any], out: Terminal
    ) -> None:
        self._path, self._format = options.output, options.format
        self._names, self._others, self._out = names, others, out
        self._is_table = not options.output and options.format == "table"
        self.gives_reasons = options.rules or self._is_table
        self._shows_rules = self._is_table and _fits(names, out.columns)
        self._held = ""  # text that waits for the first URL
        self._holds = True
        self._write: Callable[[list[Any]], object]

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Open what the rows are written to, and complete it if there is no error."""
        if self._path:
            with answer_file(self._path, self._columns()) as self._write:
                yield
            return
        if self._is_table:
            self._write = text_writer(self._table_lines, self._titles(), self._say)
        else:
            names = [name for name, _ in self._columns()]
            self._write = text_writer(TEXT[f".{self._format}"], names, self._say)
        yield

    def write(self, piece: Piece, *, hold: bool) -> None:
        """Write rows.

        With `hold` there was no URL yet, so that an error may still be all that is said.
        """
        self._holds = hold
        if self._is_table:
            self._write(self._table_columns(piece))
            return
        columns = [*piece.columns, *piece.answers]
        for verdicts in piece.verdicts:
            columns += _reasons(verdicts)
        self._write(columns)

    def _say(self, text: str) -> None:
        self._held += text
        if not self._holds:
            self._out.write(self._held)
            self._held = ""

    def _columns(self) -> list[tuple[str, Any]]:
        """Return the names of the columns for programs, and what they hold."""
        columns: list[tuple[str, Any]] = [(URL, None), *self._others.items()]
        columns += [(name, bytearray) for name in self._names]
        if self.gives_reasons:
            for name in self._names:
                columns += [(f"{name}_rule", None), (f"{name}_line", int), (f"{name}_reason", None)]
        return columns

    # The table

    def _titles(self) -> list[str]:
        titles = []
        for name in self._names:
            titles.append(name)
            if self._shows_rules:
                titles.append("RULE")
        return [*titles, "URL"]

    def _table_columns(self, piece: Piece) -> list[Sequence[str]]:
        """Return columns for people: of each crawler the answers and the rules, last the URLs."""
        columns: list[Sequence[str]] = []
        for answers, verdicts in zip(piece.answers, piece.verdicts, strict=True):
            columns.append([_WORDS[answer] for answer in answers])
            if self._shows_rules:
                columns.append([why(verdict) for verdict in verdicts])
        return [*columns, piece.columns[0]]

    def _table_lines(self, titles: Sequence[str], columns: Sequence[Any]) -> str:
        """Return rows for people: for each crawler an answer and the rule, and last the URL.

        The URL may be long.
        """
        widths = [_RULE if title == "RULE" else max(_ANSWER, len(title)) for title in titles[:-1]]
        text = ""
        for row in zip(*columns, strict=True):
            cells = [printable(cell) for cell in row]
            if self._out.columns is not None:
                cells = [*map(_cut, cells[:-1]), cells[-1]]
            padded = [cell.ljust(width) for cell, width in zip(cells[:-1], widths, strict=True)]
            text += _GAP.join([*padded, cells[-1]]) + "\n"
        return text


def _fits(names: Sequence[str], columns: int | None) -> bool:
    """Whether a table with the rules fits into so many columns.

    With None there is no terminal.
    """
    if columns is None:
        return True
    answers = sum(max(_ANSWER, len(name)) for name in names)
    rest = (_RULE + 2 * len(_GAP)) * len(names)
    return answers + rest + _URL <= columns


def _cut(cell: str) -> str:
    """Return a cell of a table on a terminal: a rule may be as long as a file."""
    return cell if len(cell) <= _RULE else f"{cell[: _RULE - 3]}..."


def _reasons(verdicts: Sequence[Verdict]) -> list[list[Any]]:
    """Return three columns: the deciding rules, their lines, and the reasons."""
    rules: list[str | None] = []
    lines: list[int | None] = []
    for verdict in verdicts:
        if verdict.rule is None:
            rules.append(None)
            lines.append(None)
        else:
            rules.append(str(verdict.rule))
            lines.append(verdict.rule.line)
    return [rules, lines, [verdict.reason for verdict in verdicts]]


# Summary


class Summary:
    """Counts what was judged, and says it at the end."""

    def __init__(self, names: Sequence[str], judge: Judge) -> None:
        self._judge = judge
        self._began = time.monotonic()
        self.about: list[Part] = []  # lines about the robots.txt files
        self.urls = 0  # that were judged
        self.invalid = 0  # lines that are none
        self.example = ""  # of these
        self._answers: dict[str, Counter[int]] = {name: Counter() for name in names}
        self._rules: Tally[tuple[int, str, str]] = Tally()
        # robots.txt files by what is wrong with them
        self._odd: defaultdict[str, Tally[str]] = defaultdict(Tally)

    def count_sites(self, robots: Served | Mapping[Origin, Served]) -> None:
        """Count the robots.txt files of sites that are unreachable, or a wall's."""
        if isinstance(robots, Served):
            return
        for origin, served in robots.items():
            decision = self._judge.decision(served)
            if served.wall:
                self._odd[_WALLED].update([origin.robots_url])
            elif decision is not None and decision.temporary:
                self._odd[_UNREACHABLE].update([origin.robots_url])

    def count_urls(self, piece: Piece) -> None:
        """Count the rows with a URL, and the others."""
        answers = piece.answers[0]
        invalid = answers.count(NO_URL)
        if invalid and not self.example:
            self.example = shown(piece.columns[0][answers.index(NO_URL)], _EXAMPLE)
        self.invalid += invalid
        self.urls += len(answers) - invalid

    def count_answers(self, piece: Piece) -> None:
        """Count the answers, and what they rest on."""
        for number, (name, answers) in enumerate(zip(self._answers, piece.answers, strict=True)):
            self._answers[name].update(answers)
            if piece.verdicts:
                reasons = map(why, piece.verdicts[number])
                self._rules.update(list(zip(answers, repeat(name), reasons, strict=False)))

    @property
    def has_disallowed(self) -> bool:
        """Whether a URL may not be fetched, by the new version if there are two."""
        names = list(self._answers)[: len(self._judge.crawlers)]
        return any(self._answers[name][NO] or self._answers[name][UNREACHABLE] for name in names)

    def say(self, err: Terminal, *, left_out: int, gives_reasons: bool) -> None:
        """Write the summary. `left_out` rows of a table were not judged."""
        secs = time.monotonic() - self._began
        rate = self.urls / max(secs, 1e-9)
        err.say(f"{count(self.urls, 'URL')} in {secs:.1f} s, {rate:,.0f} a second")
        for part in self.about:
            err.say(part)
        invalid = self.invalid + left_out
        if invalid:
            example = self.example
            if example:
                example = f", such as: {example}"
            err.say((f"{count(invalid, 'line')} left out: no URL{example}", "warning"))
        for what, files in self._odd.items():
            others = len(files) - 1
            more = ""
            if others:
                more = f" and {count(others, 'other', exact=files.exact)}"
            err.say((f"{what}: {files.top(1)[0][0]}{more}", "bad"))
        self._say_answers(err)
        if gives_reasons:
            self._say_rules(err)

    def _say_answers(self, err: Terminal) -> None:
        titles = ["CRAWLER", *(_WORDS[answer].upper() for answer in _IN_SUMMARY)]
        rows = []
        for name, answers in self._answers.items():
            rows.append([name, *(f"{answers[answer]:,}" for answer in _IN_SUMMARY)])
        err.table(titles, rows)

    def _say_rules(self, err: Terminal) -> None:
        """Write the most frequent rules: first those that disallow."""
        rules = sorted(self._rules.top(len(self._rules)), key=_place_of)
        rows = []
        for (answer, name, rule), urls in rules[:_TOP]:
            rows.append((f"{urls:,}", _WORDS[answer], name, rule))
        if rows:
            err.say()
            err.table(["URLS", "ANSWER", "CRAWLER", "RULE"], rows)
        if len(rules) > len(rows):
            others = count(len(rules) - len(rows), "other rule", exact=self._rules.exact)
            err.say(f"... and {others}")


def _place_of(counted: tuple[tuple[int, str, str], int]) -> tuple[bool, int]:
    (answer, _, _), urls = counted
    return answer == YES, -urls


def why(verdict: Verdict) -> str:
    """Return the deciding rule with its line, or the reason."""
    if verdict.rule is None:
        return verdict.reason
    return f"{verdict.rule} (line {verdict.rule.line})"
