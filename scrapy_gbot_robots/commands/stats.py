"""`scrapy robots stats ARCHIVE`: what the robots.txt files of an archive are like. As tables or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..report.words import count
from . import archives, crawlers
from .command import FINE, CommandError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy.settings import Settings

    from ..bulk.survey import Share, Study
    from .archives import Archive
    from .output import Terminal

    Table = tuple[str, list[str], list[list[str]]]  # title, names of columns, rows

HELP = "Say what the robots.txt files of an archive are like, from fields and agents to sizes and statuses"

_TOP = 20


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("archives", metavar="ARCHIVE", nargs="+", help=archives.WHAT)
    crawlers.add_argument(parser)
    parser.add_argument("--top", metavar="N", type=int, default=_TOP, help=f"fields and agents told (default: {_TOP})")
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Study the archive; return the exit status."""
    if not archives.are_archives(options.archives):
        raise CommandError(f"{options.archives[0]}: not an archive by its name: {', '.join(archives.SUFFIXES)}")
    askers = crawlers.named(options.agents, settings, err) if options.agents else []
    with archives.errors_in_a_line(), archives.opened(options.archives, askers, settings, err) as archive:
        study = _study(archive, options.top, err)
    archive.say_damage(err)
    if options.json:
        out.write(json.dumps(fields_of(study)) + "\n")
    else:
        for title, titles, rows in tables(study):
            out.say((title, "strong"))
            out.table(titles, rows)
            out.say()
    return FINE


def _study(archive: Archive, most: int, err: Terminal) -> Study:
    """Count, and show how far that is."""
    from ..bulk.survey import Study, study  # noqa: PLC0415

    done = 0
    with err.progress("Counting", len(archive.store)) as progress:
        for found in study(archive.store, archive.terms, most):
            if isinstance(found, Study):
                return found
            progress(found - done, f"{found:,}")
            done = found
    raise AssertionError("a study ends with what was found")


def fields_of(study: Study) -> dict[str, object]:
    """Return all that was found, by name, for JSON."""

    def shares(rows: Sequence[Share], what: str) -> list[dict[str, object]]:
        return [{"name": row.name, "files": row.files, what: row.times} for row in rows]

    return {
        "origins": study.origins,
        "states": study.states,
        "statuses": {str(status or "none"): origins for status, origins in study.statuses.items()},
        "bytes": study.total_bytes,
        "sizes": [{"up_to_bytes": size, "files": files} for size, files in study.sizes],
        "fields": shares(study.fields, "lines"),
        "agents": shares(study.agents, "blocked"),
        "crawlers": shares(study.crawlers, "blocked"),
        "preferences": study.preferences,
    }


def tables(study: Study) -> Iterator[Table]:
    """Yield what was found as tables: the title, the names of the columns, the rows."""
    rules = study.states["rules"]
    states = [(origins, state) for state, origins in study.states.items()]
    title = f"{count(study.origins, 'origin')}, {count(study.total_bytes, 'byte')} of rules"
    yield title, ["ORIGINS", "SHARE", "STATE"], _rows(states, study.origins)
    statuses = [(origins, str(status or "no answer")) for status, origins in study.statuses.items()]
    yield "Statuses", ["ORIGINS", "SHARE", "STATUS"], _rows(statuses, study.origins)
    sizes = [(files, size_in_words(size)) for size, files in study.sizes]
    yield "Sizes of files with rules", ["FILES", "SHARE", "BYTES"], _rows(sizes, rules)
    fields = [[*_number(row.files, rules), f"{row.times:,}", row.name] for row in study.fields]
    yield "Fields", ["FILES", "SHARE", "LINES", "FIELD"], fields
    said = [
        [*_number(each["granted"], rules), *_number(each["refused"], rules), label]
        for label, each in study.preferences.items()
    ]
    title = "Preferences about the home page, for all crawlers"
    yield title, ["GRANTED", "SHARE", "REFUSED", "SHARE", "PREFERENCE"], said
    for title, shares in (("Agents that files name", study.agents), ("Crawlers that were asked for", study.crawlers)):
        if shares:
            yield _blocked(title, shares, rules)


def _blocked(title: str, shares: Sequence[Share], files: int) -> Table:
    rows = [[*_number(row.files, files), *_number(row.times, row.files), row.name] for row in shares]
    title += ", and how many of these files keep them from the home page"
    return title, ["FILES", "SHARE", "BLOCKED", "SHARE", "AGENT"], rows


def _rows(counts: Iterable[tuple[int, str]], whole: int) -> list[list[str]]:
    return [[*_number(part, whole), name] for part, name in counts]


def _number(part: int, whole: int) -> tuple[str, str]:
    """Return a number, and its share of `whole`."""
    return f"{part:,}", f"{100 * part / whole:.1f} %" if whole else "-"


def size_in_words(size: int | None) -> str:
    """Put the upper end of a range of sizes into words."""
    if size is None:
        return "more than is read"
    return f"up to {size:,}" if size else "empty"
