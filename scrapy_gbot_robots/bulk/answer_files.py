"""Answers as a file: a row for each URL, a column for each crawler. Parquet, CSV or JSON Lines, by the file's name."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .arrow import URL, answers_array
from .bench import NO_URL
from .errors import BulkError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reasons import Reasons

SUFFIXES: Final = (".parquet", ".csv", ".jsonl")


class AnswerFile:
    """A file of answers. It gets its name when it is complete; until then the name ends in `.part`.

    Raises BulkError if a file of that name exists, if the file cannot be written, or if its name has none of `SUFFIXES`.
    """

    def __init__(self, path: str, crawlers: Sequence[str], *, with_reasons: bool = False) -> None:
        import pyarrow as pa  # noqa: PLC0415

        self._path = Path(path)
        if self._path.suffix not in SUFFIXES:
            raise BulkError(f"{path}: the name must end in one of {', '.join(SUFFIXES)}")
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
