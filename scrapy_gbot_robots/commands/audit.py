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
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from ..bulk.audit import Piece, by_archive, collect_rarely, judged, kinds_of, take_urls
from ..bulk.audit_files import (
    TEXT,
    URL_SUFFIXES,
    Lines,
    UrlFile,
    answer_file,
    json_lines,
    text_writer,
)
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
    UrlLines,
    add_shared,
    crawlers_named,
    overrides_checked,
    size_of,
    versions,
)
from .output import Part, Terminal, fixed_indent, fixed_lines, stacked_lines

if TYPE_CHECKING:
    from .project_crawl import ProjectCrawl

_TOP = 20  # rules in the summary
_EXAMPLE = 100  # characters of a line that is no URL
_WORDS = ("disallowed", "allowed", "unreachable")  # by answer
_WALLED, _UNREACHABLE = "a wall answered, not the site", "unreachable"
_IN_SUMMARY = (YES, NO, UNREACHABLE)
_ANSWER_WIDTH, _RULE_WIDTH = 12, 30  # of columns of a table
_URL_WIDTH = 20  # that is left for a URL, or no rule is shown


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
        "(default: the robots.txt of each URL's origin)",
    )
    source.add_argument(
        "--diff",
        metavar=("OLD", "NEW"),
        nargs=2,
        help="write only the URLs that two versions of a robots.txt judge differently: "
        "files or URLs",
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
        help="write the deciding rule, its line and the reason as well; a table stays as it is",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=int,
        default=1,
        help="processes that judge (default: 1); with no --robots or --diff always 1",
    )
    parser.add_argument(
        "--fail-on", choices=("disallowed",), help="exit with 1 if a crawler may not fetch a URL"
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
    if options.urls == STDIN and STDIN in files:
        raise CommandError('"-" cannot be both the URLs and a robots.txt')
    judge = Judge(
        [asker.crawler for asker in askers],
        policy=gbot.policy,
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
        with audit.progress("Judging", audit.read) as progress:

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
        names = [crawler.name or "*" for crawler in judge.crawlers]
        if options.diff:
            names += [f"{name}_before" for name in names]
        self.urls: UrlFile | UrlLines
        if options.urls.lower().endswith(URL_SUFFIXES):
            self.urls = UrlFile(options.urls)
        else:
            self.urls = UrlLines(options.urls)
        self.read = 0  # rows of the list
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
                    raise CommandError(f"{self.options.urls}: no line of it is a URL{example}")
        except KeyboardInterrupt:
            if not self.options.output:
                self.err.say(("Interrupted. So far:", "warning"))
                self.summarise()
            raise

    def progress(self, what: str, total: int | None) -> Any:
        """Show the progress of long work, beside the rows unless these go to a file."""
        beside = None if self.options.output else self._out
        return self.err.progress(what, total, beside)

    def rows(self, what: str) -> Iterator[list[Any]]:
        """Yield the columns of the list, some rows at a time, and show how far it is read."""
        with self.progress(what, size_of(self.options.urls)) as progress:
            for columns in self.urls.rows():
                self.read += len(columns[0])
                yield columns
                progress(self.urls.done, f"{self.read:,} URLs")

    def judge(self, pieces: Iterable[Piece], show: Callable[[], object] = lambda: None) -> None:
        """Judge pieces of work, write the answers and count them."""
        gives_reasons = self.answers.gives_reasons
        for piece in judged(pieces, self._judge, gives_reasons=gives_reasons, workers=self.workers):
            self._take(piece)
            show()

    def _take(self, piece: Piece) -> None:
        self.summary.count_urls(piece)
        new = len(self._judge.crawlers)  # with two versions, the answers by the old one follow
        if self.options.diff:
            piece = piece.where(lambda answers: answers[:new] != answers[new:])
        elif NO_URL in piece.answers[0]:
            piece = piece.where(lambda answers: answers[0] != NO_URL)
        self.summary.count_answers(piece)
        if self.options.only:
            piece = piece.where(lambda answers: set(answers[:new]) == {YES})
        if self.summary.urls:  # else an error may be all that is said
            self.answers.write(piece)

    def summarise(self) -> None:
        """Write the summary."""
        if not self.options.output:
            self.err.say()
        self.summary.say(self.err, self.urls.left_out)


# Answers out


class AnswerRows:
    """Where the answers go: into a file, or as lines of a table, CSV or JSON."""

    def __init__(
        self, options: Namespace, names: Sequence[str], others: Mapping[str, Any], out: Terminal
    ) -> None:
        self._path, self._out = options.output, out
        self._lines: Lines
        self._columns: Callable[[Piece], list[Any]]
        if not self._path and options.format == "table":
            table = _Table(names, out.columns)
            self.gives_reasons = True
            self._kinds = [(title, "string") for title in table.titles]
            self._lines, self._columns = table.lines, table.columns
        else:
            where = self._path or f"--format {options.format}"
            self.gives_reasons = options.rules
            self._kinds = kinds_of(where, others, names, gives_reasons=options.rules)
            self._lines = TEXT.get(f".{options.format}", json_lines)
            self._columns = Piece.all_columns
        self._write: Callable[[list[Any]], object] | None = None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Open the file, if there is one, and complete it if there is no error."""
        if not self._path:
            yield
            return
        with answer_file(self._path, self._kinds) as self._write:
            yield

    def write(self, piece: Piece) -> None:
        """Write rows: into the file if that is open, else as text, with titles before the first."""
        if self._write is None:
            titles = [name for name, _ in self._kinds]
            self._write = text_writer(self._lines, titles, self._out.write)
        self._write(self._columns(piece))


class _Table:
    """Rows for people: for each crawler the answer and the rule, and last the URL.

    A terminal that is too narrow gets no rules. One that is narrower still gets no columns: below
    each URL there is a line for each crawler.
    """

    def __init__(self, names: Sequence[str], columns: int | None) -> None:
        self._cuts = columns is not None
        self.titles: list[str] = []
        self._widths: list[int] = []  # of all columns but the last
        for name in names:
            self.titles += [name, "RULE"]
            self._widths += [max(_ANSWER_WIDTH, len(name)), _RULE_WIDTH]
        room = fixed_indent(self._widths) + _URL_WIDTH
        self._shows_rules = columns is None or room <= columns
        if not self._shows_rules:
            del self.titles[1::2], self._widths[1::2]
            room = fixed_indent(self._widths) + _URL_WIDTH
        self._has_columns = columns is None or room <= columns
        self.titles.append("URL")

    def columns(self, piece: Piece) -> list[Any]:
        columns: list[Any] = []
        for answers, verdicts in zip(piece.answers, piece.verdicts, strict=True):
            columns.append([_WORDS[answer] for answer in answers])
            if self._shows_rules:
                columns.append([why(verdict) for verdict in verdicts])
        return [*columns, piece.columns[0]]

    def lines(self, _titles: Sequence[str], columns: Sequence[Any]) -> str:
        if not self._has_columns:
            return stacked_lines(self.titles, columns)
        return fixed_lines(self._widths, columns, cuts=self._cuts)


# Summary


class Summary:
    """Counts what was judged, and says it at the end."""

    def __init__(self, names: Sequence[str], judge: Judge) -> None:
        self._judge = judge
        self._began = time.monotonic()
        self.about: list[Part] = []  # lines about the robots.txt files
        self.urls = 0  # that were judged
        self.invalid = 0  # lines that are none
        self.example = ""  # of these, after a colon
        self._answers: dict[str, Counter[int]] = {name: Counter() for name in names}
        self._rules: Tally[tuple[int, str, str]] = Tally()
        # robots.txt files by what is wrong with them
        self._odd: defaultdict[str, Tally[str]] = defaultdict(Tally)

    def count_urls(self, piece: Piece) -> None:
        """Count the rows with a URL and the others, and the sites whose robots.txt is odd."""
        answers, robots = piece.answers[0], piece.robots[0]
        invalid = answers.count(NO_URL)
        if invalid and not self.example:
            self.example = f": {shown(piece.columns[0][answers.index(NO_URL)], _EXAMPLE)}"
        self.invalid += invalid
        self.urls += len(answers) - invalid
        if isinstance(robots, Served):
            return
        for origin, served in robots.items():
            decision = self._judge.decision(served)
            if served.wall:
                self._odd[_WALLED].add(origin.robots_url)
            elif decision is not None and decision.temporary:
                self._odd[_UNREACHABLE].add(origin.robots_url)

    def count_answers(self, piece: Piece) -> None:
        """Count the answers, and what they rest on."""
        for name, answers in zip(self._answers, piece.answers, strict=True):
            self._answers[name].update(answers)
        for name, answers, verdicts in zip(
            self._answers, piece.answers, piece.verdicts, strict=False
        ):
            self._rules.update(list(zip(answers, repeat(name), map(why, verdicts), strict=False)))

    @property
    def has_disallowed(self) -> bool:
        """Whether a URL may not be fetched, by the new version if there are two."""
        counts = islice(self._answers.values(), len(self._judge.crawlers))
        return any(answers[NO] or answers[UNREACHABLE] for answers in counts)

    def say(self, err: Terminal, left_out: int) -> None:
        """Write the summary. `left_out` rows of a table were not judged."""
        secs = time.monotonic() - self._began
        rate = self.urls / max(secs, 1e-9)
        err.say(f"{count(self.urls, 'URL')} in {secs:.1f} s, {rate:,.0f} a second")
        for part in self.about:
            err.say(part)
        invalid = self.invalid + left_out
        if invalid:
            example = self.example.replace(":", ", such as:", 1)
            err.say((f"{count(invalid, 'line')} left out: no URL{example}", "warning"))
        for what, files in self._odd.items():
            ((file, _),) = files.top(1)
            if len(files) > 1:
                file += f" and {count(len(files) - 1, 'other', exact=files.exact)}"
            err.say((f"{what}: {file}", "bad"))
        rows = []
        for name, answers in self._answers.items():
            rows.append([name, *(f"{answers[answer]:,}" for answer in _IN_SUMMARY)])
        err.table(["CRAWLER", *(_WORDS[answer].upper() for answer in _IN_SUMMARY)], rows)
        self._say_rules(err)

    def _say_rules(self, err: Terminal) -> None:
        """Write the most frequent rules: first those that disallow."""
        rules = sorted(self._rules.top(len(self._rules)), key=lambda rule: rule[0][0] == YES)
        rows = []
        for (answer, name, rule), urls in rules[:_TOP]:
            rows.append((f"{urls:,}", _WORDS[answer], name, rule))
        if rows:
            err.say()
            err.table(["URLS", "ANSWER", "CRAWLER", "RULE"], rows)
        if len(rules) > _TOP:
            others = count(len(rules) - _TOP, "other rule", exact=self._rules.exact)
            err.say(f"... and {others}")


def why(verdict: Verdict) -> str:
    """Return the deciding rule with its line, or the reason."""
    if verdict.rule is None:
        return verdict.reason
    return f"{verdict.rule} (line {verdict.rule.line})"
