"""`scrapy robots stats ARCHIVE`: what the robots.txt files of an archive are like.

It writes tables or JSON. Each origin counts once, by its latest answer, redirects followed. There
may be any number of names in the files, so the database counts them: it uses the disk for what
exceeds its memory.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from itertools import chain, islice
from typing import Any, NamedTuple

from scrapy.settings import Settings

from ..bulk.archive_answers import Store
from ..bulk.judging import Judge, Served
from ..core.crawlers import Crawler, RobotsAgent
from ..core.lines import FIELDS, HAS_DIRECTIVE
from ..core.patterns import NO_RULE, directory_of_index, matches, precedence_of
from ..core.preferences import LABELS
from ..core.robots import RobotsTxt, groups_by_agent, groups_of, lines_of
from ..core.urls import shown
from ..core.verdict import Rule
from ..policy.outages import State
from ..report.summary import count
from ..settings import GbotSettings
from . import archives
from .command import FINE, CommandError
from .inputs import crawlers_named
from .output import Terminal

_TOP = 20
_HOME = "/"
_NO_AGENT = "(none)"  # what a user-agent line names that names none
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
    parser.add_argument(
        "--as",
        dest="agents",
        action="append",
        metavar="TOKEN[,TOKEN...]",
        help="count the files that refuse the home page to this crawler, too; may be repeated",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=int,
        default=_TOP,
        help=f"how many fields and agents are told (default: {_TOP})",
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Study the archive; return the exit status."""
    if not archives.are_archives(options.archives):
        raise CommandError(
            f"{options.archives[0]}: not an archive by its name: {', '.join(archives.SUFFIXES)}"
        )
    askers = crawlers_named(options.agents, settings, err) if options.agents else []
    gbot = GbotSettings.of(settings)
    crawlers_asked = [asker.crawler for asker in askers]
    judge = Judge(crawlers_asked, policy=gbot.policy, max_bytes=gbot.max_bytes)
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


def _show(title: str, part: Any, wholes: Mapping[str, int], out: Terminal) -> None:
    """Write a part of the study as a table, unless it is empty.

    `wholes` has the numbers by which shares are counted, beside those of a row itself (`_WHOLE`).
    """
    rows = part
    if isinstance(part, dict):
        rows = []
        for name, row in part.items():
            facts = row
            if not isinstance(row, dict):
                facts = {"origins": row}
            rows.append({"name": name, **facts})
    if not rows:
        return
    out.say()
    out.say((title, "strong"))
    out.table(list(map(str.upper, rows[0])), [_cells(row, wholes) for row in rows])


def _cells(row: Mapping[str, Any], wholes: Mapping[str, int]) -> list[str]:
    return [_cell(name, {**wholes, **row}) for name in row]


def _cell(name: str, row: Mapping[str, Any]) -> str:
    """Return a cell of a row: a number has its share, and None is written "more"."""
    value, whole = row[name], row.get(_WHOLE.get(name, ""))
    if not isinstance(value, int):
        return "more" if value is None else value
    return f"{value:,} ({100 * value / whole:.1f} %)" if whole else f"{value:,}"


def _studied(store: Store, judge: Judge, most: int, err: Terminal) -> dict[str, Any]:
    """Go through all robots.txt files, and show how far that is; return what was found, for JSON.

    The `most` frequent fields and agents count.
    """
    _count_all(store, judge, err)
    states, statuses = _counts_of(store, _Kind.STATE), _counts_of(store, _Kind.STATUS)
    sizes, crawlers = _counts_of(store, _Kind.SIZE), _counts_of(store, _Kind.CRAWLER)
    rules = states[State.RULES.value]
    return {
        "origins": sum(count.files for count in states.values()),
        "states": {state.value: states[state.value].files for state in State},
        "statuses": {name or "none": statuses[name].files for name in sorted(statuses)},
        "bytes": rules.amount,
        "sizes": [
            {"up_to_bytes": size, "files": sizes[str(size)].files} for size in (*_SIZES, None)
        ],
        "fields": _rows(_counts_of(store, _Kind.FIELD, most), "lines"),
        "agents": _rows(_counts_of(store, _Kind.AGENT, most), "blocked"),
        "crawlers": [
            {"name": name, "files": rules.files, "blocked": crawlers[name].amount}
            for name in map(_name_of, judge.crawlers)
        ],
        "preferences": _preferences(store),
    }


def _rows(counts: Mapping[str, _Count], amount: str) -> list[dict[str, str | int]]:
    return [
        {"name": name, "files": count.files, amount: count.amount} for name, count in counts.items()
    ]


def _preferences(store: Store) -> dict[str, dict[str, int]]:
    counts = _counts_of(store, _Kind.PREFERENCE)
    preferences: dict[str, dict[str, int]] = {}
    for label, _, _ in LABELS:
        files, granted = counts[label]
        preferences[label] = {"granted": granted, "refused": files - granted}
    return preferences


# Counting


