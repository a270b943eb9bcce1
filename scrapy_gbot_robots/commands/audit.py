"""`scrapy robots audit --urls FILE`: the answers for millions of URLs, in constant memory.

They are by one robots.txt, by an archive of them, or by that of each URL's host. With two versions of a robots.txt, only the
URLs that these judge differently are written. bulk/ judges. This module has the options, the table and the summary.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from ..bulk.arrow import URL
from ..bulk.audit import WALLED, Judged, Piece, by_archive, collect_rarely, judged, piece_of
from ..bulk.files import TEXT, URL_SUFFIXES, AnswerFile, CsvText, JsonText, Rows, UrlFile
from ..bulk.judging import NO, NO_URL, UNREACHABLE, YES, Judge, Served, origin_of
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
    form.add_argument("--format", choices=("table", "jsonl", "csv"), default="table", help="of rows (default: table)")
    form.add_argument("--output", metavar="FILE", help="write the rows to this .parquet, .csv or .jsonl file")
    parser.add_argument("--only", choices=("allowed",), help="write only URLs that each crawler may fetch")
    parser.add_argument("--rules", action="store_true", help="write the deciding rule, its line and the reason as well")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="processes that judge (default: 1)")
    parser.add_argument("--fail-on", choices=("disallowed",), help="exit with 1 if a URL may not be fetched")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Judge the URLs; return the exit status: FOUND if a URL may not be fetched and `--fail-on` says that this matters."""
    is_archive = archives.are_archives(options.robots)
    if len(options.robots) > 1 and not is_archive:
        raise CommandError(f"--robots takes one robots.txt, or archives, got {len(options.robots)} files")
    if options.workers < 1:
        raise CommandError(f"--workers must be at least 1, got {options.workers}")
    askers, gbot = crawlers.named(options.agents, settings, err), GbotSettings.of(settings)
    files = [] if is_archive else options.robots or list(reversed(options.diff or []))  # the new one first
    judge = Judge(
        [asker.crawler for asker in askers],
        policy=gbot.policy,
        strict=gbot.strict,
        max_bytes=gbot.max_bytes,
        overrides=None if files else overrides_checked(settings),
        now=time.time(),
        purposes=options.purposes,
    )
    with archives.errors_in_a_line(), Audit(options, judge, out, err) as audit:
        if is_archive:
            _by_archive(audit, gbot)
        elif files:
            robots = [Served(200, version.body) for version in versions(files, settings)]
            for found in audit.judged(piece_of(rows, *robots) for rows in audit.rows("Auditing")):
                audit.take(found)
        else:
            _by_host(audit, settings)
        audit.finish()
    audit.summarise()
    return audit.status


def _by_archive(audit: Audit, gbot: GbotSettings) -> None:
    """Judge each URL by the robots.txt of its origin in the archives."""
    collect_rarely()
    with archives.opened(audit.options.robots, gbot, audit.err) as (store, damage):
        audit.about += [f"robots.txt files of {count(len(store), 'origin')} in the archive", *damage]
        every = audit.judged(by_archive(store, audit.rows("Reading the URLs"), audit.others))
        first = list(islice(every, 1))  # before it comes, all URLs are read
        with audit.err.progress("Judging", audit.read, beside=audit.beside) as progress:
            for found in chain(first, every):
                audit.take(found)
                progress(audit.urls, f"{audit.urls:,} URLs")


def _by_host(audit: Audit, settings: Settings) -> None:
    """Judge each URL by the robots.txt of its own origin, as a crawl would. Each is fetched once."""
    from ..concurrency import pause  # noqa: PLC0415  as below
    from .project_crawl import run_in_crawl  # noqa: PLC0415  loads Scrapy's crawler, which files do not need

    async def work(crawl: ProjectCrawl) -> None:
        for rows in audit.rows("Auditing"):
            served = await crawl.served(filter(None, dict.fromkeys(map(origin_of, rows.urls))))
            odd = {
                (WALLED if each.wall else "could not be fetched", origin.robots_url)
                for origin, each in served.items()
                if each.wall or (each.decision and each.decision.temporary)
            }
            for found in audit.judged([piece_of(rows, served, odd=sorted(odd))]):
                audit.take(found)
            await pause(0)  # the reactor has to run for Ctrl-C to be noticed

    audit.workers = 1  # what takes time is the fetching
    run_in_crawl(settings, work)


