"""What lint notes because other parsers read it otherwise: each file is one that a peer was asked about."""

import pytest

from scrapy_gbot_robots.core.lint import findings
from scrapy_gbot_robots.core.remarks import NOTE

from ..support.rows import row, table


def notes_on(body: bytes, kind: str) -> list[int]:
    told = [each for each in findings(body) if each.kind == kind]
    assert all(each.level == NOTE for each in told)
    return [each.line for each in told]


@table(
    "body, lines",
    (b"User-agent: mybot\n\nDisallow: /x\n", [2]),
    (b"User-agent: mybot\n# why\n\n\nDisallow: /x\n", [3]),
    (b"User-agent: a\n\nAllow: /\nUser-agent: b\n\nDisallow: /x\n", [2]),
    (b"User-agent: mybot\nDisallow: /x\n\nDisallow: /y\n", []),
    (b"User-agent: mybot\n \nDisallow: /x\n", []),
    (b"User-agent: mybot\n#\nDisallow: /x\n", []),
    (b"User-agent: a\n\nUser-agent: b\nDisallow: /x\n", []),
    (b"User-agent: mybot\n\nSitemap: https://e.com/s.xml\n", []),
)
def test_blank_line_below_a_user_agent_is_noted_once(body: bytes, lines: list[int]) -> None:
    assert notes_on(body, "blank line in a group") == lines


def test_note_says_who_and_how_often() -> None:
    body = b"User-agent: a\n\nAllow: /\nUser-agent: b\n\nDisallow: /x\n" * 2
    (note,) = (each for each in findings(body) if each.kind == "blank line in a group")
    assert (
        "Python's urllib (3.9 to 3.14), linkchecker 10.2, Perl's WWW::RobotRules 6.02" in note.text
    )
    assert note.text.endswith("they see no rules below it (also in 3 more places)")


@table(
    "body, lines",
    (b"\xef\xbb\xbfUser-agent: *\nDisallow: /x\n", [1]),
    (b"\xef\xbb\xbf# shop\nUser-agent: *\nDisallow: /x\n", []),
    (b"\xef\xbb\xbf\nUser-agent: *\nDisallow: /x\n", []),
    (b"User-agent: *\nDisallow: /x\n", []),
)
def test_byte_order_mark_before_a_directive_is_noted(body: bytes, lines: list[int]) -> None:
    assert notes_on(body, "byte order mark") == lines


A, B, ALL = (
    b"User-agent: mybot\nDisallow: /x\n",
    b"User-agent: mybot/1.2\nDisallow: /y\n",
    b"User-agent: *\nDisallow: /z\n",
)


@table(
    "body, lines",
    (A + ALL + B, [5]),
    (ALL + A + ALL + B, [7]),
    (ALL + b"User-agent: *\nDisallow: /y\n", [3]),
    (A + A, []),
    (A + ALL, []),
    (A + b"User-agent: mybot\n", []),
)
def test_two_groups_of_one_agent_are_noted(body: bytes, lines: list[int]) -> None:
    assert notes_on(body, "group in parts") == lines


@table(
    "body, lines",
    (b"User-agent: *\nDisallow:\nDisallow: /x\n", [2]),
    (b"User-agent: *\nAllow: /y\nDisallow: # nothing\nDisallow: /x\n", [3]),
    (b"User-agent: *\nDisallow: /x\nDisallow:\n", []),
    (b"User-agent: *\nDisallow:\nAllow: /x\n", []),
    (b"User-agent: *\nAllow:\nDisallow: /x\n", []),
    (b"User-agent: *\nDisallow:\nUser-agent: b\nDisallow: /x\n", []),
)
def test_empty_rule_before_another_is_noted(body: bytes, lines: list[int]) -> None:
    assert notes_on(body, "empty rule first") == lines


@table(
    "body, lines",
    (b"User-agent: *\nDisallow: /x\nDisallow: /a%2fb\nDisallow: /%e2\n", [3]),
    (b"User-agent: *\nAllow: /%C3%bc\n", [2]),
    (b"User-agent: *\nDisallow: /a # %2f\n", []),
    (b"User-agent: *\nDisallow: /a%2Fb\nSitemap: https://e.com/%2f\n# %2f\n", []),
)
def test_escape_in_lower_case_is_noted(body: bytes, lines: list[int]) -> None:
    assert notes_on(body, "escape in lower case") == lines


@table(
    "body, lines",
    (b"User-agent: *\rDisallow: /x\rDisallow: /y\r", [1]),
    (b"User-agent: *\r\nDisallow: /x\rDisallow: /y\r\n", [2]),
    (b"User-agent: *\r\nDisallow: /x\r\n", []),
    (b"User-agent: *\r\r\nDisallow: /x\r\r\n", []),
    (b"User-agent: *\nDisallow: /x\r", []),
)
def test_line_that_ends_with_cr_alone_is_noted(body: bytes, lines: list[int]) -> None:
    assert notes_on(body, "line end of CR") == lines


@table(
    "agent, number, lines",
    row("4224-bytes", "*", 33, [34]),
    row("4096-bytes", "*", 32, []),
    row("httrack", "HTTrack", 33, [34]),
    row("it-follows-others", "mybot", 33, []),
)
def test_group_longer_than_httrack_keeps_is_noted(
    agent: str, number: int, lines: list[int]
) -> None:
    """A path of 127 bytes counts as 128."""
    rules = [f"Disallow: /{at:02}{'x' * 124}" for at in range(number)]
    body = "\n".join([f"User-agent: {agent}", *rules]).encode()
    assert notes_on(body, "long group") == lines


@pytest.mark.parametrize("kind", ["blank line in a group", "byte order mark", "group in parts"])
def test_a_file_as_most_are_written_earns_no_such_note(kind: str) -> None:
    body = b"# shop\nUser-agent: *\nDisallow: /x\n\nUser-agent: a\nUser-agent: b\nDisallow: /\n"
    assert notes_on(body, kind) == []
