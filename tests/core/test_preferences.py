"""Preferences about the use of content: which statement counts for which URL and crawler."""

from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core.preferences import NOTHING_SAID, Preferences, combined, read_dictionary
from scrapy_gbot_robots.core.rules import preferences_of, weight_of
from scrapy_gbot_robots.experimental.preferences import of_headers

from ..support.rows import row, table


@table(
    "lines, expected",
    row("all-labels", [b"content-usage: train-ai=n, search=y, ai-use=n"], (False, True, False)),
    row("comment", [b"CONTENT-USAGE : train-ai=y # search=n"], (True, None, None)),
    row("no-colon", [b"content-usage train-ai=n"], (None, None, None)),
    row("between", [b"allow: /", b"content-usage: train-ai=n", b"disallow: /x"], (False, None, None)),
    row("last-of-a-key", [b"content-usage: train-ai=y, train-ai=n"], (False, None, None)),
    row("same-path", [b"content-usage: train-ai=y", b"content-usage: train-ai=n"], (False, None, None)),
    row("parameters-and-other-keys", [b"content-usage: train-ai=n;x=1, other=2.5"], (False, None, None)),
    row("boolean", [b"content-usage: train-ai"], (None, None, None)),
    row("string", [b'content-usage: train-ai="y"'], (None, None, None)),
    row("other-token", [b"content-usage: train-ai=yes"], (None, None, None)),
    row("upper-case-is-no-dictionary", [b"content-usage: Train-AI=n"], (None, None, None)),
    row("comma-at-the-end", [b"content-usage: train-ai=n,"], (None, None, None)),
    row("invalid-bytes", [b"content-usage: train-ai=n \xff"], (None, None, None)),
    row("past-ascii", [b"content-usage: train-ai=n" + b"\xc3\xa9"], (None, None, None)),
    row("other-path", [b"content-usage: /x train-ai=n"], (None, None, None)),
    row("path", [b"content-usage: / train-ai=n", b"content-usage: train-ai=y"], (False, None, None)),
    row("tab-after-the-path", [b"content-usage: /\ttrain-ai=n"], (False, None, None)),
    row("counts-whole", [b"content-usage: /", b"content-usage: train-ai=y"], (None, None, None)),
    row("says-nothing", [b"content-usage: / !", b"content-usage: train-ai=n"], (None, None, None)),
    row("says-nothing-on-this-path-once", [b"content-usage: / !", b"content-usage: / train-ai=n"], (False, None, None)),
    row("says-nothing-on-a-longer-path", [b"content-usage: /x !", b"content-usage: train-ai=n"], (False, None, None)),
    row("no-slash", [b"content-usage: *.pdf train-ai=n"], (None, None, None)),
    row("wildcards", [b"content-usage: /*$ train-ai=n"], (False, None, None)),
    row("empty", [b"content-usage:"], (None, None, None)),
    row("signal", [b"content-signal: ai-train=no, search=yes, ai-input=no"], (False, True, False)),
    row("signal-in-any-case", [b"Content-Signal: AI-Train = NO"], (False, None, None)),
    row("signal-with-other-keys", [b"content-signal: x=full, ai-train=no"], (False, None, None)),
    row("signal-y-mixed-up", [b"content-signal: ai-train=n"], (None, None, None)),
    row("signal-with-a-path", [b"content-signal: /x ai-train=no"], (None, None, None)),
    row("signal-twice", [b"content-signal: ai-train=yes,ai-train=no"], (False, None, None)),
    row("both-fields", [b"content-signal: ai-train=no, search=yes", b"content-usage: train-ai=y, search=n"], (False, False, None)),
)  # fmt: skip
def test_statement_of_a_group(lines: list[bytes], expected: tuple[bool | None, ...]) -> None:
    robots = RobotsTxt.parse(b"\n".join([b"user-agent: *", *lines]))
    assert robots.preferences("https://e.com/", "bot")[:3] == expected


