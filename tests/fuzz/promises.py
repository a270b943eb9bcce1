"""What holds for every input. Each function asserts one promise for one input.

Hypothesis (test_*.py) and atheris (tools/coverage_guided.py) call them with the inputs that they make up.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final
from unittest.mock import patch

from scrapy_gbot_robots import Origin, RobotsTxt, Rules, UserAgent
from scrapy_gbot_robots.core import crawler_groups, lines, rule_index
from scrapy_gbot_robots.core import rules as rules_module
from scrapy_gbot_robots.core.crawlers import agents_heeded
from scrapy_gbot_robots.core.preferences import Preferences
from scrapy_gbot_robots.core.robots import every_group_of, groups_of, lines_of, sitemap_lines_of
from scrapy_gbot_robots.core.rules import entries_of
from scrapy_gbot_robots.core.urls import origin_of_robots_txt

from ..support import oracle

# Limits at which the code takes another way: module, name, and a number small enough that short inputs pass it.
_SMALL: Final = (
    (lines, "_BLOCK", 24),
    (crawler_groups, "_LONG", 40),
    (lines, "MAX_LINE_BYTES", 60),
    (rule_index, "_FEW_STEMS", 2),
    (rule_index, "_FEW_NEEDLES", 1),
    (rule_index, "_MUCH_WORK", 20),
    (rule_index, "_SUFFIX", 3),
    (rules_module, "_ORDINARY_PATH", 5),
)


@contextmanager
def small_limits() -> Iterator[None]:
    """Lower the limits, so that short inputs take the ways of long ones: several blocks, over-long lines, many rules."""
    with ExitStack() as patches:
        for module, name, number in _SMALL:
            patches.enter_context(patch.object(module, name, number))
        yield


def assert_one_meaning(body: bytes, url: str | bytes, user_agent: str | bytes) -> None:
    """The fast reader and the index say what the oracle says by the groups of the careful reader."""
    robots = RobotsTxt.parse(body)
    groups = groups_of(robots)
    one_token, crawler = user_agent, UserAgent.of(user_agent)
    same = agents_heeded(one_token) == agents_heeded(crawler)
    for asking in (one_token,) if same else (one_token, crawler):
        user_agents = agents_heeded(asking)
        followed = oracle.followed_by(groups, user_agents)
        rules = robots.rules_for(asking)
        delay_lines = oracle.lines_for(lines_of(robots), user_agents, {b"crawl-delay"})
        delays = (lines.seconds(line.value) for line in delay_lines)
        assert rules.crawl_delay == next((delay for delay in delays if delay is not None), None)
        assert rules._group == followed.group
        wanted = {b"content-usage", b"content-signal"}
        assert [lines.read_line(number, raw) for number, raw in rules._content_lines] == [
            line._replace(flags=line.flags & ~lines.TOO_LONG)  # the fast reader has cut it already
            for line in oracle.lines_for(lines_of(robots), user_agents, wanted)
        ]
        assert entries_of(rules) == followed.rules
        expected = oracle.verdict_of(groups, url, user_agents)
        assert str(expected).isprintable()
        assert robots.allowed(url, asking) == expected.allowed
        assert robots.verdict(url, asking) == expected
        assert RobotsTxt.parse(body).verdict(url, asking) == expected
        assert expected.allowed or robots.preferences(url, asking) == Preferences()
        _ask_often(rules, url)
        assert {rules.allowed(url), rules.allowed(url)} == {expected.allowed}
        assert rules.verdict(url) == expected


def _ask_often(rules: Rules, url: str | bytes) -> None:
    """Make `rules` build their index, without the questions that this usually takes."""
    rules._spent = rules_module._TRIES
    rules.allowed(url)
    assert rules._index is not None


def assert_told_in_full(body: bytes) -> None:
    """Any bytes have lines, remarks and sitemaps, printable and consistent with one another."""
    robots = RobotsTxt.parse(body)
    told = lines_of(robots)
    assert [line.number for line in told] == list(range(1, len(told) + 1))
    for remark in robots.remarks:
        assert 1 <= remark.line <= len(told)
        assert str(remark).isprintable()
    assert [(sitemap.line, sitemap.raw) for sitemap in sitemap_lines_of(robots)] == [
        (line.number, line.value) for line in told if line.kind == lines.SITEMAP
    ]
    for sitemap in robots.sitemaps:
        assert Origin.of(sitemap)


def assert_all_are_read_as_one(body: bytes) -> None:
    """A file that is read once for all agents gives each agent what it gets when the file is read for it alone."""
    robots = RobotsTxt.parse(body)
    every = every_group_of(robots)
    named = {
        user_agent for group in groups_of(robots) for user_agent in group.user_agents if user_agent
    }
    assert set(every.user_agents) == named
    for user_agent in (*named, "*", "someone-else"):
        for_all, alone = every.rules_for(user_agent), robots.rules_for(user_agent)
        assert entries_of(for_all) == entries_of(alone)
        assert for_all.crawl_delay == alone.crawl_delay
        assert (for_all._group, for_all._content_lines) == (alone._group, alone._content_lines)


def assert_origin_is_stable(url: str | bytes) -> None:
    """A URL has an origin, which is also the origin of its own text and of its robots.txt; or it raises ValueError."""
    try:
        origin = Origin.of(url)
    except ValueError as error:
        refusal = str(error)
        origin = None
    if origin is None:
        assert refusal.isprintable()
        assert isinstance(url, bytes) or origin_of_robots_txt(url) is None
        return
    assert Origin.of(str(origin)) == origin
    assert origin_of_robots_txt(origin.robots_url) == origin
    assert origin.scheme in {"http", "https", "ftp"}
    assert 0 < origin.port < 65_536
    assert origin.host.isascii()
    assert origin.host == origin.host.lower()
