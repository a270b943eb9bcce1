"""Archives of robots.txt files for sub-commands: files or directories, read into a store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from ..bulk.archive_answers import Store
from ..bulk.archive_reader import ROBOTS_TXT, Capture, Reading
from ..bulk.judging import BulkError
from ..core.urls import shown
from ..report.summary import count
from ..settings import GbotSettings
from .command import CommandError
from .inputs import size_of
from .output import Part, Terminal

SUFFIXES = (".warc", ".warc.gz", ".parquet", ".jsonl", ".jsonl.gz")
WHAT = (
    ".warc, .warc.gz, .parquet, .jsonl or .jsonl.gz files with robots.txt files, or directories "
    "of .warc, .warc.gz, .parquet and HOST/robots.txt files"
)
# In a directory, JSON lines may be anything: URLs, or the answers of an audit.
_SUFFIXES_IN_DIRECTORIES = (".warc", ".warc.gz", ".parquet")
_JSON_SUFFIXES = (".jsonl", ".jsonl.gz")

_MEMORY = "300MB"  # of DuckDB; the whole stays below three times that
_MOST_ERROR = 500  # characters
_SHOWN_EVERY = 1_000  # captures between two steps of the progress bar


def are_archives(names: Sequence[str]) -> bool:
    """Whether the names are those of archives, or of directories."""
    if not names:
        return False
    return all(name.lower().endswith(SUFFIXES) or _is_directory(name) for name in names)


def _is_directory(name: str) -> bool:
    # `Path.is_dir` raises an exception for a name that no file can have.
    return os.path.isdir(name)  # noqa: PTH112


def _files_of(names: Sequence[str], err: Terminal) -> list[str]:
    """Return the files that are named, each once.

    Those of a directory, and of the directories below it, are in alphabetical order. `err` is told
    of JSON lines that are left out.

    Raises:
        CommandError: there is no archive in a directory.
    """
    named = set(map(Path, names))
    files: list[str] = []
    for name in names:
        files += _archives_below(name, named, err) if _is_directory(name) else [str(Path(name))]
    return list(dict.fromkeys(files))


def _archives_below(directory: str, named: set[Path], err: Terminal) -> list[str]:
    archives = []
    left_out = []
    for path in Path(directory).rglob("*"):
        is_archive = path in named or path.name.lower().endswith(_SUFFIXES_IN_DIRECTORIES)
        if (is_archive or path.name == ROBOTS_TXT) and path.is_file():
            archives.append(str(path))
        elif path.name.lower().endswith(_JSON_SUFFIXES) and path not in named:
            left_out.append(str(path))
    note = ""
    if left_out:
        note = f"left out: {min(left_out)}"
        if len(left_out) > 1:
            note += f" and {count(len(left_out) - 1, 'other')}"
        note += ", maybe answers of an audit; name the file itself if it is an archive"
    if archives and note:
        err.say((f"note: {note}", "warning"))
    elif not archives:
        suffixes = ", ".join(_SUFFIXES_IN_DIRECTORIES)
        text = f"{directory}: the directory has no {suffixes} file, and no HOST/{ROBOTS_TXT}"
        raise CommandError("; ".join(filter(None, [text, note])))
    return sorted(archives)


@contextmanager
def errors_in_a_line() -> Iterator[None]:
    """Turn what goes wrong with archives, lists and files of answers into a CommandError."""
    try:
        yield
    except BulkError as error:
        raise CommandError(shown(str(error), _MOST_ERROR)) from None


@contextmanager
def opened(
    names: Sequence[str], gbot: GbotSettings, err: Terminal
) -> Iterator[tuple[Store, list[Part]]]:
    """Read archives into a store, which is there as long as the context.

    Yields also lines for the user: what of the archives cannot be read, or is of no use.

    Raises:
        BulkError: a file or a library is missing, no URL is that of a robots.txt, or the store
            failed.
    """
    try:
        for name in names:
            os.stat(name)  # noqa: PTH116  its errors name the file as a text
    except OSError as error:
        raise BulkError(f"{error.filename}: {error.strerror}") from None
    try:
        import duckdb  # noqa: PLC0415 - what these need is an extra
        import pyarrow  # noqa: F401, PLC0415
    except ImportError as error:
        raise BulkError(
            f"archives need {error.name}: pip install 'scrapy-gbot-robots[bulk]'"
        ) from None
    try:
        with (
            tempfile.TemporaryDirectory(prefix="gbot-robots-") as directory,
            Store(Path(directory), _MEMORY) as store,
        ):
            yield store, _read(store, names, gbot.max_bytes, err)
    except duckdb.Error as error:
        raise BulkError(str(error)) from None
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # as DuckDB says Ctrl-C
            raise KeyboardInterrupt from None
        raise


def _read(store: Store, names: Sequence[str], max_bytes: int, err: Terminal) -> list[Part]:
    """Read archives into `store`; say what of them cannot be read or is of no use.

    Raises:
        BulkError: there are URLs, but none of a robots.txt.
    """
    files = _files_of(names, err)
    readings = [Reading(path, max_bytes) for path in files]
    what = "Reading the archive" if len(files) == 1 else f"Reading {count(len(files), 'archive')}"
    with err.progress(what, sum(size_of(path) or 0 for path in files)) as progress:
        store.take(_captures_of(readings, progress))
    store.settle()
    about: list[Part] = []
    damaged = [reading for reading in readings if reading.broken]
    if damaged:
        places = count(sum(reading.broken for reading in damaged), "place")
        about.append((f"damaged in {places}, such as: {damaged[0].example}", "warning"))
    others, example = store.others()
    if others and not len(store):
        raise BulkError(
            f"{', '.join(names)}: no URL in it is that of a robots.txt, such as {shown(example)}"
        )
    if others:
        what = count(others, "other URL")
        about.append(f"{what} in it, used for redirects only, such as {example}")
    return about


def _captures_of(
    readings: Sequence[Reading], progress: Callable[[int, str], None]
) -> Iterator[Capture]:
    """Yield the captures, and show how far that is."""
    captures = chain.from_iterable(reading.captures() for reading in readings)
    for number, capture in enumerate(captures):
        if number % _SHOWN_EVERY == 0:
            progress(sum(reading.done for reading in readings), f"{number:,}")
        yield capture