# The example of draft-ietf-aipref-attach
DRAFT = b"""User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""
LONG = b"# long\n" * 3_000 + b"content-signal: ai-train=no\n" + b"# long\n" * 3_000
BODIES = {
    "draft": DRAFT,
    "before": b"content-signal: ai-train=no\ncontent-usage: search=n\nuser-agent: a\nallow: /\nuser-agent: b\ncontent-signal: search=no",
    "long": LONG,
    "long-and-group": LONG + b"user-agent: x\nallow: /\n",
    "own": b"user-agent: *\ncontent-usage: train-ai=n\nallow: /\n\nuser-agent: own\nallow: /",
    "between": b"user-agent: a\ncontent-usage: train-ai=n\nuser-agent: b\nallow: /\ncontent-usage: search=n\n",
    "between-for-all": b"user-agent: *\ncontent-usage: train-ai=n\nuser-agent: b\nallow: /\ncontent-usage: search=n\n",
    "parts": b"user-agent: a\nallow: /\ncontent-usage: train-ai=n\nuser-agent: b\nallow: /\nuser-agent: a\ncontent-usage: search=n",
    "paths": b"user-agent: *\ncontent-usage: /a train-ai=n, search=n\ncontent-usage: /a/b train-ai=y\ncontent-usage: /*.pdf$ ai-use=n\n",
    "usage-alone": b"user-agent: a\ncontent-usage: train-ai=y\n\nuser-agent: *\ncontent-usage: train-ai=n\n",
    "usage-twice": b"user-agent: a\ncontent-usage: train-ai=y\nuser-agent: b\ncontent-usage: search=y\nuser-agent: a\ncontent-usage: search=n\n",
    "usage-and-others": b"user-agent: a\ncontent-usage: train-ai=y\nuser-agent: someone\ncontent-usage: train-ai=n\n",
    "usage-then-three": b"user-agent: a\ncontent-usage: train-ai=y\nuser-agent: x\nuser-agent: a\nuser-agent: y\ncontent-usage: search=y\n",
    "usage-no-colon": b"user-agent: a\ncontent-usage train-ai=y\nuser-agent: b\ncontent-usage: train-ai=n\n",
    "signal-alone": b"user-agent: a\ncontent-signal: ai-train=yes\nuser-agent: b\ncontent-signal: ai-train=no\n",
    "use": b"user-agent: *\ncontent-signal: use=reference",
    "uses": b"user-agent: *\ncontent-signal: use=full,use=immediate",
    "unknown-use": b"user-agent: *\ncontent-signal: use=all",
}


@table(
    "body, user_agent, path, said",
    ("draft", "bot", "/test", (False, None, None, None, (4,))),
    ("draft", "bot", "/ai-ok/test", (True, None, None, None, (5,))),
    ("draft", "bot", "/never/test", (None, None, None, None, ())),
    ("draft", "ExampleBot", "/test", (True, None, None, None, (9,))),
    ("draft", "ExampleBot", "/ai-ok/test", (True, None, None, None, (9,))),
    ("draft", "ExampleBot", "/never/test", (True, None, None, None, (9,))),
    ("before", "a", "/", (False, None, None, None, (1,))),
    ("before", "b", "/", (False, False, None, None, (1, 6))),
    ("before", "c", "/", (False, None, None, None, (1,))),
    ("long", "a", "/", (False, None, None, None, (3001,))),
    ("long-and-group", "a", "/", (False, None, None, None, (3001,))),
    ("own", "own", "/", (None, None, None, None, ())),  # the group for all does not count
    ("own", "other", "/", (False, None, None, None, (2,))),
    ("between", "a", "/", (False, None, None, None, (2,))),
    ("usage-alone", "a", "/", (True, None, None, None, (2,))),
    ("usage-alone", "b", "/", (False, None, None, None, (5,))),
    ("usage-twice", "a", "/", (True, False, None, None, (2, 6))),
    ("usage-twice", "b", "/", (None, True, None, None, (4,))),
    ("usage-and-others", "a", "/", (True, None, None, None, (2,))),
    ("usage-then-three", "a", "/", (True, True, None, None, (2, 6))),
    ("usage-no-colon", "a", "/", (False, None, None, None, (4,))),
    ("signal-alone", "a", "/", (False, None, None, None, (2, 4))),
    ("between", "b", "/", (None, False, None, None, (5,))),
    ("between-for-all", "b", "/", (None, False, None, None, (5,))),
    ("parts", "a", "/", (False, False, None, None, (3, 7))),
    ("paths", "a", "/a/x", (False, False, None, None, (2,))),
    ("paths", "a", "/a/b/x", (True, None, None, None, (3,))),  # the longest counts whole
    ("paths", "a", "/a/b.pdf", (None, None, False, None, (4,))),
    ("paths", "a", "/c", (None, None, None, None, ())),
    ("use", "a", "/", (None, None, None, "reference", (2,))),
    ("uses", "a", "/", (None, None, None, "immediate", (2,))),
    ("unknown-use", "a", "/", (None, None, None, None, ())),
)
def test_statement_is_for_crawler_and_path(
    body: str, user_agent: str, path: str, said: object
) -> None:
    robots = RobotsTxt.parse(BODIES[body])
    for _ in range(6):
        assert robots.preferences(f"https://e.com{path}", user_agent) == said


def test_preferences_part_groups_that_rules_do_not() -> None:
    robots = RobotsTxt.parse(BODIES["usage-alone"] + b"disallow: /x\n")
    assert not robots.allowed("/x", "a"), "Google ignores the field"
    lines = {field.line: field.user_agents for field in robots.fields("content-usage")}
    assert lines == {2: ("a",), 5: ("*",)}


def test_headers_speak_of_a_response() -> None:
    assert of_headers([], []) == NOTHING_SAID
    both = of_headers([b"train-ai=n", b"search=y"], [b"ai-input=no"])
    assert both == Preferences(False, True, False)
    assert of_headers([b"train-ai=n", b"!"], [b"ai-train=yes"]) == Preferences(True)
    by_header = of_headers([b"train-ai=n"], [b"use=reference", b"use=full"])
    stated = combined([Preferences(True, None, True, "full", (3,)), by_header])
    assert stated == Preferences(False, None, True, "reference", (3,))


@table(
    "line",
    row("lines", b"content-usage: /a%d train-ai=n\n"),
    row("same-line", b"content-usage: train-ai=n\n"),
    row("signals", b"content-signal: ai-train=no\n"),
    row("wildcards", b"content-usage: /*a%d train-ai=n\n"),
    row("long", b"content-usage: " + b"a=(b)," * 2_000 + b"train-ai=n\n"),
    row("groups", b"user-agent: a%d\ncontent-usage: train-ai=n\n"),
)
def test_hostile_lines_have_an_answer(line: bytes) -> None:
    many = 500_000 // (len(line) + 4)
    lines = [line.replace(b"%d", b"%d" % number) for number in range(many)]
    robots = RobotsTxt.parse(b"user-agent: *\n" + b"".join(lines))
    rules = robots.rules_for("bot")
    assert preferences_of(rules, "https://e.com/a7")[0] is False
    assert weight_of(rules) > 0
    assert len(robots.fields("content-usage")) + len(robots.fields("content-signal")) == len(lines)


@table(
    "text, members",
    (b"", {}),
    (b"  a  ", {"a": ""}),
    (b"a=1, b=-2.5,c=?1\t,\td=:aGk=:", dict.fromkeys("abcd", "")),
    (b'a="x\\"y", b=@12, c=%"f%c3%bc"', dict.fromkeys("abc", "")),
    (b"a=(1 b;x=1  c);y;z=?0, *k.1-_=tok:/*", {"a": "", "*k.1-_": "tok:/*"}),
    (b"a=(), b=( )", {"a": "", "b": ""}),
    (b"a=x;q;r=s", {"a": "x"}),
)  # fmt: skip
def test_dictionary_is_read_as_rfc_9651_has_it(text: bytes, members: dict[str, str]) -> None:
    assert read_dictionary(text) == members


@table(
    "text",
    b"A=y", b"1=y", b"a=", b"a=y b=n", b"a=y,", b"a=y,,b", b",", b"a=(", b"a=(1", b"a=(1,2)", b'a=(1"x")', b'a="x', b'a="\xff"',
    b"a=1.", b"a=1.2345", b"a=1234567890123456", b"a=1234567890123.1", b"a=?2", b"a=:?:", b"a=@1.5", b'a=%"%C3"', b"a;", b"a;B",
    b"a=y\n", b"\ta=y", b"a=\x00", b"a" * 70_000,
)  # fmt: skip
def test_what_is_no_dictionary_is_none(text: bytes) -> None:
    assert read_dictionary(text) is None


@given(st.text('ayn=, ;()"\\1.:?%@\t').map(str.encode) | st.binary(max_size=40))
def test_any_bytes_have_preferences(value: bytes) -> None:
    assert isinstance(of_headers([value], [value]), Preferences)
    body = b"user-agent: *\ncontent-usage: " + value + b"\ncontent-signal: /x" + value
    robots = RobotsTxt.parse(body)
    assert isinstance(robots.preferences("https://e.com/x", "a"), Preferences)
    assert isinstance(robots.fields("content-usage"), tuple)
