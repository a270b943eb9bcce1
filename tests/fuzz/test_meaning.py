"""One robots.txt has one meaning: however it is asked, and however it is written."""

from __future__ import annotations

import re

from hypothesis import assume, example, given
from hypothesis import strategies as st

from scrapy_gbot_robots import Crawler, RobotsTxt
from scrapy_gbot_robots.core.lines import ALLOW, BOM, DISALLOW, HAS_DIRECTIVE
from scrapy_gbot_robots.core.robots import lines_of
from scrapy_gbot_robots.core.urls import path_of
from scrapy_gbot_robots.core.verdict import INDEX_OF_DIRECTORY

from ..support import oracle
from ..support.strategies import (
    BLANK_LINES,
    BODIES,
    BOMS,
    GROUPS,
    LINE_ENDS,
    LINES,
    LONG_PATHS,
    LONG_PATTERNS,
    PATHS,
    PATTERNS,
    TOKENS,
    URLS,
    USER_AGENTS,
    WrittenGroup,
    written,
)
from . import promises

STRICT = st.booleans()


@given(BODIES | GROUPS.map(written), URLS | PATHS, USER_AGENTS, STRICT)
@example(b"user-agent:\xa0googlebot\ndisallow: /", "/", "googlebot", False)
@example(b"User-agent: a\nDisallow\nUser-agent: b\nDisallow: /", "/", "a", False)
@example(b"User-agent: a\nfoo: b\nuser-agent b\n\nDisallow: /\nallow /x\nUser-agent: *", "/x", "b", False)
@example(b"User-agent: a\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 2\nAllow: /", "/", "b", False)
@example(b"User-agent: a\nAllow: /\nUser-agent: *\nUser-agent: a\nCrawl-delay: x\nCrawl-delay: 3", "/", "a", False)
@example(b"\xef\xbb\xbf\xef\xbb\xbfUser-agent: a\0\nDisallow: /", "/", "a", False)
@example(b"content-signal: x\nuser-agent: 7\ncontent-usage: y\nuser-agent: a\ncontent-usage z", "/", "a", False)
def test_any_robots_txt_has_one_meaning_however_it_is_asked(body: bytes, url: str, agent: str, strict: bool) -> None:
    promises.assert_one_meaning(body, url, agent, strict=strict)
    written_url, written_agent = (text.encode("utf-8", "surrogatepass") for text in (url, agent))
    promises.assert_one_meaning(body, written_url, written_agent, strict=strict)


@given(BODIES | GROUPS.map(written), URLS, USER_AGENTS, STRICT)
def test_long_robots_txt_has_one_meaning_however_it_is_asked(body: bytes, url: str, agent: str, strict: bool) -> None:
    with promises.small_limits():
        promises.assert_one_meaning(body, url, agent, strict=strict)
        promises.assert_told_in_full(body, strict=strict)


@given(
    st.lists(st.tuples(st.booleans(), PATTERNS | LONG_PATTERNS), min_size=5, max_size=25),
    st.lists(PATHS | LONG_PATHS, min_size=3, max_size=6),
    STRICT,
)
def test_many_rules_have_one_meaning_however_they_are_asked(
    rules: list[tuple[bool, str]], paths: list[str], strict: bool
) -> None:
    body = written([WrittenGroup(["*"], rules)])
    for path in paths:
        promises.assert_one_meaning(body, path, "a", strict=strict)
        with promises.small_limits():
            promises.assert_one_meaning(body, path, "a", strict=strict)


@given(BODIES, STRICT)
def test_any_robots_txt_is_told_in_full(body: bytes, strict: bool) -> None:
    promises.assert_told_in_full(body, strict=strict)


def meaning(body: bytes, url: str, agent: str) -> object:
    """All that a crawl takes from a robots.txt, without line numbers."""
    robots = RobotsTxt.parse(body)
    verdict = robots.verdict(url, agent)
    rule = None if verdict.rule is None else verdict.rule._replace(line=0)
    fields = [(line.kind, line.key, line.value) for line in lines_of(robots) if line.flags & HAS_DIRECTIVE]
    return verdict._replace(rule=rule), robots.crawl_delay(agent), robots.sitemaps, fields


