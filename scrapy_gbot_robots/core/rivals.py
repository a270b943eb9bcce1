"""The rules of one crawler compared with each other: rules that repeat another, and rules that can never decide.

Boundary: it knows rules alone. The comparison stays within a budget, since a hostile file would take hours.
Source: RFC 9309 2.2.2 and Google's page ("Order of precedence for rules").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .patterns import directory_of_index, matches, stand_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .verdict import Rule

    _Wide = dict[bool, list[tuple[str, Rule]]]

MOST_WORK: Final = 10_000_000  # characters of patterns compared with each other
WORK_OF_RULE: Final = 100  # looking at a rule takes as long as comparing this number of characters


def duplicates(rules: Iterable[Rule]) -> Iterator[tuple[Rule, Rule]]:
    """Yield each rule that repeats an earlier line, with the earlier rule."""
    seen: dict[tuple[bool, str], Rule] = {}
    for rule in rules:
        first = seen.setdefault((rule.allow, rule.pattern), rule)
        if first.line != rule.line:
            yield rule, first


class Budget:
    """How much work may still be done. `left` is in the units in which work is spent."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, work: int) -> None:
        """Subtract `work` that is done."""
        self.left -= work


def shadowed(rules: Sequence[Rule], budget: Budget, *, strict: bool) -> Iterator[tuple[Rule, Rule]]:
    """Yield each rule that never decides, with a rule of the other kind that matches all its paths and is preferred."""
    wide, same = _rivals(rules, strict=strict)
    for rule in rules:
        rival = same.get((not rule.allow, rule.pattern)) if not rule.allow else None
        for pattern, other in wide[not rule.allow]:
            if rival is not None or len(pattern) < len(rule.pattern) + rule.allow or budget.left <= 0:
                break
            budget.spend(len(pattern) + len(rule.pattern))
            if covers(pattern, rule.pattern):
                rival = other
        if rival is not None and rule.pattern:
            yield rule, rival


def _rivals(rules: Iterable[Rule], *, strict: bool) -> tuple[_Wide, dict[tuple[bool, str], Rule]]:
    """Return the rules that may match all paths of another rule: those with "*", the longest first, and all by pattern."""
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


def covers(pattern: str, other: str) -> bool:
    """Whether `pattern` matches every path that `other` matches."""
    return matches(pattern, stand_in(other))
