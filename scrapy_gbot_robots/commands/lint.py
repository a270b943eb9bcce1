"""`scrapy robots lint FILE|URL...`: what is wrong in robots.txt files, the greatest harm first.

`core.lint` has the findings. This module gets the files, writes the findings as text, JSON Lines,
SARIF 2.1.0 or annotations of a GitHub workflow, and decides the exit status.

Source: OASIS SARIF 2.1.0; GitHub's "Workflow commands" for the annotations.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scrapy.settings import Settings

from .. import __version__
from ..core.lines import split_lines
from ..core.lint import findings
from ..core.remarks import ERROR, KINDS, LEVELS, NOTE, WARNING, Finding
from ..experimental.preferences import on_preferences
from ..report.summary import count
from ..settings import GbotSettings
from .ending import FAILED, FINE, FOUND, CommandError
from .inputs import SOURCE, fetched, version_of
from .output import Part, Terminal, printable
from .project_crawl import RobotsState

Results = Sequence[tuple[RobotsState, Sequence[Finding]]]


_STYLES = {ERROR: "bad", WARNING: "warning", NOTE: "faint"}
_GITHUB_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_HOMEPAGE = "https://pypi.org/project/scrapy-gbot-robots/"
_PAGE = "https://scrapy-gbot-robots.readthedocs.io/lint/"
_TRY = "https://scrapy-gbot-robots.readthedocs.io/try/"
_ALL_KINDS = ", ".join(kind.id for kind in KINDS.values())


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.epilog = (
        f"Levels: {', '.join(LEVELS)}. Kinds of finding: {_ALL_KINDS}. What each means: {_PAGE}"
    )
    parser.add_argument("sources", nargs="+", **SOURCE)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        help="text (the default), one JSON object per finding and line, SARIF 2.1.0, "
        "or annotations for a GitHub workflow",
    )
    parser.add_argument(
        "--json", dest="format", action="store_const", const="json", help="same as --format json"
    )
    parser.add_argument(
        "--fail-on",
        type=partial(_kinds, levels=LEVELS),
        default=WARNING,
        metavar="LEVEL|KIND,...",
        help="end with status 1 only for these kinds of finding, "
        "or for all as bad as error, warning, note (default: warning)",
    )
    parser.add_argument(
        "--ignore",
        type=_kinds,
        action="append",
        default=[],
        metavar="KIND,...",
        help="leave these kinds of finding out",
    )


def _kinds(text: str, levels: Sequence[str] = ()) -> set[str]:
    """Return the kinds with these ids or names, and those as bad as one of `levels`."""
    known = {}
    for place, level in enumerate(levels, 1):
        as_bad = levels[:place]
        known[level] = {kind.name for kind in KINDS.values() if kind.level in as_bad}
    known.update({kind.id: {kind.name} for kind in KINDS.values()})
    kinds: set[str] = set()
    for word in map(str.strip, text.split(",")):
        meant = known.get(word.lower().replace(" ", "-"))
        if meant is None:
            nearest = get_close_matches(word, known, n=1)
            if nearest:
                raise ArgumentTypeError(f'there is no "{word}"; did you mean {nearest[0]}?')
            raise ArgumentTypeError(f'"{word}" is none of these: {", ".join(known)}')
        kinds |= meant
    return kinds


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the findings; return FOUND if one is bad enough, FAILED if a source cannot be read."""
    gbot = GbotSettings.of(settings)
    ignored = set().union(*options.ignore)
    results: list[tuple[RobotsState, list[Finding]]] = []
    status = FINE
    sources = dict.fromkeys(options.sources)  # once each: standard input can be read only once
    states = fetched(sources, settings, err)
    for name in sources:
        try:
            source = version_of(name, states, may_lack=False)
        except CommandError as error:
            err.say((f"error: {error}", "bad"))
            status = FAILED
            continue
        every = findings(
            source.copy.body,
            max_bytes=gbot.max_bytes,
            truncated=source.copy.cut,
            more=on_preferences,
        )
        reported = [finding for finding in every if finding.kind not in ignored]
        if status == FINE and any(finding.kind in options.fail_on for finding in reported):
            status = FOUND
        results.append((source, reported))
    out.as_json = options.format == "json"
    FORMATS[options.format](results, out)
    return status


def _write_lines(results: Results, out: Terminal) -> None:
    """Write each finding with its line, and the counts for each source; or JSON."""
    for source, reported in results:
        lines = split_lines(source.copy.body)
        for finding in reported:
            out.json({"source": printable(source.where), **finding._asdict()})
            style, where = _STYLES[finding.level], f"{source.where}:{finding.line}: "
            out.say((where, "strong"), (finding.level, style), f": {finding.text}")
            out.excerpt(lines, {finding.line: ("", style)})
        levels = Counter(finding.level for finding in reported)
        out.say((source.where, "strong"), ": ", _counted(levels))
    if any(reported for _, reported in results):
        out.say((f"What to do: {_PAGE} Try a change: {_TRY}", "faint"))


def _counted(levels: Counter[str]) -> Part:
    """Return how many findings there are of each level, in words."""
    if not levels:
        return "clean", "good"
    return ", ".join(count(levels[level], level) for level in LEVELS if levels[level])


def _write_github(results: Results, out: Terminal) -> None:
    """Write annotations for GitHub: a workflow command for each finding."""
    for source, reported in results:
        file = _escaped(printable(source.where), ":,")
        for finding in reported:
            where = f"file={file},line={finding.line},title={_rule_id(finding.kind)}"
            text = _escaped(printable(finding.text))
            out.write(f"::{_GITHUB_LEVELS[finding.level]} {where}::{text}\n")


def _escaped(text: str, more: str = "") -> str:
    """Escape what would end a workflow command; `more` is what would end a property of it."""
    return text.translate({ord(char): f"%{ord(char):02X}" for char in f"%\r\n{more}"})


def _write_sarif(results: Results, out: Terminal) -> None:
    """Write one SARIF log with one run, for code scanning."""
    rules = [
        {
            "id": _rule_id(kind.name),
            "shortDescription": {"text": kind.name},
            "helpUri": f"{_PAGE}#{kind.id}",
            "defaultConfiguration": {"level": kind.level},
        }
        for kind in KINDS.values()
    ]
    driver = {
        "name": "scrapy-gbot-robots",
        "version": __version__,
        "informationUri": _HOMEPAGE,
        "rules": rules,
    }
    sarif_results = []
    for source, reported in results:
        sarif_results += [_sarif_result(source, finding) for finding in reported]
    run = {"tool": {"driver": driver}, "results": sarif_results}
    log = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    out.write(json.dumps(log, indent=2) + "\n")


def _sarif_result(source: RobotsState, finding: Finding) -> dict[str, Any]:
    """Return a finding and its place.

    The URI is relative for a relative path, as code scanning needs it.
    """
    uri, path = source.where, Path(source.where)
    if source.origin is None and path.is_absolute():
        uri = path.as_uri()
    elif source.origin is None:
        uri = quote(path.as_posix(), errors="surrogateescape")
    place = {"artifactLocation": {"uri": uri}, "region": {"startLine": finding.line}}
    return {
        "ruleId": _rule_id(finding.kind),
        "level": finding.level,
        "message": {"text": finding.text},
        "locations": [{"physicalLocation": place}],
    }


def _rule_id(kind: str) -> str:
    return f"robots-txt/{KINDS[kind].id}"


FORMATS: dict[str, Callable[[Results, Terminal], None]] = {
    "text": _write_lines,
    "json": _write_lines,
    "sarif": _write_sarif,
    "github": _write_github,
}
