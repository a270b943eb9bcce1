"""The tags of XML that may be broken, piece by piece, without a tree.

Many sitemaps are no well-formed XML: an element that is never closed, or an end tag too many, costs
no other tag. There is nothing to expand or to fetch: an entity other than the five of XML is text,
and so is a DTD. It knows no sitemaps.
Source: XML 1.0, 2.2, 2.7 and 4.1.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

MOST_KEPT = 2**16  # characters of a tag, and of a value before its escapes are undone
SPOILT = "\ufffd"  # replaces anything that is not a character of XML; it occurs in no URL
# XML 1.0, 2.2; and DEL
NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

# What has no tags in it, by what stands behind its "<": with what ends it.
_CDATA = "![CDATA["
_VERBATIM = {_CDATA: "]]>", "!--": "-->", "?": "?>", "!": ">"}
# A tag, or the beginning of what has no tags in it. A bare "<" begins neither.
_MARKUP = re.compile(rf"<(?:({'|'.join(map(re.escape, _VERBATIM))})|([^<>]*)>)")
_ATTRIBUTE = re.compile(r"(?<!\S)([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
# No other escape of HTML, since "&copy=" may be part of a URL.
_ESCAPE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);")

Attributes: TypeAlias = Mapping[str, str]


class Tag(NamedTuple):
    """A tag, with the text before it.

    Of an element that ends with its start tag, as `<a/>`, `Markup.tags` yields both tags.
    """

    name: str  # with its prefix; an end tag's with its slash
    prefix: str
    local: str  # the name without the prefix, in lower case
    more: str  # what stands in the tag behind the name
    text: str  # since the last tag

    @property
    def is_end(self) -> bool:
        """Whether it is an end tag."""
        return self.name.startswith("/")

    def attributes(self) -> Attributes:
        """Read the attributes, of no more than `MOST_KEPT` characters. Their escapes stay."""
        found = _ATTRIBUTE.findall(self.more[:MOST_KEPT])
        return {key: (double or single).strip() for key, double, single in found}


class Markup:
    """XML that comes piece by piece and is read tag by tag.

    A caller may read a part between two tags by itself, and then moves `at` to the end of it.

    Attributes:
        text: what has come, but for the pieces that have been read.
        at: up to where `text` has been read.
    """

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self._inside = ""  # the key in _VERBATIM of the part that is being read
        self._before: list[str] = []  # the text since the last tag

    @property
    def is_between_tags(self) -> bool:
        """Whether a tag or text follows, and not the rest of a comment or of CDATA."""
        return not self._inside

    def feed(self, piece: str) -> None:
        """Take the next piece."""
        self.text = self.text[self.at :] + piece
        self.at = 0

    def tags(self) -> Iterator[Tag]:
        """Yield the tags that have come to their end. The rest waits for the next piece.

        All text is kept until a tag follows it, so a caller has to end a text without any.
        """
        while not self._inside or self._reads_verbatim():
            mark = _MARKUP.search(self.text, self.at)
            if mark is None:
                self._wait_for_end()
                return
            opening, words = mark.groups()
            start = mark.start()
            self._take_text(start)
            if opening and self._is_cut(start + 1, opening):
                return
            self.at = mark.end()
            if opening:
                self._inside = opening
                continue
            name, *more = words.removesuffix("/").split(None, 1) or [""]
            if not name:
                self._before.append(SPOILT)
                continue
            prefix, _, local = name.removeprefix("/").rpartition(":")
            local = local.lower()
            text = "".join(self._before)
            self._before.clear()
            yield Tag(name, prefix, local, "".join(more), text)
            if words.endswith("/"):
                yield Tag(f"/{name}", prefix, local, "", "")

    def _take_text(self, end: int) -> None:
        """Keep the text up to `end`. If it has a bare "<", it is no text that XML allows."""
        text = self.text[self.at : end]
        if "<" in text:
            text = SPOILT
        self._before.append(text)
        self.at = end

    def _wait_for_end(self) -> None:
        """Keep the text up to the last "<", behind which a tag may have begun.

        Of a tag no more than `MOST_KEPT` is kept.
        """
        start = self.text.rfind("<", self.at)
        if start < 0:
            start = len(self.text)
        self._take_text(start)
        self.text = self.text[: start + MOST_KEPT]

    def _is_cut(self, start: int, opening: str) -> bool:
        """Whether the text ends so early that a longer `opening` may begin at `start`."""
        rest = self.text[start:]
        return any(longer.startswith(rest) and longer != opening for longer in _VERBATIM)

    def _reads_verbatim(self) -> bool:
        """Read a part without tags; return whether it has come to its end.

        Only that of CDATA is text.
        """
        mark = _VERBATIM[self._inside]
        end = self.text.find(mark, self.at)
        is_over = end >= 0
        if not is_over:  # its last characters may be the first of the mark
            end = max(self.at, len(self.text) - len(mark) + 1)
        if self._inside == _CDATA:
            # `unescaped` turns these back
            self._before.append(self.text[self.at : end].replace("&", "&amp;"))
        self.at = end
        if is_over:
            self.at += len(mark)
            self._inside = ""
        return is_over


def unescaped(text: str) -> str:
    """Undo XML's escapes. An ampersand that should have been escaped stays.

    An escape of what is no character of XML becomes `SPOILT`.
    """
    if "&" not in text:
        return text
    return NO_CHARACTER.sub(SPOILT, _ESCAPE.sub(lambda escape: html.unescape(escape[0]), text))
