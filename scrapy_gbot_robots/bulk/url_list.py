"""Read lists of URLs piece by piece, in bounded memory.

A list has one of three formats. CSV has a first line that names the columns, and a column `url`.
JSON lines are objects with a key `url`. Text has one URL on each line. The name of a list ends with
.csv or .jsonl; a list with any other name is text. Bytes that are not UTF-8 are percent-encoded, as
in rules.
Sources: RFC 4180; https://jsonlines.org.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from ..core.urls import as_text
from .judging import BulkError

Row: TypeAlias = "dict[str, Any]"  # cells by the names of their columns

URL = "url"
MAX_URL = 16_384  # characters

_BLOCK = 131_072  # bytes that are read at a time
_MOST_LINE = 2**20  # bytes
_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte-order marks


class UrlList:
    """A list of URLs while it is read.

    Attributes:
        names: the columns in the first line of the list, in their order. They are known after the
            first piece was read. Later objects of JSON lines may have other keys.
        left_out: how many rows have no URL, or a URL of more than `MAX_URL` characters. The caller
            adds the rows whose text is not a URL.
    """

    def __init__(self, file: Any, name: str) -> None:
        """Prepare to read an open file. `name` determines the format, and is used in messages."""
        self._file = file
        self._name = name
        self.names = [URL]
        self.left_out = 0
        self._number = 0  # the number of the last line that was read
        # True after the last whole line of a block, so that `pieces` yields the rows that it has.
        self._is_block_read = False

    def pieces(self) -> Iterator[list[Row]]:
        """Yield a list of rows for each block of the file. A list may be empty.

        Rows without a URL, or with a URL that is too long, are left out.

        Raises:
            BulkError: the list cannot be read, or has no column `url`.
        """
        readers = {".csv": self._rows_of_csv, ".jsonl": self._rows_of_json}
        rows = readers.get(Path(self._name).suffix.lower(), self._rows_of_text)
        piece: list[Row] = []
        try:
            for row in rows():
                url = row.get(URL)
                if isinstance(url, str) and 0 < len(url) <= MAX_URL:
                    piece.append(row)
                elif row:
                    self.left_out += 1
                if self._is_block_read:
                    yield piece
                    piece = []
        except csv.Error as error:
            raise BulkError(f"{self._name}: {error}") from None
        except OSError as error:
            raise BulkError(f"{self._name}: {error.strerror}") from None
        yield piece

    # The readers of the formats. They yield an empty row for an empty line. An empty row is neither
    # kept nor counted. `_lines` also yields an empty line at the end of a block, so that `pieces`
    # can yield its rows.

    def _rows_of_text(self) -> Iterator[Row]:
        """Yield a row for each line, and an empty row for an empty line."""
        for line in self._lines():
            text = as_text(line).strip()
            if text:
                yield {URL: text}
            else:
                yield {}

    def _rows_of_csv(self) -> Iterator[Row]:
        """Take the names in the first line, and yield a row for each other line.

        An empty line gives an empty row.

        Raises BulkError if the file is empty, or if a line has more or fewer columns than the first
        line.
        """
        lines = csv.reader(map(as_text, self._lines()))
        names = next(filter(None, lines), None)
        if not names:
            raise BulkError(f"{self._name}: the file is empty; its first line names the columns")
        self._take_names(names)
        for cells in lines:
            if cells and len(cells) != len(names):
                raise BulkError(
                    f"{self._name}: line {self._number} has {len(cells)} columns, not {len(names)}"
                )
            yield dict(zip(names, cells, strict=False))

    def _rows_of_json(self) -> Iterator[Row]:
        """Yield a row for each object. The keys of the first object are the columns.

        An empty line gives an empty row.

        Raises BulkError if a line is not a JSON object.
        """
        is_first = True
        for line in self._lines():
            if not line.strip():
                yield {}
                continue
            try:
                # Python reads NaN, but JSON does not have it.
                row = json.loads(line, parse_constant=lambda _: None, parse_float=_finite)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise BulkError(f"{self._name}: line {self._number} is not a JSON object")
            if is_first:
                self._take_names(list(row))
                is_first = False
            yield row

    def _take_names(self, names: Sequence[str]) -> None:
        """Take the names of the columns. They must be different, and one must be `url`."""
        need(names, [URL, *names], self._name)
        self.names = list(names)

    def _lines(self) -> Iterator[bytes]:
        """Yield each line with its line end, and b"" after the last whole line of each block.

        The b"" becomes an empty row. At this row `pieces` yields the rows that it has, before it
        waits for the next block.

        Raises:
            BulkError: the file is UTF-16, or a line is too long.
        """
        rest = b""
        block = self._file.read1(_BLOCK).removeprefix(_BOM)
        if block.startswith(_UTF_16):
            raise BulkError(f"{self._name}: the file is UTF-16; save it as UTF-8")
        while block:
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) >= _MOST_LINE:
                raise BulkError(f"{self._name}: a line is longer than {_MOST_LINE:,} bytes")
            for line in lines:
                self._number += 1
                yield line + b"\n"
            self._is_block_read = True
            yield b""
            self._is_block_read = False
            block = self._file.read1(_BLOCK)
        self._number += 1
        yield rest


def _finite(number: str) -> float | None:
    """Return a number; None for infinity, such as 1e400, because JSON does not have it."""
    read = float(number)
    return read if isfinite(read) else None


def need(names: Sequence[str], needed: Sequence[str], where: str) -> None:
    """Check that each column in `needed` is there exactly once.

    Raises a BulkError that names the first column for which this is not true.
    """
    for name in needed:
        if names.count(name) != 1:
            there = ", ".join(map(repr, names)) or "none"
            raise BulkError(f"{where} must have one column {name!r}; its columns are {there}")
