"""Changes between two versions of a robots.txt: for which agent, and which rules, delays and preferences."""

from itertools import permutations, product

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core.changes import AgentChange, change_in_words, changes

from ..support.instructions import instructions
from ..support.rows import row, table


def changed(old: str, new: str) -> list[AgentChange]:
    return changes(RobotsTxt.parse(old.encode()), RobotsTxt.parse(new.encode()))


OLD = "User-agent: a\nDisallow: /x\nAllow: /x/y\n"
TWICE = "User-agent: a\nDisallow: /b\nAllow: /c\nDisallow: /b\n"
USES = "Content-Usage: a=y\nContent-Usage: b=y"


@table(
    "old, new",
    row("comment", OLD, OLD + "# of today\n"),
    row("order", OLD, "User-agent: a\nAllow: /x/y\nDisallow: /x\n"),
    row("twice", OLD, OLD + "Disallow: /x\n"),
    row("split-groups", OLD, OLD.replace("Allow", "\nUser-agent: a\nAllow")),
    row("case-of-names", OLD, OLD.replace("User-agent: a", "USER-AGENT: A")),
    row("sitemap", OLD, "Sitemap: https://example.com/s.xml\n" + OLD),
    row("lines", OLD, "\n\n" + OLD.replace("\n", "\r\n")),
    row("names-nobody", OLD, OLD + "User-agent: 123\nDisallow: /\n"),
    row("use-as-read", OLD + USES, OLD + USES.lower().replace(": ", ":") + " # x"),
    row("order-of-uses", OLD + USES, OLD + "\n".join(reversed(USES.splitlines()))),
    row("delay", OLD + "Crawl-delay: 5", OLD + "Crawl-delay: 5.0\nCrawl-delay: 9"),
)
def test_nothing_changed_for_a_crawler(old: str, new: str) -> None:
    assert changed(old, new) == []


@table(
    "old, new, removed, added",
    (OLD, OLD.replace("/x\n", "/z\n"), [("Disallow: /x", 2)], [("Disallow: /z", 2)]),
    (OLD, OLD.replace("Allow: /x/y\n", ""), [("Allow: /x/y", 3)], []),
    (OLD, OLD.replace("Allow", "Disallow"), [("Allow: /x/y", 3)], [("Disallow: /x/y", 3)]),
    row("of-equal-rules-the-first", "", TWICE, [], [("Disallow: /b", 2), ("Allow: /c", 3)]),
    (OLD, OLD + "Crawl-delay: 5\n", [], [("Crawl-delay: 5", None)]),
    (
        OLD + "Content-Usage: /a train-ai=y",
        OLD + "content-usage: /\u00e9 train-ai=n # of today",
        [("Content-Usage: /a train-ai=y", 4)],
        [("Content-Usage: /%C3%A9 train-ai=n", 4)],
    ),
)
def test_what_came_and_went_for_an_agent_is_told_with_its_lines(
    old: str, new: str, removed: list[object], added: list[object]
) -> None:
    (change,) = changed(old, new)
    assert change.user_agents == ("a",)
    assert (change.removed, change.added) == (tuple(removed), tuple(added))


def test_agents_are_told_once_each_that_of_all_first_with_the_lines_of_their_own_groups() -> None:
    new = "User-agent: a\nDisallow: /x\n\nUser-agent: b\nUser-agent: *\nDisallow: /x\n"
    told = changed("User-agent: a\nUser-agent: b\n", new)
    assert [(each.user_agents, each.group, each.added[0].line) for each in told] == [
        (("*",), "added", 6),
        (("a",), None, 2),
        (("b",), None, 6),
    ]
    (change,) = changed("", "User-agent: b\nUser-agent: *\nUser-agent: a\nDisallow: /x\n")
    assert change.user_agents == ("*", "a", "b")


def test_empty_group_is_not_the_same_as_none() -> None:
    shut = "User-agent: *\nDisallow: /\n"
    change = AgentChange(("a",), group="added", full_disallow=False)
    assert changed(shut, f"{shut}\nUser-agent: a\n") == [change]
    assert changed(OLD, OLD + "User-agent: b\n") == [AgentChange(("b",), group="added")]


def test_rules_of_a_group_that_came_or_went_are_told_even_if_those_of_all_are_the_same() -> None:
    everyone = "User-agent: *\nDisallow: /x\n"
    own = everyone + "\nUser-agent: a\nDisallow: /x\nDisallow: /y\n"
    rules = (("Disallow: /x", 5), ("Disallow: /y", 6))
    assert changed(own, everyone) == [(("a",), rules, (), "removed", None, True)]
    assert changed(everyone, own) == [(("a",), (), rules, "added", None, True)]


@table(
    "old, new, full_disallow",
    ("Disallow: /x", "Disallow: /", True),
    ("Disallow: /x", "Disallow: *", True),
    ("Disallow: /x", "Disallow: /*$", True),
    ("Disallow: /", "Disallow:", False),
    ("Disallow: /", "Disallow: /\nAllow: /x", False),
    ("Disallow: /", "Disallow: /*", None),
    ("Disallow: /x", "Disallow: /$", None),
    ("Disallow: /x", "Disallow: /*/", None),
    ("Disallow: /x", "Disallow: /\nAllow:", True),
)
def test_group_shuts_or_opens(old: str, new: str, full_disallow: bool | None) -> None:
    (change,) = changed(f"User-agent: *\n{old}\n", f"User-agent: *\n{new}\n")
    assert change.full_disallow is full_disallow


