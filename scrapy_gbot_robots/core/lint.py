"""What the author of a robots.txt should know about it: the findings, the greatest harm first.

The remarks on single lines come from remarks.py. This module adds what only several lines show (a rule that another rule
always outweighs) and what the grammar alone does not tell (a misspelt field). lint_findings.py has the kinds of finding.

Boundary: nothing here changes a verdict.
Source: Google's page and Google's parser.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from . import lines as grammar
from . import lint_preferences as preferences
from . import remarks as kinds
from .lines import read_lines, split_lines, without_bom
from .lint_findings import (
    AGENT_VERSION,
    CLOSED,
    DUPLICATE,
    JOINED,
    MISSPELT,
    NO_RULES,
    NOT_TEXT,
    OTHER_FIELD,
    RANK,
    RAW,
    SHADOWED,
    SPACE,
    TOO_MANY,
    TWO_SITEMAPS,
    WEB_PAGE,
    Finding,
    finding,
)
from .rivals import MOST_WORK, WORK_OF_RULE, Budget, covers, duplicates, shadowed
from .robots import RobotsTxt, read_groups
from .urls import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .lines import Line
    from .remarks import Remark
    from .robots import Group
    from .verdict import Rule

_PAGE_BEGINS: Final = re.compile(
    rb"\s*(?:<\?xml\b[^>]*>\s*)?(?:<!--.{0,1000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_PRODUCT: Final = re.compile(rb"[A-Za-z_-]+/")  # a product token with a version, as in a User-Agent header
_FIELD_NAMES: Final = [name.decode("ascii") for _, name, _ in grammar.FIELDS]
_MAX_FIELD: Final = 30  # characters; a longer name is no misspelling
_ENDING: Final = 2  # characters of an ending, as in "Disallowed"; more of them make another word
_RULES: Final = {grammar.ALLOW, grammar.DISALLOW}


def findings(
    body: bytes, *, strict: bool = False, max_bytes: int | None = grammar.MAX_BYTES, truncated: bool = False
) -> list[Finding]:
    """Return what is odd about a robots.txt, the greatest harm first, then by line. No `body` makes this raise.

    Args:
        body: the bytes of the file.
        strict: as for `RobotsTxt.parse`.
        max_bytes: as for `RobotsTxt.parse`.
        truncated: whether more was served than `body`.
    """
    if is_binary(body):
        return [finding(1, NOT_TEXT, "this is not UTF-8 text: no line of it is understood, so all is allowed")]
    robotstxt = RobotsTxt.parse(body, strict=strict, max_bytes=max_bytes, cut=truncated)
    lines, groups = robotstxt.lines, read_groups(robotstxt.lines)
    if _PAGE_BEGINS.match(without_bom(body)):
        return [finding(1, WEB_PAGE, _on_page(groups))]
    lost = "" if truncated or max_bytes is None else _lost(body, max_bytes, strict=strict)
    remarks = [remark for remark in robotstxt.remarks if not _is_of_license(remark, lines[remark.line - 1])]
    found = [_refined(remark, lines[remark.line - 1], lost) for remark in remarks]
    for line, raw in zip(lines, split_lines(body), strict=False):
        found += _on_bytes(line, raw)
    found += [finding(line, kind, text) for line, kind, text in preferences.on_preferences(robotstxt)]
    found += _on_joined(lines)
    found += _on_groups(groups, strict=strict)
    found += _on_closed(groups)
    return sorted(set(found), key=lambda each: (RANK[each.kind], each.line, each.text))


def is_binary(body: bytes) -> bool:
    """Whether `body` has NUL bytes and no field, as UTF-16, images and archives do."""
    if b"\0" not in body:
        return False
    return all(line.kind == grammar.UNKNOWN for line in RobotsTxt.parse(body).lines)


def _on_page(groups: Sequence[Group]) -> str:
    """Say what it means that a web page is served as the robots.txt."""
    rules = sum(len(group.rules) for group in groups)
    text = "this is a web page, not a robots.txt"
    return f"{text}; {rules} of its lines are read as rules" if rules else f"{text}: it has no rules, so all is allowed"


def _lost(body: bytes, max_bytes: int, *, strict: bool) -> str:
    """Say what comes after the size limit: how many bytes, and how many whole rules."""
    rest = body[max_bytes:]
    whole = rest if body[:max_bytes].endswith((b"\n", b"\r")) else rest.partition(b"\n")[2]
    rules = sum(line.kind in _RULES for line in read_lines(whole, strict=strict))
    return f"; {len(rest):,} bytes with {rules:,} rule{'' if rules == 1 else 's'} after it are ignored"


def _is_of_license(remark: Remark, line: Line) -> bool:
    """Whether `remark` calls a field unknown that RSL 1.0 knows."""
    return remark.kind == kinds.UNKNOWN_FIELD and line.key.lower() == preferences.LICENSE


def _refined(remark: Remark, line: Line, lost: str) -> Finding:
    """Turn a remark into a finding. `lost` says what the cut took.

    A remark may become another kind of finding: "googlebot/2.1" names a version, "Disalllow" a misspelt field.
    """
    if remark.kind == kinds.CUT:
        return finding(remark.line, remark.kind, remark.text + lost)
    if remark.kind == kinds.AGENT_CUT:
        agent = grammar.agent_of(line.value).decode("ascii")
        if _PRODUCT.match(line.value):
            return finding(line.number, AGENT_VERSION, f'this is for "{agent}" of any version: a version is ignored')
        written = shown(line.value.decode("utf-8", "backslashreplace"), 60)
        text = f'this is for "{agent}", not for "{written}": a name ends where anything but letters, "-" and "_" begins'
        return finding(line.number, kinds.AGENT_CUT, text)
    if remark.kind == kinds.PREFIX and line.kind in _RULES and _ENDING < _more_than_name(line) <= _MAX_FIELD:
        name = "Allow" if line.kind == grammar.ALLOW else "Disallow"
        value = shown(line.value.decode("ascii"), 60)
        return finding(line.number, OTHER_FIELD, f'Google reads it as "{name}: {value}", whatever the rest of it means')
    if remark.kind == kinds.UNKNOWN_FIELD and len(line.key) <= _MAX_FIELD:
        key = line.key.decode("ascii", "replace").lower()
        for name in get_close_matches(key, _FIELD_NAMES, n=1, cutoff=0.75):
            return finding(line.number, MISSPELT, f'{remark.text}, so the line is ignored; did you mean "{name}"?')
    return finding(remark.line, remark.kind, remark.text)


def _more_than_name(line: Line) -> int:
    """Return how much longer the field name of a rule is than the name that it is read as, in characters."""
    return len(line.key) - len(_FIELD_NAMES[line.kind - 1])


def _on_bytes(line: Line, raw: bytes) -> Iterator[Finding]:
    """Look at the bytes of a line that has a directive."""
    if not line.flags & grammar.HAS_DIRECTIVE:
        return
    written = raw.partition(b"#")[0]
    if b"\0" in written:
        yield finding(line.number, kinds.NOT_UTF8, "a NUL byte: the rest of the line is ignored")
    try:
        written.decode("utf-8")
        if line.kind in _RULES and not written.isascii():
            text = shown(line.value.decode("ascii"), 100)
            yield finding(line.number, RAW, f"matched as {text}: write it so, for crawlers that do not escape")
    except UnicodeDecodeError:
        yield finding(line.number, kinds.NOT_UTF8, "not UTF-8: bytes are matched as they stand")
    if line.kind == grammar.SITEMAP and len(line.value.split()) > 1:
        yield finding(line.number, TWO_SITEMAPS, "white space in the URL of a sitemap: one URL a line")
    if line.kind not in _RULES:
        return
    if b" " in line.value or b"\t" in line.value:
        yield finding(line.number, SPACE, "no URL has white space in it: a space is %20 there; one rule a line")
    elif line.value.startswith(b"$"):
        text = shown(line.value.decode("ascii"))
        yield finding(line.number, kinds.NO_SLASH, f'no path begins like "{text}": it should begin with "/"')


def _on_joined(lines: Iterable[Line]) -> Iterator[Finding]:
    """Find user-agent lines that look like two groups and are one. Only rules end the user-agent lines (Google's page)."""
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
            yield finding(line.number, JOINED, text)


def _on_groups(groups: Sequence[Group], *, strict: bool) -> Iterator[Finding]:
    for group in groups:
        if not group.rules:
            for agent, line in group.agents.items():
                yield finding(
                    line,
                    NO_RULES,
                    f'no rules follow: "{agent.decode("ascii")}" may fetch everything' if agent else "no rules",
                )
    budget = Budget(MOST_WORK)
    for numbers, agents in _merged(groups).items():
        budget.spend(WORK_OF_RULE * sum(len(groups[number].rules) for number in numbers))
        if budget.left > 0:
            rules = [rule for number in numbers for rule in groups[number].rules]
            whom = f', for "{agents[0].decode("ascii")}"{" and others" if agents[1:] else ""}' if numbers[1:] else ""
            for rule, first in duplicates(rules):
                yield finding(rule.line, DUPLICATE, f'"{rule}" is already in line {first.line}')
            for rule, rival in shadowed(rules, budget, strict=strict):
                text = (
                    f'"{rule}" never decides{whom}: "{rival}" in line {rival.line} matches all of it and is preferred'
                )
                yield finding(rule.line, SHADOWED, text)
        if budget.left <= 0:
            text = "from this group on, not all rules were compared with each other: there are too many"
            yield finding(min(groups[numbers[0]].agents.values()), TOO_MANY, text)
            return


def _on_closed(groups: Sequence[Group]) -> Iterator[Finding]:
    """Find `Disallow: /` for all crawlers. It is often left over from the time before the site was public."""
    shut = [_shuts(group) for group in groups]
    for group, rule in zip(groups, shut, strict=True):
        if rule is not None and grammar.GLOBAL in group.agents and all(shut):
            text = f'"{rule}" keeps every crawler away from the whole site'
            yield finding(rule.line, CLOSED, text)


def _shuts(group: Group) -> Rule | None:
    """Return the rule that disallows everything, if no rule of the group allows anything."""
    if any(rule.allow and rule.pattern for rule in group.rules):
        return None
    return next((rule for rule in group.rules if rule.pattern and covers(rule.pattern, "/")), None)


def _merged(groups: Sequence[Group]) -> dict[tuple[int, ...], list[bytes]]:
    """Return the numbers of the groups that are merged, with the agents that they are merged for (RFC 9309 2.2.1)."""
    named: dict[bytes, list[int]] = {}
    for number, group in enumerate(groups):
        for agent in group.agents:
            named.setdefault(agent, []).append(number)
    merged: dict[tuple[int, ...], list[bytes]] = {}
    for agent, numbers in named.items():
        if agent:
            merged.setdefault(tuple(numbers), []).append(agent)
    return merged
