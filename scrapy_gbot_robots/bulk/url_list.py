"""Lists of URLs, read piece by piece in bounded memory, and the text of rows of answers.

A list is text with a URL a line; CSV, whose first line names the columns, among them `url`; or JSON
lines, objects with a key `url`. Its name ends in .csv or .jsonl; any other name is that of text.
Bytes that are no UTF-8 are percent-encoded, as for rules.
Sources: RFC 4180; https://jsonlines.org.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..core.urls import as_text, shown
from .judging import BulkError

URL = "url"
MAX_URL = 16_384  # bytes

_BLOCK = 131_072  # bytes that are read at a time
_MOST_LINE = 2**20  # bytes of a line of CSV or JSON
_BOM = b"\xef\xbb\xbf"


class UrlList:
    """A list while it is read.

    Attributes:
        names: the columns of the list: `url`, then the others in their order. They are known as
            soon as the first piece is read.
        done: how many bytes are read, roughly.
        left_out: how many rows have no URL, or one that is longer than `MAX_URL` bytes.
    """

    def __init__(self, file: Any, name: str) -> None:
        """Take an open file, and its name for people."""
        self._file = file
        self._name = name
        self.names = [URL]
        self.done = 0
        self.left_out = 0
        self._has_to_wait = False  # all that has come is read

    def pieces(self) -> Iterator[list[list[Any]]]:
        """Yield some rows at a time, column by column, as `names` has the columns.

        Raises:
            BulkError: the list cannot be read, or has no column `url`.
        """
        rows = self._rows_of_text
        if self._name.lower().endswith(".csv"):
            rows = self._rows_of_csv
        elif self._name.lower().endswith(".jsonl"):
            rows = self._rows_of_json
        try:
            yield from self._in_pieces(rows())
        except csv.Error as error:
            raise BulkError(f"{self._name}: {error}") from None
        except OSError as error:
            raise BulkError(f"{self._name}: {error.strerror}") from None

    def _in_pieces(self, rows: Iterator[list[Any]]) -> Iterator[list[list[Any]]]:
        """Yield columns of some rows; those without a URL are left out, and counted."""
        piece: list[list[Any]] = []
        begun = 0
        for row in rows:
            url = row[0]
            if isinstance(url, str) and 0 < len(url) <= MAX_URL:
                piece.append(row)
            else:
                self.left_out += 1
            if self._has_to_wait or self.done - begun >= _BLOCK:
                yield self._columns(piece)
                piece = []
                begun = self.done
        yield self._columns(piece)

    def _columns(self, piece: Sequence[list[Any]]) -> list[list[Any]]:
        if not piece:
            return [[] for _ in self.names]
        return list(map(list, zip(*piece, strict=True)))

    def _rows_of_text(self) -> Iterator[list[Any]]:
        """Yield lines without the white space around them; empty ones are left out."""
        for line in self._lines():
            text = as_text(line).strip()
            if text:
                yield [text]

    def _rows_of_csv(self) -> Iterator[list[Any]]:
        lines = csv.reader(map(as_text, self._lines()))
        names = next(lines, None)
        if not names:
            raise BulkError(f"{self._name}: the file is empty; its first line names the columns")
        self._take_names(names)
        place = names.index(URL)
        for cells in filter(None, lines):
            if len(cells) != len(names):
                raise BulkError(
                    f"{self._name}: line {lines.line_num} has {len(cells)} columns, "
                    f"not {len(names)}"
                )
            yield [cells.pop(place), *cells]

    def _rows_of_json(self) -> Iterator[list[Any]]:
        is_first = True
        for number, line in enumerate(self._lines(), 1):
            if not line.strip():
                continue
            try:
                # JSON has no NaN, though Python reads it
                row = json.loads(line, parse_constant=lambda _: None)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise BulkError(f"{self._name}: line {number} is no JSON object")
            if is_first:
                self._take_names(list(row))
                is_first = False
            new = row.keys() - set(self.names)
            if new:
                raise BulkError(
                    f"{self._name}: line {number} has {shown(min(new))!r}, "
                    "which the first line has not"
                )
            yield [row.get(name) for name in self.names]

    def _take_names(self, names: Sequence[str]) -> None:
        """Take the names of the columns. They must be different, and one is `url`."""
        need(names, [URL, *names], self._name)
        self.names += [name for name in names if name != URL]

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        block = self._file.read1(_BLOCK).removeprefix(_BOM)
        while block:
            self.done += len(block)
            *lines, rest = (rest + block).split(b"\n")
            if len(max([rest, *lines], key=len)) >= _MOST_LINE:
                raise BulkError(f"{self._name}: a line is longer than {_MOST_LINE:,} bytes")
            for number, line in enumerate(lines, 1):
                self._has_to_wait = number == len(lines) and not rest
                yield line + b"\n"
            block = self._file.read1(_BLOCK)
        if rest:
            yield rest


def need(names: Sequence[str], needed: Sequence[str], where: str) -> None:
    """Check that each column that is needed is there once. Raises BulkError that says which not."""
    for name in needed:
        if names.count(name) != 1:
            there = ", ".join(map(repr, names)) or "none"
            raise BulkError(f"{where} must have one column {name!r}; its columns are {there}")


# Rows as text.


def csv_lines(columns: Sequence[Sequence[Any]]) -> str:
    """Return a line for each row. What is not printable is escaped; lists and objects are JSON."""
    text = io.StringIO()
    cells = [map(_cell, column) for column in columns]
    csv.writer(text, lineterminator="\n").writerows(zip(*cells, strict=True))
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and not value.isprintable():
        return shown(value, len(value))
    if isinstance(value, (list, dict)):
        return json.dumps(value)
    return value


def json_lines(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> str:
    """Return an object in ASCII for each row."""
    encode: Callable[[Any], str] = json.JSONEncoder().encode
    rows = zip(*columns, strict=True)
    return "".join([f"{encode(dict(zip(names, row, strict=True)))}\n" for row in rows])
