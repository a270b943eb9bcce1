"""The index finds the rule that the oracle finds, for any patterns and paths, and says before how much work that takes."""

import random
from collections.abc import Callable, Iterable, Sequence
from string import ascii_lowercase

import pytest

from scrapy_gbot_robots import RobotsTxt, Rule, Rules
from scrapy_gbot_robots.core import rule_index
from scrapy_gbot_robots.core.patterns import (
    NO_PATTERNS,
    NO_RULE,
    Kinds,
    Patterns,
    decider,
    directory_of_index,
    is_allowed,
    line_of,
    precedence_of,
)
from scrapy_gbot_robots.core.rule_index import Index
from scrapy_gbot_robots.core.rules import disallowed_among, takes_long
from scrapy_gbot_robots.core.urls import path_of
from scrapy_gbot_robots.core.verdict import INDEX_OF_DIRECTORY

from ..support.instructions import instructions
from ..support.oracle import verdict_by
from ..support.rows import row, table

SITE = "https://e.com"


def index_of(rules: Iterable[Rule]) -> Index:
    entries: tuple[list[tuple[str, int]], ...] = ([], [])
    for rule in rules:
        entries[rule.allow].append((rule.pattern, rule.line))
        if rule.allow:
            entries[True].append((directory_of_index(rule.pattern), rule.line))
    return Index(entries[True], entries[False])


def patterns_of(rules: Sequence[Rule], allow: bool) -> Patterns:
    rules = [rule for rule in rules if rule.allow is allow]
    text = "\n".join(rule.pattern for rule in rules).encode()
    return Patterns.of(text, [rule.line for rule in rules], allow) if rules else NO_PATTERNS


def tried(rules: Sequence[Rule]) -> Kinds:
    return patterns_of(rules, False), patterns_of(rules, True)


def assert_index_agrees(rules: Sequence[Rule], paths: Iterable[str]) -> None:
    index = index_of(rules)
    ways = index.kinds, tried(rules)
    for written in paths:
        url = SITE + written
        path = path_of(url)
        verdict = verdict_by(rules, path)
        rule = verdict.rule if verdict.rule and verdict.rule.pattern else None
        deciding = NO_RULE
        if rule:
            pattern = rule.pattern
            if verdict.reason == INDEX_OF_DIRECTORY:
                pattern = directory_of_index(pattern)
            deciding = precedence_of(len(pattern), rule.allow, rule.line)
        for kinds in ways:
            assert decider(kinds, path) == deciding, path
            assert is_allowed(kinds, path) == verdict.allowed, path
        for rest in ("", f"#{written}", f"\0{written}"):  # no part of the path
            assert index.allows_url(url + rest, len(SITE)) == verdict.allowed, url + rest


def numbered(patterns: Iterable[tuple[bool, str]]) -> list[Rule]:
    return [Rule(allow, pattern, line) for line, (allow, pattern) in enumerate(patterns, 2)]


@pytest.mark.parametrize("number", [3, 50, 400, pytest.param(3000, marks=pytest.mark.slow)])
@table(
    "shapes",
    row("any", ("/{}", "/{}/", "/*{}", "/*{}*x$", "*/{}$", "/{}*{}")),
    row("many-on-one-stem", ("/abc/*{}", "/abc/*{}*{}$", "/abc/{}")),
    row("alike-at-the-beginning", ("/*aaaaaa{}", "/*aaa{}aaa")),
    row("plain", ("/{}", "/{}/")),
    row("escapes", ("/%C3%A9{}", "/%C3%A9{}*{}", "/%C3%A9%2F")),
)
def test_index_finds_the_rule_that_the_oracle_finds(number: int, shapes: tuple[str, ...]) -> None:
    source = random.Random(number)
    stems = ["".join(source.choices("abcdef", k=source.randint(1, 9))) for _ in range(number)]
    rules = numbered(
        (i % 3 == 0, source.choice(shapes).format(stem, source.choice(stems)))
        for i, stem in enumerate(stems)
    )
    paths = [
        path
        for stem in source.choices(stems, k=8)
        for path in (
            f"/{stem}",
            f"/abc/aaaaaa{stem}",
            f"/abc/{stem}/{source.choice(stems)}x",
            f"/{stem[:-1]}",
            f"/%c3%a9{stem}",
            f"/é%2f/{stem}",
        )
    ]
    assert_index_agrees(rules, paths)


