"""`scrapy robots stats ARCHIVE`: what the robots.txt files of an archive are like. As tables or JSON.

Each origin counts once, by its latest answer, redirects followed. There may be any number of names
in the files, so the database counts them: it uses the disk for what exceeds its memory.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from scrapy.settings import Settings

from ..bulk.judging import Judge, Served
from ..bulk.store import Store
from ..core.crawlers import Crawler
from ..core.lines import FIELDS, HAS_DIRECTIVE
from ..core.robots import groups_of, lines_of
from ..core.urls import shown
from ..experimental.preferences import LABELS
from ..policy.outages import State
from ..report.summary import count
from ..settings import GbotSettings
from . import archives, crawlers
from .command import FINE, CommandError
from .inputs import add_shared
from .output import Terminal

_TOP = 20
_HOME = "/"
_ALL = Crawler("", ())
_FACTS = 10_000  # counted at a time
_MOST_NAME = 60  # characters
_SIZES = (0, 100, 1_000, 10_000, 100_000, 500 * 1_024)  # bytes

# Fields by the kind of line; those that are unused or unknown go by their own names.
_FIELDS = {kind: name.decode() for kind, name, _ in FIELDS}

_TABLES = {
    "states": "States",
    "statuses": "Statuses",
    "sizes": "Sizes of files with rules",
    "fields": "Fields",
    "preferences": "Preferences about the home page, for all crawlers",
    "agents": "Agents that files name, and how many of these files keep them from the home page",
    "crawlers": "Crawlers that were asked for, and how many files keep them from the home page",
}

# Of what a number is a share.
_WHOLE = {
    "origins": "all",
    "files": "rules",
    "blocked": "files",
    "granted": "rules",
    "refused": "rules",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("archives", metavar="ARCHIVE", nargs="+", help=archives.WHAT)
    add_shared(parser, "--as")
    parser.add_argument(
        "--top",
        metavar="N",
        type=int,
        default=_TOP,
        help=f"fields and agents told (default: {_TOP})",
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Study the archive; return the exit status."""
    if not archives.are_archives(options.archives):
        raise CommandError(
            f"{options.archives[0]}: not an archive by its name: {', '.join(archives.SUFFIXES)}"
        )
    askers = crawlers.named(options.agents, settings, err) if options.agents else []
    gbot = GbotSettings.of(settings)
    crawlers_asked = [asker.crawler for asker in askers]
    judge = Judge(crawlers_asked, policy=gbot.policy, strict=gbot.strict, max_bytes=gbot.max_bytes)
    with (
        archives.errors_in_a_line(),
        archives.opened(options.archives, gbot, err) as (store, damage),
    ):
        study = _studied(store, judge, options.top, err)
    for part in damage:
        err.say(part)
    out.json(study)
    out.say(f"{count(study['origins'], 'origin')}, {count(study['bytes'], 'byte')} of rules")
    for key, title in _TABLES.items():
        _show(title, study[key], {"all": study["origins"], "rules": study["states"]["rules"]}, out)
    return FINE


def _show(title: str, found: Any, wholes: Mapping[str, int], out: Terminal) -> None:
    """Write a table, unless it is empty."""
    rows = found
    if isinstance(found, dict):
        rows = [
            {"name": name, **(row if isinstance(row, dict) else {"origins": row})}
            for name, row in found.items()
        ]
    if rows:
        out.say()
        out.say((title, "strong"))
        out.table(
            list(map(str.upper, rows[0])),
            [[_cell(name, {**wholes, **row}) for name in row] for row in rows],
        )


def _cell(name: str, row: Mapping[str, Any]) -> str:
    """Return a cell of a row: a number has its share, and no number stands for what is beyond the last one."""
    value, whole = row[name], row.get(_WHOLE.get(name, ""))
    if not isinstance(value, int):
        return "more" if value is None else value
    return f"{value:,} ({100 * value / whole:.1f} %)" if whole else f"{value:,}"


