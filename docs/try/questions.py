"""What the "Try it" page asks the core: bytes in, JSON out.

It runs in the browser (worker.mjs), and as it is in the tests. It decides nothing and words no
verdict: the core does both. It bounds what goes back to the page, since files may be hostile.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from scrapy_gbot_robots import __version__
from scrapy_gbot_robots.core import asker, changes, crawlers, lines, lint
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


def verdicts(body: bytes, other: bytes | None, urls: bytes, named: str, mode: str) -> str:
    """Return the verdict on each URL for each crawler, and the group that each crawler heeds.

    Args:
        body: the robots.txt.
        other: a second version of it, or None; a verdict that it turns is told, too.
        urls: one URL or path a line.
        named: crawlers in lines: product tokens with commas between them, or a header.
        mode: "first" or "all", as for `check`; "" asks for each crawler by itself.
    """
    askers, notes = _askers(named)
    names = [each.text for each in askers]
    if mode in asker.MODES:
        askers = [asker.as_one(names, mode)]
    robotstxt, rows = _parse(body), []
    for text in filter(None, map(bytes.strip, urls.splitlines())):
        try:
            url = asker.checked_url(as_text(text), has_robots=True)
        except ValueError as error:
            notes.append(shown(str(error)))
            continue
        if len(rows) + len(askers) > MOST_VERDICTS:
            notes.insert(0, TOO_MANY)
            break
        for number, each in enumerate(askers):
            verdict, turned = asker.verdict_on(url, each, robotstxt), ""
            if other is not None:
                second = asker.verdict_on(url, each, _parse(other))
                turned = str(second) if second.allowed != verdict.allowed else ""
            line = verdict.rule.line if verdict.rule else 0
            rows.append((shown(url), number, verdict.allowed, line, str(verdict), turned))
    heeded = [group for each in askers for group in _heeded(robotstxt, each)]
    marked = {row[3] for row in rows}.union(*(numbers for _, _, numbers in heeded))
    answer = {
        "version": __version__,
        "names": names,
        "askers": [each.name for each in askers],
        "notes": notes[:MOST],
        "rows": rows,
        "groups": heeded,
        "sitemaps": [shown(url, 2_000) for url in robotstxt.sitemaps[:MOST]],
        "lines": _lines(body, marked),
    }
    return json.dumps(answer)


def _askers(named: str) -> tuple[list[asker.Asker], list[str]]:
    """Return the crawlers that are named, each once, and what is to be said about their names."""
    askers: dict[crawlers.RobotsAgent, asker.Asker] = {}
    notes: list[str] = []
    for line in named.splitlines():
        for name in filter(None, asker.names_in(line)):
            try:
                each = asker.Asker.of(crawlers.cut_token(name) or name, asker.NAMED)
            except ValueError as error:
                notes.append(str(error))
                continue
            if each.name.lower() != name.lower():
                notes.append(f'"{shown(name)}" is read as "{each.name}"')
            askers[each.crawler] = each
    if len(askers) > MOST_CRAWLERS:
        notes.insert(0, TOO_MANY)
    if not askers:
        return [asker.Asker.of("*", asker.NAMED)], [*notes, NO_NAME]
    notes += asker.hints_on(each.name for each in askers.values())
    return [*askers.values()][:MOST_CRAWLERS], notes


def _heeded(robotstxt: RobotsTxt, each: asker.Asker) -> Iterator[tuple[str, str, list[int]]]:
    """Yield the name of each crawler, which group it heeds in words, and the lines that name it."""
    for crawler in each.crawler if isinstance(each.crawler, crawlers.AllOf) else [each.crawler]:
        agent = robotstxt.verdict("/", crawler).group
        named = [group for group in _groups(robotstxt) if agent in group.agents]
        numbers = [group.agents[agent] for group in named]
        words = asker.group_in_words(crawler, agent, numbers[0] if numbers else None)
        yield crawler.name or "*", words, numbers[:MOST]


@lru_cache(maxsize=2)
def on_file(body: bytes) -> str:
    """Return what lint finds, the greatest harm first, and how much there is of each level."""
    findings = lint.findings(body, more=on_preferences)
    kinds = lint.KINDS
    first = [(each.line, each.level, kinds[each.kind].id, each.text) for each in findings[:MOST]]
    counts = Counter(finding.level for finding in findings)
    near = _lines(body, {line for line, *_ in first})
    return json.dumps({"findings": first, "counts": counts, "lines": near})


@lru_cache(maxsize=1)
def on_change(body: bytes, other: bytes) -> str:
    """Return what changes from one version to the other, and for whom, in words."""
    everything = changes.changes(_parse(body), _parse(other))
    first = [_told(change) for change in everything[:MOST]]
    count = sum(len(change.agents) for change in everything)
    return json.dumps({"changes": first, "count": count})


def _told(change: changes.AgentChange) -> tuple[str, list[str]]:
    title = f"User-agent: {', '.join(change.agents)}" + (
        f" (group {change.group})" if change.group else ""
    )
    words = [*changes.change_in_words(change)][:MOST]
    return title, [
        f"{sign} {text}" + (f" (line {line})" if line else "") for sign, text, line in words
    ]


def _lines(body: bytes, marked: set[int]) -> dict[int, str]:
    """Return lines of the file by their numbers: all of a short one, else those near marks."""
    everything = lines.split_lines(body[: lines.MAX_BYTES])
    wanted: Iterable[int] = range(1, len(everything) + 1)
    if len(everything) > MOST:
        near = {line + step for line in sorted(marked)[:MOST] for step in (-1, 0, 1)}
        wanted = sorted(near.intersection(wanted))
    texts = {line: everything[line - 1].decode(errors="backslashreplace") for line in wanted}
    return {line: shown(text) for line, text in texts.items()}
