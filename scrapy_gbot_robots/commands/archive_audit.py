"""`scrapy robots audit --robots ARCHIVE --output FILE`: millions of URLs judged by an archive of robots.txt files.

bulk/ does the work; this module has the options, the progress and the summary.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from ..bulk.judging import NO, NO_URL, UNREACHABLE, YES
from ..core.urls import shown
from ..report.words import count
from . import archives, crawlers
from .command import FAILED, FINE, FOUND, CommandError
from .inputs import STDIN, size_of, url_batches

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator
    from typing import Any

    from scrapy.settings import Settings

    from ..bulk.audit import Judged
    from ..bulk.files import AnswerFile
    from .archives import Archive
    from .output import Terminal

_MOST_URL = 16_384  # bytes


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that are for archives."""
    group = parser.add_argument_group(f"With archives as --robots ({', '.join(archives.SUFFIXES)})")
    group.add_argument("--output", metavar="FILE", help="of answers: .parquet, .csv or .jsonl")
    group.add_argument("--rules", action="store_true", help="write the deciding rule, its line and the reason as well")
    group.add_argument("--workers", metavar="N", type=int, default=1, help="processes that judge (default: 1)")


def run(options: Namespace, settings: Settings, err: Terminal) -> int:
    """Judge the URLs; return the exit status."""
    if not options.output:
        raise CommandError("with an archive, --output FILE says where the answers go")
    if options.workers < 1:
        raise CommandError(f"--workers must be at least 1, got {options.workers}")
    askers = crawlers.named(options.agents, settings, err)
    summary = _Summary([asker.name for asker in askers])
    with archives.errors_in_a_line():
        from ..bulk.files import AnswerFile  # noqa: PLC0415 - what this needs is an extra

        output = AnswerFile(options.output, [asker.name for asker in askers], with_reasons=options.rules)
        try:
            with archives.opened(options.robots, askers, settings, err, gives_reasons=options.rules) as archive:
                _judge(options, archive, output, summary, err)
            output.finish()
        except BaseException:
            output.give_up()
            raise
    summary.say(archive, err)
    return summary.status


def _judge(options: Namespace, archive: Archive, output: AnswerFile, summary: _Summary, err: Terminal) -> None:
    """Sort the URLs, and write the answers."""
    from ..bulk.audit import audit, collect_rarely  # noqa: PLC0415

    collect_rarely()
    summary.origins = len(archive.store)
    judged = audit(archive.store, _urls(options.urls, summary, err), archive.terms, options.workers)
    first = next(judged, None)  # before it comes, all URLs are read
    with err.progress("Judging", summary.read) as progress:
        for each in chain([] if first is None else [first], judged):
            output.write(each.urls, each.answers, each.reasons)
            summary.take(each)
            progress(len(each.urls), f"{summary.urls:,} URLs")
    summary.check(options.urls)


def _urls(path: str, summary: _Summary, err: Terminal) -> Iterator[Any]:
    """Yield the URLs as Arrow arrays, and show how far they are read."""
    import pyarrow as pa  # noqa: PLC0415

    from ..bulk.files import URL_SUFFIXES, UrlFile  # noqa: PLC0415

    if path != STDIN and path.lower().endswith(URL_SUFFIXES):
        file = UrlFile(path)
        with err.progress("Reading the URLs", size_of(path)) as progress:
            for array in archives.told(file.arrays(), file, progress):
                summary.read += len(array)
                yield array
        summary.invalid += file.left_out
        return
    with err.progress("Reading the URLs", size_of(path)) as progress:
        for lines, size in url_batches(path):
            good = [line for line in lines if len(line) <= _MOST_URL]
            summary.invalid += len(lines) - len(good)
            summary.read += len(good)
            yield pa.array(good, pa.string())
            progress(size, f"{summary.read:,}")


class _Summary:
    """What the summary says."""

    def __init__(self, names: list[str]) -> None:
        self._began = time.monotonic()
        self._names = names
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in names}
        self.read = self.urls = self.origins = self.unknown = self.invalid = 0
        self._invalid_example = ""

    def take(self, judged: Judged) -> None:
        """Count answers."""
        for name, column in zip(self._names, judged.answers, strict=True):
            for answer in (NO, YES, UNREACHABLE):
                self._counts[name][answer] += column.count(answer)
        invalid = judged.answers[0].count(NO_URL)
        if invalid and not self._invalid_example:
            self._invalid_example = shown(judged.urls[judged.answers[0].index(NO_URL)])
        self.invalid += invalid
        self.urls += len(judged.urls) - invalid
        self.unknown += judged.unknown_origins

    def check(self, path: str) -> None:
        """Raise CommandError if there were lines, but none of them is a URL."""
        if self.invalid and not self.urls:
            example = f": {self._invalid_example}" if self._invalid_example else ""
            raise CommandError(f"{path}: no line of it is a URL{example}")

    @property
    def status(self) -> int:
        """The exit status."""
        if any(counts[UNREACHABLE] for counts in self._counts.values()):
            return FAILED
        return FOUND if any(counts[NO] for counts in self._counts.values()) else FINE

    def say(self, archive: Archive, err: Terminal) -> None:
        """Write the summary."""
        secs = time.monotonic() - self._began
        err.say(f"{count(self.urls, 'URL')} in {secs:.1f} s, {self.urls / max(secs, 1e-9):,.0f} a second")
        err.say(f"robots.txt files of {count(self.origins, 'origin')} in the archive")
        archive.say_damage(err)
        if self.unknown:
            err.say((f"not in the archive: the robots.txt of {count(self.unknown, 'origin')}", "bad"))
        if self.invalid:
            example = f", such as: {self._invalid_example}" if self._invalid_example else ""
            err.say((f"{count(self.invalid, 'line')} left out: no URL{example}", "warning"))
        rows = [
            (name, *(f"{counts[answer]:,}" for answer in (YES, NO, UNREACHABLE)))
            for name, counts in self._counts.items()
        ]
        err.table(["CRAWLER", "ALLOWED", "DISALLOWED", "UNREACHABLE"], rows)
