"""Read the preferences of a site about the use of its content from a robots.txt.

The preferences are in `Content-Usage` and `Content-Signal` lines. For example, the line
"Content-Usage: train-ai=n" refuses the use of the site's content for training models. Here
`train-ai` is a label, the name of a kind of use. If no line contains the label, this kind of use
is neither granted nor refused.

This module is experimental. The specifications of both fields are drafts, so the names in this
module may change. `Rules` keeps the lines as written, and this module reads them only when a caller
asks for preferences. experimental/preferences.py reads the headers of pages, and checks the lines
for lint.

No verdict depends on preferences. A spider has to decide itself how to obey them.

The sources for `Content-Usage` lines are draft-ietf-aipref-attach-05 (where they stand, and which
of them applies), draft-ietf-aipref-vocab-08 (their labels) and RFC 9651 (their syntax). The source
for `Content-Signal` lines is contentsignals.org.
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

_STRICTEST = (False, True, None)  # The most restrictive value of a preference comes first.
# The values of the label `use` in `Content-Signal` lines. The most restrictive value comes first.
_USES = ("immediate", "reference", "full")


def _granted(attribute: str, yes: str, no: str) -> dict[str, dict[str, Any]]:
    return {yes: {attribute: True}, no: {attribute: False}}


# The type of a table of labels. For each label and each of its valid values, it contains an
# attribute of `Preferences` and the value of this attribute. For example, USAGE["train-ai"]["n"] is
# {"train_ai": False}.
Labels: TypeAlias = Mapping[str, Mapping[str, dict[str, Any]]]
USAGE: Labels = {  # These labels are from draft-ietf-aipref-vocab-08.
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

_SIGNAL = b"content-signal"  # the name of a field, in lower case
# The function `_statements` keeps its results for this many robots.txt files. The limit is low
# because the result for a hostile file takes up to 10 MB of memory.
_KEPT = 8

# A string with more bytes than this is not read as a Dictionary (RFC 9651). A line of a header or
# of a robots.txt is never this long.
_MAX_BYTES = 65_536

# The following expressions match one member of a Dictionary (RFC 9651, "Structured Field Values for
# HTTP"), such as "train-ai=n". The numbers in the comments are sections of RFC 9651. Each repeated
# part begins with a character that cannot continue the part before it. So a string can be matched
# in only one way, and a string that does not match is rejected quickly.
_KEY = r"[a-z*][a-z0-9_.*-]*"  # a key, RFC 9651 3.1.2
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
    """The preferences of a site about the use of the content of a URL. Experimental.

    Attributes:
        train_ai: the preference for the label `train-ai` (`ai-train` in `Content-Signal`). It is
            True (granted), False (refused) or None (not stated).
        search: the preference for the label `search`, with the same values.
        ai_use: the preference for the label `ai-use` (`ai-input` in `Content-Signal`), with the
            same values.
        use: the preference for the label `use` in `Content-Signal`: "immediate", "reference",
            "full" or None (not stated).
        lines: the numbers of the lines of the robots.txt that state these preferences, from 1;
            empty for preferences in headers.
    """

    train_ai: bool | None = None
    search: bool | None = None
    ai_use: bool | None = None
    use: str | None = None
    lines: tuple[int, ...] = ()


NOTHING_SAID = Preferences()


def said_by(lines: tuple[ContentLine, ...], url: str | bytes) -> Preferences:
    """Return the site's preferences about the content of `url`.

    `lines` contains the `Content-Usage` and `Content-Signal` lines of the crawler's group, and the
    `Content-Signal` lines before the first group. A `Content-Usage` line may begin with a path. Of
    the `Content-Usage` lines whose path matches the URL, the line with the longest path decides.
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
    """Read the preferences in `Content-Usage` and `Content-Signal` lines.

    Returns:
        Three items. The first item contains the combined preferences of all `Content-Signal` lines.
        The second item is an `Index` of the paths in `Content-Usage` lines. The third item is a
        tuple with the preferences for each of these paths. The numbers in the `Index` are not line
        numbers, but positions in this tuple. The preferences at position 0 come from lines without
        a path, and apply if no path matches.
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
        # Even if the line has no valid Dictionary, its path is added. Otherwise a shorter path
        # might decide.
        at_path = stated.setdefault(path, [])
        if pairs is not None:
            at_path.append(stated_in(pairs.items(), USAGE, number))
    paths = Index(zip(stated, range(len(stated)), strict=True), ())
    return combined(signals), paths, tuple(map(combined, stated.values()))


def combined(statements: Iterable[Preferences]) -> Preferences:
    """Combine preferences that all apply. For each label, the most restrictive value is used."""
    train_ai, search, ai_use, use, lines = zip(NOTHING_SAID, *statements, strict=True)
    return Preferences(
        min(train_ai, key=_STRICTEST.index),
        min(search, key=_STRICTEST.index),
        min(ai_use, key=_STRICTEST.index),
        min(use, key=(*_USES, None).index),
        tuple(sorted(set().union(*lines))),
    )


def stated_in(pairs: Iterable[tuple[str, str]], labels: Labels, *lines: int) -> Preferences:
    """Return the preferences in `pairs`, which contains pairs of a label and a value.

    If a label occurs several times, the most restrictive value is used. `labels` contains the valid
    labels and values. `lines` contains the number of the line with the pairs. If the pairs come
    from a header, `lines` is empty.
    """
    statements = (labels[key].get(value) for key, value in pairs if key in labels)
    return combined(Preferences(**fields, lines=lines) for fields in statements if fields)


def pairs_of(value: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of a label and its value, in lower case, from a `Content-Signal` line."""
    for pair in value.lower().split(","):
        key, _, granted = pair.partition("=")
        yield key.strip(), granted.strip()


def path_and_dictionary(value: bytes) -> tuple[str, bytes]:
    """Split the value of a Content-Usage line into its path and its Dictionary.

    If the line has no path, the path in the result is "".
    """
    value = value.strip()
    if value[:1] != b"/":
        return "", value
    path, *rest = value.replace(b"\t", b" ").split(b" ", 1)
    return escape(path).decode("ascii"), b"".join(rest).strip()


def read_dictionary(value: bytes) -> dict[str, str] | None:
    """Return the members of a Dictionary (RFC 9651 4.2.2); None if `value` is not a Dictionary.

    A Dictionary is a string such as "train-ai=n, search=y", and its members are pairs of a key and
    a value. In the result, the value is the Token after "=", or "" for any other type of value. If
    a key occurs several times, the last value is used. If any part of the string has a syntax
    error, the result is None, as RFC 9651 requires.
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
