"""Ampersands in sitemaps that nobody escaped, as in "?a=1&b=2": lxml would drop them, and what follows.

Pure, and no more than that: markup is lxml's to read. After it, no entity but XML's own five is left to be expanded.
Source: sitemaps.org, "Entity escaping"; XML 1.0, 2.2, 2.7 and 4.1.
"""

from __future__ import annotations

import re
from typing import ClassVar

SPOILT = "\ufffd"  # no character: stands for one that was not, and for a value that is none


class Ampersands:
    """Escapes the ampersands of one document that are not escaped, and spoils references to what is no character."""

    _MARKS = re.compile(
        r"<!\[CDATA\[|<!--|\]\]>|-->"
        r"|&(?!(?:amp|lt|gt|quot|apos);)(?:#(?:([0-9]{1,7})|[xX]([0-9A-Fa-f]{1,6}));)?"
    )
    _VERBATIM: ClassVar = {"<![CDATA[": "]]>", "<!--": "-->"}
    _UNSURE = re.compile(r"(?:&[#0-9A-Za-z]{0,8}|<!?(?:-|\[[CDAT]{0,5})?|\]\]?|--?)\Z")

    def __init__(self) -> None:
        self._until = ""  # what ends the part in which ampersands are left alone
        self._rest = ""

    def repaired(self, text: str) -> str:
        """Repair the next bit of the document; what may go on in the bit after it is kept for then."""
        text = self._rest + text
        unsure = self._UNSURE.search(text, max(0, len(text) - 10))
        end = unsure.start() if unsure else len(text)
        self._rest = text[end:]
        return self._MARKS.sub(self._repair, text[:end])

    def rest(self) -> str:
        """Return what was kept, for the document has ended."""
        return self._MARKS.sub(self._repair, self._rest)

    def _repair(self, found: re.Match[str]) -> str:
        mark = found[0]
        if self._until:
            self._until = "" if mark == self._until else self._until
            return mark
        if mark[0] != "&":
            self._until = self._VERBATIM.get(mark, "")
            return mark
        if mark == "&":
            return "&amp;"
        code = int(found[1]) if found[1] else int(found[2], 16)
        return mark if any(code in chars for chars in _XML_CHARS) else SPOILT


# Code points that XML 1.0 has (2.2); a reference to any other would vanish from the text without a trace.
_XML_CHARS = (
    range(0x09, 0x0B),
    range(0x0D, 0x0E),
    range(0x20, 0xD800),
    range(0xE000, 0xFFFE),
    range(0x10000, 0x110000),
)
