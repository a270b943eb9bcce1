"""Escapes the ampersands that a sitemap should have escaped. lxml would drop them together with the next word.

    <loc>http://e/?a=1&b=2&amp;c&eacute;</loc>   becomes   <loc>http://e/?a=1&amp;b=2&amp;c&amp;eacute;</loc>

Pure. All other markup is left to lxml. No entity but XML's own five is left to expand. Comments and CDATA sections have no
escapes, so they stay as they are. The text comes in pieces, and a mark such as "&amp;" may lie across two of them: what may
be the beginning of a mark waits for the next piece.
Source: sitemaps.org, "Entity escaping"; XML 1.0, 2.2, 2.7 and 4.1.
"""

from __future__ import annotations

import re

SPOILT = "\ufffd"  # replaces anything that is not a character of XML; it occurs in no URL
NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # XML 1.0, 2.2; and DEL

_MARKS = re.compile(
    r"<!\[CDATA\[|<!--|\]\]>|-->"
    r"|&(?!(?:amp|lt|gt|quot|apos);)(?:#(?:([0-9]{1,7})|[xX]([0-9A-Fa-f]{1,6}));)?"
)
_VERBATIM = {"<![CDATA[": "]]>", "<!--": "-->"}  # beginning and end of the parts without escapes
_LONGEST_MARK = 10
_UNSURE = re.compile(r"[&<\]-][^;>]{0,9}\Z")  # may be the beginning of a mark


class Ampersands:
    """Repairs one document. Feed it the text piece by piece, then call `rest`."""

    def __init__(self) -> None:
        self._until = ""  # the mark that ends the part without escapes; "" outside such a part
        self._kept = ""  # perhaps the beginning of a mark

    def repaired(self, text: str) -> str:
        """Return the next piece, repaired. A mark that may begin at its end is kept for the next call."""
        text = self._kept + text
        unsure = _UNSURE.search(text, max(0, len(text) - _LONGEST_MARK))
        end = unsure.start() if unsure else len(text)
        self._kept = text[end:]
        return _MARKS.sub(self._repair, text[:end])

    def rest(self) -> str:
        """Return what was kept. Call it when the document has ended."""
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
