"""Columns of URLs in, columns of answers out; each robots.txt is read once however many URLs it is asked about.

Pure. What a status code or a failure means is the policy's to say, so that an answer here is the one in a crawl.
Source: as policy/ladder.py and core/rules.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ..core.agents import AllOf, Crawler
from ..core.grammar import MAX_BYTES
from ..core.origin import ROBOTS_PATH, Origin
from ..core.robots import RobotsTxt
from ..core.sweep import Sweep
from ..core.urls import escape, split_path
from ..policy.ladder import Policy, State, decide, renew
from ..policy.outcome import Fetched, Unreachable, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..core.agents import RobotsAgent
    from ..policy.outcome import Outcome

NO: Final = 0
YES: Final = 1
UNREACHABLE: Final = 2  # no, until a definite answer comes
NO_URL: Final = 3  # what is asked about has no origin

NOT_ASKED: Final = "robots.txt not asked yet"

_BYTES_HELD: Final = 32 * 2**20  # of robots.txt files whose rules are kept for the next one that is the same


class Served(NamedTuple):
    """What was served for a robots.txt, redirects followed.

    Attributes:
        status: the HTTP status code; None: there was no answer, or none that is whole.
        body: the robots.txt, content-decoded.
        cut: whether more was served than `body` has.
        why: for `status` None the reason, in words.
    """

    status: int | None
    body: bytes = b""
    cut: bool = False
    why: str = NOT_ASKED


Robots: TypeAlias = "Served | tuple[int | None, bytes] | bytes | None"
Agent: TypeAlias = "str | bytes | Crawler | AllOf"


def judge(
    urls: Sequence[str | bytes | None],
    robots: Mapping[str, Robots] | Mapping[Origin, Robots] | Sequence[Robots],
    agents: Agent | Sequence[Agent],
    *,
    policy: Policy | None = None,
    strict: bool = False,
    max_bytes: int | None = MAX_BYTES,
) -> dict[str, list[int | None]]:
    """Say for each URL whether each crawler may fetch it: 0 no, 1 yes, 2 not now (its robots.txt is unreachable).

    Args:
        urls: absolute URLs, in any order.
        robots: what was served for the robots.txt: by origin (an `Origin`, or any URL of it), or a column as long as
            `urls`. Each is a `Served`, status and body, a body that was served with 200, or None: there was no answer.
            An origin that is missing counts as that.
        agents: the crawlers: product tokens, User-Agent headers, `Crawler` or `AllOf`.
        policy: what statuses and failures mean; by default as in a crawl without settings.
        strict: as for `RobotsTxt.parse`.
        max_bytes: of a robots.txt that are read.

    Returns:
        A column for each crawler, by its product token ("*" for one without). None stands beside what is no http, https
        or ftp URL.

    Raises:
        ValueError: a key of `robots` has no origin, or the columns are not of one length.
        TypeError: what was served is given in another way.
    """
    crawlers = crawlers_of(agents)
    bench = Bench(crawlers, policy=policy, strict=strict, max_bytes=max_bytes)
    texts = [_as_text(url) for url in urls]
    columns = [bytearray(len(texts)) for _ in crawlers]
    for rows, served_of in _batches(texts, robots):
        rows.sort(key=texts.__getitem__)
        for column, answers in zip(columns, bench.answers([texts[row] for row in rows], served_of), strict=True):
            for row, answer in zip(rows, answers, strict=True):
                column[row] = answer
    meaning = (NO, YES, UNREACHABLE, None)
    return {
        crawler.name or "*": [meaning[answer] for answer in column]
        for crawler, column in zip(crawlers, columns, strict=True)
    }


def crawlers_of(agents: Agent | Sequence[Agent]) -> list[RobotsAgent]:
    """Return the crawlers that `agents` name, each once."""
    several = [agents] if isinstance(agents, (str, bytes, Crawler, AllOf)) else agents
    return list(dict.fromkeys(each if isinstance(each, (Crawler, AllOf)) else Crawler.of(each) for each in several))


def served(robots: Robots) -> Served:
    """Return what was served, in whichever way it is given. Raises TypeError for any other."""
    if isinstance(robots, Served):
        return robots
    if robots is None:
        return Served(None)
    if isinstance(robots, (bytes, bytearray, memoryview)):
        return Served(200, bytes(robots))
    if isinstance(robots, tuple) and len(robots) == 2:  # noqa: PLR2004
        status, body = robots
        return Served(status, body or b"", why="no answer")
    raise TypeError(f"what was served is a Served, (status, body), bytes or None, not {type(robots).__name__}")


def _as_text(url: str | bytes | None) -> str:
    if isinstance(url, bytes):
        try:
            return url.decode("utf-8")
        except UnicodeDecodeError:
            return escape(url).decode("ascii")  # as it is where URLs are compared with rules
    return url if isinstance(url, str) else ""  # such as None, or what stands for it in a data frame


def _batches(
    urls: Sequence[str], robots: Mapping[str, Robots] | Mapping[Origin, Robots] | Sequence[Robots]
) -> Iterator[tuple[list[int], Callable[[Origin], Served]]]:
    """Yield rows that can be judged together, with what says what was served for an origin."""
    if isinstance(robots, Mapping):
        known = {key if isinstance(key, Origin) else Origin.of(key): value for key, value in robots.items()}
        yield list(range(len(urls))), lambda origin: served(known.get(origin))
        return
    if len(robots) != len(urls):
        raise ValueError(f"{len(urls)} URLs, and what was served for {len(robots)}")
    rows_of: defaultdict[Served, list[int]] = defaultdict(list)
    for row, each in enumerate(robots):
        rows_of[served(each)].append(row)
    for one, rows in rows_of.items():
        yield rows, lambda _origin, one=one: one  # type: ignore[misc]


class Bench:
    """Judges for some crawlers, URLs in sorted order; keeps the rules of robots.txt files it has read of late."""

    def __init__(
        self,
        crawlers: Sequence[RobotsAgent],
        *,
        policy: Policy | None = None,
        strict: bool = False,
        max_bytes: int | None = MAX_BYTES,
    ) -> None:
        self._crawlers = crawlers
        self._policy = policy or Policy()
        self._strict = strict
        self._max_bytes = max_bytes
        self._held: dict[tuple[bytes, bool], list[Sweep]] = {}
        self._bytes_held = 0

    def answers(self, urls: Sequence[str], served_of: Callable[[Origin], Served]) -> list[bytearray]:
        """Return for each crawler the answers to `urls`, which are sorted; `served_of` is asked once for each site."""
        columns = [bytearray() for _ in self._crawlers]
        for first, end, prefix, origin in sites(urls):
            if origin is None:
                found = [bytearray((NO_URL,)) * (end - first)] * len(columns)
            else:
                found = self._of_site(urls, first, end, prefix, served_of(origin))
            for column, answers in zip(columns, found, strict=True):
                column.extend(answers)
        return columns

    def _of_site(self, urls: Sequence[str], first: int, end: int, prefix: str, robots: Served) -> list[bytearray]:
        state = self.state(robots)
        if state is not State.RULES:
            found = [bytearray((YES if state is State.FULL_ALLOW else UNREACHABLE,)) * (end - first)]
            found *= len(self._crawlers)
        elif prefix:
            found = [sweep.allowed(urls, first, end, prefix[:-1]) for sweep in self._sweeps(robots)]
        else:
            found = [bytearray((sweep.rules.allowed(urls[first]),)) for sweep in self._sweeps(robots)]
        _let_robots_txt_pass(found, urls, first, end, prefix)
        return found

    def state(self, robots: Served) -> State:
        """Say what follows from what was served, when nothing else is known of the origin."""
        outcome: Outcome
        if robots.status is None:
            outcome = Unreachable(robots.why)
        else:
            outcome = outcome_of(robots.status, "", robots.body, cut=robots.cut, soft_404=self._policy.soft_404)
            if isinstance(outcome, Fetched):
                return State.RULES
        return decide(renew(None, outcome, 0.0, self._policy), 0.0, self._policy).state

    def _sweeps(self, robots: Served) -> list[Sweep]:
        key = robots.body, robots.cut
        sweeps = self._held.get(key)
        if sweeps is None:
            self._bytes_held += len(robots.body)
            if self._bytes_held > _BYTES_HELD:
                self._held.clear()
                self._bytes_held = len(robots.body)
            parsed = RobotsTxt.parse(robots.body, strict=self._strict, max_bytes=self._max_bytes, cut=robots.cut)
            sweeps = self._held[key] = [Sweep(parsed.rules_for(crawler)) for crawler in self._crawlers]
        return sweeps


def sites(urls: Sequence[str]) -> Iterator[tuple[int, int, str, Origin | None]]:
    """Yield the sites of URLs in sorted order: the first URL, the one after the last, the text they begin with, the origin.

    That text is scheme and authority and a slash, or "" for a single URL that does not begin so. Spelt in another way,
    an origin is another site. The origin is None for what has none.
    """
    first, count = 0, len(urls)
    while first < count:
        prefix, _ = split_path(urls[first])
        # What begins with "https://host/" stands before all that begins with "https://host0".
        end = bisect_left(urls, f"{prefix[:-1]}0", first) if prefix else first + 1
        try:
            origin = Origin.of(prefix or urls[first])
        except ValueError:
            origin = None
        yield first, end, prefix, origin
        first = end


def _let_robots_txt_pass(columns: Sequence[bytearray], urls: Sequence[str], first: int, end: int, prefix: str) -> None:
    """Let every crawler fetch a robots.txt itself: it is never disallowed (RFC 9309 2.2.2)."""
    begins = prefix[:-1] + ROBOTS_PATH
    number = bisect_left(urls, begins, first, end)
    while number < end and urls[number].startswith(begins):
        if Origin.of_robots_txt(urls[number]) is not None:
            for column in columns:
                column[number - first] = YES
        number += 1
