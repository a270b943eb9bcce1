"""`scrapy robots stats ARCHIVE`: what the robots.txt files of an archive are like. As tables or JSON.

Each origin counts once, by its latest answer, redirects followed. There may be any number of names in the files, so the
database counts them: it uses the disk for what exceeds its memory.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Any

from scrapy.settings import Settings

from ..bulk.judging import Judge, Served
from ..bulk.store import Store
from ..core.crawlers import Crawler
from ..core.lines import FIELDS, HAS_DIRECTIVE
from ..core.patterns import matches
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

Table = tuple[str, list[str], list[list[str]]]  # title, names of columns, rows


_TOP = 20
_HOME = "/"
_ALL = Crawler("", ())
_FILES = 1_000  # counted at a time
_MOST_NAME = 60  # characters
_SIZES = (0, 100, 1_000, 10_000, 100_000, 500 * 1_024)  # bytes

# Fields by the kind of line; those that are unused or unknown go by their own names.
_FIELDS = {kind: name.decode() for kind, name, _ in FIELDS}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("archives", metavar="ARCHIVE", nargs="+", help=archives.WHAT)
    add_shared(parser, "--as")
    parser.add_argument("--top", metavar="N", type=int, default=_TOP, help=f"fields and agents told (default: {_TOP})")
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Study the archive; return the exit status."""
    if not archives.are_archives(options.archives):
        raise CommandError(f"{options.archives[0]}: not an archive by its name: {', '.join(archives.SUFFIXES)}")
    askers = crawlers.named(options.agents, settings, err) if options.agents else []
    gbot = GbotSettings.of(settings)
    crawlers_asked = [asker.crawler for asker in askers]
    judge = Judge(crawlers_asked, policy=gbot.policy, strict=gbot.strict, max_bytes=gbot.max_bytes)
    with archives.errors_in_a_line(), archives.opened(options.archives, gbot, err) as (store, damage):
        study = _studied(store, judge, options.top, err)
    for part in damage:
        err.say(part)
    out.json(study)
    for title, titles, rows in _tables(study):
        out.say((title, "strong"))
        out.table(titles, rows)
        out.say()
    return FINE


def _tables(study: dict[str, Any]) -> Iterator[Table]:
    """Yield what was found as tables: the title, the names of the columns, the rows."""
    origins, rules = study["origins"], study["states"]["rules"]
    states = [[*_number(number, origins), state] for state, number in study["states"].items()]
    title = f"{count(origins, 'origin')}, {count(study['bytes'], 'byte')} of rules"
    yield title, ["ORIGINS", "SHARE", "STATE"], states
    named = ((number, "no answer" if status == "none" else status) for status, number in study["statuses"].items())
    yield "Statuses", ["ORIGINS", "SHARE", "STATUS"], [[*_number(number, origins), name] for number, name in named]
    sizes = [[*_number(row["files"], rules), _size_in_words(row["up_to_bytes"])] for row in study["sizes"]]
    yield "Sizes of files with rules", ["FILES", "SHARE", "BYTES"], sizes
    fields = [[*_number(row["files"], rules), f"{row['lines']:,}", row["name"]] for row in study["fields"]]
    yield "Fields", ["FILES", "SHARE", "LINES", "FIELD"], fields
    said = [
        [*_number(each["granted"], rules), *_number(each["refused"], rules), label]
        for label, each in study["preferences"].items()
    ]
    title = "Preferences about the home page, for all crawlers"
    yield title, ["GRANTED", "SHARE", "REFUSED", "SHARE", "PREFERENCE"], said
    for kind, title in (("agents", "Agents that files name"), ("crawlers", "Crawlers that were asked for")):
        blocked = [
            [*_number(row["files"], rules), *_number(row["blocked"], row["files"]), row["name"]] for row in study[kind]
        ]
        if blocked:
            title += ", and how many of these files keep them from the home page"  # noqa: PLW2901
            yield title, ["FILES", "SHARE", "BLOCKED", "SHARE", "AGENT"], blocked


