"""What a robots.txt says about the use of its site's content.

`Content-Usage` and `Content-Signal` lines say it. Experimental: both fields are drafts, so names
here may change. A preference that is not said is neither granted nor refused. The lines are read
only if somebody asks for preferences: rules keep them as they are written.
experimental/preferences.py has what is around that: headers and lint.

Boundary: no verdict depends on preferences. The crawl decides how to heed them.
Sources: draft-ietf-aipref-attach-05 (where `Content-Usage` stands and which statement counts),
draft-ietf-aipref-vocab-08 (its labels), RFC 9651 (its syntax), contentsignals.org
(`Content-Signal`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from .lines import ContentLine, as_written
from .patterns import NO_RULE, decider, line_of
from .rule_index import Index
from .urls import escape, path_of

# Attribute of Preferences, key in Content-Usage (draft-ietf-aipref-vocab-08), key in
# Content-Signal.
LABELS = (
    ("train_ai", b"train-ai", "ai-train"),
    ("search", b"search", "search"),
    ("ai_use", b"ai-use", "ai-input"),
)
USES = ("immediate", "reference", "full")  # of Content-Signal's `use`, the narrowest first

_USAGE_VALUES = {b"y": True, b"n": False}
_STRICTEST = (False, True, None)  # comes first
SIGNALS = {key: label for label, _, key in LABELS}
SIGNAL_VALUES = {"yes": True, "no": False}
_SIGNAL = b"content-signal"
_KEPT = 8  # robots.txt files whose statements are kept; those of a hostile one take 10 MB

_MAX_BYTES = 65_536  # of a Dictionary; header lines and lines of a robots.txt are shorter

# A Dictionary of RFC 9651 ("Structured Field Values for HTTP"), member by member. A repetition
# begins with a character that nothing before it could go on with. So there is one way to read a
# text, and a search that goes back fails at once.
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
    """What a site says about the use of a URL's content. Experimental.

    Attributes:
        train_ai: True (granted), False (refused) or None (not said).
        search: likewise.
        ai_use: likewise.
        use: "immediate", "reference", "full" or None (not said).
        lines: the numbers of the lines that say so in the robots.txt, from 1; empty for headers.
    """

    train_ai: bool | None = None
    search: bool | None = None
    ai_use: bool | None = None
    use: str | None = None
    lines: tuple[int, ...] = ()


NOTHING_SAID = Preferences()


def said_by(lines: tuple[ContentLine, ...], url: str | bytes) -> Preferences:
    """Return what the site says about the content of `url`.

    `lines` are those for the crawler that asks.
    """
    return _statements(lines).of(path_of(url))


def combined(statements: Iterable[Preferences]) -> Preferences:
    """Return what counts if all of `statements` apply: for each label the most restrictive."""
    train_ai, search, ai_use, use, lines = zip(NOTHING_SAID, *statements, strict=True)
    return Preferences(
        min(train_ai, key=_STRICTEST.index),
        min(search, key=_STRICTEST.index),
        min(ai_use, key=_STRICTEST.index),
        min(use, key=(*USES, None).index),
        tuple(sorted(set().union(*lines))),
    )


def usage_of(dictionary: bytes, lines: tuple[int, ...]) -> Preferences | None:
    """Return what a Dictionary says, None if the bytes are no Dictionary.

    Only the Tokens y and n count.
    """
    members = read_dictionary(dictionary)
    if members is None:
        return None
    tokens = (members.get(key) or b"" for _, key, _ in LABELS)
    train_ai, search, ai_use = map(_USAGE_VALUES.get, tokens)
    return Preferences(train_ai, search, ai_use, None, lines)


def signal_of(value: bytes, lines: tuple[int, ...]) -> Preferences:
    """Return what the value of a Content-Signal says.

    If a key occurs twice, the more restrictive value counts.
    """
    statements: list[dict[str, Any]] = []
    for key, granted in pairs_of(value.decode("ascii", "replace")):
        if key in SIGNALS and granted in SIGNAL_VALUES:
            statements.append({SIGNALS[key]: SIGNAL_VALUES[granted]})
        elif key == "use" and granted in USES:
            statements.append({key: granted})
    return combined(Preferences(**fields, lines=lines) for fields in statements)


def pairs_of(value: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of a Content-Signal, in lower case."""
    for pair in value.lower().split(","):
        key, _, granted = pair.partition("=")
        yield key.strip(), granted.strip()


class _Statements:
    """The preferences that a robots.txt states for one crawler.

    They are those of its group, and those before any group. A statement without a path is about
    every path.
    """

    def __init__(self, lines: Sequence[ContentLine]) -> None:
        stated: dict[str, list[Preferences]] = {}
        signals: list[Preferences] = []
        for number, raw in lines:
            value = as_written(raw)
            if raw.lstrip()[: len(_SIGNAL)].lower() == _SIGNAL:
                signals.append(signal_of(value, (number,)))
                continue
            path, dictionary = path_and_dictionary(value)
            usage = usage_of(dictionary, (number,))
            # a line that is no Dictionary says nothing, so a shorter path may count
            if usage is not None:
                stated.setdefault(path, []).append(usage)
        said_by_path = {path: combined(usages) for path, usages in stated.items()}
        self._signals = combined(signals)
        # no path counts as the shortest one
        self._everywhere = said_by_path.pop("", NOTHING_SAID)
        self._index = Index(zip(said_by_path, range(len(said_by_path)), strict=True), ())
        self._said = tuple(said_by_path.values())

    def of(self, path: str) -> Preferences:
        """Return what is said about `path`, as `path_of` gives it.

        As for rules, the longest path that matches decides.
        """
        best = decider(self._index.kinds, path)
        usage = self._everywhere if best == NO_RULE else self._said[line_of(best)]
        return combined([usage, self._signals])


_statements = lru_cache(maxsize=_KEPT)(_Statements)


def path_and_dictionary(value: bytes) -> tuple[str, bytes]:
    """Split the value of a Content-Usage line into its path and its Dictionary.

    The path is "" if there is none.
    """
    value = value.strip()
    if value[:1] != b"/":
        return "", value
    path, *rest = value.replace(b"\t", b" ").split(b" ", 1)
    return escape(path).decode("ascii"), b"".join(rest).strip()


def read_dictionary(value: bytes) -> dict[bytes, bytes | None] | None:
    """Return the members of a Dictionary (RFC 9651 4.2.2), None if `value` is no Dictionary.

    The value of a member is its Token, or None for anything else. If a key occurs twice, the last
    one counts. The whole grammar is checked, since bytes that break it say nothing.
    """
    if len(value) > _MAX_BYTES:
        return None
    text = value.strip(b" ")
    members: dict[bytes, bytes | None] = {}
    at = 0
    while at < len(text):
        member = _MEMBER.match(text, at)
        if member is None:
            return None
        members[member["key"]] = member["token"]
        at = member.end()
    return members
