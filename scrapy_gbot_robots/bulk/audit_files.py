"""Lists of URLs and files of answers, read and written piece by piece.

They are Parquet, CSV or JSON Lines, by the file's name.
Only Parquet needs pyarrow.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from math import isfinite
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeAlias

from ..core.urls import as_text, shown
from .arrow import URL, batches_of, need, need_text, parquet_file, parquet_module
from .judging import BulkError

URL_SUFFIXES = (".parquet", ".csv")
# the text of some rows; takes the names of columns, and the columns
Lines: TypeAlias = Callable[[Sequence[str], Sequence[Any]], str]

ANSWER_SUFFIXES = (".parquet", ".csv", ".jsonl")

_ROWS = 50_000  # read at a time
_MOST_LINE = 2**20  # bytes of a line of CSV
_MOST_URL = 16_384  # bytes


class UrlFile:
    """A Parquet or CSV file while it is read.

    Raises BulkError if the file cannot be read, or has no column `url`, or two, or one that holds
    no text.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.done = 0  # roughly how many of its bytes are read
        self.left_out = 0  # rows without a URL, or with one that is longer than 16,384 bytes
        with self._errors_in_a_line():
            self.size = Path(path).stat().st_size
            self._rows = self._parquet() if path.lower().endswith(".parquet") else self._csv()
            # The names of the other columns, each with its Arrow type.
            self.others: dict[str, Any] = next(self._rows)

    @contextmanager
    def _errors_in_a_line(self) -> Iterator[None]:
        try:
            yield
        except (OSError, csv.Error) as error:
            why = getattr(error, "strerror", None) or str(error)
            if "new-line character" in why:
                why = "its lines end in CR alone; CSV has CR LF or LF"
            raise BulkError(f"{self._path}: {why}") from None

    def rows(self) -> Iterator[list[Any]]:
        """Yield the rows with a URL, some at a time, column by column.

        The URLs come first, then the other columns, as lists or Arrow arrays.
        Raises BulkError if the rest of the file cannot be read.
        """
        with self._errors_in_a_line():
            yield from self._rows
        self.done = self.size

    def _parquet(self) -> Iterator[Any]:
        with parquet_file(self._path) as file:
            schema = file.schema_arrow
            _check_names(schema.names, self._path)
            need_text(schema.field(URL), self._path)
            yield {field.name: _plain(field.type) for field in schema if field.name != URL}
            rows = file.metadata.num_rows
            for batch in batches_of(file, self._path, schema.names, _ROWS):
                if batch is None:
                    raise BulkError(f"{self._path}: its rows are too large")
                yield self._with_urls(batch)
                self.done += self.size * len(batch) // rows

    def _with_urls(self, batch: Any) -> list[Any]:
        """Return the columns of the rows with a usable URL; count the others."""
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        urls = batch[URL].cast(_plain(batch[URL].type)).cast(pa.large_binary())
        is_good = pc.less_equal(pc.binary_length(urls), _MOST_URL)
        columns: list[Any] = [list(map(as_text, urls.filter(is_good).to_pylist()))]
        for column in batch.drop_columns([URL]).columns:
            columns.append(column.cast(_plain(column.type)).filter(is_good))  # noqa: PERF401
        self.left_out += len(batch) - len(columns[0])
        return columns

    def _csv(self) -> Iterator[Any]:
        with Path(self._path).open("rb") as file:
            lines = csv.reader(self._lines(file))
            names = next(lines, None)
            if names is None:
                raise BulkError(
                    f"{self._path}: the file is empty; its first line names the columns"
                )
            _check_names(names, self._path)
            place = names.index(URL)
            yield {name: "string" for name in names if name != URL}
            rows = self._rows_of(lines, len(names), place)
            while piece := list(islice(rows, _ROWS)):
                columns = list(map(list, zip(*piece, strict=True)))
                yield [columns.pop(place), *columns]
                self.done = file.tell()

    def _rows_of(self, lines: Any, columns: int, place: int) -> Iterator[list[str]]:
        for cells in filter(None, lines):
            if len(cells) != columns:
                raise BulkError(
                    f"{self._path}: line {lines.line_num} has {len(cells)} columns, not {columns}"
                )
            if 0 < len(cells[place]) <= _MOST_URL:
                yield cells
            else:
                self.left_out += 1

    def _lines(self, file: Any) -> Iterator[str]:
        line = file.readline(_MOST_LINE).removeprefix(b"\xef\xbb\xbf")
        while line:
            if len(line) == _MOST_LINE:
                raise BulkError(f"{self._path}: a line is longer than {_MOST_LINE:,} bytes")
            yield as_text(line)
            line = file.readline(_MOST_LINE)


def _check_names(names: Sequence[str], where: str) -> None:
    need(names, [URL], where)
    if len(set(names)) < len(names):
        raise BulkError(f"{where}: two columns have the same name: {', '.join(map(repr, names))}")


