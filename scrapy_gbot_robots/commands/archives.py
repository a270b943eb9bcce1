"""Archives of robots.txt files as sub-commands take them: one file, several, a directory or a pattern; read into a store."""

from __future__ import annotations

import glob
import tempfile
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..bulk.archives import ROBOTS_TXT, Reading
from ..bulk.judging import BulkError
from ..bulk.store import Store
from ..core.urls import shown
from ..report.summary import count
from .command import CommandError
from .inputs import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ..settings import GbotSettings
    from .output import Part, Terminal

SUFFIXES = (".warc", ".warc.gz", ".parquet")
WHAT = ".warc, .warc.gz or .parquet files with robots.txt files, directories of them, or patterns ('*.warc.gz')"

_MEMORY = "300MB"  # of DuckDB; the whole stays below three times that
_MOST_ERROR = 500  # characters
_TOLD_BYTES = 2**20  # between two steps of the progress bar


class Archive(NamedTuple):
    """Archives that were read: the store, and lines about what could not be read."""

    store: Store
    damage: list[Part]


def are_archives(names: Sequence[str]) -> bool:
    """Whether the names are those of archives, of directories, or patterns for archives."""
    return bool(names) and all(
        name.lower().endswith(SUFFIXES) or Path(name).is_dir() or _is_pattern(name) for name in names
    )


def files_of(names: Sequence[str]) -> list[str]:
    """Return the files that are named, each once: those of a directory, and of those below it, in alphabetical order.

    Raises:
        CommandError: there is no archive in a directory, or no file of a pattern.
    """
    return list(dict.fromkeys(chain.from_iterable(map(_files, names))))


def _is_pattern(name: str) -> bool:
    return glob.has_magic(name) and not Path(name).exists()


def _files(name: str) -> list[str]:
    path = Path(name)
    if path.is_dir():
        files = sorted(
            str(each)
            for each in path.rglob("*")
            if (each.name.lower().endswith(SUFFIXES) or each.name == ROBOTS_TXT) and each.is_file()
        )
        if not files:
            raise CommandError(f"{name}: the directory has no {', '.join(SUFFIXES)} file, and no HOST/{ROBOTS_TXT}")
        return files
    if not _is_pattern(name):
        return [name]
    files = sorted(each for each in glob.glob(name, recursive=True) if Path(each).is_file())  # noqa: PTH207 - the pattern may be absolute
    if not files:
        raise CommandError(f"{name}: no file has such a name")
    return files


@contextmanager
def errors_in_a_line() -> Iterator[None]:
    """Turn what goes wrong with archives, lists and files of answers into a CommandError."""
    try:
        yield
    except BulkError as error:
        raise CommandError(shown(str(error), _MOST_ERROR)) from None


@contextmanager
def opened(names: Sequence[str], gbot: GbotSettings, err: Terminal) -> Iterator[Archive]:
    """Read archives; what was read is there as long as the context."""
    try:
        import duckdb  # noqa: PLC0415 - what these need is an extra
        import pyarrow  # noqa: F401, PLC0415
    except ImportError as error:
        raise BulkError(f"archives need {error.name}: pip install 'scrapy-gbot-robots[bulk]'") from None
    try:
        with (
            tempfile.TemporaryDirectory(prefix="gbot-robots-") as directory,
            Store(Path(directory), _MEMORY, gbot.max_redirects) as store,
        ):
            yield Archive(store, _read(store, files_of(names), gbot.max_bytes, err))
    except duckdb.Error as error:
        raise BulkError(str(error)) from None


def _read(store: Store, files: Sequence[str], max_bytes: int, err: Terminal) -> list[Part]:
    """Read files into `store`; say in how many places they are damaged, and give an example."""
    readings = [Reading(path, max_bytes) for path in files]
    what = "Reading the archive" if len(files) == 1 else f"Reading {count(len(files), 'archive')}"
    with err.progress(what, sum(size_of(path) or 0 for path in files)) as progress:
        for reading in readings:
            store.take(told(reading.captures(), reading, progress))
    store.settle()
    places = sum(each.broken for each in readings)
    examples = [each.example for each in readings if each.broken]
    return [(f"damaged in {count(places, 'place')}, such as: {examples[0]}", "warning")] if places else []


def told(things: Iterator[Any], reading: Any, progress: Callable[[int, str], None]) -> Iterator[Any]:
    """Yield what is read, and show how far that is: `reading.done` bytes."""
    done = number = 0
    for number, thing in enumerate(things, 1):
        yield thing
        if reading.done - done > _TOLD_BYTES:
            progress(reading.done - done, f"{number:,}")
            done = reading.done
    progress(reading.done - done, f"{number:,}")