def test_equal_patterns_are_tried_once_for_each_kind() -> None:
    pattern = "/*" + "a" * 20 + "ba"
    rules = [Rule(number % 2 > 0, pattern, number) for number in range(10_000)]
    assert index_of(rules).wildcard_chars == 2 * len(pattern)


STATED = [f"content-usage: /*{'*'.join(str(number))} train-ai=n" for number in range(1_000)]
PLAIN = [f"/{number}/" for number in range(1_500)]
ALIKE = ["/*" + "a" * 20 + f"{number:04}ba" for number in range(1_500)]
SAME_PIECES = [
    "/*" + f"{number:010b}".replace("0", "aaa").replace("1", "aab") for number in range(1_500)
]


@table(
    "patterns, url, first, later",
    row("preferences", STATED, "http://e.com/" + "1" * 5_000, True, True),
    row("many-preferences", STATED[:101], "http://e.com/", True, True),
    row("some-preferences", STATED[:99], "http://e.com/", False, False),
    row("one-preference", STATED[9:10], "http://e.com/" + "1" * 5_000, False, False),
    row("plain-rules-and-a-long-url", PLAIN, "http://e.com/" + "a" * 16_000, False, False),
    row("wildcards-and-a-short-url", ALIKE, "http://e.com/a", False, False),
    row("needles-that-are-not-in-the-path", ALIKE, "http://e.com/" + "a" * 16_000, True, True),
    row("pieces-that-are-in-the-path", SAME_PIECES, "http://e.com/" + "aab" * 5_000, True, True),
    row("url-past-ascii", SAME_PIECES, "http://e.com/" + "é" * 100, True, True),
    row("rules-that-take-long-to-be-tried", PLAIN * 2, "http://e.com/", True, False),
    row("allow-rules-that-take-long-to-be-tried", [f"allow: {pattern}" for pattern in PLAIN * 2], "http://e.com/", True, False),
    row("allow-rules-with-wildcards", [f"allow: {pattern}" for pattern in ALIKE], "http://e.com/" + "a" * 16_000, True, True),
    row("no-rules", [], "http://e.com/" + "a" * 16_000, False, False),
)  # fmt: skip
def test_question_that_may_take_long_is_known_before_it_is_asked(
    patterns: list[str], url: str, first: bool, later: bool
) -> None:
    lines = [pattern if ": " in pattern else f"disallow: {pattern}" for pattern in patterns]
    body = "\n".join(["user-agent: *", *lines]).encode()
    rules = RobotsTxt.parse(body).rules_for("a")
    assert takes_long(rules, url) is first
    for _ in range(26):
        rules.allowed("http://e.com/")
    assert takes_long(rules, url) is later
    assert takes_long(rules, url.encode()) is later


@table(
    "rule, path, long",
    row("plain", "/{}/", "/", 26),
    row("each-counts-as-ten", "/{}*a$", "/" + "x" * 749, 3),
)
def test_questions_about_thousands_of_rules_take_long_up_to_the_one_that_builds_the_index(
    rule: str, path: str, long: int
) -> None:
    lines = [f"disallow: {rule}".format(number) for number in range(1_600)]
    rules = RobotsTxt.parse("\n".join(["user-agent: *", *lines]).encode()).rules_for("a")
    known: list[int] = []
    for number in range(1, 31):
        if takes_long(rules, path):
            known.append(number)
        rules.allowed(path)
    assert known == [*range(1, long + 1)]


@pytest.mark.parametrize("last", ["", "disallow:\n"])
def test_verdict_without_a_deciding_rule_reads_the_rules_once(last: str) -> None:
    body = "user-agent: *\n" + "disallow: /x\n" * 500 + last
    rules = RobotsTxt.parse(body.encode()).rules_for("a")
    first = [rules.verdict("http://e.com/") for _ in range(26)][-1]
    assert rules.verdict("http://e.com/other") is first
    assert (first.rule is None) == (not last)


ALLOWED, VERDICT = Rules.allowed, Rules.verdict


def six_at_once(rules: Rules, url: str) -> object:
    return disallowed_among(rules, [f"{path_of(url)}{number}" for number in range(6)])


