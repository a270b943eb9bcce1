"""A tokenizer for XML, which yields tags one by one, even if the XML is not well-formed.

Many sitemaps are not well-formed. A missing or surplus end tag does not affect other tags. The
tokenizer does not expand or fetch anything. It leaves all entities but the five predefined ones of
XML as they are, and skips a DTD. This module contains no knowledge of sitemaps.
Source: XML 1.0, sections 2.2, 2.7 and 4.1.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

# The greatest length of a tag in characters, and of a value before unescaping.
MOST_KEPT = 2**16
# This character (U+FFFD) replaces characters that XML does not allow. No valid URL contains it.
SPOILT = "\ufffd"
# Characters that XML does not allow (XML 1.0, 2.2), and DEL.
NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

# CDATA sections, comments and the like, in which nothing is a tag. Each key is the beginning of a
# section without its "<", and each value is the end of the section.
_CDATA = "![CDATA["
_VERBATIM = {_CDATA: "]]>", "!--": "-->", "?": "?>", "!": ">"}
# A tag, or the beginning of one of these sections.
_MARKUP = re.compile(rf"<(?:({'|'.join(map(re.escape, _VERBATIM))})|([^<>]*)>)")
_ATTRIBUTE = re.compile(r"(?<!\S)([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
# Other entities of HTML are not unescaped, because "&copy=" may be part of a URL.
_ESCAPE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);")

Attributes: TypeAlias = Mapping[str, str]


class Tag(NamedTuple):
    """A start tag or end tag, with the text before it.

    For an empty element, such as `<a/>`, `Markup.tags` yields a start tag and an end tag.

    Attributes:
        name: the name with its prefix, such as "image:loc"; for an end tag, "/image:loc".
        prefix: the prefix of the name, or "".
        local: the name without the prefix and the slash, in lower case.
        more: the part of the tag after the name, which contains the attributes.
        text: the text between the previous tag and this one.
    """

    name: str
    prefix: str
    local: str
    more: str
    text: str

    @property
    def is_end(self) -> bool:
        """Whether this is an end tag."""
        return self.name.startswith("/")

    def attributes(self) -> Attributes:
        """Return the values of the attributes by name. The values are not unescaped.

        Only the first `MOST_KEPT` characters of the tag are read.
        """
        found = _ATTRIBUTE.findall(self.more[:MOST_KEPT])
        return {key: (double or single).strip() for key, double, single in found}


class Markup:
    """Takes the text of an XML file in pieces, and yields its tags.

    A caller may read some of `text` by itself while `is_between_tags` is True. The caller then
    moves `at` behind the characters that it has read.

    Attributes:
        text: the pieces that have arrived, without what was dropped because it has been read.
        at: the index in `text` of the next character to read.
    """

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        # The key in _VERBATIM of the section that is being read, or "" outside of sections.
        self._inside = ""
        self._before: list[str] = []  # The text since the previous tag, in pieces.

    @property
    def is_between_tags(self) -> bool:
        """Whether `at` is outside of comments, CDATA sections and the like."""
        return not self._inside

    def feed(self, piece: str) -> None:
        """Append the next piece of the file to `text`, and drop the text before `at`."""
        self.text = self.text[self.at :] + piece
        self.at = 0

    def tags(self) -> Iterator[Tag]:
        """Yield the complete tags of the pieces that have arrived.

        A tag that is not complete yet is kept for the next call. All text before the next tag is
        kept in memory, so the caller must stop feeding pieces if no tag comes for too long.
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
        """Read the text up to `end`; use `SPOILT` instead if it contains "<", which XML forbids."""
        text = self.text[self.at : end]
        if "<" in text:
            text = SPOILT
        self._before.append(text)
        self.at = end

    def _wait_for_end(self) -> None:
        """Read the text up to the last "<", and keep the rest, which may be the start of a tag.

        At most `MOST_KEPT` characters of the rest are kept.
        """
        start = self.text.rfind("<", self.at)
        if start < 0:
            start = len(self.text)
        self._take_text(start)
        self.text = self.text[: start + MOST_KEPT]

    def _is_cut(self, start: int, opening: str) -> bool:
        """Return whether more text is needed to know which section begins at `start`.

        `opening` has been found there. Until more text arrives, "<!" may be the start of "<!--".
        """
        rest = self.text[start:]
        return any(longer.startswith(rest) and longer != opening for longer in _VERBATIM)

    def _reads_verbatim(self) -> bool:
        """Read on in a section without tags, and return whether its end was reached.

        The content of a CDATA section is text. The content of other sections is dropped.
        """
        mark = _VERBATIM[self._inside]
        end = self.text.find(mark, self.at)
        is_over = end >= 0
        if not is_over:  # The last characters may be the beginning of the end mark.
            end = max(self.at, len(self.text) - len(mark) + 1)
        if self._inside == _CDATA:
            # A "&" in CDATA does not begin an entity, so it is escaped for `unescaped`.
            self._before.append(self.text[self.at : end].replace("&", "&amp;"))
        self.at = end
        if is_over:
            self.at += len(mark)
            self._inside = ""
        return is_over


def unescaped(text: str) -> str:
    """Replace the entities of XML and character references, such as "&amp;" and "&#38;".

    Any other ampersand is left as it is. A reference to a character that XML does not allow is
    replaced by `SPOILT`.
    """
    if "&" not in text:
        return text
    return NO_CHARACTER.sub(SPOILT, _ESCAPE.sub(lambda escape: html.unescape(escape[0]), text))
