"""Reads the tags of XML piece by piece, also of broken XML, and builds no tree.

Many sitemaps are not well-formed XML. An element that is never closed, or a surplus end tag, does
not affect any other tag. Nothing is expanded or fetched, because an entity other than the five of
XML is read as text, and a DTD is skipped. The module contains nothing about sitemaps.
Source: XML 1.0, 2.2, 2.7 and 4.1.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

# How many characters a tag may have, and a value before its escapes are undone.
MOST_KEPT = 2**16
# This replaces anything that is not a character of XML. It occurs in no URL.
SPOILT = "\ufffd"
# Characters that XML does not allow (XML 1.0, 2.2), and DEL.
NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

# Parts in which nothing is a tag: what follows their "<", and the mark that ends them.
_CDATA = "![CDATA["
_VERBATIM = {_CDATA: "]]>", "!--": "-->", "?": "?>", "!": ">"}
# A tag, or the beginning of a part without tags. A bare "<" begins neither.
_MARKUP = re.compile(rf"<(?:({'|'.join(map(re.escape, _VERBATIM))})|([^<>]*)>)")
_ATTRIBUTE = re.compile(r"(?<!\S)([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
# Other escapes of HTML stay as they are, because "&copy=" may be part of a URL.
_ESCAPE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);")

Attributes: TypeAlias = Mapping[str, str]


class Tag(NamedTuple):
    """A tag, with the text before it.

    For an element without content, such as `<a/>`, `Markup.tags` yields a start and an end tag.

    Attributes:
        name: the name with its prefix; the name of an end tag begins with its slash.
        prefix: the prefix of the name, or "".
        local: the name without the prefix, in lower case.
        more: the rest of the tag behind the name.
        text: the text since the last tag.
    """

    name: str
    prefix: str
    local: str
    more: str
    text: str

    @property
    def is_end(self) -> bool:
        """Whether it is an end tag."""
        return self.name.startswith("/")

    def attributes(self) -> Attributes:
        """Read the attributes in the first `MOST_KEPT` characters. Escapes in values stay."""
        found = _ATTRIBUTE.findall(self.more[:MOST_KEPT])
        return {key: (double or single).strip() for key, double, single in found}


class Markup:
    """XML that arrives piece by piece and is read tag by tag.

    A caller that reads a part between two tags by itself moves `at` to the end of that part.

    Attributes:
        text: the text that has arrived, from the first character that is still needed.
        at: the index in `text` of the first character that is not read yet.
    """

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        # The key in _VERBATIM of the part that is being read; "" between tags.
        self._inside = ""
        self._before: list[str] = []  # The text since the last tag, in pieces.

    @property
    def is_between_tags(self) -> bool:
        """Whether a tag or text follows; False inside a comment, CDATA and the like."""
        return not self._inside

    def feed(self, piece: str) -> None:
        """Take the next piece."""
        self.text = self.text[self.at :] + piece
        self.at = 0

    def tags(self) -> Iterator[Tag]:
        """Yield the tags that are complete. The rest waits for the next piece.

        All text is kept until a tag follows it, so a caller has to stop if no tag comes.
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
        """Keep the text up to `end`, or `SPOILT` if it has a bare "<", which XML does not allow."""
        text = self.text[self.at : end]
        if "<" in text:
            text = SPOILT
        self._before.append(text)
        self.at = end

    def _wait_for_end(self) -> None:
        """Keep the text up to the last "<", where a tag may have begun.

        At most `MOST_KEPT` characters of that tag are kept.
        """
        start = self.text.rfind("<", self.at)
        if start < 0:
            start = len(self.text)
        self._take_text(start)
        self.text = self.text[: start + MOST_KEPT]

    def _is_cut(self, start: int, opening: str) -> bool:
        """Whether the text ends before it is clear that no longer `opening` begins at `start`."""
        rest = self.text[start:]
        return any(longer.startswith(rest) and longer != opening for longer in _VERBATIM)

    def _reads_verbatim(self) -> bool:
        """Read a part without tags; return whether its end has arrived.

        Only the content of CDATA is kept, as text.
        """
        mark = _VERBATIM[self._inside]
        end = self.text.find(mark, self.at)
        is_over = end >= 0
        if not is_over:  # The last characters may be the beginning of the mark.
            end = max(self.at, len(self.text) - len(mark) + 1)
        if self._inside == _CDATA:
            # `unescaped` will turn "&amp;" back into "&".
            self._before.append(self.text[self.at : end].replace("&", "&amp;"))
        self.at = end
        if is_over:
            self.at += len(mark)
            self._inside = ""
        return is_over


def unescaped(text: str) -> str:
    """Undo XML's escapes. An ampersand that should have been escaped stays.

    An escape becomes `SPOILT` if it stands for something that is not a character of XML.
    """
    if "&" not in text:
        return text
    return NO_CHARACTER.sub(SPOILT, _ESCAPE.sub(lambda escape: html.unescape(escape[0]), text))
