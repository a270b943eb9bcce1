"""Matching takes at most about pattern x path steps, whatever the rules and the URL. Steps are counted, not timed."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.core.patterns import Patterns, matches
from scrapy_gbot_robots.core.rule_index import Index

from ..support.strategies import LONG_PATHS, LONG_PATTERNS, PATHS, PATTERNS

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from _typeshed import TraceFunction

MOST_STEPS = 40  # for each pair of a character of the pattern and one of the path: bytecode that looks at them


class Watched(str):
    """A path that counts how often its characters are compared, as if texts were found in the plainest way."""

    compared: int

    def __new__(cls, path: str) -> Watched:
        watched = super().__new__(cls, path)
        watched.compared = 0
        return watched

    def find(self, text: str, start: int = 0) -> int:  # type: ignore[override]
        place = super().find(text, start)
        places = (place if place >= 0 else len(self)) - start + 1
        self.compared += max(1, places) * max(1, len(text))
        return place

    def startswith(self, text: str | tuple[str, ...], start: int = 0) -> bool:  # type: ignore[override]
        self.compared += len(text) if isinstance(text, str) else sum(map(len, text))
        return super().startswith(text, start)

    def endswith(self, text: str, start: int = 0) -> bool:  # type: ignore[override]
        self.compared += len(text)
        return super().endswith(text, start)

    def __contains__(self, text: str) -> bool:  # type: ignore[override]
        return self.find(text) >= 0

    def __eq__(self, text: object) -> bool:
        self.compared += len(self)
        return super().__eq__(text)

    def __lt__(self, text: str) -> bool:
        self.compared += min(len(self), len(text))
        return super().__lt__(text)

    def __getitem__(self, place: object) -> str:
        part = super().__getitem__(place)  # type: ignore[index]
        self.compared += len(part)
        return part

    __hash__ = str.__hash__


WATCHING = frozenset(each.__code__ for each in vars(Watched).values() if hasattr(each, "__code__"))


def steps(action: Callable[[Watched], object], path: str) -> int:
    """The number of bytecode instructions that an action took, and of characters of the path that it compared, added up."""
    instructions = 0

    def trace(frame: FrameType, event: str, _: object) -> TraceFunction | None:
        nonlocal instructions
        if frame.f_code in WATCHING:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        instructions += event == "opcode"
        return trace

    watched = Watched(path)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action(watched)
    finally:
        sys.settrace(before)
    return instructions + watched.compared


def bound(patterns: list[str], path: str) -> int:
    return MOST_STEPS * (1 + len(path)) * (2 + sum(1 + len(pattern) for pattern in patterns))


@given(PATTERNS | LONG_PATTERNS | st.text("a*$", max_size=60), PATHS | LONG_PATHS)
def test_one_pattern_takes_no_more_than_pattern_times_path(pattern: str, path: str) -> None:
    assert steps(lambda watched: matches(pattern, watched), path) <= bound([pattern], path)


def tried(patterns: list[str]) -> Callable[[str], object]:
    return Patterns("\n".join(patterns), range(len(patterns))).longest


def indexed(patterns: list[str]) -> Callable[[str], object]:
    entries = [(pattern, line) for line, pattern in enumerate(patterns, 1)]
    return Index(entries[::2], entries[1::2]).decider


CROWDS = st.builds(
    lambda form, many: [form.format(number) for number in range(many)],
    st.sampled_from(["/{}", "/*aaaa{:05}", "*{}$", "/a*a*{}*a", "/{}*", "a{}", "/*/{}a*b*c*d"]),
    st.sampled_from([0, 12, 60]),
)
MANY = st.builds(
    lambda few, crowd: list(chain.from_iterable((few, crowd))),
    st.lists(PATTERNS | LONG_PATTERNS, min_size=1, max_size=9),
    CROWDS,
)


@given(st.sampled_from([tried, indexed]), MANY, PATHS | LONG_PATHS)
def test_many_patterns_take_no_more_than_each_alone(
    way: Callable[[list[str]], Callable[[str], object]], patterns: list[str], path: str
) -> None:
    assert steps(way(patterns), path) <= bound(patterns, path)


def test_counting_tells_a_matcher_that_goes_back() -> None:
    def goes_back(pattern: str, path: str) -> bool:
        if not pattern:
            return True
        if pattern[0] == "*":
            return any(goes_back(pattern[1:], path[place:]) for place in range(len(path) + 1))
        return path[:1] == pattern[0] and goes_back(pattern[1:], path[1:])

    pattern, path = "a*" * 5 + "b", "a" * 18
    assert not goes_back(pattern, path)
    assert steps(lambda watched: goes_back(pattern, watched), path) > bound([pattern], path)
    assert steps(lambda watched: matches(pattern, watched), path) < bound([pattern], path) / 10
