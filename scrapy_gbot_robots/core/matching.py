"""One pattern against one path (RFC 9309 2.2.3; Google's page, "URL matching based on path values").

A pattern matches the beginning of a path. "*" stands for any run of characters. "$" at the very end of the pattern stands
for the end of the path. Nothing else is special.

Each literal segment between stars is taken where it first occurs. That leaves most room for what follows, so the search
never has to go back, and takes at most pattern x path steps. No regular expression is built from a rule. For the pattern
"/a*b*c" and the path "/axbbc": "/a" at 0, "b" at 3, "c" at 5.
"""

from __future__ import annotations

from typing import Final

from .grammar import INDEX_PAGE

_MANY_STARS: Final = 8  # from this number on, it pays to look first whether there is room for the last segment


def matches(pattern: str, path: str) -> bool:
    """Return whether `pattern` matches the beginning of `path`."""
    first, star, rest = pattern.partition("*")
    if not star:
        return path == first[:-1] if first.endswith("$") else path.startswith(first)
    if not path.startswith(first):
        return False
    if rest.endswith("$"):
        return follow(rest[:-1], path, len(first), True)
    if "*" in rest:
        return follow(rest, path, len(first), False)
    return path.find(rest, len(first)) >= 0


def follow(rest: str, path: str, end: int, anchored: bool) -> bool:
    """Return whether `rest`, the text after the first star of a pattern, matches `path` from place `end` on.

    If `anchored`, the last segment of `rest` must be at the end of `path`.
    """
    stars = rest.count("*")
    if not stars:
        return path.endswith(rest, end) if anchored else path.find(rest, end) >= 0
    if stars > _MANY_STARS:
        last = rest[rest.rfind("*") + 1 :]
        if path.find(last, end + len(rest) - stars - len(last)) < 0:
            return False  # no place of the last segment leaves room for the others
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
    """Return the second pattern of an allow rule for an index page: "/d/$" for "/d/index.htm" (Google's parser)."""
    slash = pattern.rfind("/")
    return pattern[: slash + 1] + "$" if slash >= 0 and pattern.startswith(INDEX_PAGE, slash) else None