class Audit:
    """Writes the answers as they come, and counts them for the summary. Use it in a `with` statement.

    Attributes:
        options: those of the command.
        workers: how many processes judge.
        gives_reasons: whether the reason of each answer is wanted.
        others: the names and the Arrow types of the list's other columns.
        about: lines of the summary about the robots.txt files.
        beside: where rows go meanwhile, unless to a file.
        read: URLs that were read.
        urls: URLs that were judged.
    """

    def __init__(self, options: Namespace, judge: Judge, out: Terminal, err: Terminal) -> None:
        self.options, self.err, self.workers = options, err, options.workers
        self._judge = judge
        self.about: list[Part] = []
        self.beside = None if options.output else out
        self.gives_reasons = options.rules or (not options.output and options.format == "table")
        path = options.urls
        self._file = UrlFile(path) if path != STDIN and path.lower().endswith(URL_SUFFIXES) else None
        self.others: dict[str, Any] = {} if self._file is None else self._file.others
        names = [crawler.name or "*" for crawler in judge.crawlers]
        self._names = [*names, *(f"{name}_before" for name in names if options.diff)]
        kinds = {"rule": str, "line": int, "reason": str} if self.gives_reasons else {}
        columns = [(URL, None), *self.others.items(), *((name, bytearray) for name in self._names)]
        columns += [(f"{name}_{what}", kind) for name in self._names for what, kind in kinds.items()]
        self._out = out
        self._output = AnswerFile(options.output, columns) if options.output else None
        self._text: Table | CsvText | JsonText = Table(self._names)
        if options.format != "table":
            self._text = TEXT[options.format]([name for name, _ in columns])
        self._titles = self._text.titles  # "" when they are written
        self._began = time.monotonic()
        self.read = self.urls = self._invalid = 0
        self._example = ""
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in self._names}
        self._rules: Tally[tuple[int, str, str]] = Tally()
        self._odd: defaultdict[str, Tally[str]] = defaultdict(Tally)  # robots.txt files by what is wrong with them

    def __enter__(self) -> Audit:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None and self._output is not None:
            self._output.give_up()
        elif error is KeyboardInterrupt:
            self.err.say(("Interrupted. So far:", "warning"))
            self.summarise()

    def judged(self, pieces: Iterable[Piece]) -> Iterator[Judged]:
        """Yield the answers to pieces of work."""
        return judged(pieces, self._judge, gives_reasons=self.gives_reasons, workers=self.workers)

    def rows(self, what: str) -> Iterator[Rows]:
        """Yield the list, some rows at a time, and show how far it is read."""
        path, file = self.options.urls, self._file
        with self.err.progress(what, size_of(path), beside=self.beside) as progress:
            if file is None:
                pieces = ((Rows(lines), done) for lines, done in url_batches(path))
            else:
                pieces = ((rows, file.done) for rows in file.rows())
            for rows, done in pieces:
                self.read += len(rows.urls)
                yield rows
                progress(done, f"{self.read:,} URLs")
        self._invalid += 0 if file is None else file.left_out

    def take(self, found: Judged) -> None:
        """Write and count some answers."""
        for what, robots_txt in found.odd:
            self._odd[what].update([robots_txt])
        first = found.answers[0]
        if NO_URL in first:
            self._invalid += first.count(NO_URL)
            self._example = self._example or shown(found.rows.urls[first.index(NO_URL)], _EXAMPLE)
            found = found.of([row for row, answer in enumerate(first) if answer != NO_URL])
        self.urls += len(found.rows.urls)
        if self.options.diff:
            both, new = zip(*found.answers, strict=True), len(self._names) // 2
            found = found.of([row for row, each in enumerate(both) if each[:new] != each[new:]])
        self._count(found)
        if self.options.only:
            found = found.of([row for row, each in enumerate(zip(*found.answers, strict=True)) if set(each) == {YES}])
        if found.rows.urls:
            self._write(found)

    def _write(self, found: Judged) -> None:
        columns = [found.rows.urls, *found.rows.others, *found.answers]
        if self.gives_reasons:
            for verdicts in found.verdicts:
                rules = [verdict.rule for verdict in verdicts]
                columns += [[rule and str(rule) for rule in rules], [rule and rule.line for rule in rules]]
                columns.append([verdict.reason for verdict in verdicts])
        if self._output is not None:
            self._output.write(columns)
        else:
            lines = self._text.rows(found) if isinstance(self._text, Table) else self._text.lines(columns)
            self._out.write(self._titles + lines)
            self._titles = ""

    def _count(self, found: Judged) -> None:
        for number, (name, answers) in enumerate(zip(self._names, found.answers, strict=True)):
            for answer in range(len(_WORDS)):
                self._counts[name][answer] += answers.count(answer)
            if found.verdicts:
                self._rules.update(list(zip(answers, repeat(name), map(why, found.verdicts[number]), strict=False)))

    def finish(self) -> None:
        """Write what no row has needed yet, and give the file its name.

        Raises:
            CommandError: there were lines, but none of them is a URL.
        """
        if self._invalid and not self.urls:
            example = f": {self._example}" if self._example else ""
            raise CommandError(f"{self.options.urls}: no line of it is a URL{example}")
        if self._output is not None:
            self._output.finish()
        elif self.urls:
            self._out.write(self._titles)

    @property
    def status(self) -> int:
        """The exit status."""
        names = self._names[: len(self._judge.crawlers)]
        bad = any(self._counts[name][answer] for name in names for answer in (NO, UNREACHABLE))
        return FOUND if bad and self.options.fail_on else FINE

    def summarise(self) -> None:
        """Write the summary."""
        say, secs = self.err.say, time.monotonic() - self._began
        if self._output is None:
            say()
        say(f"{count(self.urls, 'URL')} in {secs:.1f} s, {self.urls / max(secs, 1e-9):,.0f} a second")
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
        rows = [[name, *(f"{counts[answer]:,}" for answer in _TOLD)] for name, counts in self._counts.items()]
        self.err.table(titles, rows)
        if self.gives_reasons:
            self._summarise_rules()

    def _summarise_rules(self) -> None:
        rules = sorted(self._rules.top(len(self._rules)), key=lambda pair: (pair[0][0] == YES, -pair[1]))
        top = rules[:_TOP]
        if top:
            rows = [(f"{urls:,}", _WORDS[answer], name, rule) for (answer, name, rule), urls in top]
            self.err.say()
            self.err.table(["URLS", "ANSWER", "CRAWLER", "RULE"], rows)
        if len(rules) > len(top):
            self.err.say(f"... and {count(len(rules) - len(top), 'other rule', exact=self._rules.exact)}")
        if not self._rules.exact:
            self.err.say("There were too many rules to count all: these counts may be too low.")


def why(verdict: Verdict) -> str:
    """Return the deciding rule with its line, or the reason."""
    return verdict.reason if verdict.rule is None else f"{verdict.rule} (line {verdict.rule.line})"


class Table:
    """Rows for people: for each crawler an answer and the rule, and last the URL, since it may be long."""

    def __init__(self, names: Sequence[str]) -> None:
        self._widths = [max(_ANSWER, len(name)) for name in names]
        pairs = zip(names, self._widths, strict=True)
        titles = [cell for name, width in pairs for cell in (f"{name:<{width}}", f"{'RULE':<{_RULE}}")]
        self.titles = "  ".join([*titles, "URL\n"])

    def rows(self, found: Judged) -> str:
        """Return a line for each row."""
        columns: list[Iterable[str]] = []
        for width, answers, verdicts in zip(self._widths, found.answers, found.verdicts, strict=True):
            columns += [
                [f"{_WORDS[answer]:<{width}}" for answer in answers],
                [f"{printable(why(verdict)):<{_RULE}}" for verdict in verdicts],
            ]
        lines = zip(*columns, map(printable, found.rows.urls), strict=True)
        return "".join([f"{'  '.join(line)}\n" for line in lines])
