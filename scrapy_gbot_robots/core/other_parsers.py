"""Find the lines of a robots.txt that other parsers read differently from Google's parser.

The lines that this module reports are correct by RFC 9309 and for Google. But in our tests of 28
parsers, on 2026-11-28, some parsers misread files with these lines, and allowed URLs that the files
disallow. Each note names these parsers and the versions that were tested.

For each kind of difference there is only one note, at the first line to which the note applies. No
verdict depends on a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from .lines import BOM, UNKNOWN, USER_AGENT, Line, as_written, split_lines
from .remarks import RULES, Finding, finding
from .robots import Group, groups_by_agent
from .urls import LOOSE_ESCAPE

# This matches a CR without an LF, if it separates two lines that are not empty.
_CR_ALONE = re.compile(rb"[^\r\n]\r(?=[^\r\n])")
# HTTrack joins the paths of a group's rules, with an LF after each path, and keeps only the first
# bytes of the joined text. We measured how many bytes it keeps.
_HTTRACK_KEEPS = 4_096
_OF_HTTRACK = {"*", "httrack"}  # the user agents whose groups HTTrack follows


def read_otherwise(
    body: bytes, all_lines: Sequence[Line], groups: Sequence[Group]
) -> Iterator[Finding]:
    """Yield notes on the lines of `body` that other parsers read differently from Google's parser.

    `all_lines` and `groups` are the lines and groups of `body`.
    """
    first = all_lines[0]
    if body.startswith(BOM) and first.kind != UNKNOWN:
        yield finding(1, "byte order mark")
    cr_alone = _CR_ALONE.search(body)
    if cr_alone is not None:
        yield finding(len(split_lines(body[: cr_alone.end()])) - 1, "line end of CR")
    written = split_lines(body)
    yield from _noted("blank line in a group", _blank_lines(all_lines, written))
    yield from _noted("escape in lower case", _lower_escapes(all_lines, written))
    yield from _noted("empty rule first", chain.from_iterable(map(_empty_rules, groups)))
    yield from _on_parts(groups)
    yield from _on_long_groups(groups)


def _noted(kind: str, lines: Iterable[int]) -> Iterator[Finding]:
    """Yield a note of `kind` for the first of the line numbers `lines`, if there are any.

    The text of the note shows how many more lines have the same problem.
    """
    first, *others = [*lines] or [0]
    if first:
        more = f" (also in {len(others)} more places)" if others else ""
        yield finding(first, kind, more=more)


def _blank_lines(all_lines: Iterable[Line], written: Iterable[bytes]) -> Iterator[int]:
    """For each group, find a blank line between its last user-agent line and its first rule.

    If there are several blank lines, the function yields the number of the first one.
    """
    is_open, blank = False, 0
    for line, raw in zip(all_lines, written, strict=True):
        if line.kind == USER_AGENT:
            is_open, blank = True, 0
        elif line.kind in RULES:
            if is_open and blank:
                yield blank
            is_open = False
        elif not raw:
            blank = blank or line.number


def _lower_escapes(all_lines: Iterable[Line], written: Iterable[bytes]) -> Iterator[int]:
    """Yield the line number of each rule whose path has a lower-case escape, such as "%2f"."""
    for line, raw in zip(all_lines, written, strict=True):
        may_have = line.kind in RULES and LOOSE_ESCAPE.search(raw)
        if may_have and LOOSE_ESCAPE.search(as_written(raw)):
            yield line.number


def _empty_rules(group: Group) -> Iterator[int]:
    """Find a disallow rule without a path that stands above a disallow rule with a path.

    The function yields the line number of the first such rule in `group`.
    """
    empty = 0
    for rule in group.rules:
        if rule.allow:
            continue
        if not rule.pattern:
            empty = empty or rule.line
        elif empty:
            yield empty
            return


def _rules_of(group: Group) -> set[tuple[bool, str]]:
    return {(rule.allow, rule.pattern) for rule in group.rules}


def _on_parts(groups: Sequence[Group]) -> Iterator[Finding]:
    """Find the first user agent that has several groups with different rules."""
    rules_of = [*map(_rules_of, groups)]
    for agent, numbers in groups_by_agent(groups).items():
        parts = [groups[number] for number in numbers if rules_of[number]]
        if any(rules_of[number] != rules_of[numbers[0]] for number in numbers) and parts[1:]:
            first, second = parts[0].user_agents[agent], parts[1].user_agents[agent]
            yield finding(second, "group in parts", user_agent=agent, other=first)
            return


def _on_long_groups(groups: Iterable[Group]) -> Iterator[Finding]:
    """Find the first group that is too long for HTTrack.

    The note has the line number of the first rule that HTTrack forgets.
    """
    for group in groups:
        if _OF_HTTRACK.isdisjoint(group.user_agents):
            continue
        size = 0
        for rule in group.rules:
            size += len(rule.pattern) + 1
            if size > _HTTRACK_KEEPS:
                yield finding(rule.line, "long group")
                return
