"""Read lists of URLs piece by piece, in bounded memory.

A list is a file in one of three formats:

1. A file whose name ends with ".csv" is CSV. Its first line contains the names of the columns, and
   one of them is `url`.
2. A file whose name ends with ".jsonl" has a JSON object on each line, with a key `url`.
3. Any other file has one URL on each line.

If a file contains bytes that are not UTF-8, these bytes are percent-encoded.
Sources: RFC 4180; https://jsonlines.org.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from ..core.lines import BOM, UTF_16_MARKS
from ..core.urls import as_text
from .judging import BulkError

Row: TypeAlias = "dict[str, Any]"  # the cells of a row, by the names of their columns

URL = "url"
MAX_URL = 16_384  # the maximum length of a URL in characters

_BLOCK = 131_072  # the number of bytes that are read at a time
_MOST_LINE = 2**20  # the maximum length of a line in bytes


class UrlList:
    """Reads a list of URLs.

    Args:
        file: the open file.
        name: the name of the file. Its ending determines the format, and error messages contain it.

    Attributes:
        names: the names of the columns, in the order of the file. In a file of JSON objects, these
            are the keys of the first object. The names are known when `pieces` has yielded its
            first list.
        left_out: the number of rows that have no URL, or a URL of more than `MAX_URL` characters.
            The caller adds the number of rows whose text is not a URL.
    """

    def __init__(self, file: Any, name: str) -> None:
        self._file = file
        self._name = name
        self.names = [URL]
        self.left_out = 0
        self._number = 0  # the number of the last line that was read
        # If this attribute is True, `pieces` yields the rows that it has collected. `_lines` sets
        # the attribute to True after the last whole line of each block.
        self._is_block_read = False

    def pieces(self) -> Iterator[list[Row]]:
        """Yield the rows of the file as lists, one list for each block of at most 128 KiB.

        A list may be empty. Rows without a URL, or with a URL that is too long, are left out.

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

    # The following three methods read the three formats. For an empty line, they yield an empty
    # row, which `pieces` ignores.

    def _rows_of_text(self) -> Iterator[Row]:
        """Yield a row for each line, and an empty row for an empty line."""
        for line in self._lines():
            text = as_text(line).strip()
            if text:
                yield {URL: text}
            else:
                yield {}

    def _rows_of_csv(self) -> Iterator[Row]:
        """Read the names of the columns from the first line, and yield a row for each other line.

        For an empty line, yield an empty row.

        Raises:
            BulkError: the file is empty, or a line has more or fewer columns than the first line.
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
        """Yield a row for each object. The keys of the first object are the names of the columns.

        For an empty line, yield an empty row.

        Raises:
            BulkError: a line is not a JSON object.
        """
        is_first = True
        for line in self._lines():
            if not line.strip():
                yield {}
                continue
            try:
                # Python would accept NaN and infinity, which are not valid in JSON.
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
        """Set the names of the columns.

        Raises:
            BulkError: two names are equal, or none of them is `url`.
        """
        need(names, [URL, *names], self._name)
        self.names = list(names)

    def _lines(self) -> Iterator[bytes]:
        """Yield each line with its line end, and b"" after the last whole line of each block.

        The b"" becomes an empty row. When `pieces` gets this row, it yields the rows of the block.
        Without the b"", these rows would wait for the first line of the next block. This line may
        come much later, for example if the file is a pipe.

        Raises:
            BulkError: the file is UTF-16, or a line is too long.
        """
        rest = b""
        block = self._file.read1(_BLOCK).removeprefix(BOM)
        if block.startswith(UTF_16_MARKS):
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
    """Convert a text such as "1.5" to a float. Return None if the number is too large."""
    read = float(number)
    return read if isfinite(read) else None


def need(names: Sequence[str], needed: Sequence[str], where: str) -> None:
    """Check that a file or batch has each of the needed columns exactly once.

    Args:
        names: the names of the columns that the file or batch has.
        needed: the names of the columns that it must have exactly once.
        where: the name of the file or batch, for the error message.

    Raises:
        BulkError: a needed column is missing, or occurs more than once.
    """
    for name in needed:
        if names.count(name) != 1:
            there = ", ".join(map(repr, names)) or "none"
            raise BulkError(f"{where} must have one column {name!r}; its columns are {there}")
