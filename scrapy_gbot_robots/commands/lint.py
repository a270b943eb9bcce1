"""`scrapy robots lint FILE|URL|HOST...`: what is wrong or odd in robots.txt files, the greatest harm first.

`core.lint` has the findings. This module gets the files, writes the findings as text, JSON Lines, SARIF 2.1.0 or annotations
of a GitHub workflow, and decides the exit status.

Source: OASIS SARIF 2.1.0; GitHub's "Workflow commands" for the annotations.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote

from .. import __version__
from ..core import lint as core
from ..core.crawlers import Crawler
from ..core.lines import split_lines
from ..core.lint import KINDS, findings
from ..obeying.identity import of_project
from ..policy.outages import Kind
from ..report.words import count
from .command import FAILED, FINE, FOUND, CommandError
from .inputs import STDIN, checked, is_site, origin_of, read, typed_source
from .output import Mark, excerpt, printable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from scrapy.settings import Settings

    from ..core.urls import Origin
    from .output import Terminal
    from .project_crawl import Visit


HELP = "Say what is wrong or odd in robots.txt files, the greatest harm first"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "sources",
        nargs="+",
        type=typed_source,
        metavar="FILE|URL|HOST",
        help='a file, "-" for standard input, or a host (https) or URL whose robots.txt is fetched',
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        help="text (the default), one JSON object per finding and line, SARIF 2.1.0, or annotations for a GitHub workflow",
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="same as --format json")
    parser.add_argument(
        "--fail-on",
        choices=core.LEVELS,
        default=core.NOTE,
        help="end with status 1 only if a finding is at least this bad (default: note)",
    )


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the findings; return the exit status: FOUND if a finding is bad enough, FAILED if a source cannot be read."""
    gbot = checked(settings)
    fails_on = core.LEVELS[: core.LEVELS.index(options.fail_on) + 1]
    sites = {name: origin_of(name) for name in options.sources if is_site(name)}
    fetched = _fetched(list(dict.fromkeys(sites.values())), settings) if sites else {}
    report, status = FORMATS[options.format](out), FINE
    for name in options.sources:
        try:
            source = (
                _of_site(fetched[sites[name]]) if name in sites else Source(name, read(name), is_file=name != STDIN)
            )
        except CommandError as error:
            err.say((f"error: {error}", "bad"))
            status = FAILED
            continue
        found = findings(source.body, strict=gbot.strict, max_bytes=gbot.max_bytes, truncated=source.truncated)
        report.take(source, found)
        if status == FINE and any(finding.level in fails_on for finding in found):
            status = FOUND
    report.finish()
    return status


def _of_site(fetched: Source | str) -> Source:
    if isinstance(fetched, str):
        raise CommandError(fetched)
    return fetched


def _fetched(origins: list[Origin], settings: Settings) -> dict[Origin, Source | str]:
    """Return the robots.txt of each site, or why it cannot be read."""
    from .project_crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    agent = Crawler.of(of_project(settings).text)

    async def work(visit: Visit) -> dict[Origin, Source | str]:
        found: dict[Origin, Source | str] = {}
        for origin in origins:
            known = await visit.known(origin, agent, fresh=True)
            copy = known.entry.copy
            if known.decision.temporary or copy is None or copy.kind is Kind.NONE:
                found[origin] = f"{origin.robots_url}: there is nothing to read: {known.decision.why}"
            else:
                found[origin] = Source(origin.robots_url, copy.body, truncated=copy.cut)
        return found

    return during_a_visit(settings, work)


_STYLES = {core.ERROR: "bad", core.WARNING: "warning", core.NOTE: "faint"}

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
            part = KINDS[finding.kind].part
            if part:
                for line in excerpt(lines, [Mark(finding.line, part, "", style)]):
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
                "ruleIndex": list(KINDS).index(finding.kind),
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
                "id": f"robots-txt/{kind.id}",
                "shortDescription": {"text": kind.name},
                "defaultConfiguration": {"level": kind.level},
            }
            for kind in KINDS.values()
        ]
        driver = {"name": "scrapy-gbot-robots", "version": __version__, "informationUri": _HOMEPAGE, "rules": rules}
        run = {"tool": {"driver": driver}, "results": self._results}
        log = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
        self._out.write(json.dumps(log, indent=2) + "\n")


def _rule_id(kind: str) -> str:
    return f"robots-txt/{KINDS[kind].id}"


def _uri(source: Source) -> str:
    """Return a URI reference; a relative one for a relative path, as code scanning needs it."""
    if not source.is_file:
        return "stdin" if "://" not in source.name else source.name
    path = Path(source.name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="surrogateescape")


FORMATS: dict[str, Callable[[Terminal], Report]] = {"text": Text, "json": JsonLines, "sarif": Sarif, "github": Github}
