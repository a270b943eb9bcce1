"""Changes between two versions of a robots.txt: for which agent, and which rules, delays and preferences."""

from itertools import permutations, product

import pytest

from scrapy_gbot_robots import RobotsTxt, Rule
from scrapy_gbot_robots.core.changes import AgentChange, change_in_words, changes

from ..support.instructions import instructions


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
    ("names-nobody", OLD + "User-agent: 123\nDisallow: /\n"),
]


@pytest.mark.parametrize("new", [row[1] for row in SAME], ids=[row[0] for row in SAME])
def test_nothing_changed_for_a_crawler(new: str) -> None:
    assert changed(OLD, new) == []


def test_rules_that_came_and_went_are_told_with_their_lines() -> None:
    (change,) = changed(OLD, "User-agent: a\nDisallow: /z\nAllow: /x/y\n")
    assert change.agents == ("a",)
    assert [(rule.pattern, rule.line) for rule in change.added] == [("/z", 2)]
    assert [(rule.pattern, rule.line) for rule in change.removed] == [("/x", 2)]
    assert change.group == ""
    assert change.closed is None
    (change,) = changed("", "User-agent: a\nDisallow: /b\nAllow: /c\nDisallow: /b\n")
    assert change.added == ((False, "/b", 2), (True, "/c", 3)), "of equal rules the first"
    (change,) = changed(OLD, OLD.replace("Allow: /x/y\n", ""))
    assert (change.added, change.removed) == ((), ((True, "/x/y", 3),))
    (change,) = changed(OLD, OLD.replace("Allow", "Disallow"))
    assert (change.added, change.removed) == (((False, "/x/y", 3),), ((True, "/x/y", 3),))


def test_agents_are_told_once_each_that_of_all_first_with_the_lines_of_their_own_groups() -> None:
    new = "User-agent: a\nDisallow: /x\n\nUser-agent: b\nUser-agent: *\nDisallow: /x\n"
    told = changed("User-agent: a\nUser-agent: b\n", new)
    assert [(each.agents, each.group, each.added[0].line) for each in told] == [
        (("*",), "added", 6),
        (("a",), "", 2),
        (("b",), "", 6),
    ]
    (change,) = changed("", "User-agent: b\nUser-agent: *\nUser-agent: a\nDisallow: /x\n")
    assert change.agents == ("*", "a", "b")


def test_empty_group_is_not_the_same_as_none() -> None:
    shut = "User-agent: *\nDisallow: /\n"
    change = AgentChange(("a",), group="added", closed=False)
    assert changed(shut, f"{shut}\nUser-agent: a\n") == [change]
    assert changed(OLD, OLD + "User-agent: b\n") == [AgentChange(("b",), group="added")]


def test_rules_of_a_group_that_came_or_went_are_told_even_if_those_of_all_are_the_same() -> None:
    everyone = "User-agent: *\nDisallow: /x\n"
    own = everyone + "\nUser-agent: a\nDisallow: /x\nDisallow: /y\n"
    rules = (Rule(False, "/x", 5), Rule(False, "/y", 6))
    assert changed(own, everyone) == [AgentChange(("a",), (), rules, "removed")]
    assert changed(everyone, own) == [AgentChange(("a",), rules, (), "added")]


