"""Lists of URLs and files of answers, read and written piece by piece: Parquet, CSV or JSON Lines, by the file's name.

Only Parquet needs pyarrow.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from ..core.urls import as_text, shown
from .arrow import URL, batches_of, need, parquet_file
from .judging import BulkError

URL_SUFFIXES = (".parquet", ".csv")
ANSWER_SUFFIXES = (".parquet", ".csv", ".jsonl")

_ROWS = 50_000  # read at a time
_MOST_LINE = 2**20  # bytes of a line of CSV
_MOST_URL = 16_384  # bytes


class Rows(NamedTuple):
    """Rows of a list: the URLs, and the values of each other column, in a list or an Arrow array."""

    urls: list[str]
    others: Sequence[Any] = ()


def of_rows(column: Any, rows: Sequence[int]) -> Any:
    """Return the values of a column in these rows."""
    return column.take(rows) if hasattr(column, "take") else type(column)(map(column.__getitem__, rows))


class UrlFile:
    """A Parquet or CSV file while it is read.

    Raises BulkError if the file cannot be read, or has no column `url`, or two, or one that holds no text.

    Attributes:
        others: the names of the other columns, each with its Arrow type; None stands for text.
        size: its length in bytes.
        done: roughly how many of its bytes are read.
        left_out: rows without a URL, or with one that is longer than 16,384 bytes.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.done = self.left_out = 0
        try:
            self.size = Path(path).stat().st_size
            self._rows = self._parquet() if path.lower().endswith(".parquet") else self._csv()
            self.others: dict[str, Any] = next(self._rows)
        except OSError as error:
            raise BulkError(f"{path}: {error.strerror}") from None

    def rows(self) -> Iterator[Rows]:
        """Yield the rows with a URL, some at a time. Raises BulkError if the rest of the file cannot be read."""
        try:
            yield from self._rows
        except (OSError, csv.Error) as error:
            raise BulkError(f"{self._path}: {error}") from None
        self.done = self.size

    def _parquet(self) -> Iterator[Any]:
        with parquet_file(self._path) as file:
            import pyarrow as pa  # noqa: PLC0415

            schema = file.schema_arrow
            _check_names(schema.names, self._path)
            kind = schema.field(URL).type
            if _plain(kind) not in {pa.string(), pa.binary()}:
                raise BulkError(f"{self._path}: the column 'url' holds {kind}, not text")
            yield {field.name: _plain(field.type) for field in schema if field.name != URL}
            rows = file.metadata.num_rows or 1
            for batch in batches_of(file, self._path, schema.names, _ROWS):
                if batch is None:
                    raise BulkError(f"{self._path}: its rows are too large")
                yield self._with_urls(batch)
                self.done += self.size * len(batch) // rows

    def _with_urls(self, batch: Any) -> Rows:
        """Return the rows with a usable URL; count the others."""
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        binary = batch[URL].cast(_plain(batch[URL].type)).cast(pa.large_binary())
        is_good = pc.less_equal(pc.fill_null(pc.binary_length(binary), _MOST_URL + 1), _MOST_URL)
        good = batch.filter(is_good)
        self.left_out += len(batch) - len(good)
        others = [good[name].cast(_plain(good[name].type)) for name in good.schema.names if name != URL]
        return Rows([as_text(url) for url in binary.filter(is_good).to_pylist()], others)

    def _csv(self) -> Iterator[Any]:
        if not self.size:
            raise BulkError(f"{self._path}: the file is empty; its first line names the columns")
        with Path(self._path).open("rb") as file:
            lines = csv.reader(self._lines(file))
            names = next(lines)
            _check_names(names, self._path)
            place = names.index(URL)
            yield dict.fromkeys([*names[:place], *names[place + 1 :]])
            columns: list[list[str]] = [[] for _ in names]
            for cells in lines:
                if len(cells) != len(names):
                    if cells:
                        raise BulkError(
                            f"{self._path}: line {lines.line_num} has {len(cells)} columns, not {len(names)}"
                        )
                    continue
                if not cells[place] or len(cells[place]) > _MOST_URL:
                    self.left_out += 1
                    continue
                for column, cell in zip(columns, cells, strict=True):
                    column.append(cell)
                if len(columns[place]) == _ROWS:
                    self.done = file.tell()
                    yield Rows(columns.pop(place), columns)
                    columns = [[] for _ in names]
            yield Rows(columns.pop(place), columns)

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


