"""Answers as a file: a row for each URL, a column for each crawler. Parquet, CSV or JSON Lines, by the file's name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .arrow import URL, answers_array
from .bench import NO_URL
from .errors import BulkError

if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIXES: Final = (".parquet", ".csv", ".jsonl")


class AnswerFile:
    """A file that answers are written to. It has its name when it is whole; until then that ends in `.part`.

    Raises BulkError if there is a file of that name, if it cannot be written, or its name has none of `SUFFIXES`.
    """

    def __init__(self, path: str, crawlers: Sequence[str]) -> None:
        import pyarrow as pa  # noqa: PLC0415

        self._path = Path(path)
        if self._path.suffix not in SUFFIXES:
            raise BulkError(f"{path}: the name must end in one of {', '.join(SUFFIXES)}")
        if self._path.exists():
            raise BulkError(f"{path}: there is such a file, and it will not be overwritten")
        self._part = self._path.with_name(f"{self._path.name}.part")
        self._schema = pa.schema([(URL, pa.string()), *((name, pa.int8()) for name in crawlers)])
        try:
            self._part.touch()
            self._writer = self._opened()
        except OSError as error:
            raise BulkError(f"{path}: {error.strerror}") from None

    def _opened(self) -> Any:
        if self._path.suffix == ".parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415

            # URLs come sorted: each begins like the one before, and hardly any comes twice.
            encoding = {URL: "DELTA_BYTE_ARRAY"}
            return pq.ParquetWriter(
                self._part, self._schema, compression="zstd", use_dictionary=False, column_encoding=encoding
            )
        if self._path.suffix == ".csv":
            from pyarrow import csv  # noqa: PLC0415

            return csv.CSVWriter(self._part, self._schema, write_options=csv.WriteOptions(quoting_style="needed"))
        return _JsonLines(self._part, self._schema.names)

    def write(self, urls: list[str], answers: list[bytearray]) -> None:
        """Write some rows; what is no URL is left out."""
        import pyarrow as pa  # noqa: PLC0415

        if answers and NO_URL in answers[0]:
            rows = [row for row, answer in enumerate(answers[0]) if answer != NO_URL]
            urls = [urls[row] for row in rows]
            answers = [bytearray(column[row] for row in rows) for column in answers]
        if isinstance(self._writer, _JsonLines):
            self._writer.write(urls, answers)
        else:
            arrays = [pa.array(urls, pa.string()), *map(answers_array, answers)]
            self._writer.write(pa.record_batch(arrays, schema=self._schema))

    def finish(self) -> None:
        """Close the file and give it its name."""
        self._writer.close()
        self._part.replace(self._path)

    def give_up(self) -> None:
        """Close the file and take it away: it is not whole."""
        self._writer.close()
        self._part.unlink(missing_ok=True)


class _JsonLines:
    """An object a line."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._file = path.open("w", encoding="ascii")
        self._line = ", ".join([f"{json.dumps(names[0])}: %s", *(f"{json.dumps(name)}: %d" for name in names[1:])])

    def write(self, urls: list[str], answers: list[bytearray]) -> None:
        line = f"{{{self._line}}}\n"
        self._file.write("".join([line % row for row in zip(map(json.dumps, urls), *answers, strict=True)]))

    def close(self) -> None:
        self._file.close()