def _number(part: int, whole: int) -> tuple[str, str]:
    """Return a number, and its share of `whole`."""
    return f"{part:,}", f"{100 * part / whole:.1f} %" if whole else "-"


def _size_in_words(size: int | None) -> str:
    if size is None:
        return "more than is read"
    return f"up to {size:,}" if size else "empty"


def _studied(store: Store, judge: Judge, most: int, err: Terminal) -> dict[str, Any]:
    """Go through all robots.txt files, and show how far that is; return what was found, for JSON.

    The `most` frequent fields and agents count.
    """
    import pyarrow as pa  # noqa: PLC0415

    files: Counter[tuple[str, str]] = Counter()  # by the kind of a name, and the name
    numbers: Counter[tuple[str, str]] = Counter()
    schema = pa.schema({"kind": "str", "name": "str", "files": "i8", "number": "i8"})
    with err.progress("Counting", len(store)) as progress:
        for done, served in enumerate(chain(store.everything(), [None])):
            for kind, name, number in _facts(served, judge) if served is not None else ():
                files[kind, name] += 1
                numbers[kind, name] += number
            if done % _FILES == 0 or served is None:  # at the end, too
                rows = [{"kind": of[0], "name": of[1], "files": files[of], "number": numbers[of]} for of in files]
                store.insert("names", pa.Table.from_pylist(rows, schema))
                files.clear()
                numbers.clear()
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
        "fields": [{"name": name, "files": files, "lines": lines} for name, (files, lines) in fields],
        "agents": [{"name": name, "files": files, "blocked": times} for name, (files, times) in agents],
        "crawlers": [{"name": name, "files": rules, "blocked": blocked[name][0]} for name in asked],
        "preferences": {
            label: {"granted": said[label][1], "refused": said[label][0] - said[label][1]} for label, _, _ in LABELS
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
    yield "size", str(None if served.cut else next((each for each in _SIZES if size <= each), None)), 0
    robots = judge.parsed(served)
    for crawler in judge.crawlers:
        if not robots.allowed(_HOME, crawler):
            yield "crawler", crawler.name or "*", 0
    said = robots.preferences(_HOME, _ALL)
    for label, _, _ in LABELS:
        if getattr(said, label) is not None:
            yield "preference", label, getattr(said, label)
    keys = (_FIELDS.get(line.kind) or _name(line.key) for line in lines_of(robots) if line.flags & HAS_DIRECTIVE)
    for field, lines in Counter(keys).items():
        yield "field", field, lines
    agents: dict[str, bool] = {}  # and whether a rule could keep them from the home page
    for group in groups_of(robots):
        may_block = any(not rule.allow and rule.pattern and matches(rule.pattern, _HOME) for rule in group.rules)
        for agent in group.agents:
            agents[agent] = agents.get(agent, False) or may_block
    for agent, may_block in agents.items():
        is_blocked = may_block and not robots.allowed(_HOME, Crawler(agent, (agent,) if agent != "*" else ()))
        yield "agent", shown(agent, _MOST_NAME) or "(none)", is_blocked


def _counted(store: Store, kind: str, most: int | None = None) -> dict[str, tuple[int, int]]:
    """Return the names of a kind that most files have: in how many files each is, and the sum of its numbers."""
    rows = store.database.execute(
        "SELECT name, sum(files)::BIGINT, sum(number)::BIGINT FROM names WHERE kind = ?"
        " GROUP BY name ORDER BY 2 DESC, 1 LIMIT ?",
        [kind, most],
    ).fetchall()
    return defaultdict(lambda: (0, 0), {name: (files, number) for name, files, number in rows})


def _name(raw: bytes) -> str:
    return shown(raw.lower().decode("utf-8", "backslashreplace"), _MOST_NAME)
