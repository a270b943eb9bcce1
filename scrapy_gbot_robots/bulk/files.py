"""Lists of URLs and files of answers, read and written piece by piece: Parquet, CSV or JSON Lines, by the file's name."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..core.urls import escape, shown
from .arrow import URL, answers_array, need
from .judging import NO_URL, BulkError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .judging import Reasons

URL_SUFFIXES: Final = (".parquet", ".csv")
ANSWER_SUFFIXES: Final = (".parquet", ".csv", ".jsonl")

_ROWS: Final = 50_000  # read at a time
_MOST_BYTES: Final = 16_384  # of a URL


class UrlFile:
    """A Parquet or CSV file while it is read.

    Attributes:
        size: its length in bytes.
        done: roughly how many of its bytes are read.
        left_out: rows without a URL, or with one that is longer than 16,384 bytes.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.size = 0
        self.done = 0
        self.left_out = 0

    def arrays(self) -> Iterator[Any]:
        """Yield the column `url`, some rows at a time.

        Raises:
            BulkError: the file cannot be read, or has no such column, or that holds no text.
        """
        import pyarrow as pa  # noqa: PLC0415

        try:
            self.size = Path(self._path).stat().st_size
            for array in self._parquet() if self._path.endswith(".parquet") else self._csv():
                yield self._checked(array)
        except (OSError, pa.ArrowException) as error:
            raise BulkError(f"{self._path}: {getattr(error, 'strerror', None) or shown(str(error))}") from None
        self.done = self.size

    def _parquet(self) -> Iterator[Any]:
        import pyarrow.parquet as pq  # noqa: PLC0415

        with pq.ParquetFile(self._path) as file:
            need(file.schema_arrow.names, [URL], self._path)
            rows = file.metadata.num_rows or 1
            for batch in file.iter_batches(_ROWS, columns=[URL]):
                yield batch[URL]
                self.done += self.size * len(batch) // rows

    def _csv(self) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import csv  # noqa: PLC0415

        if not self.size:
            raise BulkError(f"{self._path}: the file is empty; its first line names the columns")
        with (
            Path(self._path).open("rb") as file,
            csv.open_csv(
                file,
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=csv.ConvertOptions(column_types={URL: pa.binary()}),
            ) as reader,
        ):
            need(reader.schema.names, [URL], self._path)
            for batch in reader:
                yield batch[URL]
                self.done = file.tell()

    def _checked(self, array: Any) -> Any:
        """Return the URLs of an array as text. Rows without a usable URL are left out and counted."""
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        if isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        if not _is_text(array.type):
            raise BulkError(f"{self._path}: the column 'url' holds {array.type}, not text")
        binary = array.cast(pa.large_binary())
        good = binary.filter(pc.less_equal(pc.fill_null(pc.binary_length(binary), _MOST_BYTES + 1), _MOST_BYTES))
        self.left_out += len(array) - len(good)
        try:
            return good.cast(pa.large_string()).cast(pa.string())
        except pa.ArrowInvalid:  # not UTF-8: percent-encoded, as it is where URLs are compared with rules
            return pa.array([_text(url) for url in good.to_pylist()], pa.string())


def _is_text(kind: Any) -> bool:
    from pyarrow import types  # noqa: PLC0415

    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
    )


def _text(url: bytes) -> str:
    try:
        return url.decode("utf-8")
    except UnicodeDecodeError:
        return escape(url).decode("ascii")


class AnswerFile:
    """A file of answers. It gets its name when it is complete; until then the name ends in `.part`.

    Raises BulkError if a file of that name exists, if it cannot be written, or if its name has none of `ANSWER_SUFFIXES`.
    """

    def __init__(self, path: str, crawlers: Sequence[str], *, with_reasons: bool = False) -> None:
        import pyarrow as pa  # noqa: PLC0415

        self._path = Path(path)
        if self._path.suffix not in ANSWER_SUFFIXES:
            raise BulkError(f"{path}: the name must end in one of {', '.join(ANSWER_SUFFIXES)}")
        if self._path.exists():
            raise BulkError(f"{path}: the file exists and will not be overwritten")
        self._part = self._path.with_name(f"{self._path.name}.part")
        columns = [(URL, pa.string()), *((name, pa.int8()) for name in crawlers)]
        if with_reasons:
            kinds = {"rule": pa.string(), "line": pa.int32(), "reason": pa.string()}
            columns += [(f"{name}_{what}", kind) for name in crawlers for what, kind in kinds.items()]
        self._schema = pa.schema(columns)
        try:
            self._part.touch()
            self._writer = self._opened()
        except OSError as error:
            raise BulkError(f"{path}: {error.strerror}") from None

    def _opened(self) -> Any:
        if self._path.suffix == ".parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415

            # URLs are sorted: each begins like the one before, and few occur twice.
            encoding = {URL: "DELTA_BYTE_ARRAY"}
            return pq.ParquetWriter(
                self._part, self._schema, compression="zstd", use_dictionary=False, column_encoding=encoding
            )
        if self._path.suffix == ".csv":
            from pyarrow import csv  # noqa: PLC0415

            return csv.CSVWriter(self._part, self._schema, write_options=csv.WriteOptions(quoting_style="needed"))
        return _JsonLines(self._part, self._schema.names)

    def write(self, urls: list[str], answers: list[bytearray], reasons: list[Reasons] | None = None) -> None:
        """Write some rows. Leave out those without a URL."""
        import pyarrow as pa  # noqa: PLC0415

        columns: list[Any] = [urls, *answers, *chain.from_iterable(reasons or ())]
        if answers and NO_URL in answers[0]:
            kept = [row for row, answer in enumerate(answers[0]) if answer != NO_URL]
            columns = [type(column)(column[row] for row in kept) for column in columns]
        if isinstance(self._writer, _JsonLines):
            self._writer.write(columns)
            return
        arrays = [
            answers_array(column) if isinstance(column, bytearray) else pa.array(column, field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write(pa.record_batch(arrays, schema=self._schema))

    def finish(self) -> None:
        """Close the file and give it its name."""
        self._writer.close()
        self._part.replace(self._path)

    def give_up(self) -> None:
        """Close the file and delete it, since it is not complete."""
        self._writer.close()
        self._part.unlink(missing_ok=True)


class _JsonLines:
    """An object a line."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._file = path.open("w", encoding="ascii")
        fields = ", ".join(f"{json.dumps(name)}: %s" for name in names)
        self._line = f"{{{fields}}}\n"

    def write(self, columns: list[Any]) -> None:
        texts = [column if isinstance(column, bytearray) else map(json.dumps, column) for column in columns]
        self._file.write("".join([self._line % row for row in zip(*texts, strict=True)]))

    def close(self) -> None:
        self._file.close()
