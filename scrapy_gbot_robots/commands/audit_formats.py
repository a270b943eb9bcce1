"""The output of `audit`: one row per URL and crawler, as a table, JSON Lines or CSV, written at once.

Speed: many URLs get the same verdict. Their rows differ in the URL alone, so the rest of a row is made once and kept.
"""

from __future__ import annotations

import csv
import io
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..core.verdict import Verdict
from .output import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_KEPT = 4096  # verdicts, with their part of a row


class VerdictRow(NamedTuple):
    """What a row says beside the URL. `before` is the verdict by the older of two robots.txt files, if there are two."""

    crawler: str
    verdict: Verdict
    robots_txt: str
    before: Verdict | None = None

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        word = "allowed" if self.verdict.allowed else "disallowed"
        return word if self.before is None else f"now {word}"

    @property
    def why(self) -> str:
        """The rule or the reason, with the line."""
        return _why(self.verdict) if self.before is None else f"{_why(self.verdict)}; before: {_why(self.before)}"

    def fields(self) -> dict[str, Any]:
        """The columns by name."""
        fields: dict[str, Any] = {
            "crawler": self.crawler,
            "allowed": self.verdict.allowed,
            **_fields(self.verdict),
            "robots_txt": self.robots_txt,
        }
        if self.before is not None:
            fields |= {f"{name}_before": value for name, value in _fields(self.before).items()}
        return fields


def _why(verdict: Verdict) -> str:
    return verdict.reason if verdict.rule is None else f"{verdict.rule} (line {verdict.rule.line})"


def _fields(verdict: Verdict) -> dict[str, Any]:
    rule = verdict.rule
    return {
        "rule": None if rule is None else str(rule),
        "line": None if rule is None else rule.line,
        "group": verdict.group,
        "reason": verdict.reason,
    }


class Format(Protocol):
    """Turns rows into text, all of which is printable except the line ends."""

    def titles(self, *, compares: bool) -> str:
        """Return what stands above the rows. `compares` tells whether rows have a verdict `before`."""

    def rows(self, rows: Iterable[tuple[str, VerdictRow]]) -> str:
        """Return one line per URL and row."""


class Table:
    """For people. The widths of columns are fixed, since later rows are not known yet."""

    def __init__(self) -> None:
        self._lead: Callable[[VerdictRow], str] = lru_cache(_KEPT)(_lead)

    def titles(self, *, compares: bool) -> str:
        """Return the names of the columns."""
        return f"{'VERDICT':<14}  {'CRAWLER':<15}  {'RULE':<35}  URL\n"

    def rows(self, rows: Iterable[tuple[str, VerdictRow]]) -> str:
        """Return the rows. The URL stands last, since it may be long."""
        return "".join([f"{self._lead(row)}  {printable(url)}\n" for url, row in rows])


def _lead(row: VerdictRow) -> str:
    return printable(f"{row.word:<14}  {row.crawler:<15}  {row.why:<35}")


class JsonLines:
    """For programs: one object per line."""

    def __init__(self) -> None:
        self._tail: Callable[[VerdictRow], str] = lru_cache(_KEPT)(lambda row: json.dumps(row.fields())[1:])

    def titles(self, *, compares: bool) -> str:
        """Return "": each line is complete."""
        return ""

    def rows(self, rows: Iterable[tuple[str, VerdictRow]]) -> str:
        """Return the rows. They are JSON in ASCII, which is printable."""
        return "".join([f'{{"url": {json.dumps(url)}, {self._tail(row)}\n' for url, row in rows])


class Csv:
    """For spreadsheets."""

    def __init__(self) -> None:
        self._tail: Callable[[VerdictRow], list[str]] = lru_cache(_KEPT)(_cells)

    def titles(self, *, compares: bool) -> str:
        """Return the names of the columns."""
        example = VerdictRow("", Verdict(True), "", Verdict(True) if compares else None)
        return f"url,{','.join(example.fields())}\n"

    def rows(self, rows: Iterable[tuple[str, VerdictRow]]) -> str:
        """Return the rows."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([(printable(url), *self._tail(row)) for url, row in rows])
        return text.getvalue()


def _cells(row: VerdictRow) -> list[str]:
    fields = {**row.fields(), "allowed": "yes" if row.verdict.allowed else "no"}
    return ["" if value is None else printable(str(value)) for value in fields.values()]


FORMATS: dict[str, Callable[[], Format]] = {"table": Table, "jsonl": JsonLines, "csv": Csv}
