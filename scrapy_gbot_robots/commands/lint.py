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
from pathlib import Path
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
from .output import Terminal, printable
from .project_crawl import RobotsState

Results = Sequence[tuple[RobotsState, Sequence[Finding]]]


_STYLES = {ERROR: "bad", WARNING: "warning", NOTE: "faint"}
_GITHUB_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_HOMEPAGE = "https://pypi.org/project/scrapy-gbot-robots/"
_PAGE = "https://scrapy-gbot-robots.readthedocs.io/lint/"
_TRY = "https://scrapy-gbot-robots.readthedocs.io/try/"
# What options may name: a level with all that is as bad, or a kind.
_NAMED: dict[str, list[str]] = {}
for _level in LEVELS:
    _as_bad = LEVELS[: LEVELS.index(_level) + 1]
    _NAMED[_level] = [kind.name for kind in KINDS.values() if kind.level in _as_bad]
_NAMED.update({kind.id: [kind.name] for kind in KINDS.values()})


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.epilog = f"Levels, and kinds of finding: {', '.join(_NAMED)}. What each means: {_PAGE}"
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
        type=_kinds,
        default=WARNING,
        metavar="LEVEL|KIND,...",
        help="end with status 1 only for these kinds of finding, "
        "or for all as bad as error, warning, note (default: warning)",
    )
    parser.add_argument(
        "--ignore",
        type=_kinds,
        action="extend",
        default=[],
        metavar="LEVEL|KIND,...",
        help="leave these kinds of finding out",
    )


def _kinds(text: str) -> list[str]:
    """Return the names of the kinds that an option names."""
    kinds = []
    for word in text.lower().split(","):
        named = _NAMED.get(word.strip().replace(" ", "-"))
        if named is None:
            nearest = get_close_matches(word, _NAMED, n=1) or _NAMED
            raise ArgumentTypeError(f'there is no "{word}", but {", ".join(nearest)}')
        kinds += named
    return kinds


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the findings; return FOUND if one is bad enough, FAILED if a source cannot be read."""
    results: list[tuple[RobotsState, list[Finding]]] = []
    is_bad = False
    names = dict.fromkeys(options.sources)  # once each: standard input can be read only once
    states = fetched(names, settings, err)
    for name in names:
        try:
            source = version_of(name, states, may_lack=False)
        except CommandError as error:
            err.say((f"error: {error}", "bad"))
            continue
        every = findings(
            source.copy.body,
            max_bytes=GbotSettings.of(settings).max_bytes,
            truncated=source.copy.cut,
            more=on_preferences,
        )
        reported = [finding for finding in every if finding.kind not in options.ignore]
        is_bad |= any(finding.kind in options.fail_on for finding in reported)
        results.append((source, reported))
    out.as_json = options.format == "json"
    FORMATS[options.format](results, out)
    if len(results) < len(names):
        return FAILED
    return FOUND if is_bad else FINE


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
        counted = [count(levels[level], level) for level in LEVELS if levels[level]]
        out.say((source.where, "strong"), ": ", ", ".join(counted) or ("clean", "good"))
    if any(reported for _, reported in results):
        out.say((f"What to do: {_PAGE} Try a change: {_TRY}", "faint"))


def _write_github(results: Results, out: Terminal) -> None:
    """Write annotations for GitHub: a workflow command for each finding."""
    for source, reported in results:
        file = _escaped(source.where).replace(":", "%3A").replace(",", "%2C")
        for finding in reported:
            where = f"file={file},line={finding.line},title={_rule_id(finding.kind)}"
            level = _GITHUB_LEVELS[finding.level]
            out.write(f"::{level} {where}::{_escaped(finding.text)}\n")


def _escaped(text: str) -> str:
    """Return a text that ends no workflow command."""
    return printable(text).replace("%", "%25")


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
    found = []
    for source, reported in results:
        uri = _uri_of(source)
        for finding in reported:
            place = {"artifactLocation": {"uri": uri}, "region": {"startLine": finding.line}}
            found.append(
                {
                    "ruleId": _rule_id(finding.kind),
                    "level": finding.level,
                    "message": {"text": finding.text},
                    "locations": [{"physicalLocation": place}],
                }
            )
    run = {"tool": {"driver": driver}, "results": found}
    log = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    out.write(json.dumps(log, indent=2) + "\n")


def _uri_of(source: RobotsState) -> str:
    """Return where a robots.txt is: relative for a relative path, as code scanning needs it."""
    path = Path(source.where)
    if source.origin is not None:
        return source.where
    if path.is_absolute():
        return path.as_uri()
    return quote(path.as_posix(), errors="surrogateescape")


def _rule_id(kind: str) -> str:
    return f"robots-txt/{KINDS[kind].id}"


FORMATS: dict[str, Callable[[Results, Terminal], None]] = {
    "text": _write_lines,
    "json": _write_lines,
    "sarif": _write_sarif,
    "github": _write_github,
}
