"""The questions that the "Try it" page asks the core: bytes in, JSON out.

This module runs in the browser (worker.mjs) and, unchanged, in the tests. The core decides, and the
core words the verdicts. This module bounds the answers, because files may be hostile.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from scrapy_gbot_robots import __version__
from scrapy_gbot_robots.core import changes, crawlers, lines, lint, remarks
from scrapy_gbot_robots.core import named_user_agent as asking
from scrapy_gbot_robots.core.robots import RobotsTxt, groups_of
from scrapy_gbot_robots.core.urls import as_text, shown
from scrapy_gbot_robots.experimental.preferences import on_preferences

MOST_VERDICTS = 100_000  # they take Python in a browser some seconds
MOST_CRAWLERS = 100
MOST = 300  # how many of anything else go to the page
NO_NAME = "no crawler is named, so the answers are for a crawler that no group names"
TOO_MANY = "this is too much for a page, so the rest is left out; the command has no limit"

# People copy a URL without its scheme: a host with a dot or with a port, then a path, if any.
_WITHOUT_SCHEME = re.compile(r"(?:[\w-]+(?:\.[\w-]+)+\.?(?::\d+)?|[\w-]+:\d+)(?:[/?#].*)?")

_parse = lru_cache(maxsize=2)(RobotsTxt.parse)  # the file, and its second version
_groups = lru_cache(maxsize=1)(groups_of)


def verdicts(body: bytes, other: bytes | None, urls: bytes, named: str) -> str:
    """Return the verdict on each URL for each user agent, and the group that each one follows.

    Args:
        body: the robots.txt.
        other: a second version of the robots.txt, or None. If a verdict differs, the row has both.
        urls: one URL or path a line. A URL without a scheme is read as https, and a note says so.
        named: user agents in lines: product tokens with commas between them, or a header.
    """
    asked, notes = _crawlers_in(named)
    robotstxt, rows, judged = _parse(body), [], []
    is_cut = False
    for raw in filter(None, map(bytes.strip, urls.splitlines())):
        try:
            text = _with_scheme(as_text(raw), notes)
            url = asking.checked_url(text, has_robots=True)
        except ValueError as error:
            notes.append(shown(str(error)))
            continue
        is_cut = len(rows) + len(asked) > MOST_VERDICTS
        if is_cut:
            notes.insert(0, TOO_MANY)
            break
        judged.append(url)
        for number, one in enumerate(asked):
            verdict, turned = asking.verdict_on(url, one.crawler, robotstxt), ""
            if other is not None:
                second = asking.verdict_on(url, one.crawler, _parse(other))
                turned = "" if second.allowed == verdict.allowed else str(second)
            line = verdict.rule.line if verdict.rule else 0
            rows.append((shown(url), number, verdict.allowed, line, str(verdict), turned))
    followed = [_followed(robotstxt, one.crawler, body) for one in asked]
    marked = {row[3] for row in rows}.union(*(numbers for _, _, numbers in followed))
    answer = {
        "version": __version__,
        "names": [one.text for one in asked],
        "crawlers": [one.name for one in asked],
        "urls": judged,
        "mistakes": _mistakes(body, other),
        "notes": notes[:MOST],
        "rows": rows,
        "isCut": is_cut,
        "groups": followed,
        "sitemaps": [shown(url, 2_000) for url in robotstxt.sitemaps[:MOST]],
        "lines": _lines(body, marked),
    }
    return json.dumps(answer)


def _with_scheme(text: str, notes: list[str]) -> str:
    """Return a URL with https before it if it has no scheme, and add a note about that."""
    if not _WITHOUT_SCHEME.fullmatch(text):
        return text
    url = f"https://{text}"
    notes.append(f'"{shown(text)}" is read as {shown(url)}, because a path begins with /')
    return url


def _mistakes(body: bytes, other: bytes | None) -> list[str]:
    """Return a sentence for each version that is not a robots.txt, such as a web page."""
    mistakes = []
    versions = {"": body, "second version: ": other or b""}
    for name, version in versions.items():
        robotstxt = _parse(version)
        if lines.is_web_page(version) or not groups_of(robotstxt):
            finding = lint.no_robots_file(version, robotstxt)
            mistakes += [f"{name}{finding.text}"] if finding else []
    return mistakes


def _crawlers_in(named: str) -> tuple[list[asking.NamedUserAgent], list[str]]:
    """Return the user agents that are named, each once, and notes about their names."""
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


def _followed(
    robotstxt: RobotsTxt, crawler: crawlers.UserAgent, body: bytes
) -> tuple[str, str, list[int]]:
    """Return a crawler's name, the group that it follows in words, and the lines that name it."""
    user_agent = robotstxt.verdict("/", crawler).group
    followed = [group for group in _groups(robotstxt) if user_agent in group.user_agents]
    numbers = [group.user_agents[user_agent] for group in followed]
    words = asking.group_in_words(crawler, user_agent, numbers[0] if numbers else None, body)
    return crawler.name or "*", words, numbers[:MOST]


@lru_cache(maxsize=2)
def on_file(body: bytes) -> str:
    """Return the findings of lint, the most harmful first, and how many each level has."""
    findings = lint.findings(body, more=on_preferences)
    first = findings[:MOST]
    rows = [(one.line, one.level, remarks.KINDS[one.kind].id, one.text) for one in first]
    counts = Counter(finding.level for finding in findings)
    near = _lines(body, {finding.line for finding in first})
    return json.dumps({"findings": rows, "counts": counts, "lines": near})


@lru_cache(maxsize=1)
def on_change(body: bytes, other: bytes) -> str:
    """Return the changes from one version to the other, in words, with the user agents affected."""
    every_change = changes.changes(_parse(body), _parse(other))
    first = [_in_words(change) for change in every_change[:MOST]]
    count = sum(len(change.user_agents) for change in every_change)
    return json.dumps({"changes": first, "count": count})


def _in_words(change: changes.AgentChange) -> tuple[str, list[str]]:
    """Return the user agents that a change affects, and its lines."""
    title = f"User-agent: {', '.join(change.user_agents[:MOST])}"
    if change.group:
        title += f" (group {change.group})"
    changed = []
    for sign, (text, line) in [*changes.change_in_words(change)][:MOST]:
        where = f" (line {line})" if line else ""
        changed.append(shown(f"{sign} {text}{where}"))
    return shown(title, 2_000), changed


def _lines(body: bytes, marked: set[int]) -> dict[int, str]:
    """Return lines by number: every line of a short file, else the lines near the marked ones."""
    split = lines.split_lines(body[: lines.MAX_BYTES])
    wanted: Iterable[int] = range(1, len(split) + 1)
    if len(split) > MOST:
        near = {line + step for line in sorted(marked)[:MOST] for step in (-1, 0, 1)}
        wanted = sorted(near.intersection(wanted))
    texts = {line: split[line - 1].decode(errors="backslashreplace") for line in wanted}
    return {line: shown(text) for line, text in texts.items()}
