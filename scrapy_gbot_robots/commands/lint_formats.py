"""The output of `lint`: text for people, JSON Lines, SARIF 2.1.0, or the annotations of a GitHub workflow.

Source: OASIS SARIF 2.1.0; GitHub's "Workflow commands" for the annotations.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote

from .. import __version__
from ..core import lint_findings as core
from ..core import remarks as kinds
from ..core.lines import split_lines
from ..report.words import count
from .excerpt import Mark, excerpt
from .output import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .output import Terminal

_STYLES = {core.ERROR: "bad", core.WARNING: "warning", core.NOTE: "faint"}

# The part of a line that a finding is about; if not listed, its value.
_PART = {
    core.MISSPELT: "key",
    kinds.TYPO: "key",
    kinds.PREFIX: "key",
    kinds.MISSING_COLON: "key",
    kinds.UNKNOWN_FIELD: "key",
    kinds.UNUSED_FIELD: "key",
    kinds.IGNORED: "whole",
    kinds.RULE_BEFORE_GROUP: "whole",
    kinds.CUT: "whole",
    core.DUPLICATE: "whole",
    core.SHADOWED: "whole",
}

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_HOMEPAGE = "https://pypi.org/project/scrapy-gbot-robots/"
_GITHUB_LEVELS = {core.ERROR: "error", core.WARNING: "warning", core.NOTE: "notice"}


class Source(NamedTuple):
    """A robots.txt to lint.

    Attributes:
        name: its file name or URL.
        body: its bytes.
        is_file: whether `name` is a file name.
        truncated: whether the server sent more than `body`.
    """

    name: str
    body: bytes
    is_file: bool = False
    truncated: bool = False


class Report(Protocol):
    """Writes the findings in one source after the other."""

    def take(self, source: Source, found: Sequence[core.Finding]) -> None:
        """Write the findings in a source, or keep them for the end."""

    def finish(self) -> None:
        """Write the end, after the last source."""


class Text:
    """For people: each finding with its line, and the counts for each source."""

    def __init__(self, out: Terminal) -> None:
        self._out = out

    def take(self, source: Source, found: Sequence[core.Finding]) -> None:
        """Write the findings and their counts."""
        lines = split_lines(source.body)
        for finding in found:
            style = _STYLES[finding.level]
            where = f"{source.name}:{finding.line}: "
            self._out.say((where, "strong"), (finding.level, style), f": {finding.text}")
            if finding.kind not in core.OF_THE_FILE:
                for line in excerpt(lines, [Mark(finding.line, _PART.get(finding.kind, "value"), "", style)]):
                    self._out.say(*line)
        levels = Counter(finding.level for finding in found)
        counts = [count(levels[level], level) for level in core.LEVELS if levels[level]]
        self._out.say((source.name, "strong"), ": ", ", ".join(counts) or ("clean", "good"))

    def finish(self) -> None:
        """Write nothing more."""


class JsonLines:
    """For programs: one object per finding, one per line."""

    def __init__(self, out: Terminal) -> None:
        self._out = out

    def take(self, source: Source, found: Sequence[core.Finding]) -> None:
        """Write the findings."""
        for finding in found:
            self._out.write(json.dumps({"source": source.name, **finding._asdict()}) + "\n")

    def finish(self) -> None:
        """Write nothing more."""


class Github:
    """Annotations that GitHub shows beside the lines of a pull request."""

    def __init__(self, out: Terminal) -> None:
        self._out = out

    def take(self, source: Source, found: Sequence[core.Finding]) -> None:
        """Write one workflow command per finding."""
        for finding in found:
            level, text = _GITHUB_LEVELS[finding.level], _escaped(printable(finding.text))
            if source.is_file:
                name = _escaped(printable(source.name), ":,")
                where = f"file={name},line={finding.line},title={_rule_id(finding.kind)}"
            else:
                where = f"title={_rule_id(finding.kind)}"
                text = f"{_escaped(printable(source.name))}%3A{finding.line}: {text}"
            self._out.write(f"::{level} {where}::{text}\n")

    def finish(self) -> None:
        """Write nothing more."""


def _escaped(text: str, more: str = "") -> str:
    """Escape characters that would end a workflow command; `more` are those that would end a property in it."""
    return "".join(f"%{ord(char):02X}" if char in f"%\r\n{more}" else char for char in text)


class Sarif:
    """One SARIF log with one run, for code scanning."""

    def __init__(self, out: Terminal) -> None:
        self._out = out
        self._results: list[dict[str, Any]] = []

    def take(self, source: Source, found: Sequence[core.Finding]) -> None:
        """Keep the findings for the end."""
        uri = _uri(source)
        self._results += [
            {
                "ruleId": _rule_id(finding.kind),
                "ruleIndex": core.KINDS.index(finding.kind),
                "level": finding.level,
                "message": {"text": finding.text},
                "locations": [
                    {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": finding.line}}}
                ],
            }
            for finding in found
        ]

    def finish(self) -> None:
        """Write the log."""
        rules = [
            {
                "id": _rule_id(kind),
                "shortDescription": {"text": kind},
                "defaultConfiguration": {"level": core.LEVEL_OF[kind]},
            }
            for kind in core.KINDS
        ]
        driver = {"name": "scrapy-gbot-robots", "version": __version__, "informationUri": _HOMEPAGE, "rules": rules}
        run = {"tool": {"driver": driver}, "results": self._results}
        log = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
        self._out.write(json.dumps(log, indent=2) + "\n")


def _rule_id(kind: str) -> str:
    return "robots-txt/" + kind.lower().replace(" ", "-")


def _uri(source: Source) -> str:
    """Return a URI reference; a relative one for a relative path, as code scanning needs it."""
    if not source.is_file:
        return "stdin" if "://" not in source.name else source.name
    path = Path(source.name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="surrogateescape")


FORMATS: dict[str, Callable[[Terminal], Report]] = {"text": Text, "json": JsonLines, "sarif": Sarif, "github": Github}
