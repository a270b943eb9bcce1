"""What the "Try it" page asks the core: bytes in, JSON out.

It runs in the browser (worker.mjs), and as it is in the tests. It decides nothing and words no
verdict: the core does both. It bounds what goes back to the page, since files may be hostile.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from scrapy_gbot_robots import __version__
from scrapy_gbot_robots.core import changes, crawlers, lines, lint, remarks
from scrapy_gbot_robots.core import named_user_agent as asking
from scrapy_gbot_robots.core.robots import RobotsTxt, groups_of
from scrapy_gbot_robots.core.urls import as_text, shown
from scrapy_gbot_robots.experimental.preferences import on_preferences

MOST_VERDICTS = 100_000  # seconds
MOST_CRAWLERS = 100
MOST = 300  # of anything else that goes to the page
NO_NAME = "no crawler is named, so this is for one that no group names"
TOO_MANY = "this is too much for a page, so the rest is left out; the command has no limit"

_parse = lru_cache(maxsize=2)(RobotsTxt.parse)  # the file, and its second version
_groups = lru_cache(maxsize=1)(groups_of)


def verdicts(body: bytes, other: bytes | None, urls: bytes, named: str) -> str:
    """Return the verdict on each URL for each crawler, and the group that each crawler heeds.

    Args:
        body: the robots.txt.
        other: a second version of it, or None; a verdict that it turns is told, too.
        urls: one URL or path a line.
        named: crawlers in lines: product tokens with commas between them, or a header.
    """
    asked, notes = _crawlers_in(named)
    robotstxt, rows = _parse(body), []
    is_cut = False
    for text in filter(None, map(bytes.strip, urls.splitlines())):
        try:
            url = asking.checked_url(as_text(text), has_robots=True)
        except ValueError as error:
            notes.append(shown(str(error)))
            continue
        is_cut = len(rows) + len(asked) > MOST_VERDICTS
        if is_cut:
            notes.insert(0, TOO_MANY)
            break
        for number, one in enumerate(asked):
            verdict, turned = asking.verdict_on(url, one.crawler, robotstxt), ""
            if other is not None:
                second = asking.verdict_on(url, one.crawler, _parse(other))
                turned = "" if second.allowed == verdict.allowed else str(second)
            line = verdict.rule.line if verdict.rule else 0
            rows.append((shown(url), number, verdict.allowed, line, str(verdict), turned))
    heeded = [_heeded(robotstxt, one.crawler) for one in asked]
    marked = {row[3] for row in rows}.union(*(numbers for _, _, numbers in heeded))
    answer = {
        "version": __version__,
        "names": [one.text for one in asked],
        "crawlers": [one.name for one in asked],
        "notes": notes[:MOST],
        "rows": rows,
        "isCut": is_cut,
        "groups": heeded,
        "sitemaps": [shown(url, 2_000) for url in robotstxt.sitemaps[:MOST]],
        "lines": _lines(body, marked),
    }
    return json.dumps(answer)


def _crawlers_in(named: str) -> tuple[list[asking.NamedUserAgent], list[str]]:
    """Return the crawlers that are named, each once, and what is to be said about their names."""
    asked: dict[crawlers.UserAgent, asking.NamedUserAgent] = {}
    notes: list[str] = []
    for line in named.splitlines():
        for name in filter(None, asking.names_in(line)):
            try:
                one = asking.NamedUserAgent.of(name, asking.NAMED)
            except ValueError as error:
                notes.append(str(error))
                continue
            if one.name.lower() != name.lower():
                notes.append(f'"{shown(name)}" is read as "{one.name}"')
            asked[one.crawler] = one
    if len(asked) > MOST_CRAWLERS:
        notes.insert(0, TOO_MANY)
    if not asked:
        return [asking.NamedUserAgent.of("*", asking.NAMED)], [*notes, NO_NAME]
    notes += asking.hints_on(one.name for one in asked.values())
    return [*asked.values()][:MOST_CRAWLERS], notes


def _heeded(robotstxt: RobotsTxt, crawler: crawlers.UserAgent) -> tuple[str, str, list[int]]:
    """Return the name of a crawler, which group it heeds in words, and the lines that name it."""
    user_agent = robotstxt.verdict("/", crawler).group
    heeded = [group for group in _groups(robotstxt) if user_agent in group.user_agents]
    numbers = [group.user_agents[user_agent] for group in heeded]
    words = asking.group_in_words(crawler, user_agent, numbers[0] if numbers else None)
    return crawler.name or "*", words, numbers[:MOST]


@lru_cache(maxsize=2)
def on_file(body: bytes) -> str:
    """Return what lint finds, the greatest harm first, and how much there is of each level."""
    findings = lint.findings(body, more=on_preferences)
    first = findings[:MOST]
    rows = [(one.line, one.level, remarks.KINDS[one.kind].id, one.text) for one in first]
    counts = Counter(finding.level for finding in findings)
    near = _lines(body, {finding.line for finding in first})
    return json.dumps({"findings": rows, "counts": counts, "lines": near})


@lru_cache(maxsize=1)
def on_change(body: bytes, other: bytes) -> str:
    """Return what changes from one version to the other, and for whom, in words."""
    every_change = changes.changes(_parse(body), _parse(other))
    first = [_told(change) for change in every_change[:MOST]]
    count = sum(len(change.user_agents) for change in every_change)
    return json.dumps({"changes": first, "count": count})


def _told(change: changes.AgentChange) -> tuple[str, list[str]]:
    """Return for whom something changes, and what."""
    title = f"User-agent: {', '.join(change.user_agents[:MOST])}"
    if change.group:
        title += f" (group {change.group})"
    told = []
    for sign, (text, line) in [*changes.change_in_words(change)][:MOST]:
        where = f" (line {line})" if line else ""
        told.append(shown(f"{sign} {text}{where}"))
    return shown(title, 2_000), told


def _lines(body: bytes, marked: set[int]) -> dict[int, str]:
    """Return lines of the file by their numbers: all of a short one, else those near marks."""
    split = lines.split_lines(body[: lines.MAX_BYTES])
    wanted: Iterable[int] = range(1, len(split) + 1)
    if len(split) > MOST:
        near = {line + step for line in sorted(marked)[:MOST] for step in (-1, 0, 1)}
        wanted = sorted(near.intersection(wanted))
    texts = {line: split[line - 1].decode(errors="backslashreplace") for line in wanted}
    return {line: shown(text) for line, text in texts.items()}
