"""What the robots.txt files of an archive are like: fields, sizes, statuses, agents, and how many files block each agent.

Each origin counts once, by its latest answer, redirects followed. There may be any number of names in the files, so the
database counts them: it uses the disk for what exceeds its memory.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..core import lines as grammar
from ..core.crawlers import Crawler
from ..core.patterns import matches
from ..core.preferences import LABELS
from ..core.robots import RobotsTxt
from ..core.urls import shown
from ..policy.outages import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..core.crawlers import RobotsAgent
    from .audit import Terms
    from .judging import Served
    from .store import Store

_HOME: Final = "/"
_ALL: Final = Crawler("", ())
_FILES: Final = 1_000  # counted at a time
_MOST_NAME: Final = 60  # characters
_SIZES: Final = (0, 100, 1_000, 10_000, 100_000, 500 * 1_024)  # bytes

# Fields by the kind of line; those that are unused or unknown go by their own names.
_FIELDS: Final = {kind: name.decode() for kind, name, _ in grammar.FIELDS}


class Share(NamedTuple):
    """A field or an agent: how many robots.txt files have it, and in how many lines, or how many of these block it."""

    name: str
    files: int
    times: int


class Study(NamedTuple):
    """What the files of an archive are like.

    Attributes:
        origins: how many origins have an answer in the archive.
        states: how many of these origins are in each state: rules, full allow, full disallow.
        statuses: how many have each HTTP status code; 0 stands for no answer.
        sizes: upper ends of ranges of sizes, in bytes, and how many files with rules are in each. The end is None for files
            that are larger than a crawl reads.
        total_bytes: the size of all files with rules together.
        fields: names of fields, how many files have each, and in how many lines.
        agents: product tokens, how many files name each, and how many of these keep it from the home page.
        crawlers: the crawlers in question, how many files have rules, and how many of these keep each from the home page.
        preferences: `train_ai`, `search` and `ai_use`: how many files grant and refuse it to all, for the home page.
    """

    origins: int
    states: dict[str, int]
    statuses: dict[int, int]
    sizes: list[tuple[int | None, int]]
    total_bytes: int
    fields: list[Share]
    agents: list[Share]
    crawlers: list[Share]
    preferences: dict[str, dict[str, int]]


def study(store: Store, terms: Terms, most: int) -> Iterator[int | Study]:
    """Go through all robots.txt files. Yield how many are done, again and again, and at the end the study.

    `fields` and `agents` have the `most` frequent ones. A crawler is kept from the home page if it may not fetch "/".
    """
    census = _Census(store, terms)
    for done, served in enumerate(store.everything(), 1):
        census.take(served)
        if done % _FILES == 0:
            census.flush()
            yield done
    census.flush()
    yield census.result(most)


class _Census:
    """Counts; names go to the database now and then."""

    def __init__(self, store: Store, terms: Terms) -> None:
        self._database = store.database
        self._terms = terms
        self._bench = terms.bench()
        self._states: Counter[str] = Counter()
        self._statuses: Counter[int] = Counter()
        self._sizes: Counter[int | None] = Counter()
        self._blocked: Counter[RobotsAgent] = Counter()
        self._preferences: Counter[tuple[str, bool]] = Counter()
        self._bytes = 0
        self._names: Counter[tuple[str, str]] = Counter()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._database.execute("CREATE TABLE names (kind VARCHAR, name VARCHAR, files BIGINT, count BIGINT)")

    def take(self, served: Served) -> None:
        """Count one answer."""
        decision = self._bench.decision(served)
        state = State.RULES if decision is None else decision.state
        self._states[state.value] += 1
        self._statuses[served.status or 0] += 1
        if state is not State.RULES:
            return
        size = len(served.body)
        self._bytes += size
        self._sizes[None if served.cut else next((each for each in _SIZES if size <= each), None)] += 1
        terms = self._terms
        robots = RobotsTxt.parse(served.body, strict=terms.strict, max_bytes=terms.max_bytes, cut=served.cut)
        self._blocked.update(crawler for crawler in terms.crawlers if not robots.allowed(_HOME, crawler))
        said = robots.preferences(_HOME, _ALL)
        for label, _, _ in LABELS:
            if getattr(said, label) is not None:
                self._preferences[label, getattr(said, label)] += 1
        self._take_fields(robots)
        self._take_agents(robots)

    def _take_fields(self, robots: RobotsTxt) -> None:
        fields = Counter(
            _FIELDS.get(line.kind) or _name(line.key) for line in robots.lines if line.flags & grammar.HAS_DIRECTIVE
        )
        for field, lines in fields.items():
            self._names["field", field] += 1
            self._counts["field", field] += lines

    def _take_agents(self, robots: RobotsTxt) -> None:
        agents: dict[bytes, bool] = {}  # and whether a rule could keep them from the home page
        for group in robots.groups:
            may_block = any(not rule.allow and rule.pattern and matches(rule.pattern, _HOME) for rule in group.rules)
            for agent in group.agents:
                agents[agent] = agents.get(agent, False) or may_block
        for agent, may_block in agents.items():
            name = _name(agent) or "(none)"
            self._names["agent", name] += 1
            if may_block:
                token = agent.decode("latin-1")
                crawler = Crawler(token, (token,) if agent != grammar.GLOBAL else ())
                self._counts["agent", name] += not robots.allowed(_HOME, crawler)

    def flush(self) -> None:
        """Put the names into the database."""
        import pyarrow as pa  # noqa: PLC0415

        rows = [(kind, name, files, self._counts[kind, name]) for (kind, name), files in self._names.items()]
        if rows:
            columns = dict(zip(("kind", "name", "files", "count"), map(list, zip(*rows, strict=True)), strict=True))
            with self._database.cursor() as cursor:
                cursor.register("rows", pa.table(columns))
                cursor.execute("INSERT INTO names SELECT * FROM rows")
                cursor.unregister("rows")
        self._names.clear()
        self._counts.clear()

    def result(self, most: int) -> Study:
        """Return the study."""
        rules = self._states[State.RULES.value]
        return Study(
            sum(self._states.values()),
            {state.value: self._states[state.value] for state in State},
            dict(sorted(self._statuses.items())),
            [(size, self._sizes[size]) for size in (*_SIZES, None)],
            self._bytes,
            self._most_frequent("field", most),
            self._most_frequent("agent", most),
            [Share(crawler.name or "*", rules, self._blocked[crawler]) for crawler in self._terms.crawlers],
            {
                label: {"granted": self._preferences[label, True], "refused": self._preferences[label, False]}
                for label, _, _ in LABELS
            },
        )

    def _most_frequent(self, kind: str, most: int) -> list[Share]:
        rows: Sequence[Any] = self._database.execute(
            "SELECT name, sum(files)::BIGINT, sum(count)::BIGINT FROM names WHERE kind = ?"
            " GROUP BY name ORDER BY 2 DESC, 1 LIMIT ?",
            [kind, most],
        ).fetchall()
        return [Share(*row) for row in rows]


def _name(raw: bytes) -> str:
    return shown(raw.lower().decode("utf-8", "backslashreplace"), _MOST_NAME)
