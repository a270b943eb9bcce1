"""The output of sub-commands: plain text; on a terminal with rich, colour and a progress bar.

All text goes out here. Text from a robots.txt, a URL or a server is made printable first, so that
no control character of theirs reaches a terminal.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, TypeAlias
from unicodedata import combining, east_asian_width

from ..core.urls import shown

Part: TypeAlias = "str | tuple[str, str]"  # text, or text and the name of its style
Column: TypeAlias = "str | Callable[[Mapping[str, Any]], Part]"

# Colour never says more than the words.
_STYLES = {
    "good": "green",
    "bad": "bold red",
    "warning": "yellow",
    "faint": "dim",
    "strong": "bold",
}
_GAP = "  "
# for the last cell of a row on a terminal; with less, each cell has a line of its own
_LEAST_ROOM = 20
_LONGEST = 160  # characters of a line of a robots.txt


def printable(text: str) -> str:
    """Return `text` with what is not printable escaped, such as controls and line ends."""
    return shown(text, len(text))


def cells(text: str) -> int:
    """Return how many columns a printable `text` takes on a terminal.

    East Asian wide characters take two.
    """
    if text.isascii():
        return len(text)
    columns = 0
    for char in text:
        if not combining(char):
            columns += 1
            if east_asian_width(char) in "WF":
                columns += 1
    return columns


def _cells_of(columns: Mapping[str, Column], record: Mapping[str, Any]) -> list[Part]:
    parts: list[Part] = []
    for column in columns.values():
        part: Any = column(record) if callable(column) else record[column]
        if part is None:
            part = ""
        elif isinstance(part, int):
            part = f"{part:,}"
        parts.append(part)
    return parts


def _printable(parts: Iterable[Part]) -> list[tuple[str, str]]:
    texts = []
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        texts.append((printable(text), style))
    return texts


def _broken(text: str, room: int) -> list[str]:
    """Return a cell in lines of at most `room` columns, at least one."""
    if cells(text) <= room:
        return [text]
    if not text.isascii():  # characters may be two columns wide
        room //= 2
    return textwrap.wrap(text, room, break_on_hyphens=False)


class Terminal:
    """One of the process's output streams, for people, or as lines of JSON for programs.

    Args:
        stream: the stream.
        as_json: whether programs read it.
    """

    def __init__(self, stream: TextIO, *, as_json: bool = False) -> None:
        self._stream = stream
        self.as_json = as_json
        self.rich: Any = _rich_console(stream)  # None unless a person reads it
        self.columns: int | None = None  # None if lines may have any length
        if stream.isatty():
            self.columns = shutil.get_terminal_size().columns
        if hasattr(stream, "reconfigure"):
            # escapes and no exception on a terminal that is not UTF-8
            stream.reconfigure(errors="backslashreplace")

    def say(self, *parts: Part, wrap: bool = False) -> None:
        """Write a line for people, or nothing if programs read the output.

        With `wrap` a terminal breaks it between words, otherwise anywhere.
        """
        if self.as_json:
            return
        texts = _printable(parts)
        if self.rich is None:
            self._stream.write("".join(text for text, _ in texts) + "\n")
            return
        from rich.text import Text  # noqa: PLC0415

        styled = Text.assemble(*((text, _STYLES.get(style, "")) for text, style in texts))
        self.rich.print(styled, soft_wrap=not wrap)

    def fact(self, name: str, text: str) -> None:
        """Write a line of the form "  = name: text"."""
        self.say(("  = ", "faint"), (name, "strong"), f": {text}")

    def excerpt(self, lines: Sequence[bytes], marks: Mapping[int, tuple[str, str]]) -> None:
        """Write lines of a robots.txt, each underlined up to its comment.

        Args:
            lines: all of the file, as `core.lines.split_lines` gives them.
            marks: by the number of a line, from 1: the text beside the underline, and its style.
        """
        width = len(str(max(marks, default=0)))
        for number, (text, style) in sorted(marks.items()):
            line = lines[number - 1].decode("utf-8", "backslashreplace").replace("\t", " ")
            line = shown(line.strip(), _LONGEST)
            rule = line.partition("#")[0].rstrip()
            self.say((f"{number:>{width}} | ", "faint"), (rule, style), line.removeprefix(rule))
            self.say(
                (f"{'':{width}} | ", "faint"),
                (f"{'^' * max(cells(rule), 1)} {text}".rstrip(), style),
            )

    def write(self, text: str) -> None:
        """Write whole lines as they are: for formats that programs read.

        The caller has made them printable.
        """
        self._stream.write(text)

    def json(self, record: Mapping[str, Any]) -> None:
        """Write an object for programs, as a line of JSON."""
        if self.as_json:
            self.write(json.dumps(record) + "\n")

    def rows(self, records: Sequence[Mapping[str, Any]], columns: Mapping[str, Column]) -> None:
        """Write records as lines of JSON, or as a table.

        Args:
            records: what is written.
            columns: the titles of the table, each with a key, or a function, of a record.
        """
        for record in records:
            self.json(record)
        if records:
            self.table(list(columns), [_cells_of(columns, record) for record in records])

    def table(self, titles: Sequence[str], rows: Iterable[Sequence[Part]]) -> None:
        """Write a table. Each column is as wide as its widest cell; the last one has no padding.

        On a terminal that is too narrow, the last column is broken into lines, or each cell has a
        line of its own.
        """
        heads = [(title, "strong") for title in titles]
        table = [heads, *map(_printable, rows)]
        widths = [max(cells(text) for text, _ in column) for column in zip(*table, strict=True)]
        indent = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
        room = (self.columns or sys.maxsize) - indent
        if room < min(widths[-1], _LEAST_ROOM):
            for row in table[1:]:
                for (title, _), cell in zip(heads, row, strict=True):
                    self.say((f"{title}: ", "faint"), cell)
                self.say()
            return
        for row in table:
            padded = []
            for (text, style), width in zip(row[:-1], widths, strict=False):
                padded.append((text + " " * (width - cells(text)) + _GAP, style))
            last, style = row[-1]
            first, *more = _broken(last, room)
            self.say(*padded, (first, style))
            for line in more:
                self.say(" " * indent, (line, style))

    @contextmanager
    def progress(
        self, what: str, total: int | None, beside: Terminal | None = None
    ) -> Iterator[Callable[[int, str], None]]:
        """Show the progress of long work, on a terminal with rich.

        Yields a function to call with the number of units done so far, and a word on them.

        Args:
            what: the work.
            total: the number of units; None if it is not known.
            beside: where rows are written meanwhile. On a terminal, they show the progress, and
                no bar does.
        """
        if self.rich is None or (beside is not None and beside.rich is not None):
            yield lambda _done, _word: None
            return
        from rich.progress import Progress  # noqa: PLC0415

        with Progress(console=self.rich, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done, word: bar.update(task, completed=done, description=f"{what}: {word}")

    def flush(self) -> None:
        """Write out the buffer. Raises BrokenPipeError if the reader has gone."""
        self._stream.flush()

    def abandon(self) -> None:
        """Send the rest to nowhere: the reader has gone, and Python would complain at its end."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def _rich_console(stream: TextIO) -> Any:
    """Return rich's console; None if the stream is no terminal, or rich is not installed."""
    if not stream.isatty():
        return None
    try:
        from rich.console import Console  # noqa: PLC0415
    except ImportError:
        return None
    return Console(file=stream)