@table(
    "rule, path, kinds, tried",
    row("allowed", "/x", "/x", [ALLOWED], 25),
    row("verdict", "/x", "/x", [VERDICT], 25),
    row("both-count-together", "/x", "/y", [ALLOWED, VERDICT], 25),
    row("several-urls-at-once", "/x\nallow: /x", "/x", [six_at_once], 4),
    row("several-that-no-rule-begins", "/x", "/y", [six_at_once], 30),
    row("long-path-and-a-wildcard", "/*x", "/" + "y" * 299, [VERDICT], 6),
    row("wildcard-of-an-allow-rule", "\nallow: /*x", "/" + "y" * 299, [VERDICT], 6),
    row("2-KB-and-a-wildcard", "/*x", "/" + "y" * 1_999, [VERDICT], 0),
    row("very-long-path-and-a-wildcard", "/*x", "/" + "y" * 16_000, [ALLOWED], 0),
)
def test_index_is_built_when_trying_the_rules_has_cost_as_much(
    rule: str, path: str, kinds: list[Callable[[Rules, str], object]], tried: int
) -> None:
    rules = RobotsTxt.parse(f"user-agent: *\ndisallow: {rule}".encode()).rules_for("a")
    for number in range(30):
        kinds[number % len(kinds)](rules, f"https://e.com{path}")
        assert (rules._index is None) == (number < tried)


@table(
    "shapes",
    row("needles-of-five-characters", ["*{:05}"]),
    row("of-several-lengths", ["/*xx{:03}", "*y{:04}z"]),
    row("that-begin-alike", ["/*aaaaaaaaaa{:03}"]),
    row("that-end-alike", ["/*{:03}aaaaaaaaaa"]),
)
def test_of_thousands_of_needles_few_are_looked_for(shapes: list[str]) -> None:
    patterns = [shapes[number % len(shapes)].format(number) for number in range(4_000)]
    index = Index((), [(pattern, line) for line, pattern in enumerate(patterns, 1)])
    path = "/" + "a" * 100
    assert decider(index.kinds, path) == NO_RULE
    assert instructions(lambda: decider(index.kinds, path)) < 6_000
    assert instructions(lambda: index.allows_url(SITE + path, len(SITE))) < 6_000


@table(
    "patterns, path",
    row("none-begins-the-path", ["/x"], "/é"),
    row("one-begins-the-path", ["/x", "/y"], "/x/é"),
    row("one-begins-the-path-beside-a-star", ["/x", "/y*z"], "/x/é"),
    row("neither-beginning-nor-needle", ["/x", "/*x"], "/y#z"),
    row("beginning-beside-a-needle", ["/x", "/*x"], "/x/é"),
    row("none-of-many", [f"/{number}/*z" for number in range(60)], "/é"),
)
def test_most_questions_are_settled_before_the_url_is_cut(patterns: list[str], path: str) -> None:
    lines = [f"disallow: {pattern}" for pattern in patterns]
    rules = RobotsTxt.parse("\n".join(["user-agent: *", *lines]).encode()).rules_for("a")
    for _ in range(27):  # by the last, the rules know how URLs of this site begin
        rules.allowed(SITE)
        rules.allowed(SITE + "/")
    index = index_of(numbered((False, pattern) for pattern in patterns))
    url = SITE + path
    by_the_path = instructions(lambda: is_allowed(index.kinds, path_of(url)))
    assert instructions(lambda: rules.allowed(url)) < 0.7 * by_the_path


def test_thousands_of_exempt_beginnings_are_found_by_bisection() -> None:
    allows = [(f"/{number}/", number) for number in range(5_000)]
    index = Index(allows, [("/", 6_000)])
    assert not index.allows_url("https://e.com/x", 13)
    assert index.allows_url("https://e.com/77/x", 13)
    assert instructions(lambda: index.allows_url("https://e.com/x", 13)) < 1_000