def test_preferences_are_those_of_the_group_that_an_agent_follows() -> None:
    rest = "\nUser-agent: own\nAllow: /\n"
    old = "User-agent: *\nAllow: /"
    (change,) = changed(old + rest, old + "\nContent-Usage: search=n" + rest)
    assert change.user_agents == ("*",)
    group = "User-agent: a\n{}User-agent: b\nAllow: /\n"
    lines = ("", "Content-Usage: search=y\n", "Content-Usage: search=n\n")
    for old, new in permutations([group.format(line) for line in lines], 2):
        # the line stands before the name of the other
        assert [change.user_agents for change in changed(old, new)] == [("a",)]
    old, new = "User-agent: *\nContent-Usage: search=n\nAllow: /\n", "User-agent: a\nAllow: /\n"
    (came,) = changed(old, old + new)
    assert (came.user_agents, came.removed) == (("a",), (("Content-Usage: search=n", 2),))


def test_signal_before_any_group_is_told_for_all() -> None:
    old, new = (f"Content-Signal: ai-train={word}\n" for word in ("yes", "no"))
    (change,) = changed(old, new)
    assert change.user_agents == ("*",)
    assert change.added == (("Content-Signal: ai-train=no", 1),)
    group = "User-agent: a\nAllow: /\n"
    assert [change.user_agents for change in changed(old + group, new + group)] == [("*", "a")]


def agents_of(repeat: int) -> list[str]:
    return ["".join(letters) for letters in product("abcdefghij", repeat=repeat)]


def test_what_agents_share_is_compared_and_told_once() -> None:
    user_agents = "".join(f"User-agent: {user_agent}\n" for user_agent in agents_of(3))
    rules = "".join(f"Allow: /{number}\n" for number in range(5_000))
    assert changed(user_agents + rules, "# of today\n" + user_agents + rules) == []
    (change,) = changed(user_agents + rules, user_agents + rules + "Allow: /new\n")
    assert (len(change.user_agents), len(change.added), change.compared) == (1_000, 1, True)
    user_agents = "".join(f"User-agent: {user_agent}\n" for user_agent in agents_of(2))
    (change,) = changed("", user_agents + "Crawl-delay: 1\n" + rules)
    assert (len(change.user_agents), len(change.added), change.compared) == (100, 5_001, True)


def test_texts_that_are_told_are_bounded_and_what_was_not_compared_is_told() -> None:
    user_agents = agents_of(2)
    shared = "".join(f"User-agent: {user_agent}\n" for user_agent in user_agents)
    shared += "".join(f"Allow: /{number}\n" for number in range(3_000))
    own = "".join(f"User-agent: {user_agent}\nAllow: /{user_agent}\n" for user_agent in user_agents)
    found = changed("", shared + own)
    assert (
        sorted(user_agent for change in found for user_agent in change.user_agents) == user_agents
    )
    assert sum(len(change.added) for change in found) <= 100_000
    assert [change.compared for change in found].count(True) == len(found) - 1 > 25
    assert {change.group for change in found} == {"added"}


def test_work_is_bounded_and_what_was_not_compared_is_told() -> None:
    user_agents = agents_of(2)
    body = "".join(f"User-agent: {user_agent}\nAllow: /{{}}\n" for user_agent in user_agents)
    old, new = (RobotsTxt.parse(body.format(*path * 100).encode()) for path in ("1", "3"))
    found = changes(old, new, most_work=50 * 2_000)
    assert (
        sorted(user_agent for change in found for user_agent in change.user_agents) == user_agents
    )
    compared = [change for change in found if change.compared]
    assert 40 < len(compared) < 60
    assert all([text for text, _ in change.added] == ["Allow: /3"] for change in compared)
    assert {change[1:] for change in found if not change.compared} == {((), (), None, None, False)}
    all_of_it = instructions(lambda: changes(old, new))
    assert instructions(lambda: changes(old, new, most_work=0)) < all_of_it / 2


def test_versions_with_many_groups_of_their_own_are_read_once() -> None:
    def of_many(name: str, many: int) -> RobotsTxt:
        user_agents = agents_of(3)[:many]
        groups = [
            f"User-agent: {name}{user_agent}\nDisallow: /{user_agent}\n"
            for user_agent in user_agents
        ]
        return RobotsTxt.parse("".join(groups).encode())

    def steps(many: int) -> int:
        old, new = of_many("x", many), of_many("y", many)
        return instructions(lambda: changes(old, new))

    assert steps(300) < 3.3 * steps(100)


def test_change_is_told_line_by_line() -> None:
    (change,) = changed(
        "user-agent: *\ndisallow: /a\ncrawl-delay: 2\ncontent-signal: use=immediate, search=yes\n",
        "user-agent: *\ndisallow: /\ncontent-signal: use=full\ncontent-usage: /x train-ai=n\n",
    )
    assert list(change_in_words(change)) == [
        ("!", ("now everything is disallowed", None)),
        ("-", ("Disallow: /a", 2)),
        ("-", ("Crawl-delay: 2", None)),
        ("-", ("Content-Signal: use=immediate, search=yes", 4)),
        ("+", ("Disallow: /", 2)),
        ("+", ("Content-Signal: use=full", 3)),
        ("+", ("Content-Usage: /x train-ai=n", 4)),
    ]
    (change,) = changed("user-agent: *\ndisallow: /", "user-agent: *\nallow: /a")
    told = [text for _, (text, _) in change_in_words(change)]
    assert told[0] == "before, everything was disallowed"
    (change,) = changes(RobotsTxt.parse(OLD.encode()), RobotsTxt.parse(b""), most_work=0)[-1:]
    ((sign, (text, _)),) = change_in_words(change)
    assert (sign, text.partition(",")[0]) == ("?", "not compared")
