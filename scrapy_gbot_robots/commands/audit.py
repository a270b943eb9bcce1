"""`scrapy robots audit --urls FILE`: the answers for millions of URLs, in constant memory.

They are by one robots.txt, by an archive of them, or by that of each URL's host. With two versions of a robots.txt, only the
URLs that these judge differently are written. bulk/ judges. This module has the options, the table and the summary.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain, compress, islice
from typing import TYPE_CHECKING, Any

from ..bulk.arrow import URL
from ..bulk.audit import WALLED, Judged, by_archive, by_files, collect_rarely, judged
from ..bulk.files import TEXT, URL_SUFFIXES, AnswerFile, Rows, UrlFile
from ..bulk.judging import ITSELF, NO, NO_URL, UNREACHABLE, YES, Judge, Served, origin_of
from ..core.urls import Origin, shown
from ..experimental.purposes import refusal
from ..report.counters import Tally
from ..report.summary import count
from ..settings import GbotSettings
from . import archives, crawlers
from .command import FINE, FOUND, CommandError
from .inputs import STDIN, add_shared, overrides_checked, read, size_of, url_batches
from .output import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy.settings import Settings

    from ..bulk.audit import Piece
    from ..bulk.files import CsvText, JsonText
    from ..core.verdict import Verdict
    from ..obeying.overrides import Ruling
    from .crawlers import Asker
    from .output import Part, Terminal
    from .project_crawl import ProjectCrawl

_TOP = 20  # rules in the summary
_EXAMPLE = 100  # characters of a line that is no URL
_WORDS = ("disallowed", "allowed", "unreachable")  # by answer
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
        help="write only the URLs that two robots.txt files judge differently",
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
    judge = Judge(
        [asker.crawler for asker in askers],
        policy=gbot.policy,
        strict=gbot.strict,
        max_bytes=gbot.max_bytes,
        overrides=overrides_checked(settings) if is_archive else None,
        now=time.time(),
        purposes=options.purposes,
    )
    with archives.errors_in_a_line(), Audit(options, [asker.name for asker in askers], out, err) as audit:
        if is_archive:
            _by_archive(audit, judge, gbot)
        elif options.robots or options.diff:
            robots = [Served(200, read(path)) for path in options.robots or reversed(options.diff)]  # the new one first
            for found in audit.judged(by_files(audit.rows("Auditing"), *robots), judge):
                audit.take(found)
        else:
            _by_host(audit, askers, settings)
        audit.finish()
    audit.summarise()
    return audit.status


def _by_archive(audit: Audit, judge: Judge, gbot: GbotSettings) -> None:
    """Judge each URL by the robots.txt of its origin in the archives."""
    collect_rarely()
    with archives.opened(audit.options.robots, gbot, audit.err) as (store, damage):
        audit.about += [f"robots.txt files of {count(len(store), 'origin')} in the archive", *damage]
        every = audit.judged(by_archive(store, audit.rows("Reading the URLs"), audit.others), judge)
        first = list(islice(every, 1))  # before it comes, all URLs are read
        with audit.err.progress("Judging", audit.read, beside=audit.beside) as progress:
            for found in chain(first, every):
                audit.take(found)
                progress(audit.urls, f"{audit.urls:,} URLs")


def _by_host(audit: Audit, askers: Sequence[Asker], settings: Settings) -> None:
    """Judge each URL by the robots.txt of its own origin, as a crawl would. Each is fetched once."""
    from ..concurrency import pause  # noqa: PLC0415  as below
    from .project_crawl import run_in_crawl  # noqa: PLC0415  loads Scrapy's crawler, which files do not need

    async def work(crawl: ProjectCrawl) -> None:
        for rows in audit.rows("Auditing"):
            origins = [origin_of(url) for url in rows.urls]
            keys = [(origin, asker.crawler) for origin in dict.fromkeys(origins) if origin for asker in askers]
            rulings = dict(zip(keys, await crawl.together(crawl.ruling(*key) for key in keys), strict=True))
            found = Judged(rows, [bytearray() for _ in askers], [[] for _ in askers])
            for asker, column, verdicts in zip(askers, found.answers, found.verdicts, strict=True):
                for url, origin in zip(rows.urls, origins, strict=True):
                    ruling = None if origin is None else rulings[origin, asker.crawler]
                    code, verdict = _by_ruling(url, ruling, audit.options.purposes)
                    column.append(code)
                    verdicts.append(verdict)
            odd = {
                (WALLED if ruling.answer.walled else "could not be fetched", origin.robots_url)
                for (origin, _), ruling in rulings.items()
                if ruling.answer.walled or ruling.answer.temporary
            }
            audit.take(found._replace(odd=sorted(odd)))
            await pause(0)  # the reactor has to run for Ctrl-C to be noticed

    run_in_crawl(settings, work)


def _by_ruling(url: str, ruling: Ruling | None, for_purposes: Sequence[str]) -> tuple[int, Verdict]:
    """Return the answer for a URL, and why, by what a crawl knows of its origin."""
    if ruling is None:
        return NO_URL, ITSELF
    if Origin.of_robots_txt(url) is not None:
        return YES, ITSELF
    verdict = ruling.verdict(url)
    if for_purposes and verdict.allowed:
        verdict = refusal(for_purposes, ruling.answer.preferences(url, ruling.agent)) or verdict
    return YES if verdict.allowed else UNREACHABLE if ruling.answer.temporary else NO, verdict


class Audit:
    """Writes the answers as they come, and counts them for the summary. Use it in a `with` statement.

    Attributes:
        options: those of the command.
        gives_reasons: whether the reason of each answer is wanted.
        others: the names and the Arrow types of the list's other columns.
        about: lines of the summary about the robots.txt files.
        beside: where rows go meanwhile, unless to a file.
        read: URLs that were read.
        urls: URLs that were judged.
    """

    def __init__(self, options: Namespace, names: Sequence[str], out: Terminal, err: Terminal) -> None:
        self.options, self.err = options, err
        self.about: list[Part] = []
        self.beside = None if options.output else out
        self.gives_reasons = options.rules or (not options.output and options.format == "table")
        path = options.urls
        self._file = UrlFile(path) if path != STDIN and path.lower().endswith(URL_SUFFIXES) else None
        self.others: dict[str, Any] = {} if self._file is None else self._file.others
        columns = [*names, *(f"{name}_before" for name in names if options.diff)]
        kinds = {"rule": str, "line": int, "reason": str} if self.gives_reasons else {}
        reasons = {f"{name}_{what}": kind for name in columns for what, kind in kinds.items()}
        every = [URL, *self.others, *columns, *reasons]
        self._names, self._out = names, out
        self._output: AnswerFile | None = None
        self._text: Table | CsvText | JsonText = Table(columns)
        if options.output:
            self._output = AnswerFile(
                options.output, every, {**self.others, **dict.fromkeys(columns, bytearray), **reasons}
            )
        elif options.format != "table":
            self._text = TEXT[options.format](every)
        self._titles = self._text.titles  # "" when they are written
        self._began = time.monotonic()
        self.read = self.urls = self._invalid = 0
        self._example = ""
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in names}
        self._rules: Tally[tuple[int, str, str]] = Tally()
        self._odd: dict[str, Tally[str]] = {}  # robots.txt files by what is wrong with them

    def __enter__(self) -> Audit:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None and self._output is not None:
            self._output.give_up()
        elif error is KeyboardInterrupt:
            self.err.say(("Interrupted. So far:", "warning"))
            self.summarise()

    def judged(self, pieces: Iterable[Piece], judge: Judge) -> Iterator[Judged]:
        """Yield the answers to pieces of work."""
        return judged(pieces, judge, gives_reasons=self.gives_reasons, workers=self.options.workers)

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
            self._odd.setdefault(what, Tally()).update([robots_txt])
        first = found.answers[0]
        if NO_URL in first:
            self._invalid += first.count(NO_URL)
            self._example = self._example or shown(found.rows.urls[first.index(NO_URL)], _EXAMPLE)
            found = found.of([row for row, answer in enumerate(first) if answer != NO_URL])
        self.urls += len(found.rows.urls)
        if self.options.diff:
            both = zip(*found.answers, strict=True)
            new = len(self._names)
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
        """Count the answers; of two for each crawler, those that differ."""
        for number, name in enumerate(self._names):
            answers = found.answers[number]
            whys = list(map(why, found.verdicts[number])) if found.verdicts else []
            if self.options.diff:
                before = len(self._names) + number
                differ = [new != old for new, old in zip(answers, found.answers[before], strict=True)]
                answers = bytearray(compress(answers, differ))
                if found.verdicts:
                    pairs = compress(zip(whys, map(why, found.verdicts[before]), strict=True), differ)
                    whys = [f"{new}; before: {old}" for new, old in pairs]
            for answer in range(len(_WORDS)):
                self._counts[name][answer] += answers.count(answer)
            self._rules.update([(answer, name, each) for answer, each in zip(answers, whys, strict=False)])

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
        bad = sum(counts[NO] + counts[UNREACHABLE] for counts in self._counts.values())
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
        now = "NOW " if self.options.diff else ""
        told = (YES, NO) if self.options.diff else (YES, NO, UNREACHABLE)
        titles = ["CRAWLER", *(f"{now}{_WORDS[answer].upper()}" for answer in told)]
        rows = [[name, *(f"{counts[answer]:,}" for answer in told)] for name, counts in self._counts.items()]
        self.err.table(titles, rows)
        if self.gives_reasons:
            self._summarise_rules()

    def _summarise_rules(self) -> None:
        rules = sorted(self._rules.top(len(self._rules)), key=lambda pair: (pair[0][0] == YES, -pair[1]))
        top = rules[:_TOP]
        if top:
            width = max(len(f"{urls:,}") for _, urls in top)
            rows = [(f"{urls:,}".rjust(width), _WORDS[answer], name, rule) for (answer, name, rule), urls in top]
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