@pytest.mark.parametrize(
    ("old", "new", "closed"),
    [
        ("Disallow: /x", "Disallow: /", True),
        ("Disallow: /x", "Disallow: *", True),
        ("Disallow: /x", "Disallow: /*", True),
        ("Disallow: /x", "Disallow: */", True),
        ("Disallow: /x", "Disallow: /*$", True),
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
    delays = "User-agent: a\nCrawl-delay: {}\nAllow: /\n".format
    assert changed(delays(5), delays(5) + delays(9)) == []


@pytest.mark.parametrize(
    ("old", "new", "turned"),
    [
        ("Content-Usage: train-ai=y", "content-usage:train-ai=y # of today", None),
        ("Content-Usage: a=y\nContent-Usage: b=y", "Content-Usage: b=y\nContent-Usage: a=y", None),
        ("", "Content-Signal: search=no", ((), ("Content-Signal: search=no",))),
        (
            "Content-Usage: /a train-ai=y",
            "Content-Usage: /\u00e9 train-ai=n",
            (("Content-Usage: /a train-ai=y",), ("Content-Usage: /%C3%A9 train-ai=n",)),
        ),
    ],
)
def test_lines_about_the_use_of_content_are_told(old: str, new: str, turned: object) -> None:
    found = changed(f"User-agent: *\nAllow: /\n{old}\n", f"User-agent: *\nAllow: /\n{new}\n")
    assert [change.preferences for change in found] == ([] if turned is None else [turned])


def test_preferences_are_those_of_the_group_that_an_agent_follows() -> None:
    rest = "\nUser-agent: own\nAllow: /\n"
    old = "User-agent: *\nAllow: /"
    (change,) = changed(old + rest, old + "\nContent-Usage: search=n" + rest)
    assert change.agents == ("*",)
    group = "User-agent: a\n{}User-agent: b\nAllow: /\n"
    lines = ("", "Content-Usage: search=y\n", "Content-Usage: search=n\n")
    for old, new in permutations([group.format(line) for line in lines], 2):
        # the line stands before the name of the other
        assert [change.agents for change in changed(old, new)] == [("a",)]
    old, new = "User-agent: *\nContent-Usage: search=n\nAllow: /\n", "User-agent: a\nAllow: /\n"
    (came,) = changed(old, old + new)
    assert (came.agents, came.preferences) == (("a",), (("Content-Usage: search=n",), ()))


def test_signal_before_any_group_is_told_for_all() -> None:
    old, new = (f"Content-Signal: ai-train={word}\n" for word in ("yes", "no"))
    turned = (("Content-Signal: ai-train=yes",), ("Content-Signal: ai-train=no",))
    assert changed(old, new) == [AgentChange(("*",), preferences=turned)]
    group = "User-agent: a\nAllow: /\n"
    assert [change.agents for change in changed(old + group, new + group)] == [("*", "a")]


def test_agents_that_share_many_rules_are_compared_once() -> None:
    agents = "".join(f"User-agent: {''.join(pair)}\n" for pair in product("abcdefghij", repeat=3))
    rules = "".join(f"Allow: /{number}\n" for number in range(5_000))
    assert changed(agents + rules, "# of today\n" + agents + rules) == []
    told = changed(agents + rules, agents + rules + "Allow: /new\n")
    (change,) = told
    assert (len(change.agents), len(change.added), change.compared) == (1_000, 1, True)


def test_rules_that_agents_with_a_crawl_delay_share_are_told_once() -> None:
    agents = "".join(f"User-agent: {''.join(pair)}\n" for pair in product("abcdefghij", repeat=2))
    rules = "".join(f"Allow: /{number}\n" for number in range(1_100))
    (change,) = changed("", agents + "Crawl-delay: 1\n" + rules)
    assert (len(change.agents), len(change.added), change.compared) == (100, 1_100, True)


def test_rules_that_are_told_are_bounded_and_what_was_not_compared_is_told() -> None:
    agents = ["".join(pair) for pair in product("abcdefghij", repeat=2)]
    shared = "".join(f"User-agent: {agent}\n" for agent in agents)
    shared += "".join(f"Allow: /{number}\n" for number in range(3_000))
    own = "".join(f"User-agent: {agent}\nAllow: /{agent}\n" for agent in agents)
    found = changed("", shared + own)
    assert sorted(agent for change in found for agent in change.agents) == agents
    assert sum(len(change.added) for change in found) <= 100_000
    assert [change.compared for change in found].count(True) == len(found) - 1 == 33
    assert {change.group for change in found} == {"added"}


def test_work_is_bounded_and_what_was_not_compared_is_told() -> None:
    agents = ["".join(pair) for pair in product("abcdefghij", repeat=2)]
    body = "".join(f"User-agent: {agent}\nAllow: /{{}}\n" for agent in agents)
    old, new = (RobotsTxt.parse(body.format(*path * 100).encode()) for path in ("1", "3"))
    found = changes(old, new, most_work=50 * 2 * len(body))
    assert sorted(agent for change in found for agent in change.agents) == agents
    compared = [change for change in found if change.compared]
    assert 40 < len(compared) < 60
    assert all([rule.pattern for rule in change.added] == ["/3"] for change in compared)
    assert {change[1:] for change in found if not change.compared} == {
        ((), (), "", None, (None, None), ((), ()), False)
    }
    all_of_it = instructions(lambda: changes(old, new))
    assert instructions(lambda: changes(old, new, most_work=0)) < all_of_it / 2


def test_change_is_told_line_by_line() -> None:
    (change,) = changed(
        "user-agent: *\ndisallow: /a\ncrawl-delay: 2\ncontent-signal: use=immediate, search=yes\n",
        "user-agent: *\ndisallow: /\ncontent-signal: use=full\ncontent-usage: /x train-ai=n\n",
    )
    assert list(change_in_words(change)) == [
        ("!", "everything is disallowed to it now", None),
        ("-", "Disallow: /a", 2),
        ("+", "Disallow: /", 2),
        ("", "crawl-delay: 2 s -> none", None),
        ("-", "Content-Signal: use=immediate, search=yes", None),
        ("+", "Content-Signal: use=full", None),
        ("+", "Content-Usage: /x train-ai=n", None),
    ]
    (change,) = changed("user-agent: *\ndisallow: /", "user-agent: *\nallow: /a")
    assert [text for _, text, _ in change_in_words(change)] == [
        "not everything is disallowed to it any more",
        "Disallow: /",
        "Allow: /a",
    ]
    (change,) = changes(RobotsTxt.parse(OLD.encode()), RobotsTxt.parse(b""), most_work=0)[-1:]
    assert list(change_in_words(change)) == [
        ("?", "not compared: these files have too many rules for too many user agents", None)
    ]
