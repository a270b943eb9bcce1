"""One pattern against one path (RFC 9309 2.2.3; Google's page, "URL matching based on path values").

A pattern matches the beginning of a path. "*" is any run of characters, "$" at the very end of the pattern the end of
the path; nothing else is special. Each literal segment between stars is taken where it first occurs: whatever follows
has then most room, so there is no way back, and time stays within pattern x path. No regular expression is built from a
rule.
"""

from __future__ import annotations

from typing import Final

from .grammar import INDEX_PAGE

_MANY_STARS: Final = 8  # with so many it pays to see first whether the last segment has a place at all


def matches(pattern: str, path: str) -> bool:
    """Return whether `pattern` matches the beginning of `path`."""
    first, star, rest = pattern.partition("*")
    if not star:
        return path == first[:-1] if first.endswith("$") else path.startswith(first)
    if not path.startswith(first):
        return False
    if rest.endswith("$"):
        return follow(rest[:-1], path, len(first), True)
    return follow(rest, path, len(first), False)


def follow(rest: str, path: str, end: int, anchored: bool) -> bool:
    """Return whether what stands after the first star of a pattern matches `path` from place `end` on.

    If `anchored`, its last segment must be at the end of `path`.
    """
    stars = rest.count("*")
    if not stars:
        return path.endswith(rest, end) if anchored else path.find(rest, end) >= 0
    if stars > _MANY_STARS:
        last = rest[rest.rfind("*") + 1 :]
        if path.find(last, end + len(rest) - stars - len(last)) < 0:
            return False  # no place for the last leaves room for those before it
    begin = end
    for segment in rest.split("*"):
        begin = path.find(segment, end)
        if begin < 0:
            return False
        end = begin + len(segment)
    return not anchored or path.endswith(segment, begin)


def stand_in(pattern: str) -> str:
    """Return a path for all paths that `pattern` matches: another pattern matches it only if it matches all of them.

    A NUL stands for what each "*" matches, and for what may follow if there is no "$". No pattern holds a NUL.
    """
    return (pattern[:-1] if pattern.endswith("$") else pattern + "*").replace("*", "\0")


def directory_of_index(pattern: str) -> str | None:
    """Return the pattern that an allow rule for an index page also stands for (Google's parser): "/d/$" for its /d/."""
    slash = pattern.rfind("/")
    return pattern[: slash + 1] + "$" if slash >= 0 and pattern.startswith(INDEX_PAGE, slash) else None
