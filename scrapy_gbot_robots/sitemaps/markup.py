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
from itertools import chain
from typing import NamedTuple, TypeAlias

MOST_KEPT = 2**16  # of the attributes of a tag, and of a value before its escapes are undone
SPOILT = "\ufffd"  # replaces anything that is not a character of XML; it occurs in no URL
# XML 1.0, 2.2; and DEL
NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

# What has no tags in it, by what stands behind its "<": with what ends it.
_CDATA_ENDS = "]]>"
_VERBATIM = {"![CDATA[": _CDATA_ENDS, "!--": "-->", "?": "?>", "!": ">"}
_ATTRIBUTE = re.compile(r"(?<!\S)([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
# No other escape of HTML, since "&copy=" may be part of a URL.
_ESCAPE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);")

Attributes: TypeAlias = Mapping[str, str]


class Tag(NamedTuple):
    """A tag, with the text before it.

    Of an element that ends with its start tag, as `<a/>`, `tags_of` yields both tags.
    """

    name: str  # with its prefix; an end tag's with its slash
    prefix: str
    local: str  # the name without the prefix, in lower case
    attributes: Attributes
    text: str  # since the last tag

    @property
    def is_end(self) -> bool:
        """Whether it is an end tag."""
        return self.name.startswith("/")


def tags_of(texts: Iterator[str]) -> Iterator[Tag | int]:
    """Yield the tags of XML, and after each piece of `texts` its length.

    A tag comes once the next "<" is read. The lengths let a caller pause, and end a text in which
    no tag comes: all of it is kept in memory until one does.
    """
    rest = ""  # what stands behind the last "<": the next piece may go on with it
    end = ""  # what ends the part without tags that is being read
    before: list[str] = []  # the text since the last tag
    for piece in chain(texts, ("<",)):  # which ends the last tag
        *parts, rest = (rest + piece).split("<")
        for part in parts:
            if end or part.startswith(("!", "?")):
                end, text = _verbatim(part, end)
                before.append(text)
                continue
            words, closed, text = part.partition(">")
            name, *more = words.removesuffix("/").split(None, 1) or [""]
            if not (closed and name):
                before.append(SPOILT)  # a bare "<", or what stands before the first one
                continue
            prefix, _, local = name.removeprefix("/").rpartition(":")
            local = local.lower()
            attributes = _attributes(more[0]) if more else {}
            yield Tag(name, prefix, local, attributes, "".join(before))
            if words.endswith("/"):
                yield Tag(f"/{name}", prefix, local, {}, "")
            before = [text]
        yield len(piece)


def _verbatim(part: str, end: str) -> tuple[str, str]:
    """Read a part without tags: of a comment, an instruction, a declaration or CDATA.

    Args:
        part: the text behind a "<", up to the next one.
        end: what ends what an earlier part has begun; "" if this part begins it.

    Returns:
        What has still to come to end it, "" if it has ended; and the text, which is what is in
        CDATA, and what stands behind the end.
    """
    if end:
        part = f"<{part}"
    else:
        beginning = next(filter(part.startswith, _VERBATIM))
        end = _VERBATIM[beginning]
        part = part.removeprefix(beginning)
    inside, is_over, text = part.partition(end)
    if end == _CDATA_ENDS:
        text = inside.replace("&", "&amp;") + text  # `unescaped` turns these back
    if is_over:
        end = ""
    return end, text


def _attributes(text: str) -> Attributes:
    """The attributes of a tag, as far as they stand in the first `MOST_KEPT` characters.

    Their escapes stay.
    """
    found = _ATTRIBUTE.findall(text[:MOST_KEPT])
    return {key: (double or single).strip() for key, double, single in found}


def unescaped(text: str) -> str:
    """Undo XML's escapes. An ampersand that should have been escaped stays.

    An escape of what is no character of XML becomes `SPOILT`.
    """
    if "&" not in text:
        return text
    return NO_CHARACTER.sub(SPOILT, _ESCAPE.sub(lambda escape: html.unescape(escape[0]), text))
