"""`scrapy robots audit --urls FILE`: the answers for millions of URLs, in constant memory.

They are by one robots.txt, or by that of each URL's host. With two versions of a robots.txt, only
the URLs that these judge differently are written. bulk/ reads the list and judges. This module has
the options, the rows and the summary.
"""

from __future__ import annotations

import csv
import json
import time
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scrapy.settings import Settings

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
from ..bulk.url_list import URL, Row, UrlList
from ..concurrency import pause
from ..core.urls import Origin, shown
from ..policy.outages import Decision, Kind
from ..policy.overrides import Overrides
from ..report.summary import Tally, count
from ..settings import GbotSettings
from .ending import FINE, FOUND, CommandError
from .inputs import (
    STDIN,
    add_shared,
    crawlers_named,
    opened,
    overrides_checked,
    size_of,
    versions,
)
from .output import Terminal, printable
from .project_crawl import ProjectCrawl, run_in_crawl

_TOP = 20  # rules in the summary
_EXAMPLE = 100  # characters of a line that is no URL
_MOST_ERROR = 500  # characters
_WORDS = ("disallowed", "allowed", "unreachable")  # by answer
_IN_SUMMARY = (YES, NO, UNREACHABLE)
_RULE_WIDTH = 40  # columns


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "--urls",
        metavar="FILE",
        required=True,
        help="one URL per line; a .csv file with a column url; a .jsonl file of objects with a "
        'key url; or "-" for standard input, one URL per line',
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--robots",
        metavar="FILE",
        help="a robots.txt (default: the robots.txt of each URL's origin)",
    )
    source.add_argument(
        "--diff",
        metavar=("OLD", "NEW"),
        nargs=2,
        help="write only the URLs that two versions of a robots.txt judge differently: "
        "files or URLs",
    )
    add_shared(parser, "--as", "--purpose")
    parser.add_argument(
        "--format",
        choices=("text", "jsonl", "csv"),
        default="text",
        help="of rows (default: text)",
    )
    parser.add_argument(
        "--only", choices=("allowed",), help="write only URLs that each crawler may fetch"
    )
    parser.add_argument(
        "--fail-on", choices=("disallowed",), help="exit with 1 if a crawler may not fetch a URL"
    )


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Judge the URLs; return the exit status.

    It is FOUND if a URL may not be fetched and `--fail-on` says that this matters.
    """
    askers, gbot = crawlers_named(options.agents, settings, err), GbotSettings.of(settings)
    files: list[str] = []
    if options.robots is not None:
        files = [options.robots]
    elif options.diff:
        files = [options.diff[1], options.diff[0]]  # the new one first
    if options.urls == STDIN and STDIN in files:
        raise CommandError('"-" cannot be both the URLs and a robots.txt')
    judge = Judge(
        [asker.crawler for asker in askers],
        policy=gbot.policy,
        max_bytes=gbot.max_bytes,
        overrides=Overrides() if files else overrides_checked(settings),
        now=time.time(),
        purposes=options.purposes,
    )
    try:
        with opened(options.urls) as file:
            audit = _Audit(options, judge, UrlList(file, options.urls), out, err)
            try:
                if files:
                    bodies = [version.copy.body for version in versions(files, settings, err)]
                    robots = [decision_on(200, body, gbot.policy) for body in bodies]
                    for rows in audit.pieces():
                        audit.judge(rows, robots)
                else:
                    _by_host(audit, settings)
            except KeyboardInterrupt:
                err.show_state("")
                err.say(("Interrupted. So far:", "warning"))
                audit.summarise()
                raise
    except BulkError as error:
        raise CommandError(shown(str(error), _MOST_ERROR)) from None
    audit.summarise(may_be_empty=False)
    if options.fail_on and audit.has_disallowed:
        return FOUND
    return FINE


def _by_host(audit: _Audit, settings: Settings) -> None:
    """Judge each URL by the robots.txt of its own origin, as a crawl would.

    Each robots.txt is fetched once.
    """

    async def work(crawl: ProjectCrawl) -> None:
        for rows in audit.pieces():
            decisions = await crawl.decisions(origins_of([row[URL] for row in rows]))
            audit.count_sites(decisions)
            audit.judge(rows, [decisions])
            await pause(0)  # the reactor has to run for Ctrl-C to be noticed

    run_in_crawl(settings, work, audit.err)


class _Audit:
    """Takes the rows of a list through the judge to the output, counts, and sums up at the end."""

    def __init__(
        self, options: Namespace, judge: Judge, urls: UrlList, out: Terminal, err: Terminal
    ) -> None:
        self._options, self._judge, self._urls = options, judge, urls
        self._out, self.err = out, err
        self._names = [crawler.name or "*" for crawler in judge.crawlers]
        self._new = len(self._names)  # columns of answers; by an old version, there are as many
        if options.diff:
            self._names += [f"{name}_before" for name in self._names]
        self._write: Callable[[Sequence[Any]], object] = self._write_row
        self._began = time.monotonic()
        self._judged = 0  # URLs
        self._example = ""  # the first line that is no URL
        self._answers: Counter[tuple[int, int]] = Counter()  # by column and answer
        self._rules: Tally[tuple[int, str, str]] = Tally()
        # robots.txt files by what is wrong with them
        self._odd: defaultdict[str, Tally[str]] = defaultdict(Tally)

    def pieces(self) -> Iterator[list[Row]]:
        """Yield the list, some rows at a time, and show how far it is read."""
        read, total = 0, size_of(self._options.urls)
        for rows in self._urls.pieces():
            read += len(rows)
            yield rows
            if self._out.columns is None:  # else the rows on the terminal show it
                share = ""
                if total:
                    share = f", {self._urls.done / total:.0%}"
                self.err.show_state(f"Auditing: {read:,} URLs{share}")
        self.err.show_state("")

    def count_sites(self, decisions: Mapping[Origin, Decision]) -> None:
        """Count the sites whose robots.txt is odd."""
        for origin, decision in decisions.items():
            copy = decision.copy
            if copy is not None and copy.kind is Kind.WALL:
                self._odd["a wall answered, not the site"].add(origin.robots_url)
            elif decision.temporary:
                self._odd["unreachable"].add(origin.robots_url)

    def judge(self, rows: Sequence[Row], robots: Sequence[Decisions]) -> None:
        """Judge rows by each version of the robots.txt files; write and count them."""
        urls = [row[URL] for row in rows]
        columns: list[bytearray] = []
        for version in robots:
            columns += self._judge.judged(urls, version)
        for row, answers in zip(rows, zip(*columns, strict=True), strict=True):
            if answers[0] == NO_URL:
                self._urls.left_out += 1
                self._example = self._example or shown(row[URL], _EXAMPLE)
                continue
            if not self._judged:
                self._begin()  # not before, for an error may be all that is said
            self._judged += 1
            new = answers[: self._new]
            if self._options.diff and new == answers[self._new :]:
                continue
            for key in enumerate(answers):
                self._answers[key] += 1
            is_wanted = not self._options.only or set(new) == {YES}
            if self._options.format == "text":
                self._explain(row[URL], robots, is_written=is_wanted)
            elif is_wanted:
                self._write([*map(row.get, self._urls.names), *answers])

    def _begin(self) -> None:
        """Choose how rows are written, and write the titles.

        Raises:
            BulkError: two columns would have the same name.
        """
        if self._options.format == "text":
            self._write(("ANSWER", "CRAWLER", "RULE", "URL"))
            return
        names = [*self._urls.names, *self._names]
        if len(set(names)) < len(names):
            raise BulkError(
                f"--format {self._options.format}: two columns would have the same name: "
                f"{', '.join(map(repr, names))}"
            )
        if self._options.format == "csv":
            writer = csv.writer(self._out, lineterminator="\n")
            self._write = lambda row: writer.writerow(map(_cell, row))
            self._write(names)
        else:
            self._write = lambda row: self._out.write(
                json.dumps(dict(zip(names, row, strict=True))) + "\n"
            )

    def _explain(self, url: str, robots: Sequence[Decisions], *, is_written: bool) -> None:
        """Count the rules that decide about a URL; write a line for each crawler."""
        explained = [pair for version in robots for pair in self._judge.explained(url, version)]
        for name, (answer, verdict) in zip(self._names, explained, strict=True):
            why = verdict.reason
            if verdict.rule is not None:
                why = f"{verdict.rule} (line {verdict.rule.line})"
            self._rules.add((answer, name, why))
            if is_written:
                self._write((_WORDS[answer], name, why, url))

    def _write_row(self, row: Sequence[str]) -> None:
        """Write a line of a table. On a terminal, a rule that is too long is cut."""
        answer, name, rule, url = map(printable, row)
        if self._out.columns is not None and len(rule) > _RULE_WIDTH:
            rule = f"{rule[: _RULE_WIDTH - 3]}..."
        width = max(map(len, ["CRAWLER", *self._names]))
        self._out.write(f"{answer:<11}  {name:<{width}}  {rule:<{_RULE_WIDTH}}  {url}\n")

    @property
    def has_disallowed(self) -> bool:
        """Whether a URL may not be fetched, by the new version if there are two."""
        return any(column < self._new and answer != YES for column, answer in self._answers)

    def summarise(self, *, may_be_empty: bool = True) -> None:
        """Write what came of the list, or so far.

        Raises:
            CommandError: there were lines, but none of them is a URL.
        """
        err, invalid = self.err, self._urls.left_out
        if invalid and not self._judged and not may_be_empty:
            example = f": {self._example}" if self._example else ""
            raise CommandError(f"{self._options.urls}: no line of it is a URL{example}")
        err.say()
        err.say(f"{count(self._judged, 'URL')} in {time.monotonic() - self._began:.1f} s")
        if invalid:
            example = f", such as: {self._example}" if self._example else ""
            err.say((f"{count(invalid, 'line')} left out: no URL{example}", "warning"))
        for what, files in self._odd.items():
            ((file, _),) = files.most_common(1)
            if len(files) > 1:
                file += f" and {count(len(files) - 1, 'other', exact=files.exact)}"
            err.say((f"{what}: {file}", "bad"))
        rows = []
        for column, name in enumerate(self._names):
            rows.append([name, *(f"{self._answers[column, each]:,}" for each in _IN_SUMMARY)])
        err.table(["CRAWLER", *(_WORDS[answer].upper() for answer in _IN_SUMMARY)], rows)
        self._say_rules()

    def _say_rules(self) -> None:
        """Write the most frequent rules: first those that disallow."""
        rules = sorted(self._rules.most_common(), key=lambda rule: rule[0][0] == YES)
        rows = []
        for (answer, name, rule), urls in rules[:_TOP]:
            rows.append((f"{urls:,}", _WORDS[answer], name, rule))
        if rows:
            self.err.say()
            self.err.table(["URLS", "ANSWER", "CRAWLER", "RULE"], rows)
        if len(rules) > _TOP:
            others = count(len(rules) - _TOP, "other rule", exact=self._rules.exact)
            self.err.say(f"... and {others}")


def _cell(value: Any) -> Any:
    """Return a cell of CSV. What is not printable is escaped; lists and objects are JSON."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, (list, dict)):
        return json.dumps(value)
    return value
