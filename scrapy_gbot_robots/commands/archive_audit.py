"""`scrapy robots audit --robots ARCHIVE --output FILE`: millions of URLs judged by an archive of robots.txt files.

bulk/ does the work; this module has the options, the progress and the summary.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ..bulk.bench import NO, NO_URL, UNREACHABLE, YES
from ..bulk.errors import BulkError
from ..core.urls import shown
from ..report.words import count
from . import crawlers as agents
from .exits import FAILED, FINE, FOUND, CommandError
from .inputs import STDIN, checked, size_of, url_batches

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator
    from typing import Any

    from scrapy.settings import Settings

    from ..bulk.answer_files import AnswerFile
    from ..bulk.archives import Reading
    from ..bulk.audit import Judged, Terms
    from ..bulk.store import Store
    from .output import Terminal

_ARCHIVES = (".warc", ".warc.gz", ".parquet")
MEMORY = "300MB"  # of DuckDB; the whole stays below three times that
_MOST_URL = 16_384  # bytes
MOST_ERROR = 500  # characters


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that are for archives."""
    archives = parser.add_argument_group(f"With an archive as --robots ({', '.join(_ARCHIVES)})")
    archives.add_argument("--output", metavar="FILE", help="of answers: .parquet, .csv or .jsonl")
    archives.add_argument("--workers", metavar="N", type=int, default=1, help="processes that judge (default: 1)")


def is_archive(path: str | None) -> bool:
    """Whether a file is an archive of robots.txt files, by its name."""
    return path is not None and path.lower().endswith(_ARCHIVES)


def run(options: Namespace, settings: Settings, err: Terminal) -> int:
    """Judge the URLs; return the exit status."""
    if not options.output:
        raise CommandError("with an archive, --output FILE says where the answers go")
    if options.workers < 1:
        raise CommandError(f"--workers must be at least 1, got {options.workers}")
    whos = agents.named(options.agents, settings, err)
    names = [who.name for who in whos]
    gbot = checked(settings)
    summary = _Summary(names)
    try:
        import duckdb  # noqa: PLC0415

        from ..bulk.answer_files import AnswerFile  # noqa: PLC0415 - what these need is an extra
        from ..bulk.audit import Terms  # noqa: PLC0415
    except ImportError as error:
        raise CommandError(f"archives need {error.name}: pip install 'scrapy-gbot-robots[bulk]'") from None
    terms = Terms([who.crawler for who in whos], gbot.policy, gbot.strict, gbot.max_bytes)
    try:
        output = AnswerFile(options.output, names)
        try:
            _judge(options, terms, gbot.max_redirects, output, summary, err)
            output.finish()
        except BaseException:
            output.give_up()
            raise
    except (BulkError, duckdb.Error) as error:
        raise CommandError(shown(str(error), MOST_ERROR)) from None
    summary.say(err)
    return summary.status


def _judge(
    options: Namespace, terms: Terms, max_redirects: int, output: AnswerFile, summary: _Summary, err: Terminal
) -> None:
    """Read the archive, sort the URLs, and write the answers."""
    from ..bulk.audit import audit  # noqa: PLC0415
    from ..bulk.store import Store  # noqa: PLC0415

    with (
        tempfile.TemporaryDirectory(prefix="gbot-robots-") as directory,
        Store(Path(directory), MEMORY, max_redirects) as store,
    ):
        reading = fill(store, options.robots, terms.max_bytes, err)
        summary.origins = len(store)
        summary.broken, summary.broken_example = reading.broken, reading.example
        judged = audit(store, _urls(options.urls, summary, err), terms, options.workers)
        first = next(judged, None)  # before it comes, all URLs are read
        with err.progress("Judging", summary.read) as progress:
            for each in chain([] if first is None else [first], judged):
                output.write(each.urls, each.answers)
                summary.take(each)
                progress(len(each.urls), f"{summary.urls:,} URLs")
    summary.check(options.urls)


def fill(store: Store, path: str, max_bytes: int, err: Terminal) -> Reading:
    """Read an archive into `store`; return how that went."""
    from ..bulk.archives import Reading  # noqa: PLC0415

    reading = Reading(path, max_bytes)
    with err.progress("Reading the archive", size_of(path)) as progress:
        store.take(_told(reading.captures(), reading, progress))
    store.settle()
    return reading


def _urls(path: str, summary: _Summary, err: Terminal) -> Iterator[Any]:
    """Yield the URLs as Arrow arrays, and show how far they are read."""
    import pyarrow as pa  # noqa: PLC0415

    from ..bulk.url_files import SUFFIXES, UrlFile  # noqa: PLC0415

    if path != STDIN and path.lower().endswith(SUFFIXES):
        file = UrlFile(path)
        with err.progress("Reading the URLs", size_of(path)) as progress:
            for array in _told(file.arrays(), file, progress):
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


def _told(things: Iterator[Any], reading: Any, progress: Callable[[int, str], None]) -> Iterator[Any]:
    """Yield what is read, and show how far that is."""
    done = number = 0
    for number, thing in enumerate(things, 1):
        yield thing
        if reading.done - done > 2**20:
            progress(reading.done - done, f"{number:,}")
            done = reading.done


class _Summary:
    """What the summary says."""

    def __init__(self, names: list[str]) -> None:
        self._began = time.monotonic()
        self._names = names
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in names}
        self.read = self.urls = self.origins = self.unknown = self.invalid = self.broken = 0
        self.broken_example = self._invalid_example = ""

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

    def say(self, err: Terminal) -> None:
        """Write the summary."""
        secs = time.monotonic() - self._began
        err.say(f"{count(self.urls, 'URL')} in {secs:.1f} s, {self.urls / max(secs, 1e-9):,.0f} a second")
        err.say(f"robots.txt files of {count(self.origins, 'origin')} in the archive")
        if self.broken:
            err.say((f"damaged in {count(self.broken, 'place')}, such as: {self.broken_example}", "warning"))
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
