"""A tokenizer for XML, which yields one tag after another, even if the XML is not well-formed.

Many sitemaps are not well-formed. If an end tag is missing or surplus, all other tags are still
read. The tokenizer fetches nothing, and it skips the DTD of a file. It replaces only the five
predefined entities of XML, such as "&amp;", and leaves all others as they are. This module does not
depend on the format of sitemaps.
Source: XML 1.0, sections 2.2, 2.7 and 4.1.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

# The greatest length of a tag, a text or an attribute value, in characters. Anything longer is not
# used. The length is measured before entities are replaced.
MOST_KEPT = 2**16
# This character (U+FFFD) replaces characters that XML does not allow. No valid URL contains it.
SPOILT = "\ufffd"
# Matches a character that XML does not allow (XML 1.0, 2.2), or DEL (U+007F).
NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

# How CDATA sections, comments, processing instructions and declarations begin and end. A "<" inside
# them is not the beginning of a tag. Each key is the beginning without its "<", and the value is
# the end.
_CDATA = "![CDATA["
_VERBATIM = {_CDATA: "]]>", "!--": "-->", "?": "?>", "!": ">"}
# Matches a tag (group 2 is its content), or the beginning of a section in _VERBATIM (group 1).
_MARKUP = re.compile(rf"<(?:({'|'.join(map(re.escape, _VERBATIM))})|([^<>]*)>)")
_ATTRIBUTE = re.compile(r"(?<!\S)([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
# Matches the entities that are replaced. Other entities of HTML are not matched, because in a URL
# such as "/list?a=1&copy=2", "&copy" is the beginning of a parameter and not an entity.
_ESCAPE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);")

Attributes: TypeAlias = Mapping[str, str]


class Tag(NamedTuple):
    """A start tag or an end tag, and the text before it.

    For an empty element, such as `<a/>`, `Markup.tags` yields a start tag and an end tag.

    Attributes:
        name: the name with its prefix. It is "image:loc" for the start tag `<image:loc>`, and
            "/image:loc" for the end tag.
        prefix: the prefix of the name, such as "image", or "".
        local: the name without prefix and slash, in lower case, such as "loc".
        more: the rest of the tag after the name, which contains the attributes.
        text: the text between the previous tag and this tag.
    """

    name: str
    prefix: str
    local: str
    more: str
    text: str

    @property
    def is_end(self) -> bool:
        """Whether the tag is an end tag, such as `</loc>`."""
        return self.name.startswith("/")

    def attributes(self) -> Attributes:
        """Return the values of the attributes by name. Entities in the values are not replaced.

        Only attributes in the first `MOST_KEPT` characters of the tag are returned.
        """
        found = _ATTRIBUTE.findall(self.more[:MOST_KEPT])
        return {key: (double or single).strip() for key, double, single in found}


class Markup:
    """Takes the text of an XML file in pieces, and yields its tags.

    While `is_between_tags` is True, the caller may also read characters directly from `text`. The
    caller must then increase `at` by the number of these characters.

    Attributes:
        text: the text that was fed and has not been removed yet.
        at: the index in `text` of the next character to read. All characters before it were read.
    """

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        # If `at` is inside a section such as a comment, the key of this section in _VERBATIM;
        # otherwise "".
        self._inside = ""
        self._before: list[str] = []  # The pieces of the text since the previous tag.

    @property
    def is_between_tags(self) -> bool:
        """Whether the character at index `at` is outside of comments and similar sections."""
        return not self._inside

    def feed(self, piece: str) -> None:
        """Append the next piece of the file to `text`, and remove the text that has been read."""
        self.text = self.text[self.at :] + piece
        self.at = 0

    def tags(self) -> Iterator[Tag]:
        """Yield the complete tags in the pieces that were fed.

        An incomplete tag at the end is kept for the next call. All text since the last tag is kept
        in memory, so the caller must stop feeding pieces when this text becomes too long.
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
        """Read the text up to the index `end`.

        XML does not allow "<" in a text. If the text contains one, the text is replaced by
        `SPOILT`, a character that no valid URL contains.
        """
        text = self.text[self.at : end]
        if "<" in text:
            text = SPOILT
        self._before.append(text)
        self.at = end

    def _wait_for_end(self) -> None:
        """Read the text up to the last "<", and keep the rest for later.

        The rest may be the beginning of a tag. At most `MOST_KEPT` characters of it are kept.
        """
        start = self.text.rfind("<", self.at)
        if start < 0:
            start = len(self.text)
        self._take_text(start)
        self.text = self.text[: start + MOST_KEPT]

    def _is_cut(self, start: int, opening: str) -> bool:
        """Return whether more text must arrive before the kind of a section can be determined.

        For example, suppose that the text so far ends with "<!". A comment begins there only if the
        next characters are "--".

        Args:
            start: the index in `text` after the "<".
            opening: the beginning of the section as far as it has arrived; a key of `_VERBATIM`.
        """
        rest = self.text[start:]
        return any(longer.startswith(rest) and longer != opening for longer in _VERBATIM)

    def _reads_verbatim(self) -> bool:
        """Read more of a section such as a comment, and return whether its end was reached.

        The content of a CDATA section counts as text. The content of all other sections is dropped.
        """
        mark = _VERBATIM[self._inside]
        end = self.text.find(mark, self.at)
        is_over = end >= 0
        if not is_over:  # The last characters are kept, because the end mark may begin in them.
            end = max(self.at, len(self.text) - len(mark) + 1)
        if self._inside == _CDATA:
            # In CDATA, "&" does not begin an entity. But the caller later calls `unescaped` with
            # the text, so each "&" is replaced by "&amp;" here.
            self._before.append(self.text[self.at : end].replace("&", "&amp;"))
        self.at = end
        if is_over:
            self.at += len(mark)
            self._inside = ""
        return is_over


def unescaped(text: str) -> str:
    """Return `text` in which the entities of XML and the character references are replaced.

    For example, "&amp;" and "&#38;" are replaced by "&". Every other ampersand is left as it is. A
    reference to a character that XML does not allow is replaced by `SPOILT` (U+FFFD).
    """
    if "&" not in text:
        return text
    return NO_CHARACTER.sub(SPOILT, _ESCAPE.sub(lambda escape: html.unescape(escape[0]), text))