@pytest.mark.parametrize("shape", ["/*{}", "/" + "x" * 90 + "*{}"], ids=["needles", "on-one-stem"])
def test_needles_that_a_long_path_has_are_told_from_those_with_the_same_pieces(shape: str) -> None:
    needles = [f"{number:012b}".replace("0", "aab").replace("1", "aaab") for number in range(4_000)]
    rules = numbered((False, shape.format(needle)) for needle in needles)
    index = index_of(rules)
    start = "/" + "x" * 90
    path = start + "aabaaab" * 1_500
    within = [rule for rule in rules if rule.pattern.rpartition("*")[2] in path]
    assert 0 < len(within) < 10
    longest = max(within, key=lambda rule: (len(rule.pattern), -rule.line))
    assert line_of(decider(index.kinds, path)) == longest.line
    assert decider(index.kinds, start + "aab" * 3_500) == decider(index.kinds, start + needles[0])
    assert decider(index.kinds, start + "b" * 10_000) == NO_RULE
    assert instructions(lambda: decider(index.kinds, start + "b" * 10_000)) < 400_000


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("compared", [2, 128], ids="{} characters".format)
def test_patterns_whose_segments_may_follow_one_another_are_those_that_can_match(
    seed: int, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few letters, so that segments come again, overlap, and stand in any order."""
    monkeypatch.setattr(rule_index, "_FEW_NEEDLES", 0)
    monkeypatch.setattr(rule_index, "_MUCH_WORK", 0)  # as if each question were much work
    monkeypatch.setattr(rule_index, "_SUFFIX", compared)
    source = random.Random(seed)
    for _ in range(120):
        letters = source.choice(["ab", "abc", "abcdefgh"])

        def segments(most: int, letters: str = letters) -> list[str]:
            return ["".join(source.choices(letters, k=source.randint(0, 4))) for _ in range(most)]

        patterns = [
            f"/{'*'.join(segments(source.randint(2, 5)))}{source.choice(['', '', '$', '*'])}"
            for _ in range(12)
        ]
        rules = numbered((source.random() < 0.3, pattern) for pattern in patterns)
        paths = [f"/{''.join(segments(source.randint(1, 8)))}" for _ in range(6)]
        paths += [pattern.replace("*", "").rstrip("$") for pattern in patterns[:6]]
        assert_index_agrees(rules, paths)


@table(
    "shape",
    "/*{later}*{earlier}",
    "/*{later}*{earlier}*{last}",
    "/*{later}*{earlier}$",
    "/{stem}*{later}*{earlier}",
)
@pytest.mark.parametrize("times", [1, 2])
def test_of_thousands_of_patterns_hardly_one_is_tried_whose_segments_come_in_another_order(
    shape: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = random.Random(7)
    halves = ["".join(source.choices(ascii_lowercase, k=4_000)) * times for _ in range(2)]
    stem = "s" * 20
    path = f"/{stem}{halves[0]}{halves[1]}{'z' * 16}"
    rules = []
    for line, at in enumerate(range(3_900), 2):
        earlier, later = halves[0][at : at + 10], halves[1][at : at + 12]
        pattern = shape.format(stem=stem, earlier=earlier, later=later, last="z" * 14)
        rules.append(Rule(False, pattern, line))
    index = index_of(rules)
    assert decider(index.kinds, f"/{rules[5].pattern.replace('*', '').strip('/$')}") != NO_RULE
    tries: list[str] = []
    monkeypatch.setattr(rule_index, "matches", lambda pattern, _: tries.append(pattern))
    assert decider(index.kinds, path) == NO_RULE
    assert len(tries) < 100  # where the halves meet, different characters follow


@table(
    "allows, splits",
    row("few", 10, 4),  # freed after each of the first three, because most hosts get few questions
    row("thousands", 14_000, 1),
)
def test_allowed_takes_rules_apart_no_more_often_than_verdict(
    allows: int, splits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["user-agent: *", "disallow: /", *(f"allow: /a{number}/" for number in range(allows))]
    split = Patterns.split
    seen: list[Patterns] = []

    def counted(patterns: Patterns) -> object:
        seen.append(patterns)
        return split(patterns)

    monkeypatch.setattr(Patterns, "split", counted)
    for kind in ("allowed", "verdict"):
        seen.clear()
        rules = RobotsTxt.parse("\n".join(lines).encode()).rules_for("a")
        for _ in range(5):
            getattr(rules, kind)(f"{SITE}/a1/")
        assert sum("/a1/" in patterns.text for patterns in seen) == splits, kind
