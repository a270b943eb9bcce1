"""Lists of URLs, read piece by piece in bounded memory.

A list is text with a URL a line; CSV, whose first line names the columns, among them `url`; or JSON
lines, objects with a key `url`. Its name ends in .csv or .jsonl; any other name is that of text.
Bytes that are no UTF-8 are percent-encoded, as for rules.
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
_MOST_LINE = 2**20  # bytes of a line
_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how it begins


class UrlList:
    """A list while it is read.

    Attributes:
        names: the columns of the list, those of its first line, in their order. They are known as
            soon as the first piece is read. Later objects of JSON lines may have others.
        left_out: how many rows have no URL, or one of more than `MAX_URL` characters. The caller
            adds those whose text is no URL.
    """

    def __init__(self, file: Any, name: str) -> None:
        """Take an open file, and its name, which says the format and stands in messages."""
        self._file = file
        self._name = name
        self.names = [URL]
        self.left_out = 0
        self._number = 0  # of the line that was read last
        self._is_block_read = False  # all of its whole lines: `pieces` gives out what it has

    def pieces(self) -> Iterator[list[Row]]:
        """Yield the rows of each block that was read, which may be none.

        Rows without a URL, or with one that is too long, are left out.

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

    # Rows of each format. An empty line makes an empty row, which is neither kept nor counted, but
    # wakes `pieces`: `_lines` gives an empty line, too, where a block ends.

    def _rows_of_text(self) -> Iterator[Row]:
        """Yield a row for each line; an empty one for an empty line."""
        for line in self._lines():
            text = as_text(line).strip()
            if text:
                yield {URL: text}
            else:
                yield {}

    def _rows_of_csv(self) -> Iterator[Row]:
        """Take the names of the first line, and yield a row for each other line.

        An empty line makes an empty row, which wakes `pieces`.

        Raises BulkError if the file is empty, or a line has more or fewer columns.
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
        """Yield a row for each object, the first of which names the columns.

        An empty line makes an empty row, which wakes `pieces`.

        Raises BulkError if a line is no object.
        """
        is_first = True
        for line in self._lines():
            if not line.strip():
                yield {}
                continue
            try:
                # JSON has no NaN, though Python reads it
                row = json.loads(line, parse_constant=lambda _: None, parse_float=_finite)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise BulkError(f"{self._name}: line {self._number} is no JSON object")
            if is_first:
                self._take_names(list(row))
                is_first = False
            yield row

    def _take_names(self, names: Sequence[str]) -> None:
        """Take the names of the columns. They must be different, and one is `url`."""
        need(names, [URL, *names], self._name)
        self.names = list(names)

    def _lines(self) -> Iterator[bytes]:
        """Yield each line with its end, and b"" after the last whole line of each block.

        The b"" becomes an empty row, at which `pieces` gives out what it has before it waits for
        the next block.

        Raises:
            BulkError: the file is UTF-16, or a line is too long.
        """
        rest = b""
        block = self._file.read1(_BLOCK).removeprefix(_BOM)
        if block.startswith(_UTF_16):
            raise BulkError(f"{self._name}: this is UTF-16; save it as UTF-8")
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
    """Return a number; None, as JSON has no infinity, for one such as 1e400."""
    read = float(number)
    return read if isfinite(read) else None


def need(names: Sequence[str], needed: Sequence[str], where: str) -> None:
    """Check that each column that is needed is there once.

    Raises BulkError that names one that is not.
    """
    for name in needed:
        if names.count(name) != 1:
            there = ", ".join(map(repr, names)) or "none"
            raise BulkError(f"{where} must have one column {name!r}; its columns are {there}")
