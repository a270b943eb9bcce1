"""What the author of a robots.txt should hear: all remarks and what only the whole file shows, the worst first.

Boundary: nothing here changes a verdict. The remarks of single lines come from remarks.py; this module adds what takes
more than one line to see (a rule that another always outweighs) or more than the grammar to guess (a misspelt field).
Source: Google's page and Google's parser; what is harmful is our judgement, and stands in one table.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple

from . import grammar
from . import remarks as kinds
from .groups import read_groups
from .lines import split_lines
from .matching import directory_of_index, matches
from .robots import RobotsTxt
from .urls import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .groups import Group
    from .lines import Line
    from .remarks import Remark
    from .rules import Rule

ERROR: Final = "error"  # what is written does nothing, or something else
WARNING: Final = "warning"  # it works here and fails elsewhere, or looks like more than it does
NOTE: Final = "note"  # harmless

# The kinds of finding that are not kinds of remark.
NOT_TEXT: Final = "not text"
MISSPELT: Final = "misspelt field"
SPACE: Final = "space in a path"
SHADOWED: Final = "shadowed rule"
JOINED: Final = "joined groups"
AGENT_VERSION: Final = "user agent with version"
NO_RULES: Final = "group without rules"
DUPLICATE: Final = "duplicate rule"
TOO_MANY: Final = "too many rules to compare"

# Every kind, the greatest harm first.
_HARM: Final = (
    (ERROR, NOT_TEXT),
    (ERROR, kinds.CUT),
    (ERROR, kinds.RULE_BEFORE_GROUP),
    (ERROR, kinds.NO_AGENT),
    (ERROR, kinds.AGENT_CUT),
    (ERROR, MISSPELT),
    (ERROR, kinds.IGNORED),
    (ERROR, kinds.NO_SLASH),
    (ERROR, SPACE),
    (ERROR, SHADOWED),
    (ERROR, kinds.OVER_LONG),
    (ERROR, kinds.NOT_UTF8),
    (ERROR, kinds.BAD_SITEMAP),
    (WARNING, JOINED),
    (WARNING, kinds.TYPO),
    (WARNING, kinds.PREFIX),
    (WARNING, kinds.MISSING_COLON),
    (WARNING, kinds.UNUSED_FIELD),
    (WARNING, kinds.UNKNOWN_FIELD),
    (NOTE, NO_RULES),
    (NOTE, DUPLICATE),
    (NOTE, AGENT_VERSION),
    (NOTE, TOO_MANY),
)
_RANK: Final = {kind: rank for rank, (_, kind) in enumerate(_HARM)}
_LEVEL: Final = {kind: level for level, kind in _HARM}

_PRODUCT: Final = re.compile(rb"[A-Za-z_-]+/")  # a product token with a version, as in a User-Agent header
_FIELD_NAMES: Final = [name.decode("ascii") for _, name, _ in grammar.FIELDS]
_MAX_FIELD: Final = 30  # characters; a longer key is no misspelt field
_MOST_WORK: Final = 10_000_000  # characters of patterns compared with each other; hostile files would take hours
_WORK_OF_RULE: Final = 100  # to look at a rule once takes as long as to compare so many characters
_ANYTHING: Final = "\x00"  # stands for what "*" matches; no pattern has it, a NUL ends the line it is in
_RULES: Final = {grammar.ALLOW, grammar.DISALLOW}


class Finding(NamedTuple):
    """Something odd in line `line` (from 1): `level` is ERROR, WARNING or NOTE, `text` a printable sentence."""

    level: str
    line: int
    kind: str
    text: str


def findings(
    body: bytes, *, strict: bool = False, max_bytes: int | None = grammar.MAX_BYTES, truncated: bool = False
) -> list[Finding]:
    """Return what is odd about a robots.txt, the greatest harm first, then by line; empty where nothing is.

    `strict` and `max_bytes` are those of `RobotsTxt.parse`; `truncated` says that more was served than `body`. Never
    raises because of `body`.
    """
    if is_binary(body):
        return [_finding(1, NOT_TEXT, "this is not UTF-8 text: no line of it is understood, so all is allowed")]
    if truncated:
        body, max_bytes = body + b"\n", len(body)  # something past the limit stands for all that was
    robotstxt = RobotsTxt.parse(body, strict=strict, max_bytes=max_bytes)
    lines = robotstxt.lines
    found = [_refined(remark, lines[remark.line - 1]) for remark in robotstxt.remarks]
    for line, raw in zip(lines, split_lines(body), strict=False):
        found += _on_bytes(line, raw)
    found += _on_joined(lines)
    found += _on_groups(read_groups(lines), strict=strict)
    return sorted(set(found), key=lambda finding: (_RANK[finding.kind], finding.line, finding.text))


def _finding(line: int, kind: str, text: str) -> Finding:
    return Finding(_LEVEL[kind], line, kind, text)


def is_binary(body: bytes) -> bool:
    """Whether `body` holds NUL bytes and no field: UTF-16, an image, an archive."""
    if b"\0" not in body:
        return False
    return all(line.kind == grammar.UNKNOWN for line in RobotsTxt.parse(body).lines)


def _refined(remark: Remark, line: Line) -> Finding:
    """Turn a remark into a finding; of what the grammar holds for one kind, a reader may think as of two."""
    if remark.kind == kinds.AGENT_CUT and _PRODUCT.match(line.value):
        return _finding(line.number, AGENT_VERSION, f'{remark.text}: what follows the "/" is ignored')
    if remark.kind == kinds.UNKNOWN_FIELD and len(line.key) <= _MAX_FIELD:
        key = line.key.decode("ascii", "replace").lower()
        for name in get_close_matches(key, _FIELD_NAMES, n=1, cutoff=0.75):
            return _finding(line.number, MISSPELT, f'{remark.text}, so the line is ignored; "{name}" is meant?')
    return _finding(remark.line, remark.kind, remark.text)


def _on_bytes(line: Line, raw: bytes) -> Iterator[Finding]:
    """What is wrong with the characters of a line that has a directive."""
    if not line.flags & grammar.HAS_DIRECTIVE:
        return
    written = raw.partition(b"#")[0]
    if b"\0" in written:
        yield _finding(line.number, kinds.NOT_UTF8, "a NUL byte: the rest of the line is ignored")
    try:
        written.decode("utf-8")
    except UnicodeDecodeError:
        yield _finding(line.number, kinds.NOT_UTF8, "not UTF-8: bytes are matched as they stand")
    if line.kind not in _RULES:
        return
    if b" " in line.value or b"\t" in line.value:
        yield _finding(line.number, SPACE, "no URL has white space in it: a space is %20 there; one rule a line")
    elif line.value.startswith(b"$"):
        text = shown(line.value.decode("ascii"))
        yield _finding(line.number, kinds.NO_SLASH, f'no path begins like "{text}": it should begin with "/"')


def _on_joined(lines: Iterable[Line]) -> Iterator[Finding]:
    """User-agent lines that look like two groups and are one (Google's page: only rules end the user-agent lines)."""
    first, between = 0, False
    for line in lines:
        if line.kind in _RULES:
            first = 0
        elif line.kind != grammar.USER_AGENT:
            between = between or not line.flags & grammar.IS_COMMENT
        elif not first:
            first, between = line.number, False
        elif between:
            between = False
            text = f"in one group with line {first}, as no rule stands between: both follow the same rules"
            yield _finding(line.number, JOINED, text)


def _on_groups(groups: Sequence[Group], *, strict: bool) -> Iterator[Finding]:
    for group in groups:
        if not group.rules:
            for agent, line in group.agents.items():
                yield _finding(
                    line,
                    NO_RULES,
                    f'no rules follow: "{agent.decode("ascii")}" may fetch everything' if agent else "no rules",
                )
    budget = _Budget(_MOST_WORK)
    for numbers, agents in _merged(groups).items():
        budget.spend(_WORK_OF_RULE * sum(len(groups[number].rules) for number in numbers))
        if budget.left > 0:
            rules = [rule for number in numbers for rule in groups[number].rules]
            whom = f', for "{agents[0].decode("ascii")}"{" and others" if agents[1:] else ""}' if numbers[1:] else ""
            yield from _on_duplicates(rules)
            yield from _on_shadowed(rules, whom, budget, strict=strict)
        if budget.left <= 0:
            text = "from this group on, not all rules were compared with each other: there are too many"
            yield _finding(min(groups[numbers[0]].agents.values()), TOO_MANY, text)
            return


def _merged(groups: Sequence[Group]) -> dict[tuple[int, ...], list[bytes]]:
    """Return which groups are merged, by number, and for which agents (RFC 9309 2.2.1)."""
    named: dict[bytes, list[int]] = {}
    for number, group in enumerate(groups):
        for agent in group.agents:
            named.setdefault(agent, []).append(number)
    merged: dict[tuple[int, ...], list[bytes]] = {}
    for agent, numbers in named.items():
        if agent:
            merged.setdefault(tuple(numbers), []).append(agent)
    return merged


def _on_duplicates(rules: Iterable[Rule]) -> Iterator[Finding]:
    seen: dict[tuple[bool, str], int] = {}
    for rule in rules:
        first = seen.setdefault((rule.allow, rule.pattern), rule.line)
        if first != rule.line:
            yield _finding(rule.line, DUPLICATE, f'"{rule}" stands in line {first} already')


class _Budget:
    """How much work may still be done; `left` is in characters compared."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, work: int) -> None:
        self.left -= work


def _on_shadowed(rules: Sequence[Rule], whom: str, budget: _Budget, *, strict: bool) -> Iterator[Finding]:
    """Rules that never decide: all they match, one rule of the other kind matches too, and it is preferred."""
    wide, same = _rivals(rules, strict=strict)
    for rule in rules:
        rival = same.get((not rule.allow, rule.pattern)) if not rule.allow else None
        for pattern, other in wide[not rule.allow]:
            if rival is not None or len(pattern) < len(rule.pattern) + rule.allow or budget.left <= 0:
                break
            budget.spend(len(pattern) + len(rule.pattern))
            if _covers(pattern, rule.pattern):
                rival = other
        if rival is not None and rule.pattern:
            text = f'"{rule}" never decides{whom}: "{rival}" in line {rival.line} matches all of it and is preferred'
            yield _finding(rule.line, SHADOWED, text)


_Wide = dict[bool, list[tuple[str, "Rule"]]]


def _rivals(rules: Iterable[Rule], *, strict: bool) -> tuple[_Wide, dict[tuple[bool, str], Rule]]:
    """Return the rules that may match all that a rule of their length or less matches: with "*", or equal to it."""
    wide: _Wide = {True: [], False: []}
    same: dict[tuple[bool, str], Rule] = {}
    for rule in rules:
        same.setdefault((rule.allow, rule.pattern), rule)
        directory = directory_of_index(rule.pattern) if rule.allow and not strict else None
        if directory is not None:
            same.setdefault((True, directory), rule)
        if "*" in rule.pattern:
            wide[rule.allow].append((rule.pattern, rule))
    for found in wide.values():
        found.sort(key=lambda pair: -len(pair[0]))
    return wide, same


def _covers(pattern: str, other: str) -> bool:
    """Return whether `pattern` matches all that `other` matches: if it does with "*" in `other` as a character."""
    anchored = other.endswith("$")
    text = (other[:-1] if anchored else other + "*").replace("*", _ANYTHING)
    return matches(pattern, text)
