"""`judge`: columns of URLs and of robots.txt files in, columns of answers out.

Pure. Source: as bench.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from ..core.agents import AllOf, Crawler
from ..core.grammar import MAX_BYTES
from ..core.origin import Origin
from ..core.urls import escape
from .bench import NO, UNREACHABLE, YES, Bench, Served, sites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..core.agents import RobotsAgent
    from ..policy.ladder import Policy

_NOTHING = Served(None)
_MEANING = (NO, YES, UNREACHABLE, None)

# Numbers of rows that are judged together, in the order of their URLs; these URLs; and what was served, by origin.
Batch: TypeAlias = "tuple[Sequence[int], Sequence[str], Callable[[Origin], Served]]"
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
            An origin that is missing counts as None.
        agents: the crawlers: product tokens, User-Agent headers, `Crawler` or `AllOf`.
        policy: what statuses and failures mean; by default as in a crawl without settings.
        strict: as for `RobotsTxt.parse`.
        max_bytes: how many bytes of a robots.txt are read.

    Returns:
        A column for each crawler, by its product token ("*" for one without). The answer is None for a text that is not an
        http, https or ftp URL.

    Raises:
        ValueError: a key of `robots` has no origin, or the columns differ in length.
        TypeError: a value of `robots` is of another type.
    """
    bench = Bench(crawlers_of(agents), policy=policy, strict=strict, max_bytes=max_bytes)
    texts = [_as_text(url) for url in urls]
    columns = answers_in_rows(bench, len(texts), _batches(texts, robots))
    return {
        crawler.name or "*": [_MEANING[answer] for answer in column]
        for crawler, column in zip(bench.crawlers, columns, strict=True)
    }


def crawlers_of(agents: Agent | Sequence[Agent]) -> list[RobotsAgent]:
    """Return the crawlers that `agents` name, each once."""
    several = [agents] if isinstance(agents, (str, bytes, Crawler, AllOf)) else agents
    return list(dict.fromkeys(each if isinstance(each, (Crawler, AllOf)) else Crawler.of(each) for each in several))


def served(robots: Robots) -> Served:
    """Return what was served as a `Served`. Raises TypeError for a value of another type."""
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
) -> Iterator[Batch]:
    if isinstance(robots, Mapping):
        known = {key if isinstance(key, Origin) else Origin.of(key): value for key, value in robots.items()}
        yield _sorted(urls, range(len(urls)), lambda origin: served(known.get(origin)))
        return
    if len(robots) != len(urls):
        raise ValueError(f"{len(urls)} URLs, and what was served for {len(robots)}")
    rows_of: defaultdict[Served, list[int]] = defaultdict(list)
    for row, each in enumerate(robots):
        rows_of[served(each)].append(row)
    for one, rows in rows_of.items():
        yield _sorted(urls, rows, lambda _origin, one=one: one)  # type: ignore[misc]


def _sorted(urls: Sequence[str], rows: Iterable[int], served_of: Callable[[Origin], Served]) -> Batch:
    in_order = sorted(rows, key=urls.__getitem__)
    return in_order, [urls[row] for row in in_order], served_of


def answers_in_rows(bench: Bench, count: int, batches: Iterable[Batch]) -> list[bytearray]:
    """Return the answers for each crawler in the order of the `count` rows."""
    columns = [bytearray(count) for _ in bench.crawlers]
    for rows, urls, served_of in batches:
        judged = ((site, _NOTHING if site[3] is None else served_of(site[3])) for site in sites(urls))
        for column, answers in zip(columns, bench.answers(urls, judged), strict=True):
            for row, answer in zip(rows, answers, strict=True):
                column[row] = answer
    return columns
