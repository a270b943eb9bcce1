"""Lists of URLs, as Arrow arrays: the column `url` of a Parquet or CSV file, read piece by piece."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..core.urls import escape, shown
from .arrow import URL, need
from .errors import BulkError

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES: Final = (".parquet", ".csv")

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