class AnswerFile:
    """A file of rows: a URL, the other columns of the list, the answers. It gets its name when it is complete.

    Until then it stands beside that place, under a name that nothing else has.

    Raises BulkError if a file of that name exists, if it cannot be written, or if its name has none of `ANSWER_SUFFIXES`.

    Args:
        path: where the file will be.
        columns: the name of each column, `url` first, and what it holds: an Arrow type, `str`, `int` or `bytearray`
            (answers); None stands for text.
    """

    def __init__(self, path: str, columns: Sequence[tuple[str, Any]]) -> None:
        names = [name for name, _ in columns]
        self._path = Path(path)
        if self._path.suffix not in ANSWER_SUFFIXES:
            raise BulkError(f"{path}: the name must end in one of {', '.join(ANSWER_SUFFIXES)}")
        if len(set(names)) < len(names):
            raise BulkError(f"{path}: two columns would have the same name: {', '.join(map(repr, names))}")
        self._part = self._path.with_name(f".{self._path.name[:100]}.{token_hex(4)}.part")
        try:
            if self._path.exists() or self._path.is_symlink():
                raise BulkError(f"{path}: the file exists and will not be overwritten")
            self._file = self._part.open("xb")
        except OSError as error:
            raise BulkError(f"{path}: {error.strerror}") from None
        try:
            self._write, self._close = self._writer(columns)
        except BaseException:
            self.give_up()
            raise

    def _writer(self, columns: Sequence[tuple[str, Any]]) -> tuple[Callable[[list[Any]], object], Any]:
        if self._path.suffix == ".parquet":
            return _parquet_writer(self._file, columns)
        text = TEXT[self._path.suffix[1:]]([name for name, _ in columns])
        self._file.write(text.titles.encode())
        return lambda columns: self._file.write(text.lines(columns).encode()), lambda: None

    def write(self, columns: list[Any]) -> None:
        """Write some rows."""
        self._write(columns)

    def finish(self) -> None:
        """Close the file and give it its name."""
        self._close()
        self._file.close()
        self._part.replace(self._path)

    def give_up(self) -> None:
        """Close the file and delete it, since it is not complete."""
        self._file.close()
        self._part.unlink(missing_ok=True)


def _parquet_writer(file: Any, columns: Sequence[tuple[str, Any]]) -> tuple[Callable[[list[Any]], object], Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise BulkError("Parquet files need pyarrow: pip install 'scrapy-gbot-robots[bulk]'") from None
    arrow = {None: pa.string(), str: pa.string(), int: pa.int32(), bytearray: pa.int8()}
    schema = pa.schema([(name, arrow.get(kind, kind)) for name, kind in columns])
    # URLs of an archive are sorted: each begins like the one before, and few occur twice.
    encoding = {URL: "DELTA_BYTE_ARRAY"}
    writer = pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=False, column_encoding=encoding)

    def write(columns: list[Any]) -> None:
        arrays = [
            pa.Array.from_buffers(pa.int8(), len(column), [None, pa.py_buffer(column)]) if isinstance(column, bytearray)
            else column.cast(field.type) if isinstance(column, pa.Array)
            else pa.array(column, field.type)
            for column, field in zip(columns, schema, strict=True)
        ]  # fmt: skip
        writer.write(pa.record_batch(arrays, schema=schema))

    return write, writer.close


class CsvText:
    """Rows as CSV. What is not printable is escaped."""

    def __init__(self, names: Sequence[str]) -> None:
        self.titles = self.lines([[name] for name in names])

    def lines(self, columns: Sequence[Any]) -> str:
        """Return a line for each row."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(zip(*map(_printable, map(_values, columns)), strict=True))
        return text.getvalue()


class JsonText:
    """Rows as JSON Lines in ASCII: an object a line."""

    titles = ""

    def __init__(self, names: Sequence[str]) -> None:
        fields = ", ".join(f"{json.dumps(name).replace('%', '%%')}: %s" for name in names)
        self._line = f"{{{fields}}}\n"

    def lines(self, columns: Sequence[Any]) -> str:
        """Return a line for each row."""
        dumps = partial(json.dumps, default=str)
        texts = [column if isinstance(column, bytearray) else map(dumps, _values(column)) for column in columns]
        return "".join([self._line % row for row in zip(*texts, strict=True)])


TEXT: dict[str, type[CsvText | JsonText]] = {"csv": CsvText, "jsonl": JsonText}


def _values(column: Any) -> Any:
    """Return what Python knows of the values of a column. Times are text."""
    if not hasattr(column, "to_pylist"):
        return column
    from pyarrow import string, types  # noqa: PLC0415

    return (column.cast(string()) if types.is_temporal(column.type) else column).to_pylist()


def _printable(column: Any) -> Any:
    if isinstance(column, bytearray):
        return column
    return [shown(cell, len(cell)) if isinstance(cell, str) and not cell.isprintable() else cell for cell in column]
