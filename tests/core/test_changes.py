"""What changed between two versions of a robots.txt, in a table."""

from __future__ import annotations

import pytest

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core.changes import AgentChange, changes


def changed(old: str, new: str) -> list[AgentChange]:
    return changes(RobotsTxt.parse(old.encode()), RobotsTxt.parse(new.encode()))


OLD = "User-agent: a\nDisallow: /x\nAllow: /x/y\n"

SAME = [
    ("comment", OLD + "# of today\n"),
    ("order", "User-agent: a\nAllow: /x/y\nDisallow: /x\n"),
    ("twice", OLD + "Disallow: /x\n"),
    ("split-groups", "User-agent: a\nDisallow: /x\n\nUser-agent: a\nAllow: /x/y\n"),
    ("case-of-names", "USER-AGENT: A\ndisallow: /x\nallow: /x/y\n"),
    ("sitemap", "Sitemap: https://example.com/s.xml\n" + OLD),
    ("lines", "\n\n" + OLD.replace("\n", "\r\n")),
]


@pytest.mark.parametrize("new", [row[1] for row in SAME], ids=[row[0] for row in SAME])
def test_nothing_changed_for_a_crawler(new: str) -> None:
    assert changed(OLD, new) == []


def test_rules_that_came_and_went_are_told_with_their_lines() -> None:
    (change,) = changed(OLD, "User-agent: a\nDisallow: /z\nAllow: /x/y\n")
    assert change.agent == "a"
    assert [(rule.pattern, rule.line) for rule in change.added] == [("/z", 2)]
    assert [(rule.pattern, rule.line) for rule in change.removed] == [("/x", 2)]
    assert change.group == ""
    assert change.closed is None


def test_group_of_all_comes_first_and_each_agent_once() -> None:
    old, new = "", "User-agent: b\nUser-agent: *\nUser-agent: a\nDisallow: /x\n"
    assert [(change.agent, change.group) for change in changed(old, new)] == [
        ("*", "added"),
        ("a", "added"),
        ("b", "added"),
    ]


def test_empty_group_is_not_the_same_as_none() -> None:
    (change,) = changed("User-agent: *\nDisallow: /\n", "User-agent: *\nDisallow: /\n\nUser-agent: a\n")
    assert (change.agent, change.group, change.closed, change.added) == ("a", "added", False, ())


@pytest.mark.parametrize(
    ("old", "new", "closed"),
    [
        ("Disallow: /x", "Disallow: /", True),
        ("Disallow: /x", "Disallow: *", True),
        ("Disallow: /x", "Disallow: /*", True),
        ("Disallow: /x", "Disallow: */", True),
        ("Disallow: /", "Disallow:", False),
        ("Disallow: /", "Disallow: /\nAllow: /x", False),
        ("Disallow: /", "Disallow: /*", None),
        ("Disallow: /x", "Disallow: /$", None),
        ("Disallow: /x", "Disallow: //", None),
        ("Disallow: /x", "Disallow: /*/", None),
        ("Disallow: /x", "Disallow: /\nAllow:", True),
    ],
)
def test_group_becomes_full_disallow_or_opens(old: str, new: str, closed: bool | None) -> None:
    (change,) = changed(f"User-agent: *\n{old}\n", f"User-agent: *\n{new}\n")
    assert change.closed is closed


def test_crawl_delay_is_a_change_too() -> None:
    (change,) = changed(OLD, OLD + "Crawl-delay: 5\n")
    assert change.delays == (None, 5.0)
