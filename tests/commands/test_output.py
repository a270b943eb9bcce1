"""What sub-commands write: lines in place and underlined, and nothing that is not printable."""

import io
from typing import Any

from scrapy_gbot_robots.commands.output import Terminal, printable

from ..support.rows import row, table


def written(method: str, *arguments: Any) -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    getattr(Terminal(stream), method)(*arguments)
    stream.seek(0)
    return stream.read().splitlines()


def excerpt(lines: list[bytes], marks: dict[int, str]) -> list[str]:
    return written("excerpt", lines, {number: (text, "good") for number, text in marks.items()})


@table(
    "line, shown, underline",
    row("rule", b"disallow: /x", "disallow: /x", "^^^^^^^^^^^^"),
    row("spaces-and-comment", b" \tdisallow:\t/x  # c", "disallow: /x  # c", "^^^^^^^^^^^^"),
    row("comment", b"# comment", "# comment", "^"),
    row("empty", b"", "", "^"),
    row("wide-characters", "a: /日本/é".encode(), "a: /日本/é", "^^^^^^^^^^"),
    row("combining", "a: /e\u0301x".encode(), "a: /e\u0301x", "^^^^^^"),
    row("hostile", b"a: /\xff\x1b[1m", r"a: /\xff\x1b[1m", "^^^^^^^^^^^^^^^"),
    row("long", b"x" * 200, "x" * 160 + "...", "^" * 163),
)
def test_a_line_is_underlined_up_to_its_comment(line: bytes, shown: str, underline: str) -> None:
    assert excerpt([line], {1: ""}) == [f"1 | {shown}", f"  | {underline}"]


def test_lines_stand_in_order_with_the_texts_beside_them() -> None:
    lines = [b"a: 1", b"b: 2", *[b""] * 8]
    assert excerpt(lines, {10: "last", 2: "first"}) == [
        " 2 | b: 2",
        "   | ^^^^ first",
        "10 | ",
        "   | ^ last",
    ]
    assert excerpt(lines, {}) == []


def test_tables_are_aligned_by_what_is_seen() -> None:
    rows = written("table", ["A", "BB"], [["日本", "x"], ["c\n", "yy"]])
    assert rows == ["A     BB", "日本  x", "c\\n   yy"]


@table("text", "\x1b[31m", "a\r\nb", "\x9b31m", "\u202e", "\u2028", "\ud800", "\x00")
def test_what_is_not_printable_is_escaped(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(text).isascii()
