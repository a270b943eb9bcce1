"""Preferences about the use of content: `Content-Usage` and `Content-Signal`, in a robots.txt and in headers.

Experimental: both fields are drafts, so names here may change. A preference that is not said is neither granted nor refused.

Boundary: no verdict depends on preferences. The crawl decides how to heed them.
Sources: draft-ietf-aipref-attach-05 (where `Content-Usage` stands and which statement counts),
draft-ietf-aipref-vocab-08 (its labels), RFC 9651 (its syntax), contentsignals.org (`Content-Signal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .patterns import NO_RULE, line_of
from .rule_index import Index
from .structured import read_dictionary
from .urls import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

# Attribute of Preferences, key in Content-Usage (draft-ietf-aipref-vocab-08), key in Content-Signal.
LABELS: Final = (
    ("train_ai", b"train-ai", b"ai-train"),
    ("search", b"search", b"search"),
    ("ai_use", b"ai-use", b"ai-input"),
)
USES: Final = ("immediate", "reference", "full")  # of Content-Signal's `use`, the narrowest first

_USAGE_VALUES: Final = {b"y": True, b"n": False}
_SIGNAL_VALUES: Final = {b"yes": True, b"no": False}

# Memory; measured, rounded up.
_BYTES_EACH: Final = 500
_BYTES_OF_INDEX: Final = 2_000
_BYTES_PER_PATH: Final = 1_100  # in the index
_BYTES_PER_CHAR: Final = 4  # of a path
_BYTES_PER_LINE: Final = 40  # that a statement rests on


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


NOTHING_SAID: Final = Preferences()


def combined(said: Iterable[Preferences]) -> Preferences:
    """Return what counts if all of `said` apply: for each label the most restrictive."""
    several = [each for each in said if each is not NOTHING_SAID]
    if len(several) == 1:
        return several[0]
    train_ai, search, ai_use = (
        False if False in values else True if True in values else None
        for values in ([getattr(each, label) for each in several] for label, _, _ in LABELS)
    )
    use = min((each.use for each in several if each.use is not None), key=USES.index, default=None)
    return Preferences(train_ai, search, ai_use, use, tuple(sorted({line for each in several for line in each.lines})))


def of_headers(usage: Iterable[bytes], signals: Iterable[bytes]) -> Preferences:
    """Return what a response says by the values of its `Content-Usage` and `Content-Signal` headers.

    Several `Content-Usage` headers are one Dictionary (RFC 9651 4.2). Headers are about their response only.
    """
    return combined([_usage(b", ".join(usage), ()) or NOTHING_SAID, *(_signal(value, ()) for value in signals)])


def _usage(dictionary: bytes, lines: tuple[int, ...]) -> Preferences | None:
    """Return what a Dictionary says, None if the bytes are no Dictionary. Only the Tokens y and n count."""
    members = read_dictionary(dictionary)
    if members is None:
        return None
    train_ai, search, ai_use = (_USAGE_VALUES.get(members.get(key) or b"") for _, key, _ in LABELS)
    return Preferences(train_ai, search, ai_use, None, lines)


def _signal(value: bytes, lines: tuple[int, ...]) -> Preferences:
    """Return what the value of a Content-Signal says. If a key occurs twice, the more restrictive value counts."""
    said: list[Preferences] = []
    for pair in value.lower().split(b","):
        key, _, granted = (part.strip() for part in pair.partition(b"="))
        for label, _, name in LABELS:
            if key == name and granted in _SIGNAL_VALUES:
                said.append(Preferences(**{label: _SIGNAL_VALUES[granted]}))  # type: ignore[arg-type]
        if key == b"use" and granted.decode("latin-1") in USES:
            said.append(Preferences(use=granted.decode("latin-1")))
    return combined(said)._replace(lines=lines) if said else NOTHING_SAID


class Statements:
    """The preferences that a robots.txt states for one crawler: those of its group, and those before any group.

    `paths` are the patterns that statements name. A statement without a path is about every path.
    """

    __slots__ = ("_by_line", "_everywhere", "_index", "_signals", "paths")

    def __init__(self, usage: Iterable[tuple[int, bytes]], signals: Iterable[tuple[int, bytes]]) -> None:
        """Take the lines of both fields in file order: the number of each, and its value without a comment."""
        stated: dict[str, list[Preferences]] = {}
        for line, value in usage:
            path, dictionary = path_and_dictionary(value)
            said = _usage(dictionary, (line,))
            if said is not None:  # a line that is no Dictionary says nothing, so a shorter path may count
                stated.setdefault(path, []).append(said)
        said_by_path = {path: combined(said) for path, said in stated.items()}
        self._everywhere = said_by_path.pop("", NOTHING_SAID)  # no path counts as the shortest one
        self.paths = tuple(said_by_path)
        self._by_line = {said.lines[0]: said for said in said_by_path.values()}
        entries = [(path, said.lines[0]) for path, said in said_by_path.items()]
        self._index = Index((), entries) if entries else None  # as for rules, the longest path that matches decides
        self._signals = combined([_signal(value, (line,)) for line, value in signals])

    @property
    def weight(self) -> int:
        """How many bytes of memory this takes at the most. An estimate from measurements."""
        said = self._everywhere, self._signals, *self._by_line.values()
        weight = _BYTES_EACH + _BYTES_PER_LINE * sum(len(each.lines) for each in said)
        if self.paths:
            chars = sum(map(len, self.paths))
            weight += _BYTES_OF_INDEX + _BYTES_PER_PATH * len(self.paths) + _BYTES_PER_CHAR * chars
        return weight

    @property
    def wildcard_chars(self) -> int:
        """The number of characters in the paths that may have to be tried."""
        return 0 if self._index is None else self._index.wildcard_chars

    def of(self, path: str) -> Preferences:
        """Return what is said about `path`, as `path_of` gives it."""
        decider = NO_RULE if self._index is None else self._index.decider(path)
        usage = self._everywhere if decider == NO_RULE else self._by_line[line_of(decider)]
        return combined([usage, self._signals])


def path_and_dictionary(value: bytes) -> tuple[str, bytes]:
    """Split the value of a Content-Usage line into its path, "" if it has none, and its Dictionary."""
    value = value.strip()
    if value[:1] != b"/":
        return "", value
    path, *rest = value.replace(b"\t", b" ").split(b" ", 1)
    return escape(path).decode("ascii"), b"".join(rest).strip()
