"""`scrapy robots audit --urls FILE`: the answers for millions of URLs, in constant memory.

They are by one robots.txt, by an archive of them, or by that of each URL's host. With two versions
of a robots.txt, only the URLs that these judge differently are written. bulk/ judges. This module
has the options, the table and the summary.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from ..bulk.arrow import URL
from ..bulk.audit import Piece, by_archive, collect_rarely, judged, take_urls
from ..bulk.files import TEXT, URL_SUFFIXES, UrlFile, answer_file, text_writer
from ..bulk.judging import NO, NO_URL, UNREACHABLE, YES, Judge, Served, sites
from ..core.urls import shown
from ..core.verdict import Verdict
from ..report.counters import Tally
from ..report.summary import count
from ..settings import GbotSettings
from . import archives, crawlers
from .command import FINE, FOUND, CommandError
from .inputs import STDIN, add_shared, overrides_checked, size_of, url_batches, versions
from .output import Part, Terminal, printable

if TYPE_CHECKING:
    from .project_crawl import ProjectCrawl

_TOP = 20  # rules in the summary
_EXAMPLE = 100  # characters of a line that is no URL
_WORDS = ("disallowed", "allowed", "unreachable")  # by answer
_WALLED, _UNREACHABLE = "a wall answered, not the site", "unreachable"
_TOLD = (YES, NO, UNREACHABLE)
_ANSWER, _RULE = 12, 30  # widths in a table, whose later rows are not known yet


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "--urls",
        metavar="FILE",
        required=True,
        help='a .csv or .parquet file with a column url, or one URL per line; "-" for standard input',
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--robots",
        metavar="FILE",
        nargs="+",
        default=[],
        help=f"a robots.txt, or archives: {archives.WHAT} (default: the robots.txt of each URL's host, fetched once)",
    )
    source.add_argument(
        "--diff",
        metavar=("OLD", "NEW"),
        nargs=2,
        help="write only the URLs that two versions of a robots.txt judge differently: files, URLs, ORIGIN@DATE",
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
    """Judge the URLs; return the exit status: FOUND if a URL may not be fetched and `--fail-on` says that this matters."""
    is_archive = archives.are_archives(options.robots)
    if len(options.robots) > 1 and not is_archive:
        raise CommandError(
            f"--robots takes one robots.txt, or archives, got {len(options.robots)} files"
        )
    if options.workers < 1:
        raise CommandError(f"--workers must be at least 1, got {options.workers}")
    askers, gbot = crawlers.named(options.agents, settings, err), GbotSettings.of(settings)
    files = (
        [] if is_archive else options.robots or list(reversed(options.diff or []))
    )  # the new one first
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
                robots = [Served(200, version.body) for version in versions(files, settings)]
                audit.judge(Piece(columns, robots) for columns in audit.rows("Auditing"))
            else:
                _by_host(audit, settings)
    audit.summarise()
    return audit.status


def _by_archive(audit: Audit, gbot: GbotSettings) -> None:
    """Judge each URL by the robots.txt of its origin in the archives."""
    collect_rarely()
    with archives.opened(audit.options.robots, gbot, audit.err) as (store, damage):
        audit.about += [
            f"robots.txt files of {count(len(store), 'origin')} in the archive",
            *damage,
        ]
        take_urls(store, audit.rows("Reading the URLs"), audit.others)
        with audit.progress("Judging", audit.read) as progress:
            audit.judge(by_archive(store), lambda: progress(audit.urls, f"{audit.urls:,} URLs"))


def _by_host(audit: Audit, settings: Settings) -> None:
    """Judge each URL by the robots.txt of its own origin, as a crawl would. Each is fetched once."""
    from ..concurrency import pause  # noqa: PLC0415  as below
    from .project_crawl import run_in_crawl  # noqa: PLC0415  loads Scrapy's crawler, which files do not need

    async def work(crawl: ProjectCrawl) -> None:
        for columns in audit.rows("Auditing"):
            served = await crawl.served(
                dict.fromkeys(origin for origin, _ in sites(columns[0]) if origin is not None)
            )
            audit.judge([Piece(columns, [served])])
            await pause(0)  # the reactor has to run for Ctrl-C to be noticed

    audit.workers = 1  # what takes time is the fetching
    run_in_crawl(settings, work)


class Audit:
    """Writes the answers as they come, and counts them for the summary."""

    def __init__(self, options: Namespace, judge: Judge, out: Terminal, err: Terminal) -> None:
        self.options, self.err, self.workers = options, err, options.workers
        self._judge, self._out = judge, out
        path = options.urls
        self._file = (
            UrlFile(path) if path != STDIN and path.lower().endswith(URL_SUFFIXES) else None
        )
        self.others: dict[str, Any] = {} if self._file is None else self._file.others
        names = [crawler.name or "*" for crawler in judge.crawlers]
        self._names = [*names, *(f"{name}_before" for name in names if options.diff)]
        self._is_table = not options.output and options.format == "table"
        self._gives_reasons = options.rules or self._is_table
        self._write: Callable[[list[Any]], object]
        self._began = time.monotonic()
        self.about: list[Part] = []  # lines of the summary about the robots.txt files
        self.read = self.urls = self._invalid = (
            0  # URLs that were read, URLs that were judged, lines that are none
        )
        self._example = ""  # of these
        self._unsaid = ""
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in self._names}
        self._rules: Tally[tuple[int, str, str]] = Tally()
        self._odd: defaultdict[str, Tally[str]] = defaultdict(
            Tally
        )  # robots.txt files by what is wrong with them

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open what the rows are written to, and complete it if there is no error.

        Raises:
            CommandError: there were lines, but none of them is a URL.
        """
        kinds = {"rule": None, "line": int, "reason": None} if self._gives_reasons else {}
        columns = [(URL, None), *self.others.items(), *((name, bytearray) for name in self._names)]
        columns += [
            (f"{name}_{what}", kind) for name in self._names for what, kind in kinds.items()
        ]
        names = [name for name, _ in columns]
        if self._is_table:
            names = [*(title for name in self._names for title in (name, "RULE")), "URL"]
        lines = TEXT.get(f".{self.options.format}", table_lines)
        path = self.options.output
        try:
            with (
                answer_file(path, columns)
                if path
                else nullcontext(text_writer(lines, names, self._say)) as write
            ):
                self._write = write
                yield
                if self._invalid and not self.urls:
                    example = f": {self._example}" if self._example else ""
                    raise CommandError(f"{self.options.urls}: no line of it is a URL{example}")
        except KeyboardInterrupt:
            if not path:
                self.err.say(("Interrupted. So far:", "warning"))
                self.summarise()
            raise

    def _say(self, text: str) -> None:
        """Write rows, and titles not before there is a URL: an error says nothing else."""
        self._unsaid += text
        if self.urls:
            self._out.write(self._unsaid)
            self._unsaid = ""

    def progress(self, what: str, total: int | None) -> Any:
        """Show the progress of long work, beside the rows unless these go to a file."""
        return self.err.progress(what, total, beside=None if self.options.output else self._out)

    def rows(self, what: str) -> Iterator[list[Any]]:
        """Yield the columns of the list, some rows at a time, and show how far it is read."""
        path, file = self.options.urls, self._file
        with self.progress(what, size_of(path)) as progress:
            if file is None:
                pieces = (([lines], done) for lines, done in url_batches(path))
            else:
                pieces = ((columns, file.done) for columns in file.rows())
            for columns, done in pieces:
                self.read += len(columns[0])
                yield columns
                progress(done, f"{self.read:,} URLs")
        self._invalid += 0 if file is None else file.left_out

    def judge(self, pieces: Iterable[Piece], progress: Callable[[], object] = lambda: None) -> None:
        """Judge pieces of work, write the answers and count them."""
        for piece in judged(
            pieces, self._judge, gives_reasons=self._gives_reasons, workers=self.workers
        ):
            self._take(piece)
            progress()

    def _take(self, piece: Piece) -> None:
        if not isinstance(piece.robots[0], Served):
            for origin, served in piece.robots[0].items():
                decision = self._judge.decision(served)
                if served.wall or (decision is not None and decision.temporary):
                    self._odd[_WALLED if served.wall else _UNREACHABLE].update([origin.robots_url])
        new, first = len(self._judge.crawlers), piece.answers[0]
        if NO_URL in first:
            self._example = self._example or shown(piece.columns[0][first.index(NO_URL)], _EXAMPLE)
        invalid = first.count(NO_URL)
        self._invalid += invalid
        self.urls += len(first) - invalid
        if (
            invalid or self.options.diff
        ):  # without a change to show, there are no answers beyond `new`
            rows = enumerate(zip(*piece.answers, strict=True))
            piece = piece.of(
                [row for row, each in rows if each[0] != NO_URL and each[:new] != each[new:]]
            )
        self._count(piece)
        if self.options.only:
            rows = enumerate(zip(*piece.answers, strict=True))
            piece = piece.of([row for row, each in rows if set(each) == {YES}])
        columns = [*piece.columns, *piece.answers]
        if self._is_table:
            words = ([_WORDS[answer] for answer in answers] for answers in piece.answers)
            reasons = (map(why, verdicts) for verdicts in piece.verdicts)
            columns = [*chain.from_iterable(zip(words, reasons, strict=True)), piece.columns[0]]
        elif self._gives_reasons:
            for verdicts in piece.verdicts:
                rules = [verdict.rule for verdict in verdicts]
                columns += [
                    [rule and str(rule) for rule in rules],
                    [rule and rule.line for rule in rules],
                ]
                columns.append([verdict.reason for verdict in verdicts])
        self._write(columns)

    def _count(self, piece: Piece) -> None:
        for number, (name, answers) in enumerate(zip(self._names, piece.answers, strict=True)):
            self._counts[name].update(answers)
            if piece.verdicts:
                self._rules.update(
                    list(zip(answers, repeat(name), map(why, piece.verdicts[number]), strict=False))
                )

    @property
    def status(self) -> int:
        """The exit status."""
        names = self._names[: len(self._judge.crawlers)]
        bad = any(self._counts[name][answer] for name in names for answer in (NO, UNREACHABLE))
        return FOUND if bad and self.options.fail_on else FINE

    def summarise(self) -> None:
        """Write the summary."""
        say, secs = self.err.say, time.monotonic() - self._began
        if not self.options.output:
            say()
        say(
            f"{count(self.urls, 'URL')} in {secs:.1f} s, {self.urls / max(secs, 1e-9):,.0f} a second"
        )
        for part in self.about:
            say(part)
        if self._invalid:
            example = f", such as: {self._example}" if self._example else ""
            say((f"{count(self._invalid, 'line')} left out: no URL{example}", "warning"))
        for what, files in self._odd.items():
            others = len(files) - 1
            more = f" and {count(others, 'other', exact=files.exact)}" if others else ""
            say((f"{what}: {files.top(1)[0][0]}{more}", "bad"))
        titles = ["CRAWLER", *(_WORDS[answer].upper() for answer in _TOLD)]
        rows = [
            [name, *(f"{counts[answer]:,}" for answer in _TOLD)]
            for name, counts in self._counts.items()
        ]
        self.err.table(titles, rows)
        if self._gives_reasons:
            self._summarise_rules()

    def _summarise_rules(self) -> None:
        rules = sorted(
            self._rules.top(len(self._rules)), key=lambda pair: (pair[0][0] == YES, -pair[1])
        )
        top = rules[:_TOP]
        if top:
            rows = [(f"{urls:,}", _WORDS[answer], name, rule) for (answer, name, rule), urls in top]
            self.err.say()
            self.err.table(["URLS", "ANSWER", "CRAWLER", "RULE"], rows)
        if len(rules) > len(top):
            self.err.say(
                f"... and {count(len(rules) - len(top), 'other rule', exact=self._rules.exact)}"
            )


def why(verdict: Verdict) -> str:
    """Return the deciding rule with its line, or the reason."""
    return verdict.reason if verdict.rule is None else f"{verdict.rule} (line {verdict.rule.line})"


def table_lines(names: Sequence[str], columns: Sequence[Any]) -> str:
    """Return rows for people: for each crawler an answer and the rule, and last the URL, since it may be long."""
    widths = [width for name in names[:-1:2] for width in (max(_ANSWER, len(name)), _RULE)]
    rows = zip(*(map(printable, column) for column in columns), strict=True)
    return "".join(["  ".join([*map(str.ljust, row, widths), f"{row[-1]}\n"]) for row in rows])
