"""The report as one HTML page that needs nothing else: it works from a file, without a network, on a phone too.

Pure: data in, text out. All that comes from outside is escaped, and the page's own policy lets no script run but ours.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from ..core.urls import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_BARS = 10  # rules in the chart
_OFF = '<p class="off">robots.txt was switched off in this crawl: ROBOTSTXT_OBEY is False</p>'


class RuleRow(NamedTuple):
    """A rule, and how many requests it kept back."""

    blocked: int
    robots_txt: str
    line: int
    text: str
    group: str


class OriginRow(NamedTuple):
    """An origin's robots.txt, what it amounts to, why, and how many requests it kept back."""

    blocked: int
    robots_txt: str
    state: str
    status: int | None
    why: str


class OverrideRow(NamedTuple):
    """An override, the requests that it decided about, those it kept back, and those it let go on against robots.txt."""

    requests: int
    blocked: int
    against: int
    key: str
    what: str
    reason: str
    until: str


@dataclass(frozen=True)
class Report:
    """All that the page shows. Times are seconds since the epoch.

    `by_state` and `unreachable` count origins; unless `exact`, there were more. `rules_known` counts the rules that blocked;
    unless `rules_exact`, there were more. `obeyed` is False if robots.txt was switched off.
    """

    spider: str
    began: float
    ended: float
    blocked: int
    by_state: Mapping[str, int]
    unreachable: int
    rules: Sequence[RuleRow]
    rules_known: int
    origins: Sequence[OriginRow]
    overrides: Sequence[OverrideRow] = ()
    overrides_used: int = 0
    exact: bool = True
    rules_exact: bool = True
    obeyed: bool = True


def page(report: Report) -> str:
    """Return the HTML page of a report."""
    script = _asset("page.js")
    sha = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    origins = sum(report.by_state.values())
    return Template(_asset("page.html")).substitute(
        spider=_text(report.spider),
        when=f"{_time(report.began)} to {_time(report.ended)}",
        off="" if report.obeyed else _OFF,
        origins=_number(origins, report.exact),
        blocked=f"{report.blocked:,}",
        unreachable=_number(report.unreachable, report.exact),
        states=_states(report.by_state),
        bars=_bars(report.rules[:_BARS]),
        rules="\n".join(map(_rule, report.rules)),
        rules_note=_left_out(len(report.rules), report.rules_known, report.rules_exact),
        origin_rows="\n".join(map(_origin, report.origins)),
        origins_note=_left_out(len(report.origins), origins, report.exact),
        overrides=_overrides(report),
        style=_asset("page.css"),
        script=script,
        script_hash=f"sha256-{sha}",
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip("\n")


def _text(text: str) -> str:
    return escape(shown(text, limit=500))


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def _states(by_state: Mapping[str, int]) -> str:
    """The origins by state, as parts of one bar and in words."""
    total = max(1, sum(by_state.values()))
    parts, words, at = [], [], 0.0
    for state, count in sorted(by_state.items()):
        width, kind = 100 * count / total, state.replace(" ", "-")
        parts.append(f'<rect class="{kind}" x="{at:.2f}" width="{width:.2f}" height="1"/>')
        words.append(f'<li><i class="{kind}"></i>{count:,} {escape(state)}</li>')
        at += width
    bar = f'<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'
    return f'{bar}<ul class="legend">{"".join(words)}</ul>' if parts else "<p>None was met.</p>"


def _bars(rules: Sequence[RuleRow]) -> str:
    """The rules that kept back most, each as a bar."""
    longest = max((rule.blocked for rule in rules), default=1)
    rows = [
        f'<li><span class="rule">{_text(rule.text)}</span> <span class="faint">{_text(rule.robots_txt)}, '
        f'line {rule.line}</span><svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{100 * rule.blocked / longest:.2f}" height="1"/></svg><b>{rule.blocked:,}</b></li>'
        for rule in rules
    ]
    return f'<ol class="bars">{"".join(rows)}</ol>' if rows else "<p>No rule blocked a request.</p>"


def _rule(rule: RuleRow) -> str:
    return _row(
        [(rule.blocked, f"{rule.blocked:,}"), rule.text, rule.group, rule.robots_txt, (rule.line, str(rule.line))]
    )


def _origin(origin: OriginRow) -> str:
    status = (origin.status or 0, str(origin.status or ""))
    return _row([(origin.blocked, f"{origin.blocked:,}"), origin.robots_txt, origin.state, status, origin.why])


def _overrides(report: Report) -> str:
    """The section about overrides; none where none was used."""
    if not report.overrides:
        return ""
    rows = "\n".join(
        _row([*((count, f"{count:,}") for count in use[:3]), use.key, use.what, use.reason, use.until])
        for use in report.overrides
    )
    note = _left_out(len(report.overrides), report.overrides_used, exact=True).replace("blocked requests", "requests")
    return Template(_asset("overrides.html")).substitute(rows=rows, note=note)


def _row(cells: Iterable[str | tuple[int, str]]) -> str:
    """A table row; of a number, what it is sorted by stands beside what is shown."""
    columns = (
        f"<td>{_text(cell)}</td>" if isinstance(cell, str) else f'<td class="number" data-by="{cell[0]}">{cell[1]}</td>'
        for cell in cells
    )
    return f"<tr>{''.join(columns)}</tr>"


def _left_out(shown_rows: int, known: int, exact: bool) -> str:
    if shown_rows >= known:
        return ""
    return f"<p>The {shown_rows:,} with most blocked requests, of {_number(known, exact)}.</p>"


def _number(count: int, exact: bool) -> str:
    return f"{'' if exact or not count else 'more than '}{count:,}"
