"""The fast reader agrees with the careful one, and matching with the oracle, for any bytes and any URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_gbot_robots import RobotsTxt, Rule, Rules
from scrapy_gbot_robots.core import lines as grammar
from scrapy_gbot_robots.core.fast_reader import ScannedGroup, scan, scan_all
from scrapy_gbot_robots.core.lines import read_lines
from scrapy_gbot_robots.core.patterns import directory_of_index, matches
from scrapy_gbot_robots.core.robots import Group, read_groups

from ..support.oracle import does_match, followed_by
from ..support.reference import FILES, body_of, read
from ..support.strategies import BODIES, PATHS, PATTERNS

if TYPE_CHECKING:
    from pathlib import Path

AGENTS = [(b"googlebot", b"*"), (b"a", b"b", b"*"), (b"*",), (b"googlebot",), ()]


def contents(rules: Rules) -> object:
    return rules.group, rules.crawl_delay, rules._disallows.entries(), rules._allows.entries()


def assert_all_groups_agree(groups: list[Group], scanned: list[ScannedGroup]) -> None:
    """A group that names no crawler, such as that of "user-agent: 7", is for no one. The fast reader leaves it out."""
    named = [(group, [agent for agent in group.agents if agent]) for group in groups]
    named = [(group, agents) for group, agents in named if agents]
    assert [[*group.agents.items()] for group in scanned] == [
        [(agent, group.delays.get(agent)) for agent in agents] for group, agents in named
    ]
    assert [[each.entries() for each in group.patterns()] for group in scanned] == [
        [[(rule.pattern, rule.line) for rule in group.rules if rule.allow == allow] for allow in (True, False)]
        for group, _ in named
    ]


def assert_readers_agree(body: bytes, strict: bool) -> None:
    groups = read_groups(read_lines(body, strict=strict))
    for agents in AGENTS:
        followed = followed_by(groups, agents)
        entries = followed.entries(allow=False), followed.entries(allow=True)
        assert contents(scan(body, agents, strict)) == (followed.group, followed.delay, *entries)
    assert_all_groups_agree(groups, scan_all(body, strict)[0])
    robots = RobotsTxt.parse(body, strict=strict)
    assert [(sitemap.line, sitemap.raw) for sitemap in robots.sitemap_lines] == [
        (line.number, line.value) for line in robots.lines if line.kind == grammar.SITEMAP
    ]


@settings(max_examples=400)
@given(body=BODIES, strict=st.booleans())
@example(body=b"user-agent:\xa0googlebot\ndisallow: /", strict=False)
@example(body=b"User-agent: a\nDisallow\nUser-agent: b\nDisallow: /", strict=False)
@example(body=b"User-agent: a\nfoo: b\nuser-agent b\n\nDisallow: /\nallow /x\nUser-agent: *", strict=False)
@example(body=b"User-agent: a\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 2\nAllow: /", strict=False)
@example(
    body=b"User-agent: a\nAllow: /\nUser-agent: *\nAllow: /\nUser-agent: a\nCrawl-delay: x\nCrawl-delay: 3",
    strict=False,
)
@example(body=b"\xef\xbb\xbf\xef\xbb\xbfUser-agent: a\0\nDisallow: /", strict=False)
def test_fast_reader_gives_what_the_careful_one_gives(body: bytes, strict: bool) -> None:
    assert_readers_agree(body, strict)


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("file", FILES)
def test_readers_agree_on_every_reference_body(file: Path, strict: bool) -> None:
    bodies = {body_of(case) for case in read(file)}
    for body in bodies:
        assert_readers_agree(body[: grammar.MAX_BYTES], strict)
    assert len(bodies) > 100


@settings(max_examples=600)
@given(pattern=PATTERNS | st.text("ab*$/", max_size=24), path=PATHS | st.text("ab/$", max_size=16))
@example(pattern="a*b*a*b*a*b*a*b*a*b*c", path="ababababababc")
@example(pattern="a*b*a*b*a*b*a*b*a*b*c$", path="abababababcc")
@example(pattern="a*b*a*b*a*b*a*b*a*b*c", path="ababababac")
def test_matching_segments_gives_what_trying_every_place_gives(pattern: str, path: str) -> None:
    assert matches(pattern, path) == does_match(pattern, path)


_RUN = b"".join(b"Disallow: /%d\n" % number for number in range(1_500))  # more than one block


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"user-agent: *\n" + _RUN, id="a run of plain lines"),
        pytest.param(b"user-agent: *\n" + _RUN + b"Disallow: /x # a comment \nDisallow:/y", id="its end is not plain"),
        pytest.param(b"user-agent: *\r\n" + _RUN.replace(b"\n", b" \t\r\n"), id="with white space and CR LF"),
        pytest.param(
            b"user-agent: *\n" + _RUN + b"\nAllow: /1\n" + _RUN + b"User-agent: a\n" + _RUN, id="several runs"
        ),
        pytest.param(b"user-agent: *\n" + _RUN + b" User-agent: a\n" + _RUN, id="an indented user-agent line in a run"),
        pytest.param(b"user-agent: *\n" + _RUN + b" " * 200 + b"User-agent: a\n" + _RUN, id="a far indented one"),
        pytest.param(b"user-agent: *\n" + _RUN.replace(b"/1", b"/user"), id="user in paths"),
        pytest.param(b"user-agent: *\n" + _RUN.replace(b"/7", b"\0/7"), id="NULs"),
        pytest.param(b"user-agent: *\n" + _RUN.replace(b"/7", b"/7" + b"7" * 17_000, 1), id="a line that is too long"),
        pytest.param(
            b"\xef\xbb\xbfuser-agent: *\n" + b"# a comment\n" * 1_000 + b"disallow: /", id="a byte-order mark"
        ),
        pytest.param(b"<p>the user: x</p>\n" * 1_000 + b"user-agent: a\rdisallow: /", id="very many users before"),
        pytest.param(b"<p>the user: x</p>\n" * 500 + b"user-agent a\rdisallow: /", id="many users before"),
        pytest.param(b"<p>the user: x</p>\n" * 500, id="an error page"),
    ],
)
def test_readers_agree_on_long_bodies(body: bytes) -> None:
    for strict in (False, True):
        assert_readers_agree(body, strict)


QUESTIONS = ["/", "/a", "/a/b?c#d", "/%c3%a9", "/é", "/index.html", "/d/", "/d/x.gif", "/aaa/b", "?a", "/x#/a", "/q"]


@settings(max_examples=150)
@given(
    lines=st.lists(
        st.builds(
            "{}: {}".format, st.sampled_from(["allow", "disallow"]), PATTERNS | st.sampled_from(["/é", "/%c3%a9"])
        ),
        max_size=12,
    ),
    crowd=st.sampled_from([0, 0, 45]),
    strict=st.booleans(),
)
def test_quick_answer_is_the_verdicts_at_the_first_and_at_the_tenth_question(
    lines: list[str], crowd: int, strict: bool
) -> None:
    many = [f"disallow: /q{number}/" for number in range(crowd)]
    robots = RobotsTxt.parse("\n".join(["user-agent: *", *lines, *many]).encode(), strict=strict)
    urls = [start + path for start in ("https://example.com", "http://other.example") for path in QUESTIONS]
    verdicts = [robots.verdict(url, "bot").allowed for url in urls]
    for _ in range(2):
        assert [robots.allowed(url, "bot") for url in urls] == verdicts
        assert [robots.rules_for("bot").allowed(url.encode()) for url in urls] == verdicts


def test_verdict_names_the_first_longest_rule() -> None:
    rules = [Rule(False, "/a", 4), Rule(True, "/d/index.html", 5), Rule(True, "/d/$", 6), Rule(False, "/*", 7)]
    body = "user-agent: *\n\n\n" + "\n".join(
        f"{'allow' if rule.allow else 'disallow'}: {rule.pattern}" for rule in rules
    )
    robots = RobotsTxt.parse(body.encode())
    assert robots.verdict("http://e.com/a", "x").rule == rules[0]
    assert robots.verdict("http://e.com/d/", "x").rule == rules[1]
    assert robots.verdict("http://e.com/d/index.htm", "x").rule == rules[3]


@pytest.mark.parametrize(
    ("pattern", "directory"),
    [
        ("/index.html", "/$"),
        ("/d/index.htm", "/d/$"),
        ("/d/index.html?x", "/d/$"),
        ("index.html", None),
        ("/d/index.ht", None),
        ("/index.html/x", None),
    ],
)
def test_index_page_stands_for_its_directory(pattern: str, directory: str | None) -> None:
    assert directory_of_index(pattern) == directory
