"""Lists of URLs, read piece by piece in bounded memory, and the text of rows of answers.

A list is text with a URL a line; CSV, whose first line names the columns, among them `url`; or JSON
lines, objects with a key `url`. Its name ends in .csv or .jsonl; any other name is that of text.
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

_BLOCK = 262_144  # bytes that are read at a time
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

    def pieces(self) -> Iterator[list[list[Any]]]:
        """Yield some rows at a time, column by column, as `names` has the columns.

        Raises:
            BulkError: the list cannot be read, or has no column `url`.
        """
        name = self._name.lower()
        try:
            if name.endswith(".csv"):
                yield from self._in_pieces(self._rows_of_csv())
            elif name.endswith(".jsonl"):
                yield from self._in_pieces(self._rows_of_json())
            else:
                yield from self._text()
        except csv.Error as error:
            why = str(error)
            if "new-line character" in why:
                why = "its lines end in CR alone; CSV has CR LF or LF"
            raise BulkError(f"{self._name}: {why}") from None
        except OSError as error:
            raise BulkError(f"{self._name}: {error.strerror}") from None

    def _text(self) -> Iterator[list[list[str]]]:
        """Yield lines without the white space around them; empty ones are left out.

        In place of a line that is too long comes a text that says so, which is no URL.
        """
        block, rest = self._file.read1(_BLOCK), b""
        text = block.removeprefix(_BOM)
        while block:
            self.done += len(block)
            text, _, rest = (rest + text).rpartition(b"\n")
            yield [_lines_of(text)]
            rest = rest[: MAX_URL + 1]
            block = text = self._file.read1(_BLOCK)
        yield [_lines_of(rest)]

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
            if self.done - begun > _BLOCK:
                yield self._columns(piece)
                piece, begun = [], self.done
        yield self._columns(piece)

    def _columns(self, piece: Sequence[list[Any]]) -> list[list[Any]]:
        if not piece:
            return [[] for _ in self.names]
        return list(map(list, zip(*piece, strict=True)))

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
        need([*names], [URL], self._name)
        if len(set(names)) < len(names):
            raise BulkError(
                f"{self._name}: two columns have the same name: {', '.join(map(repr, names))}"
            )
        self.names += [name for name in names if name != URL]

    def _lines(self) -> Iterator[bytes]:
        line = self._file.readline(_MOST_LINE)
        rest = line.removeprefix(_BOM)
        while line:
            self.done += len(line)
            if len(line) == _MOST_LINE:
                raise BulkError(f"{self._name}: a line is longer than {_MOST_LINE:,} bytes")
            yield rest
            rest = line = self._file.readline(_MOST_LINE)


def need(names: Sequence[str], needed: Sequence[str], where: str) -> None:
    """Check that each column is there once.

    Raises BulkError that says which are not, and what there is.
    """
    wrong = [name for name in needed if names.count(name) != 1]
    if wrong:
        there = ", ".join(map(repr, names)) or "none"
        several = "more than one" if any(name in names for name in wrong) else "no"
        missed = " and ".join(map(repr, wrong))
        raise BulkError(f"{where} has {several} column {missed}; its columns are {there}")


def _lines_of(text: bytes) -> list[str]:
    """Return the lines of a text. Bytes that are no UTF-8 are percent-encoded, as for rules."""
    try:
        texts = text.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        texts = [as_text(line) for line in text.split(b"\n")]
    lines = []
    for line in map(str.strip, texts):
        if len(line) > MAX_URL:
            lines.append(f"longer than {MAX_URL:,} bytes: {line}")
        elif line:
            lines.append(line)
    return lines


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
