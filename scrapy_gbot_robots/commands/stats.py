"""`scrapy robots stats ARCHIVE`: what the robots.txt files of an archive are like. As tables or JSON.

Each origin counts once, by its latest answer, redirects followed. There may be any number of names in the files, so the
database counts them: it uses the disk for what exceeds its memory.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ..bulk.judging import Judge
from ..core.crawlers import Crawler
from ..core.lines import FIELDS, GLOBAL, HAS_DIRECTIVE
from ..core.patterns import matches
from ..core.robots import groups_of, lines_of
from ..core.urls import shown
from ..experimental.preferences import LABELS
from ..policy.outages import State
from ..settings import GbotSettings
from . import archives, crawlers
from .command import FINE, CommandError
from .inputs import add_shared

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from ..bulk.judging import Served
    from ..bulk.store import Store
    from .output import Terminal


# The tables, by their names in JSON: a title, and what is added up beside the number of files.
_TABLES: Final = {
    "states": ("States", "bytes"),
    "statuses": ("Statuses", "bytes"),
    "sizes": ("Sizes of files with rules", "bytes"),
    "fields": ("Fields", "lines"),
    "preferences": ("Preferences about the home page, for all crawlers", "granted"),
    "agents": ("Agents that files name, and how many of these files keep them from the home page", "blocked"),
    "crawlers": ("Crawlers that were asked for, and how many files keep them from the home page", "blocked"),
}
_OF_ORIGINS: Final = ("states", "statuses")  # the others are of files with rules
_LONG: Final = ("fields", "agents")  # these are cut

_TOP = 20
_HOME: Final = "/"
_ALL: Final = Crawler("", ())
_FILES: Final = 1_000  # counted at a time
_MOST_NAME: Final = 60  # characters
_SIZES: Final = (100, 1_000, 10_000, 100_000, 500 * 1_024)  # bytes

# Fields by the kind of line; those that are unused or unknown go by their own names.
_FIELDS: Final = {kind: name.decode() for kind, name, _ in FIELDS}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("archives", metavar="ARCHIVE", nargs="+", help=archives.WHAT)
    add_shared(parser, "--as", "--json")
    parser.add_argument("--top", metavar="N", type=int, default=_TOP, help=f"fields and agents told (default: {_TOP})")


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
    for kind, (title, added) in _TABLES.items():
        whole = sum(row["files"] for row in study["states"] if kind in _OF_ORIGINS or row["name"] == State.RULES.value)
        rows = [
            (f"{row['files']:,}", f"{100 * row['files'] / whole:.1f} %", f"{row[added]:,}", row["name"])
            for row in study[kind]
        ]
        if rows:
            out.say((title, "strong"))
            out.table(("FILES", "SHARE", added.upper(), "NAME"), rows)
            out.say()
    return FINE


def _studied(store: Store, judge: Judge, most: int, err: Terminal) -> dict[str, list[dict[str, Any]]]:
    """Go through all robots.txt files, and show how far that is; return what was found, for JSON.

    The `most` frequent fields and agents count.
    """
    import pyarrow as pa  # noqa: PLC0415

    files: Counter[tuple[str, str]] = Counter()
    added: Counter[tuple[str, str]] = Counter()
    schema = pa.schema({"kind": "str", "name": "str", "files": "i8", "added": "i8"})
    store.insert("names", schema.empty_table())
    with err.progress("Counting", len(store)) as progress:
        for done, served in enumerate(store.everything(), 1):
            for kind, name, number in _facts(served, judge):
                files[kind, name] += 1
                added[kind, name] += number
            if done % _FILES == 0 or done == len(store):
                rows = [{"kind": of[0], "name": of[1], "files": files[of], "added": added[of]} for of in files]
                store.insert("names", pa.Table.from_pylist(rows, schema))
                files.clear()
                added.clear()
                progress(done, f"{done:,}")
    study = {}
    for kind, (_, what) in _TABLES.items():
        found = store.database.execute(
            "SELECT name, sum(files)::BIGINT, sum(added)::BIGINT FROM names WHERE kind = ?"
            " GROUP BY name ORDER BY 2 DESC, 1 LIMIT ?",
            [kind, most if kind in _LONG else None],
        )
        study[kind] = [dict(zip(("name", "files", what), row, strict=True)) for row in found.fetchall()]
    return study


def _facts(served: Served, judge: Judge) -> Iterator[tuple[str, str, int]]:
    """Yield what counts of one answer: a table, a name, and a number to add up."""
    decision = judge.decision(served)
    size = len(served.body)
    yield "statuses", str(served.status or "no answer"), size
    yield "states", (decision.state if decision else State.RULES).value, size
    if decision is not None:
        return
    sizes = (f"up to {most:,} bytes" for most in _SIZES if size <= most and not served.cut)
    yield "sizes", next(sizes, "more than is read"), size
    robots = judge.parsed(served)
    for crawler in judge.crawlers:
        yield "crawlers", crawler.name or "*", not robots.allowed(_HOME, crawler)
    said = robots.preferences(_HOME, _ALL)._asdict()
    for label, _, _ in LABELS:
        if said[label] is not None:
            yield "preferences", label, said[label]
    keys = (_FIELDS.get(line.kind) or _name(line.key) for line in lines_of(robots) if line.flags & HAS_DIRECTIVE)
    for field, lines in Counter(keys).items():
        yield "fields", field, lines
    agents: dict[bytes, bool] = {}  # and whether a rule could keep them from the home page
    for group in groups_of(robots):
        may_block = any(not rule.allow and rule.pattern and matches(rule.pattern, _HOME) for rule in group.rules)
        for agent in group.agents:
            agents[agent] = agents.get(agent, False) or may_block
    for agent, may_block in agents.items():
        token = agent.decode("latin-1")
        is_blocked = may_block and not robots.allowed(_HOME, Crawler(token, (token,) if agent != GLOBAL else ()))
        yield "agents", _name(agent) or "(none)", is_blocked


def _name(raw: bytes) -> str:
    return shown(raw.lower().decode("utf-8", "backslashreplace"), _MOST_NAME)