def _studied(store: Store, judge: Judge, most: int, err: Terminal) -> dict[str, Any]:
    """Go through all robots.txt files, and show how far that is; return what was found, for JSON.

    The `most` frequent fields and agents count.
    """
    import pyarrow as pa  # noqa: PLC0415

    schema = pa.schema({"kind": "str", "name": "str", "number": "i8"})
    store.insert("facts", schema.empty_table())
    facts = (fact for served in store.everything() for fact in _facts(served, judge))
    done = 0
    with err.progress("Counting", len(store)) as progress:
        while some := list(islice(facts, _FACTS)):
            store.insert("facts", pa.table(list(zip(*some, strict=True)), schema=schema))
            done += sum(kind == "status" for kind, _, _ in some)
            progress(done, f"{done:,}")
    kinds = ("state", "status", "size", "preference", "crawler")
    states, statuses, sizes, said, blocked = (_counted(store, kind) for kind in kinds)
    rules, size = states[State.RULES.value]
    fields, agents = (_counted(store, kind, most).items() for kind in ("field", "agent"))
    asked = [crawler.name or "*" for crawler in judge.crawlers]
    return {
        "origins": sum(files for files, _ in states.values()),
        "states": {state.value: states[state.value][0] for state in State},
        "statuses": {status or "none": files for status, (files, _) in sorted(statuses.items())},
        "bytes": size,
        "sizes": [{"up_to_bytes": size, "files": sizes[str(size)][0]} for size in (*_SIZES, None)],
        "fields": [
            {"name": name, "files": files, "lines": lines} for name, (files, lines) in fields
        ],
        "agents": [
            {"name": name, "files": files, "blocked": times} for name, (files, times) in agents
        ],
        "crawlers": [{"name": name, "files": rules, "blocked": blocked[name][0]} for name in asked],
        "preferences": {
            label: {"granted": said[label][1], "refused": said[label][0] - said[label][1]}
            for label, _, _ in LABELS
        },
    }


def _facts(served: Served, judge: Judge) -> Iterator[tuple[str, str, int]]:
    """Yield what counts of one answer: a kind, a name, and a number to add up. A blocked crawler may not fetch "/"."""
    decision = judge.decision(served)
    yield "status", str(served.status or ""), 0
    if decision is not None:
        yield "state", decision.state.value, 0
        return
    size = len(served.body)
    yield "state", State.RULES.value, size
    yield (
        "size",
        str(None if served.cut else next((each for each in _SIZES if size <= each), None)),
        0,
    )
    robots = judge.parsed(served)
    for crawler in judge.crawlers:
        if not robots.allowed(_HOME, crawler):
            yield "crawler", crawler.name or "*", 0
    said = robots.preferences(_HOME, _ALL)
    for label, _, _ in LABELS:
        if getattr(said, label) is not None:
            yield "preference", label, int(getattr(said, label))
    keys = (
        _FIELDS.get(line.kind) or _name(line.key)
        for line in lines_of(robots)
        if line.flags & HAS_DIRECTIVE
    )
    for field, lines in Counter(keys).items():
        yield "field", field, lines
    for agent in dict.fromkeys(agent for group in groups_of(robots) for agent in group.agents):
        is_blocked = not robots.allowed(_HOME, Crawler(agent, (agent,) if agent != "*" else ()))
        yield "agent", shown(agent, _MOST_NAME) or "(none)", int(is_blocked)


def _counted(store: Store, kind: str, most: int | None = None) -> dict[str, tuple[int, int]]:
    """Return the names of a kind that most files have: in how many files each is, and the sum of its numbers."""
    rows = store.database.execute(
        "SELECT name, count(*), sum(number)::BIGINT FROM facts WHERE kind = ? GROUP BY name ORDER BY 2 DESC, 1 LIMIT ?",
        [kind, most],
    ).fetchall()
    return defaultdict(lambda: (0, 0), {name: (files, number) for name, files, number in rows})


def _name(raw: bytes) -> str:
    return shown(raw.lower().decode("utf-8", "backslashreplace"), _MOST_NAME)
