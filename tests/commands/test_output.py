"""What sub-commands write: lines in place with the right spot underlined, and nothing that is not printable."""

import io

import pytest

from scrapy_gbot_robots.commands.output import Mark, Terminal, excerpt, printable


def plain(lines: list[bytes], *marks: Mark) -> list[str]:
    return ["".join(part if isinstance(part, str) else part[0] for part in line) for line in excerpt(lines, marks)]


@pytest.mark.parametrize(
    ("line", "part", "shown", "underline"),
    [
        pytest.param(b"disallow: /x", "value", "disallow: /x", "          ^^", id="value"),
        pytest.param(b"  disallow :  /x  # c", "value", "  disallow :  /x  # c", "              ^^", id="spaces"),
        pytest.param(b"\tdisallow\t:\t/x", "key", " disallow : /x", " ^^^^^^^^", id="key-and-tabs"),
        pytest.param(b"disallow /x", "value", "disallow /x", "         ^^", id="no-colon"),
        pytest.param(b"disallow", "value", "disallow", "        ^", id="no-value"),
        pytest.param(b"disallow:", "value", "disallow:", "         ^", id="empty-value"),
        pytest.param(b"disallow: /x:y", "value", "disallow: /x:y", "          ^^^^", id="second-colon"),
        pytest.param(b"some words # c", "whole", "some words # c", "^^^^^^^^^^", id="whole"),
        pytest.param(b"# comment", "whole", "# comment", "^", id="comment"),
        pytest.param(b"", "value", "", "^", id="empty"),
        pytest.param(
            "disallow: /日本/é".encode(), "value", "disallow: /日本/é", "          ^^^^^^^", id="wide-characters"
        ),
        pytest.param("disallow: /e\u0301x".encode(), "value", "disallow: /e\u0301x", "          ^^^", id="combining"),
        pytest.param(
            b"disallow: /\xff\x1b[1m", "value", r"disallow: /\xff\x1b[1m", "          ^^^^^^^^^^^^", id="hostile"
        ),
    ],
)
def test_the_spot_is_underlined(line: bytes, part: str, shown: str, underline: str) -> None:
    assert plain([line], Mark(1, part, "")) == [f"1 | {shown}", f"  | {underline}"]


def test_long_lines_are_cut_and_still_underlined() -> None:
    (line, underline) = plain([b"x" * 100 + b": " + b"y" * 100 + b" # " + b"z" * 100], Mark(1, "value", "here"))
    assert line == f"1 | ...{'x' * 38}: {'y' * 80}... # {'z' * 57}..."
    assert underline == f"  | {' ' * 43}{'^' * 83} here"


def test_lines_stand_in_order_with_gaps_shown_and_of_two_marks_on_one_the_first() -> None:
    lines = [b"a: 1", b"b: 2", b"c: 3", b"d: 4"]
    marks = [(4, "value", "last"), (1, "value", "first"), (2, "key", "second"), (1, "value", "too late")]
    assert plain(lines, *(Mark(*mark) for mark in marks)) == [
        "1 | a: 1",
        "  |    ^ first",
        "2 | b: 2",
        "  | ^ second",
        "...",
        "4 | d: 4",
        "  |    ^ last",
    ]
    assert plain([]) == []


def test_tables_are_aligned_by_what_is_seen() -> None:
    stream = io.StringIO()
    Terminal(stream).table(["A", "BB"], [["日本", "x"], ["c\n", "yy"]])
    assert stream.getvalue() == "A     BB\n日本  x\nc\\n   yy\n"


@pytest.mark.parametrize("text", ["\x1b[31m", "a\r\nb", "\x9b31m", "\u202e", "\u2028", "\ud800", "\x00"])
def test_what_is_not_printable_is_escaped(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(text).isascii()
