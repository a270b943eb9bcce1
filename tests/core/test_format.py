"""What a line is and says, also in odd forms: Google's page, "File format" and "Syntax"; Google's parser."""

import pytest

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core.lines import MAX_BYTES, MAX_LINE_BYTES, TOO_LONG
from scrapy_gbot_robots.core.lint import findings
from scrapy_gbot_robots.core.robots import lines_of

from ..support.rows import row, table

ROOT = "http://example.com/"


def blocks(body: bytes, url: str = ROOT + "x") -> bool:
    robots = RobotsTxt.parse(body)
    assert robots.allowed(url, "foobot") == robots.verdict(url, "foobot").allowed
    return not robots.allowed(url, "foobot")


@table(
    "body, blocked",
    row("S4.2-LF", b"user-agent: *\ndisallow: /", True),
    row("S4.2-CR", b"user-agent: *\rdisallow: /", True),
    row("S4.2-CRLF", b"user-agent: *\r\ndisallow: /", True),
    row("S4.2-mixed", b"user-agent: *\r\r\n\ndisallow: /\r", True),
    row("S4.2-VT-ends-no-line", b"user-agent: *\vdisallow: /", False),
    row("S4.2-FF-ends-no-line", b"user-agent: *\fdisallow: /", False),
    row("S4.2-FS-ends-no-line", b"user-agent: *\x1cdisallow: /", False),
    row("S4.2-U2028-ends-no-line", "user-agent: *\u2028disallow: /".encode(), False),
    row("S4.2-NEL-ends-no-line", "user-agent: *\u0085disallow: /".encode(), False),
    row("S4.4-BOM", b"\xef\xbb\xbfuser-agent: *\ndisallow: /", True),
    row("S4.4-two-bytes-of-it", b"\xef\xbbuser-agent: *\ndisallow: /", True),
    row("S4.4-one-byte-of-it", b"\xefuser-agent: *\ndisallow: /", True),
    row("S4.4-not-twice", b"\xef\xefuser-agent: *\ndisallow: /", False),
    row("S4.4-not-its-end", b"\xbb\xbfuser-agent: *\ndisallow: /", False),
    row("S4.4-elsewhere-it-spoils-the-line", b"user-agent: *\n\xef\xbb\xbfdisallow: /", False),
    row("S4.5-html", b"<html><body>\nuser-agent: *\ndisallow: /x\n</body>", True),
    row("S4.5-html-in-the-line", b"<p>user-agent: *</p>\ndisallow: /", False),
    row("S4.10-utf-16", b"u\0s\0e\0r\0-\0a\0g\0e\0n\0t\0:\0*\0\n\0d\0i\0s\0a\0l\0l\0o\0w\0:\0/\0", False),
    row("S4.10-NUL-ends-the-text", b"user-agent: *\0x\ndisallow: /\0y", True),
    row("S4.10-NUL-before-comment", b"user-agent: *\ndisallow: /\0#\n", True),
    row("S5.3-white-space", b"  user-agent\t:\v*\f\n \tdisallow : / \t", True),
    row("S5.3-no-break-space", b"user-agent: *\n\xa0disallow: /", False),
    row("S5.2-no-spaces", b"user-agent:*\ndisallow:/", True),
    row("S5.4-comment", b"user-agent: * # all\ndisallow: / # everything", True),
    row("S5.4-commented-out", b"user-agent: *\n# disallow: /", False),
    row("S5.4-cuts-the-value", b"user-agent: *\ndisallow: /y#x", False),
    row("S5.4-cuts-the-field", b"user-agent: *\ndisallow # x: /", False),
    row("S5.6-case", b"USER-AGENT: *\nDisAllow: /", True),
    row("S5.7-path-case", b"user-agent: *\ndisallow: /X", False),
    row("S5.8-other-fields", b"user-agent: *\nnoindex: /\nfoo: /\nhost: /", False),
    row("S5.11-no-path", b"user-agent: *\ndisallow: ", False),
    row("S6.5-before-any-group", b"disallow: /\nuser-agent: *", False),
    row("R2-empty-key", b"user-agent: *\n: /\n:disallow: /", False),
    row("R2-colon-in-the-value", b"user-agent: *\ndisallow: /x:y", False),
)  # fmt: skip
def test_line_is_read(body: bytes, blocked: bool) -> None:
    assert blocks(body) == blocked


# What Google's parser reads as a rule, though it is not written so (R3, R4); lint names the kind.
TYPOS = "dissallow dissalow disalow diasllow disallaw disallowed".split()


@table(
    "body, kind",
    *((f"user-agent: *\n{name}: /", "typo") for name in TYPOS),
    ("useragent: *\ndisallow: /", "typo"),
    ("User Agent: *\ndisallow: /", "typo"),
    ("user-agents: *\ndisallow: /", "typo"),
    ("user-agent: *\nDisallow-Foo: /", "another field read as a rule"),
    ("user-agent: *\ndisallow /", "missing colon"),
    ("user-agent: *\ndisallow\t\t/", "missing colon"),
    ("user-agent *\ndisallow: /", "missing colon"),
    ("user-agent: *\ndisallow / # x", "missing colon"),
)
def test_each_leniency_of_googles_parser_is_heeded_and_named_by_lint(body: str, kind: str) -> None:
    assert blocks(body.encode())
    assert kind in {finding.kind for finding in findings(body.encode())}