class _Kind(str, Enum):
    """What a fact is about, and what its amount is."""

    STATE = "state"  # the bytes of rules
    STATUS = "status"
    SIZE = "size"
    FIELD = "field"  # its lines
    AGENT = "agent"  # 1 if it may not fetch "/"
    CRAWLER = "crawler"  # the same
    PREFERENCE = "preference"  # 1 if it is granted, 0 if it is refused


class _Fact(NamedTuple):
    """What is counted of one answer."""

    kind: _Kind
    name: str
    amount: int = 0


class _Count(NamedTuple):
    """All facts of a kind and a name."""

    files: int = 0
    amount: int = 0


def _count_all(store: Store, judge: Judge, err: Terminal) -> None:
    """Put the facts of all answers into the database of the store."""
    import pyarrow as pa  # noqa: PLC0415

    schema = pa.schema({"kind": "str", "name": "str", "amount": "i8"})
    store.insert("facts", schema.empty_table())
    facts = chain.from_iterable(_facts(served, judge) for served in store.everything())
    done = 0
    with err.progress("Counting", len(store)) as progress:
        while piece := list(islice(facts, _FACTS)):
            rows = [fact._asdict() for fact in piece]
            store.insert("facts", pa.Table.from_pylist(rows, schema))
            done += sum(fact.kind is _Kind.STATUS for fact in piece)
            progress(done, f"{done:,}")


def _counts_of(store: Store, kind: _Kind, most: int | None = None) -> defaultdict[str, _Count]:
    """Return the names of a kind that most files have, the most frequent first."""
    rows = store.database.execute(
        "SELECT name, count(*), sum(amount)::BIGINT FROM facts WHERE kind = ? "
        "GROUP BY name ORDER BY 2 DESC, 1 LIMIT ?",
        [kind.value, most],
    ).fetchall()
    return defaultdict(_Count, {name: _Count(files, amount) for name, files, amount in rows})


def _facts(served: Served, judge: Judge) -> Iterator[_Fact]:
    """Yield what counts of one answer."""
    yield _Fact(_Kind.STATUS, str(served.status or ""))
    decision = judge.decision(served)
    if decision is not None:
        yield _Fact(_Kind.STATE, decision.state.value)
        return
    yield _Fact(_Kind.STATE, State.RULES.value, len(served.body))
    yield _Fact(_Kind.SIZE, str(_size_of(served)))
    robots = judge.parsed(served)
    for crawler in judge.crawlers:
        yield _Fact(_Kind.CRAWLER, _name_of(crawler), int(not robots.allowed(_HOME, crawler)))
    preferences = robots.preferences(_HOME, _ALL)
    for label, _, _ in LABELS:
        is_granted = getattr(preferences, label)
        if is_granted is not None:
            yield _Fact(_Kind.PREFERENCE, label, int(is_granted))
    for field, lines in _lines_by_field(robots).items():
        yield _Fact(_Kind.FIELD, field, lines)
    for agent, is_blocked in _agents_of(robots, judge).items():
        yield _Fact(_Kind.AGENT, agent, int(is_blocked))


def _name_of(crawler: RobotsAgent) -> str:
    return crawler.name or "*"


def _size_of(served: Served) -> int | None:
    """Return the least of `_SIZES` that holds what there is of a file; None if none does."""
    least = len(served.body)
    if served.cut:
        least += 1  # there was more, nobody knows how much
    for size in _SIZES:
        if least <= size:
            return size
    return None


def _lines_by_field(robots: RobotsTxt) -> Counter[str]:
    lines: Counter[str] = Counter()
    for line in lines_of(robots):
        if line.flags & HAS_DIRECTIVE:
            lines[_FIELDS.get(line.kind) or _name(line.key)] += 1
    return lines


def _agents_of(robots: RobotsTxt, judge: Judge) -> dict[str, bool]:
    """Return the agents that a file names, and whether each may not fetch "/".

    The time is linear in the file. A file may name 17,500 agents, so the rules of a group are
    looked at once for all of them.
    """
    groups = groups_of(robots)
    best = [_best_for_home(group.rules) for group in groups]
    blocked: dict[str, bool] = {}
    for agent, numbers in groups_by_agent(groups).items():
        decisive = max(best[number] for number in numbers)
        blocked[shown(agent, _MOST_NAME)] = decisive % 2 == 0  # the odd ones allow
    if any("" in group.agents for group in groups):
        blocked[_NO_AGENT] = not robots.allowed(_HOME, Crawler("", ("",)))
    return blocked


def _best_for_home(rules: Iterable[Rule]) -> int:
    """Return the precedence of the rule that decides about "/", whatever its line."""
    best = NO_RULE
    for rule in rules:
        patterns = [rule.pattern]
        if rule.allow:
            patterns.append(directory_of_index(rule.pattern) or "")
        for pattern in filter(None, patterns):
            if matches(pattern, _HOME):
                best = max(best, precedence_of(len(pattern), rule.allow, 0))
    return best


def _name(raw: bytes) -> str:
    return shown(raw.lower().decode("utf-8", "backslashreplace"), _MOST_NAME)