def _plain(kind: Any) -> Any:
    """Return the Arrow type for the values of a column that every reader knows."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    return kind


# Answers


@contextmanager
def answer_file(
    path: str, columns: Sequence[tuple[str, Any]]
) -> Iterator[Callable[[list[Any]], object]]:
    """Make a file of rows: a URL, the other columns of the list, the answers.

    Yields a function that writes some rows. At the end of the context the file gets its name. Until
    then it stands beside that place, under a name that nothing else has. It is deleted if the
    context ends with an exception. No file is overwritten: if one has got the name meanwhile, the
    rows stay under the other name.

    Raises BulkError if a file of that name exists, if it cannot be written, or if its name has none
    of `ANSWER_SUFFIXES`.

    Args:
        path: where the file will be.
        columns: the name of each column, `url` first, and its Arrow type.
    """
    names, place = [name for name, _ in columns], Path(path)
    if place.suffix not in ANSWER_SUFFIXES:
        raise BulkError(f"{path}: the name must end in one of {', '.join(ANSWER_SUFFIXES)}")
    part = place.with_name(f".{place.name[:100]}.{token_hex(4)}.part")
    try:
        if place.exists() or place.is_symlink():
            raise BulkError(f"{path}: the file exists and will not be overwritten")
        file = part.open("xb")
    except OSError as error:
        raise BulkError(f"{path}: {error.strerror}") from None
    try:
        with file:
            if place.suffix == ".parquet":
                with _parquet_writer(file, columns) as write:
                    yield write
            else:
                yield text_writer(TEXT[place.suffix], names, lambda text: file.write(text.encode()))
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    try:
        place.touch(exist_ok=False)  # so no other program takes the name now
        part.replace(place)
    except OSError as error:
        raise BulkError(
            f"{path}: {error.strerror}; it is not overwritten, and the rows are in {part}"
        ) from None


@contextmanager
def _parquet_writer(
    file: Any, columns: Sequence[tuple[str, Any]]
) -> Iterator[Callable[[list[Any]], object]]:
    parquet = parquet_module()
    import pyarrow as pa  # noqa: PLC0415

    schema = pa.schema(columns)
    # URLs of an archive are sorted: each begins like the one before, and few occur twice.
    encoding = {URL: "DELTA_BYTE_ARRAY"}
    with parquet.ParquetWriter(
        file, schema, compression="zstd", use_dictionary=False, column_encoding=encoding
    ) as writer:
        yield lambda columns: writer.write(
            pa.record_batch(list(map(array_of, columns, schema.types)), schema=schema)
        )


def array_of(column: Any, kind: Any) -> Any:
    """Return an Arrow array of this type."""
    import pyarrow as pa  # noqa: PLC0415

    return column.cast(kind) if isinstance(column, pa.Array) else pa.array(column, kind)


def text_writer(
    lines: Lines, names: Sequence[str], write: Callable[[str], object]
) -> Callable[[list[Any]], object]:
    """Write the titles, unless each row has them; return a function that writes columns."""
    if lines is not json_lines:
        write(lines(names, [[name] for name in names]))
    return lambda columns: write(lines(names, columns))


def csv_lines(_names: Sequence[str], columns: Sequence[Any]) -> str:
    """Return a line for each row. What is not printable is escaped; lists and structs are JSON."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        zip(*map(_printable, map(_values, columns)), strict=True)
    )
    return text.getvalue()


def json_lines(names: Sequence[str], columns: Sequence[Any]) -> str:
    """Return an object in ASCII for each row."""
    encode = json.JSONEncoder(default=str).encode
    rows = zip(*map(_values, columns), strict=True)
    return "".join([f"{encode(dict(zip(names, row, strict=True)))}\n" for row in rows])


def _values(column: Any) -> Any:
    """Return what Python knows of the values of a column. Times and bytes are text.

    A number that JSON does not have, such as NaN, is None.
    """
    if not hasattr(column, "to_pylist"):
        return column
    from pyarrow import string, types  # noqa: PLC0415

    if types.is_temporal(column.type):
        column = column.cast(string())
    cells = column.to_pylist()
    if types.is_string(column.type) or types.is_integer(column.type):
        return cells  # which is quicker
    return list(map(_writable, cells))


def _writable(cell: Any) -> Any:
    """Return `cell` with text in place of bytes, and None in place of NaN and infinity."""
    if isinstance(cell, bytes):
        return as_text(cell)
    if isinstance(cell, float) and not isfinite(cell):
        return None
    if isinstance(cell, (list, tuple)):
        return list(map(_writable, cell))
    if isinstance(cell, dict):
        return {name: _writable(value) for name, value in cell.items()}
    return cell


def _printable(column: Any) -> Any:
    return list(map(_printable_cell, column))


def _printable_cell(cell: Any) -> Any:
    if isinstance(cell, str) and not cell.isprintable():
        return shown(cell, len(cell))
    if isinstance(cell, (list, dict)):
        return json.dumps(cell, default=str)
    return cell


TEXT: dict[str, Lines] = {".csv": csv_lines, ".jsonl": json_lines}
