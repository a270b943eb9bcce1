"""Ampersands in sitemaps that should be escaped, as in "?a=1&b=2": lxml would drop them, and the word behind them.

Pure. It escapes ampersands and leaves all other markup to lxml. After it, no entity but XML's own five is left to expand.
Source: sitemaps.org, "Entity escaping"; XML 1.0, 2.2, 2.7 and 4.1.
"""

from __future__ import annotations

import re

SPOILT = "\ufffd"  # replaces anything that is no character
NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # XML 1.0, 2.2; and DEL

_MARKS = re.compile(
    r"<!\[CDATA\[|<!--|\]\]>|-->"
    r"|&(?!(?:amp|lt|gt|quot|apos);)(?:#(?:([0-9]{1,7})|[xX]([0-9A-Fa-f]{1,6}));)?"
)
_VERBATIM = {"<![CDATA[": "]]>", "<!--": "-->"}  # what begins a part without escapes, and what ends it
_LONGEST_MARK = 10
_UNSURE = re.compile(r"[&<\]-][^;>]{0,9}\Z")  # may be the beginning of a mark


class Ampersands:
    """Repairs one document. Feed it the text piece by piece, then call `rest`."""

    def __init__(self) -> None:
        self._until = ""  # the end of the part without escapes that the text is in
        self._kept = ""

    def repaired(self, text: str) -> str:
        """Return the next piece, repaired; the beginning of a mark at its end is kept for the next call."""
        text = self._kept + text
        unsure = _UNSURE.search(text, max(0, len(text) - _LONGEST_MARK))
        end = unsure.start() if unsure else len(text)
        self._kept = text[end:]
        return _MARKS.sub(self._repair, text[:end])

    def rest(self) -> str:
        """Return what was kept, now that the document has ended."""
        return _MARKS.sub(self._repair, self._kept)

    def _repair(self, found: re.Match[str]) -> str:
        mark = found[0]
        if self._until:
            self._until = "" if mark == self._until else self._until
            return mark
        if mark[0] != "&":
            self._until = _VERBATIM.get(mark, "")
            return mark
        if mark == "&":
            return "&amp;"
        code = int(found[1]) if found[1] else int(found[2], 16)
        is_character = code <= 0x10FFFF and not NO_CHARACTER.match(chr(code))  # noqa: PLR2004  Unicode's last
        return mark if is_character else SPOILT  # lxml would drop it without a trace
