"""Hostile bytes, URLs and user agents get an answer in bounded time and memory. tests/fuzz tests which answer."""

import gc
from collections.abc import Callable
from itertools import islice, product
from types import ModuleType
from unittest.mock import Mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_gbot_robots import RobotsTxt, Rules
from scrapy_gbot_robots.core import patterns
from scrapy_gbot_robots.core.lines import MAX_BYTES
from scrapy_gbot_robots.core.lint import findings
from scrapy_gbot_robots.core.patterns import decider, precedence_of
from scrapy_gbot_robots.core.robots import groups_of, sitemap_lines_of
from scrapy_gbot_robots.core.rules import disallowed_among
from scrapy_gbot_robots.core.urls import path_of

from ..support.bounds import memory_below, time_below
from ..support.instructions import instructions
from ..support.rows import row, table
from ..support.strategies import LONG_PATHS, LONG_PATTERNS, PATHS, PATTERNS
from .test_rule_index import index_of, numbered, tried


def of_all(*rules: bytes) -> bytes:
    return b"user-agent: *\n" + b"".join(rules)


AGENTS = [b"user-agent: a%c%c\n" % (97 + n % 26, 97 + n // 26 % 26) for n in range(20_000)]
HOSTILE_BODIES = {
    "stars": of_all((b"disallow: /" + b"a*" * 1_000 + b"b\n") * 250),
    "nested prefixes": of_all(*(b"disallow: /%b\n" % (b"a" * n) for n in range(1_000))),
    "one needle": of_all(*(b"disallow: /*aaaaa%d\n" % n for n in range(20_000))),
    "same needle": of_all(*(b"disallow: /%d*aaaaaaaa\n" % n for n in range(20_000))),
    "agents": b"".join(AGENTS) + b"disallow: /",
    "groups": b"user-agent: *\ndisallow: /a\n" * 18_000,
    "one line": b"disallow: /" * 46_000,
    "blank": b"\n" * MAX_BYTES,
    "returns": b"\r" * MAX_BYTES,
    "commas": b"user-agent: *\n" + b"disallow: /a$*$*$*\n" * 26_000,
    "percent": b"user-agent: *\ndisallow: /" + b"%c3" * 5_000,
    "index pages": b"user-agent: *\ndisallow: /\n" + b"allow: /a/index.html\n" * 24_000,
    "delays": b"user-agent: *\n" + b"crawl-delay: x\n" * 34_000,
    "junk": b"d\n a\n u:\n" * 51_000,
}
LONG_URLS = [f"http://e.com/{path}" for path in ("a" * 2_000, "ab" + "a" * 2_000, "%c3" * 700)]
LONG_URLS += ["/" * 2_000]
WILDCARDS = b"user-agent: *\ndisallow: /*a*b*c$\ndisallow: /*?\nallow: /%C3\ndisallow: /aa"


@table(
    "body, urls",
    *(row(name, body, LONG_URLS) for name, body in HOSTILE_BODIES.items()),
    row("letters", WILDCARDS, ["http://e.com/" + "a" * 100_000] * 2),
    row("past-ascii", WILDCARDS, ["é" * 100_000] * 2),
    row("escapes", WILDCARDS, ["/" + "%c3" * 30_000] * 2),
    row("fragments", WILDCARDS, ["#" * 100_000] * 2),
)
def test_hostile_body_or_url_is_answered_in_bounded_time(body: bytes, urls: list[str]) -> None:
    with time_below(60):  # it takes a second at the most
        robots = RobotsTxt.parse(body)
        for url in urls * 3:
            robots.allowed(url, "bot")
        robots.verdict(urls[0], "bot")
        assert robots.sitemaps == ()


CROWDS = st.builds(
    lambda form, many: [form.format(number) for number in range(many)],
    st.sampled_from(["/{}", "/*aaaa{:05}", "*{}$", "/a*a*{}*a", "/{}*", "a{}", "/*/{}a*b*c*d"]),
    st.sampled_from([0, 12, 60]),
)
FEW = st.lists(PATTERNS | LONG_PATTERNS | st.text("a*$", max_size=60), min_size=1, max_size=9)


@given(FEW, CROWDS, PATHS | LONG_PATHS)
@example(["/" + "a*" * 5 + "b"], [], "/" + "a" * 18)
def test_matching_never_goes_back_whatever_the_rules_and_the_url(
    few: list[str], crowd: list[str], path: str
) -> None:
    """Each instruction looks at the path once at most, and there are so many as characters of patterns and path.

    To begin takes some hundreds, whatever the rules.
    """
    texts = few + crowd
    rules = numbered((number % 2 == 0, text) for number, text in enumerate(texts))
    most = 1_000 + 40 * (len(path) + sum(2 + len(text) for text in texts))
    one_by_one, indexed = tried(rules), index_of(rules).kinds
    assert instructions(lambda: decider(one_by_one, path)) < most
    assert instructions(lambda: decider(indexed, path)) < most


@table(
    "rules",
    ["disallow: /dir-{}/"],
    ["disallow: /dir-{}/", "disallow: /*name-{}", "allow: /dir-{}$", "disallow: /x-{}*y"],
    ["disallow: /dir-{}/", "allow: /*{:x}-xy", "allow: /*{:05}$", "allow: /*x*{:05}*y"],
)
def test_answer_by_thousands_of_rules_takes_few_steps(rules: list[str]) -> None:
    lines = [rules[number % len(rules)].format(number) for number in range(14_000)]
    robots = RobotsTxt.parse("\n".join(["user-agent: *", *lines]).encode()).rules_for("bot")
    url = "https://example.com/dir-12000/page.html"
    for _ in range(26):  # the last of which builds the index
        assert robots.verdict(url).rule == (False, "/dir-12000/", 12_002)
    assert instructions(lambda: robots.verdict(url)) < 2_000
    assert not robots.allowed(url)
    assert instructions(lambda: robots.allowed(url)) < 2_000
    assert instructions(lambda: disallowed_among(robots, [path_of(url)])) < 2_000


@pytest.mark.parametrize("first", ["/", "/" + "x" * 1_750])
def test_long_paths_at_once_take_few_steps_whatever_the_first_one_is(first: str) -> None:
    lines = [f"disallow: /*xxxxxxxxx{number:05}*xxxx" for number in range(5_000)]
    robots = RobotsTxt.parse("\n".join(["user-agent: *", *lines]).encode()).rules_for("bot")
    paths = [first, *(f"/{'x' * 1_740}{number:03}" for number in range(98))]
    assert instructions(lambda: disallowed_among(robots, paths)) < 4_000_000


def test_rules_are_looked_through_once_however_many_match(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = Mock(wraps=precedence_of)  # after a search for the line
    monkeypatch.setattr(patterns, "precedence_of", looked_up)
    words = islice(product("*a", repeat=15), 400)
    lines = ["user-agent: *", *(f"disallow: *{''.join(word)}a" for word in words)]
    robots = RobotsTxt.parse("\n".join(lines).encode()).rules_for("bot")
    assert robots.verdict("http://h/" + "a" * 40).rule == (False, "*" * 16 + "a", 2)
    assert looked_up.call_count <= 2


@table(
    "told",
    row("groups", groups_of),
    row("sitemaps", sitemap_lines_of),
    row("remarks", lambda robots: robots.remarks),
    row("lint", lambda robots: findings(robots._body), marks=pytest.mark.slow),
)
@table(
    "body_of",
    row("agents-then-delays", lambda many: b"".join([*AGENTS[:many], b"crawl-delay: 1\n" * many])),
    row("group-starts", lambda many: b"user-agent: a\nallow: /\n" * many),
    row("groups", lambda many: of_all(b"disallow: /p\n", b"disallow: /q\n".join(AGENTS[:many]))),
    row("sitemaps", lambda many: b"sitemap: http://e.com/\nsitemap: x\n" * many),
)
def test_twice_as_many_lines_take_twice_as_much_work(
    told: Callable[[RobotsTxt], object], body_of: Callable[[int], bytes]
) -> None:
    def work(many: int) -> int:
        robots = RobotsTxt.parse(body_of(many))
        return instructions(lambda: told(robots))

    work(1)
    assert work(800) < 2.5 * work(400)


def test_many_user_agents_take_bounded_memory() -> None:
    robots = RobotsTxt.parse(b"user-agent: *\ndisallow: /")
    for number in range(1_000):
        assert not robots.allowed("http://e.com/", f"bot{number}")
    assert len(robots._rules) <= 100


@pytest.mark.parametrize("line", [b"user\n", b"site\n", b"\n"], ids=repr)
def test_lines_of_a_hostile_file_are_never_all_in_memory(line: bytes) -> None:
    body = b"user-agent: *\nsite" + line * (400_000 // len(line))
    with memory_below(4 * len(body)):
        robots = RobotsTxt.parse(body)
        assert robots.sitemaps == ()
        assert robots.allowed("http://e.com/", "a")


def held_by(root: object) -> list[object]:
    """All objects that `root` keeps alive, without classes and modules."""
    held: dict[int, object] = {}
    queue = [root]
    while queue:
        each = queue.pop()
        if id(each) not in held and not isinstance(each, (type, ModuleType)):
            held[id(each)] = each
            queue += gc.get_referents(each)
    return list(held.values())


@pytest.mark.parametrize("questions", [0, 1, 10])
def test_rules_hold_neither_the_body_nor_other_groups(questions: int) -> None:
    body = b"# secret\nuser-agent: *\ndisallow: /x # secret\nsitemap: http://e.com/secret\n\nuser-agent: a\nallow: /secret"
    rules = RobotsTxt.parse(body).rules_for("bot")
    assert [rules.allowed("http://e.com/") for _ in range(questions)] == [True] * questions
    texts = [str(each) for each in held_by(rules) if isinstance(each, (str, bytes))]
    assert any("/x" in text for text in texts)
    assert not any("secret" in text for text in texts)


def test_rules_of_nothing_allow_everything() -> None:
    assert Rules().allowed("http://e.com/")
    assert str(Rules().verdict("http://e.com/")) == "allowed: no rule matches"