@table(
    "rules, is_allowed",
    row("S8.13-index", b"allow: /index.html\ndisallow: /", True),
    row("S8.13-index.htm", b"allow: /index.htm\ndisallow: /", True),
    row("R4-prefix-allow", b"allowance: /\ndisallow: /", True),
    row("R3-no-colon-allow", b"allow /\ndisallow: /", True),
    row("R4-no-typo-of-allow", b"alow: /\ndisallow: /", False),
    row("R4-unlisted-typo", b"disalllow: /", True),
    row("R3-three-words", b"disallow / x", True),
    row("R3-one-word", b"disallow", True),
)
def test_root_is_allowed(rules: bytes, is_allowed: bool) -> None:
    assert blocks(b"user-agent: *\n" + rules, ROOT) != is_allowed


def test_line_counts_up_to_its_limit() -> None:
    value = b"/" + b"x" * (MAX_LINE_BYTES - len(b"disallow: /"))
    url = "http://example.com" + value.decode()
    exact = b"user-agent: *\ndisallow: " + value
    assert blocks(exact, url)
    assert blocks(exact + b"yyy", url)
    assert not blocks(exact, url[:-1])
    lines = lines_of(RobotsTxt.parse(exact + b"y"))
    assert [line.flags & TOO_LONG for line in lines] == [0, TOO_LONG]
    assert blocks(b"user-agent: *\n" + b"x" * MAX_LINE_BYTES + b"\r\ndisallow: /")


def test_bytes_past_the_limit_are_ignored() -> None:
    full = b"user-agent: *\n%b\ndisallow: /x/y" % (b"#" * (MAX_BYTES - 29))
    robots = RobotsTxt.parse(full)
    assert robots.verdict(ROOT + "x/y", "x").rule == (False, "/x/y", 3)
    assert "cut" not in {remark.kind for remark in robots.remarks}
    assert RobotsTxt.parse(full + b"\ndisallow: /").allowed(ROOT, "x")
    assert not RobotsTxt.parse(full + b"\ndisallow: /", max_bytes=None).allowed(ROOT, "x")


@pytest.mark.parametrize("limit", [0, 1, 13, 14, 15, 25])
def test_line_cut_at_any_limit_is_parsed_and_remarked_on(limit: int) -> None:
    robots = RobotsTxt.parse(b"user-agent: *\ndisallow: /abc", max_bytes=limit)
    assert robots.allowed(ROOT + "axx", "x") == (limit < 25)
    said = f"line {1 + (limit > 13)}: the file was cut here, after {limit} bytes; the end of this line may be missing"
    assert str(robots.remarks[-1]) == said


# As a remark, a finding of a finer kind goes by the kind that it refines.
@table(
    "body, remarks",
    (b"# c\nuser-agent: a\nallow: /\nsitemap: http://e.com/\n\n", []),
    (b"junk\n: x\na b c\n # c\n#\nx # c", [(n, "ignored") for n in (1, 2, 3, 6)]),
    (b"useragent: a\ndisalow: /", [(1, "typo"), (2, "typo")]),
    (b"site-map: http://e.com/1\nsitemaps: http://e.com/2\nsitemap: http://e.com/3", [(1, "typo"), (2, "typo")]),
    (b"user-agents: a\nallowed: /", [(1, "typo"), (2, "typo")]),
    (b"user-agent a\nfoo bar", [(1, "missing colon"), (2, "ignored")]),
    (b"allow: /\nuser-agent: a\nallow: /", [(1, "rule before any group")]),
    (b"foo: bar\ndisalllow: /", [(1, "unknown field"), (2, "unknown field")]),
    (b"Crawl-Delay: 5\nhost: x", [(1, "unused field"), (2, "unused field")]),
    (b"noindex: /x\nuser-agent: a\ndisallowance: /", [(1, "unused field"), (3, "typo")]),
    (b"user-agent: a\ndisallow: /a b\nallow: /\xe4", []),
    (b"#" * 17_000, [(1, "over-long")]),
    (b"user-agent: bot/2.1\nuser-agent: * x", [(2, "user agent cut")]),
    (b"user-agent: +1\nuser-agent:\nuser-agent: *x", [(n, "no user agent") for n in (1, 2, 3)]),
    (b"user-agent: a\nallow: x\nallow: *x\nallow: $\nallow:", [(n, "no leading slash") for n in (2, 4)]),
    (b"sitemap: /s.xml\nsitemap http://e.com/s", [(1, "bad sitemap"), (2, "bad sitemap")]),
)  # fmt: skip
def test_what_is_odd_becomes_a_remark(body: bytes, remarks: list[tuple[int, str]]) -> None:
    found = RobotsTxt.parse(body).remarks
    assert [(remark.line, remark.kind) for remark in found] == remarks


@table(
    "rule",
    row("S4.12-line-in-curly-quotes", "“disallow: /x”"),
    row("S4.12-path-in-curly-quotes", "disallow: “/x”"),
    row("S4.12-full-width-colon", "disallow：/x"),
    row("S4.12-dash", "–disallow: /x"),
    row("S4.12-no-break-space", "\xa0disallow: /x"),
)
def test_line_with_a_stray_character_of_a_word_processor_fails_alone(rule: str) -> None:
    robots = RobotsTxt.parse(f"user-agent: *\n{rule}\ndisallow: /y".encode())
    assert robots.allowed("https://e.com/x", "a")
    assert not robots.allowed("https://e.com/y", "a")
    assert {remark.line for remark in robots.remarks} == {2}