@given(st.lists(LINES.filter(lambda line: b"\r" not in line), max_size=12), st.data(), URLS, TOKENS)
def test_byte_order_mark_line_ends_and_blank_lines_change_nothing(
    lines: list[bytes], data: st.DataObject, url: str, agent: str
) -> None:
    changed = [data.draw(st.sampled_from(BOMS))]
    for line in lines:
        changed += data.draw(st.lists(st.tuples(BLANK_LINES, st.sampled_from(LINE_ENDS)).map(b"".join), max_size=2))
        changed += [line, data.draw(st.sampled_from(LINE_ENDS))]
    assume(changed[0] != BOM * 2 and not b"".join(lines).startswith(BOM))  # the second is no mark
    assert meaning(b"".join(changed), url, agent) == meaning(b"\n".join(lines), url, agent)


def decision(groups: list[WrittenGroup], path: str, agent: str | Crawler) -> object:
    """The answer, and how specific its rule is. The rule itself may differ: of equal rules the first in the file decides."""
    verdict = RobotsTxt.parse(written(groups)).verdict(path, agent)
    specific = None if verdict.rule is None else (verdict.rule.allow, len(verdict.rule.pattern))
    return verdict.allowed, verdict.group, verdict.reason, specific


@given(GROUPS.flatmap(lambda groups: st.tuples(st.just(groups), st.permutations(groups))), PATHS, USER_AGENTS)
def test_order_of_groups_is_irrelevant(  # S7.3
    orders: tuple[list[WrittenGroup], list[WrittenGroup]], path: str, agent: str
) -> None:
    for asker in (agent, Crawler.of(agent)):
        assert decision(orders[0], path, asker) == decision(orders[1], path, asker)


def merged_by_hand(groups: list[WrittenGroup]) -> list[WrittenGroup]:
    """One group for each user agent, with all of its rules."""
    merged: dict[str, WrittenGroup] = {}
    for group in groups:
        for agent in dict.fromkeys(map(str.lower, group.agents)):
            merged.setdefault(agent, WrittenGroup([agent], [])).rules.extend(group.rules)
    return list(merged.values())


@given(GROUPS, PATHS, USER_AGENTS)
def test_merging_groups_by_hand_changes_nothing(groups: list[WrittenGroup], path: str, agent: str) -> None:  # S6.9
    for asker in (agent, Crawler.of(agent)):
        assert decision(merged_by_hand(groups), path, asker) == decision(groups, path, asker)


@given(GROUPS, st.lists(st.tuples(st.booleans(), PATTERNS), min_size=1), st.integers(0, 5), PATHS, TOKENS)
def test_group_for_another_crawler_changes_nothing(
    groups: list[WrittenGroup], rules: list[tuple[bool, str]], place: int, path: str, agent: str
) -> None:
    others = [*groups[:place], WrittenGroup(["somebody-else"], rules), *groups[place:]]
    for asker in (agent, Crawler.of(agent)):
        assert decision(others, path, asker) == decision(groups, path, asker)


@given(BODIES | GROUPS.map(written), URLS, USER_AGENTS, STRICT)
def test_rule_of_a_verdict_matches_and_is_on_the_line_named(body: bytes, url: str, agent: str, strict: bool) -> None:
    robots = RobotsTxt.parse(body, strict=strict)
    verdict = robots.verdict(url, Crawler.of(agent))
    if verdict.rule is None:
        assert verdict.allowed
        return
    allow, pattern, number = verdict.rule
    line = lines_of(robots)[number - 1]
    assert (line.number, line.kind) == (number, ALLOW if allow else DISALLOW)
    assert line.value == pattern.encode()
    assert line.key in re.split(rb"\r\n|\r|\n", body)[number - 1]
    if verdict.reason == INDEX_OF_DIRECTORY:
        assert not strict
        pattern = pattern[: pattern.rindex("/") + 1] + "$"
    assert oracle.does_match(pattern, path_of(url))
    assert verdict.allowed == (allow or not pattern)
