"""The preferences in a robots.txt about the use of its site's content.

`Content-Usage` and `Content-Signal` lines contain them. Experimental: both fields are drafts, so
names here may change. A preference that no line states is neither granted nor refused. `Rules`
keeps the lines as written; they are read only when a caller asks for preferences.
experimental/preferences.py reads the headers of pages and checks the lines for lint.

Boundary: no verdict depends on preferences. The crawl decides how to obey them.
Sources: draft-ietf-aipref-attach-05 (where `Content-Usage` stands and which statement applies),
draft-ietf-aipref-vocab-08 (its labels), RFC 9651 (its syntax), contentsignals.org
(`Content-Signal`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from .lines import ContentLine, as_written
from .patterns import NO_RULE, decider, line_of
from .rule_index import Index
from .urls import escape, path_of

_STRICTEST = (False, True, None)  # the most restrictive statement first
_USES = ("immediate", "reference", "full")  # values of Content-Signal's `use`, the narrowest first


def _granted(attribute: str, yes: str, no: str) -> dict[str, dict[str, Any]]:
    return {yes: {attribute: True}, no: {attribute: False}}


# For each label of a field, and each of its valid values: the meaning as fields of `Preferences`.
Labels: TypeAlias = Mapping[str, Mapping[str, dict[str, Any]]]
USAGE: Labels = {  # draft-ietf-aipref-vocab-08
    "train-ai": _granted("train_ai", "y", "n"),
    "search": _granted("search", "y", "n"),
    "ai-use": _granted("ai_use", "y", "n"),
}
SIGNAL: Labels = {
    "ai-train": _granted("train_ai", "yes", "no"),
    "search": _granted("search", "yes", "no"),
    "ai-input": _granted("ai_use", "yes", "no"),
    "use": {use: {"use": use} for use in _USES},
}

_SIGNAL = b"content-signal"
# The statements of this many files are kept. The statements of a hostile file take up to 10 MB.
_KEPT = 8

# The longest Dictionary that is read. Header lines and lines of a robots.txt are shorter.
_MAX_BYTES = 65_536

# One member of a Dictionary (RFC 9651, "Structured Field Values for HTTP"). Each repetition begins
# with a character with which the part before it cannot go on. So there is only one way to read a
# text, and backtracking fails at once.
_KEY = r"[a-z*][a-z0-9_.*-]*"  # 3.1.2
_TOKEN = r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*"  # noqa: S105  3.3.4
_OTHER = r"""
    -?[0-9]{1,12}\.[0-9]{1,3}(?![0-9])      # Decimal, 3.3.2
    | @?-?[0-9]{1,15}(?![0-9.])             # Integer, 3.3.1, and Date, 3.3.7
    | "(?:[ !\#-\[\]-~]|\\["\\])*"          # String, 3.3.3
    | :[A-Za-z0-9+/=]*:                     # Byte Sequence, 3.3.5
    | \?[01]                                # Boolean, 3.3.6
    | %"(?:[ !\#$&-~]|%[0-9a-f]{2})*"       # Display String, 3.3.8
