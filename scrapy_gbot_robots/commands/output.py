"""Write the output of sub-commands, as text for people or as lines of JSON for programs.

On a terminal, the text has colours, and the progress is shown. Text from a robots.txt, a URL or a
server is made printable, so that none of its control characters reaches a terminal.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from unicodedata import combining, east_asian_width

from ..core.urls import shown

# A part of a line of output: a string, or a tuple of a string and the name of its style, such as
# ("allowed", "good").
Part: TypeAlias = "str | tuple[str, str]"

# The parameters of the escape codes (ECMA-48) that set the colour or weight of text on a terminal.
# The words of the output contain the same information as the colours.
_STYLES = {"good": "32", "bad": "1;31", "warning": "33", "faint": "2", "strong": "1"}
_CLEAR = "\r\x1b[K"  # This text moves the cursor to the beginning of the line, and erases the line.
_GAP = "  "
_LONGEST = 160  # At most this many characters of a line of a robots.txt are shown.


def printable(text: str) -> str:
    """Return `text` with escapes in place of line ends and other control characters."""
    return shown(text, len(text))


def cells(text: str) -> int:
    """Return the number of columns that a printable `text` takes on a terminal.

    An East Asian wide character takes two columns, and a combining character takes none.
    """
    columns = 0
    for char in text:
        if not combining(char):
            columns += 1
            if east_asian_width(char) in "WF":
                columns += 1
    return columns


def _printable(part: Part) -> tuple[str, str]:
    """Return the text of `part` in printable form, and the name of its style; "" for no style."""
    if isinstance(part, str):
        return printable(part), ""
    text, style = part
    return printable(text), style


class Terminal:
    """Writes to standard output or standard error.

    Args:
        stream: the stream.
        as_json: whether the stream gets lines of JSON for programs, and no text for people.
    """

    def __init__(self, stream: Any, *, as_json: bool = False) -> None:
        self._stream = stream
        self.as_json = as_json
        self.columns = 0  # The width of a terminal; 0 if the stream is not a terminal.
        if stream.isatty():
            self.columns = shutil.get_terminal_size().columns
        # The old console of Windows does not interpret escape codes.
        is_old = os.name == "nt" and "WT_SESSION" not in os.environ
        is_dumb = is_old or os.environ.get("TERM") == "dumb"
        self._obeys_codes = self.columns > 0 and not is_dumb
        self._has_colour = self._obeys_codes and not os.environ.get("NO_COLOR")
        # If the encoding of the stream lacks a character, an escape is written in its place.
        stream.reconfigure(errors="backslashreplace")

    def say(self, *parts: Part) -> None:
        """Write a line for people, or nothing if programs read the output."""
        if self.as_json:
            return
        line = ""
        for text, style in map(_printable, parts):
            if style and self._has_colour:
                line += f"\x1b[{_STYLES[style]}m{text}\x1b[0m"
            else:
                line += text
        self._stream.write(f"{line}\n")

    def fact(self, name: str, text: str) -> None:
        """Write a line of the form "  = name: text"."""
        self.say(("  = ", "faint"), (name, "strong"), f": {text}")

    def excerpt(self, lines: Sequence[bytes], marks: Mapping[int, tuple[str, str]]) -> None:
        """Write some lines of a robots.txt. Below each line, write an underline and a string.

        If the line has a comment ("# ..."), the comment is not underlined.

        Args:
            lines: all lines of the file, as `core.lines.split_lines` returns them.
            marks: the lines to write. Each key is a line number; the first line is 1. Each value
                is a tuple of the string after the underline, and the name of a style. The line and
                the underline get this style.
        """
        width = len(str(max(marks, default=0)))
        for number, (text, style) in sorted(marks.items()):
            line = lines[number - 1].decode("utf-8", "backslashreplace").replace("\t", " ")
            line = shown(line.strip(), _LONGEST)
            rule = line.partition("#")[0].rstrip()
            self.say((f"{number:>{width}} | ", "faint"), (rule, style), line.removeprefix(rule))
            self.say(
                (f"{'':{width}} | ", "faint"),
                (f"{'^' * max(cells(rule), 1)} {text}".rstrip(), style),
            )

    def begin_data(self) -> None:
        """From now on, write UTF-8 and do not change line ends, whatever the system's defaults are.

        On a terminal, do nothing: a person reads the data, and the terminal has its own encoding.
        """
        if not self.columns:
            self._stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")

    def write(self, text: str) -> None:
        """Write `text`, which consists of whole lines in a format for programs, such as CSV.

        If the stream may be a terminal, the caller must have made the text printable.
        """
        self._stream.write(text)

    def json(self, record: Mapping[str, Any]) -> None:
        """Write `record` as a line of JSON, or nothing if the output is for people.

        A member of an Enum is written as its value. Any other object that JSON cannot represent is
        written as the result of `str`.
        """
        if self.as_json:
            text = json.dumps(record, default=lambda value: getattr(value, "value", str(value)))
            self.write(text + "\n")

    def table(self, titles: Sequence[str], rows: Iterable[Sequence[Part]]) -> None:
        """Write a table. Each column except the last is padded to the width of its widest cell."""
        table = [[(title, "strong") for title in titles]]
        table += [list(map(_printable, row)) for row in rows]
        widths = [max(cells(text) for text, _ in column) for column in zip(*table, strict=True)]
        for *row, last in table:
            parts: list[Part] = []
            for (text, style), width in zip(row, widths, strict=False):
                parts.append((text + " " * (width - cells(text)) + _GAP, style))
            self.say(*parts, last)

    def show_state(self, text: str) -> None:
        """Show `text` as the progress of the command, in place of the text of the previous call.

        If `text` is "", only remove the text of the previous call. If the stream is not a terminal,
        write nothing.
        """
        if self._obeys_codes:
            self._stream.write(_CLEAR + printable(text)[: self.columns - 1])
            self._stream.flush()

    def flush(self) -> None:
        """Write out the buffer.

        Raises BrokenPipeError if the program that reads the stream has ended.
        """
        self._stream.flush()

    def abandon(self) -> None:
        """Discard the text in the buffer. Call this after a write has failed.

        Otherwise Python would try to write the text again when it exits, and would report another
        error.
        """
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
