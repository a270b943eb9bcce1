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
from ..report.summary import count
from ..settings import GbotSettings
from . import archives, crawlers
from .command import FINE, CommandError
from .inputs import add_shared

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    from scrapy.settings import Settings

    from ..bulk.judging import Served
    from ..bulk.store import Store
    from ..core.crawlers import RobotsAgent
    from ..core.robots import RobotsTxt
    from .output import Terminal

    Table = tuple[str, list[str], list[list[str]]]  # title, names of columns, rows

_TOP = 20
_HOME: Final = "/"
_ALL: Final = Crawler("", ())
_FILES: Final = 1_000  # counted at a time
_MOST_NAME: Final = 60  # characters
_SIZES: Final = (0, 100, 1_000, 10_000, 100_000, 500 * 1_024)  # bytes

# Fields by the kind of line; those that are unused or unknown go by their own names.
_FIELDS: Final = {kind: name.decode() for kind, name, _ in FIELDS}


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

    The `most` frequent fields and agents count. A crawler is blocked if it may not fetch "/".
    """
    census = _Census(store, judge)
    with err.progress("Counting", len(store)) as progress:
        for done, served in enumerate(store.everything(), 1):
            census.take(served)
            if done % _FILES == 0:
                census.flush()
                progress(done, f"{done:,}")
    census.flush()
    return census.result(most)


class _Census:
    """Counts; names go to the database now and then."""

    def __init__(self, store: Store, judge: Judge) -> None:
        self._store = store
        self._judge = judge
        self._states: Counter[str] = Counter()
        self._statuses: Counter[int] = Counter()
        self._sizes: Counter[int | None] = Counter()
        self._blocked: Counter[RobotsAgent] = Counter()
        self._preferences: Counter[tuple[str, bool]] = Counter()
        self._bytes = 0
        self._names: Counter[tuple[str, str]] = Counter()
        self._counts: Counter[tuple[str, str]] = Counter()

    def take(self, served: Served) -> None:
        """Count one answer."""
        decision = self._judge.decision(served)
        state = State.RULES if decision is None else decision.state
        self._states[state.value] += 1
        self._statuses[served.status or 0] += 1
        if state is not State.RULES:
            return
        size = len(served.body)
        self._bytes += size
        self._sizes[None if served.cut else next((each for each in _SIZES if size <= each), None)] += 1
        robots = self._judge.parsed(served)
        self._blocked.update(crawler for crawler in self._judge.crawlers if not robots.allowed(_HOME, crawler))
        said = robots.preferences(_HOME, _ALL)
        for label, _, _ in LABELS:
            if getattr(said, label) is not None:
                self._preferences[label, getattr(said, label)] += 1
        self._take_fields(robots)
        self._take_agents(robots)

    def _take_fields(self, robots: RobotsTxt) -> None:
        fields = Counter(
            _FIELDS.get(line.kind) or _name(line.key) for line in lines_of(robots) if line.flags & HAS_DIRECTIVE
        )
        for field, lines in fields.items():
            self._names["field", field] += 1
            self._counts["field", field] += lines

    def _take_agents(self, robots: RobotsTxt) -> None:
        agents: dict[bytes, bool] = {}  # and whether a rule could keep them from the home page
        for group in groups_of(robots):
            may_block = any(not rule.allow and rule.pattern and matches(rule.pattern, _HOME) for rule in group.rules)
            for agent in group.agents:
                agents[agent] = agents.get(agent, False) or may_block
        for agent, may_block in agents.items():
            name = _name(agent) or "(none)"
            self._names["agent", name] += 1
            if may_block:
                token = agent.decode("latin-1")
                crawler = Crawler(token, (token,) if agent != GLOBAL else ())
                self._counts["agent", name] += not robots.allowed(_HOME, crawler)

    def flush(self) -> None:
        """Put the names into the database."""
        import pyarrow as pa  # noqa: PLC0415

        rows = [(kind, name, files, self._counts[kind, name]) for (kind, name), files in self._names.items()]
        schema = pa.schema({"kind": "str", "name": "str", "files": "i8", "count": "i8"})
        named = [dict(zip(schema.names, row, strict=True)) for row in rows]
        self._store.insert("names", pa.Table.from_pylist(named, schema))
        self._names.clear()
        self._counts.clear()

    def result(self, most: int) -> dict[str, Any]:
        """Return all that was found, by name."""
        rules = self._states[State.RULES.value]
        asked = ((crawler.name or "*", rules, self._blocked[crawler]) for crawler in self._judge.crawlers)
        return {
            "origins": self._states.total(),
            "states": {state.value: self._states[state.value] for state in State},
            "statuses": {str(status or "none"): number for status, number in sorted(self._statuses.items())},
            "bytes": self._bytes,
            "sizes": [{"up_to_bytes": size, "files": self._sizes[size]} for size in (*_SIZES, None)],
            "fields": _objects("lines", self._most_frequent("field", most)),
            "agents": _objects("blocked", self._most_frequent("agent", most)),
            "crawlers": _objects("blocked", asked),
            "preferences": {
                label: {"granted": self._preferences[label, True], "refused": self._preferences[label, False]}
                for label, _, _ in LABELS
            },
        }

    def _most_frequent(self, kind: str, most: int) -> Iterable[tuple[str, int, int]]:
        """The names that most files have: in how many files each is, and its count."""
        rows: list[tuple[str, int, int]] = self._store.database.execute(
            "SELECT name, sum(files)::BIGINT, sum(count)::BIGINT FROM names WHERE kind = ?"
            " GROUP BY name ORDER BY 2 DESC, 1 LIMIT ?",
            [kind, most],
        ).fetchall()
        return rows


def _objects(what: str, rows: Iterable[tuple[str, int, int]]) -> list[dict[str, Any]]:
    return [{"name": name, "files": files, what: times} for name, files, times in rows]


def _name(raw: bytes) -> str:
    return shown(raw.lower().decode("utf-8", "backslashreplace"), _MOST_NAME)