"""
_PARAMETERS = rf"(?:;[ ]*{_KEY}(?:=(?:{_TOKEN}|{_OTHER}))?)*"
_ITEM = rf"(?:{_TOKEN}|{_OTHER}){_PARAMETERS}"
_MEMBER = re.compile(
    rf"""
    (?P<key>{_KEY})
    (?:=(?:
        (?P<token>{_TOKEN}) | {_OTHER}
        | \([ ]*(?:{_ITEM}(?:[ ]+{_ITEM})*)?[ ]*\)   # an Inner List, 4.2.1.2
    ))?
    {_PARAMETERS}
    (?:[ \t]*,[ \t]*(?!\Z)|\Z)                     # no comma at the end
    """.encode(),
    re.VERBOSE,
)


class Preferences(NamedTuple):
    """A site's preferences about the use of a URL's content. Experimental.

    Attributes:
        train_ai: the label `train-ai` (`ai-train` in `Content-Signal`): True (granted), False
            (refused) or None (not stated).
        search: the label `search`, with the same values.
        ai_use: the label `ai-use` (`ai-input` in `Content-Signal`), with the same values.
        use: "immediate", "reference", "full" or None (not stated).
        lines: the numbers of the lines of the robots.txt that state this, from 1; empty for
            headers.
    """

    train_ai: bool | None = None
    search: bool | None = None
    ai_use: bool | None = None
    use: str | None = None
    lines: tuple[int, ...] = ()


NOTHING_SAID = Preferences()


def said_by(lines: tuple[ContentLine, ...], url: str | bytes) -> Preferences:
    """Return the site's preferences about the content of `url`.

    `lines` has the `Content-` lines of the crawler's group, and those before any group. As with
    rules, the longest path that matches decides.
    """
    signals, paths, usages = _statements(lines)
    best = decider(paths.kinds, path_of(url))
    number = 0
    if best != NO_RULE:
        number = line_of(best)
    return combined([usages[number], signals])


@lru_cache(maxsize=_KEPT)
def _statements(
    lines: tuple[ContentLine, ...],
) -> tuple[Preferences, Index, tuple[Preferences, ...]]:
    """Read `Content-` lines.

    Returns:
        The preferences of all `Content-Signal` lines together; an index of the paths of the
        `Content-Usage` lines, with a number for each path; and the preferences of each number.
        Number 0 stands for lines without a path, which count as the shortest path.
    """
    stated: dict[str, list[Preferences]] = {"": []}
    signals: list[Preferences] = []
    for number, raw in lines:
        value = as_written(raw)
        if raw.lstrip()[: len(_SIGNAL)].lower() == _SIGNAL:
            signals.append(stated_in(pairs_of(value.decode("ascii", "replace")), SIGNAL, number))
            continue
        path, dictionary = path_and_dictionary(value)
        pairs = read_dictionary(dictionary)
        # Even if this is not a Dictionary, the path is entered, so that a shorter path is not used.
        at_path = stated.setdefault(path, [])
        if pairs is not None:
            at_path.append(stated_in(pairs.items(), USAGE, number))
    paths = Index(zip(stated, range(len(stated)), strict=True), ())
    return combined(signals), paths, tuple(map(combined, stated.values()))


def combined(statements: Iterable[Preferences]) -> Preferences:
    """Combine `statements` that all apply: for each label, the most restrictive one is taken."""
    train_ai, search, ai_use, use, lines = zip(NOTHING_SAID, *statements, strict=True)
    return Preferences(
        min(train_ai, key=_STRICTEST.index),
        min(search, key=_STRICTEST.index),
        min(ai_use, key=_STRICTEST.index),
        min(use, key=(*_USES, None).index),
        tuple(sorted(set().union(*lines))),
    )


def stated_in(pairs: Iterable[tuple[str, str]], labels: Labels, *lines: int) -> Preferences:
    """Return the preferences in pairs of label and value; the most restrictive value is taken."""
    statements = (labels[key].get(value) for key, value in pairs if key in labels)
    return combined(Preferences(**fields, lines=lines) for fields in statements if fields)


def pairs_of(value: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of a Content-Signal, in lower case."""
    for pair in value.lower().split(","):
        key, _, granted = pair.partition("=")
        yield key.strip(), granted.strip()


def path_and_dictionary(value: bytes) -> tuple[str, bytes]:
    """Split the value of a Content-Usage line into its path and its Dictionary.

    The path is "" if there is none.
    """
    value = value.strip()
    if value[:1] != b"/":
        return "", value
    path, *rest = value.replace(b"\t", b" ").split(b" ", 1)
    return escape(path).decode("ascii"), b"".join(rest).strip()


def read_dictionary(value: bytes) -> dict[str, str] | None:
    """Return the members of a Dictionary (RFC 9651 4.2.2); None if `value` is not a Dictionary.

    The value of a member is its Token, or "" for any other type. If a key occurs twice, the last
    value is taken. The whole grammar is checked, because a field that breaks it has no meaning.
    """
    if len(value) > _MAX_BYTES:
        return None
    text = value.strip(b" ")
    members: dict[str, str] = {}
    at = 0
    while at < len(text):
        member = _MEMBER.match(text, at)
        if member is None:
            return None
        members[member["key"].decode()] = (member["token"] or b"").decode()
        at = member.end()
    return members
