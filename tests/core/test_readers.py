"""The fast reader (scan) answers as the careful one (lines, groups) does, on anything."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_gbot_robots.core import grammar
from scrapy_gbot_robots.core.groups import read_groups, rules_of
from scrapy_gbot_robots.core.lines import read_lines
from scrapy_gbot_robots.core.scan import scan

if TYPE_CHECKING:
    from scrapy_gbot_robots.core.rules import Rules

DATA = Path(__file__).parent.parent / "data"

FIELDS = [
    *(name for _, written, typos in grammar.FIELDS for name in (written, *typos)),
    *grammar.UNUSED_FIELDS,
    b"user-agents",
    b"Disallowed",
    b"DISALLOW",
    b"User-Agent",
    b"unknown",
    b"",
]
SPACES = st.sampled_from([b"", b" ", b"\t", b"  ", b"\x0b", b"\xa0"])
VALUES = st.sampled_from(
    [
        b"a",
        b"b/1.0",
        b"*",
        b"* x",
        b"*x",
        b"a b",
        b"/",
        b"/x",
        b"/*.php$",
        b"/caf\xe9",
        b"%c3%a9",
        b"",
        b"#c",
        b"\0",
        b"1.5",
        b"x",
    ]
)
LINES = st.builds(
    lambda *parts: b"".join(parts),
    SPACES,
    st.sampled_from(FIELDS),
    SPACES,
    st.sampled_from([b":", b"", b" ", b"::"]),
    SPACES,
    VALUES,
    SPACES,
    st.sampled_from([b"", b"#", b" # comment: x"]),
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"\r\r\n"])
BODIES = st.builds(
    lambda bom, lines: bom + b"".join(line + end for line, end in lines),
    st.sampled_from([b"", b"", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf", b"x\xef\xbb\xbf"]),
    st.lists(st.tuples(LINES | st.binary(max_size=8), ENDS), max_size=12),
)
AGENTS = [(b"a", b"*"), (b"b", b"a", b"*"), (b"*",), (b"a",), ()]


def said(rules: Rules) -> tuple[object, ...]:
    """All that a group's rules are."""
    both = [(each.texts(), list(each.lines)) for each in (rules._allows, rules._disallows)]
    return (*both, rules.group, rules.crawl_delay)


def assert_alike(body: bytes, *, strict: bool) -> None:
    groups = read_groups(read_lines(body, strict=strict))
    for agents in AGENTS:
        assert said(scan(body, agents, strict)) == said(rules_of(groups, agents, strict=strict)), agents


@given(BODIES, st.booleans())
@example(b"user-agent: a\n" + b"disallow: /" + b"x" * 20_000 + b"\ndisallow: /y", False)
@example(b"user-agent: a\0b\r\ndisallow: /x\0y", False)
@example(b"user-agent: a\n" + b"# and so on\r\nallow: /a\n" * 6_000 + b"user-agent: b\ndisallow: /b", False)
@example(b"user-agent: a\n" + b"# x\n" * 7_500 + b"allow: /" + b"y" * 9_000, False)
@example(b"disallow: /\nuser-agent: a\ndisallow\nallow /x\ncrawl-delay: 2", True)
def test_readers_agree_on_anything(body: bytes, strict: bool) -> None:
    assert_alike(body, strict=strict)


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
def test_readers_agree_on_the_synthetic_files(strict: bool) -> None:
    with gzip.open(DATA / "synthetic-cases.jsonl.gz", "rt", encoding="utf-8") as cases:
        bodies = [base64.b64decode(json.loads(line)["body_b64"]) for line in cases]
    assert len(bodies) > 1000
    for body in bodies:
        assert_alike(body, strict=strict)
