"""The index answers as trying every rule does, for any patterns and paths."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.core.index import Index
from scrapy_gbot_robots.core.matching import matches

PIECES = st.sampled_from(["/", "a", "b", "ab", "*", "$", "?", "/ab/", ".php", "%2A"])
PATTERNS = st.lists(PIECES, max_size=6).map("".join)
PATHS = st.lists(PIECES, max_size=8).map(lambda pieces: "/" + "".join(pieces))


def by_trying(allows: list[str], disallows: list[str], path: str) -> bool:
    def longest(patterns: list[str]) -> int:
        return max((len(pattern) for pattern in patterns if matches(pattern, path)), default=0)

    return longest(allows) >= longest(disallows)


@given(st.lists(PATTERNS, max_size=6), st.lists(PATTERNS, max_size=6), st.lists(PATHS, max_size=6))
def test_index_of_a_few_rules_answers_as_trying_each(allows: list[str], disallows: list[str], paths: list[str]) -> None:
    index = Index(allows, disallows)
    assert [index.allows(path) for path in paths] == [by_trying(allows, disallows, path) for path in paths]


def words(source: random.Random, number: int) -> list[str]:
    return ["".join(source.choices("abcdef", k=source.randint(3, 9))) for _ in range(number)]


def test_index_of_thousands_of_rules_answers_as_trying_each() -> None:
    source = random.Random(7)
    for number in (50, 400, 3000):
        stems = words(source, number)
        shapes = ("/{}", "/{}/", "/*{}", "/*{}*x$", "*/{}$", "/{}*{}")
        patterns = [source.choice(shapes).format(stem, source.choice(stems)) for stem in stems]
        allows, disallows = patterns[::3], [pattern for i, pattern in enumerate(patterns) if i % 3]
        index = Index(allows, disallows)
        for stem in source.sample(stems, 40):
            for path in (f"/{stem}", f"/x/{stem}", f"/{stem}/{source.choice(stems)}x", f"/{stem[:-1]}"):
                assert index.allows(path) is by_trying(allows, disallows, path), (number, path)
