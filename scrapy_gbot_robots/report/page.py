"""The report as one HTML page without other files: it works from a disk, without a network, and on a phone.

Pure: data in, text out. All text from outside is escaped, and the page's content security policy allows no script but ours.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from .charts import bars, clock, over_time, shares, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_BARS = 10  # in a chart
_NOTHING = "Nothing was blocked."
_OFF = '<p class="off">This crawl did not obey robots.txt: ROBOTSTXT_OBEY is False</p>'


class RuleRow(NamedTuple):
    """A rule, and how many requests it forbade."""

    blocked: int
    robots_txt: str
    line: int
    text: str
    group: str


class OriginRow(NamedTuple):
    """An origin's robots.txt, what it amounts to, why, and how many requests it forbade."""

    blocked: int
    robots_txt: str
    state: str
    status: int | None
    why: str


class OverrideRow(NamedTuple):
    """An override: the requests it decided about, those it forbade, and those it let go on against robots.txt."""

    requests: int
    blocked: int
    against: int
    key: str
    what: str
    reason: str
    until: str


class PreferenceRow(NamedTuple):
    """A purpose of the crawl, and on how many pages sites refused, granted, or did not say it."""

    purpose: str
    refused: int
    granted: int
    unsaid: int


@dataclass(frozen=True)
class Report:
    """All that the page shows. Times are seconds since the epoch.

    `by_state` and `unreachable` count origins; unless `exact`, there were more. `rules_known` counts the rules that blocked
    requests; unless `rules_exact`, there were more. `obeyed` is False if the crawl did not obey robots.txt. `reasons` says
    why requests were blocked, `over_time` how many in each span of `span_secs` seconds since `began`.
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
    preferences: Sequence[PreferenceRow] = ()
    exact: bool = True
    rules_exact: bool = True
    obeyed: bool = True
    reasons: Sequence[tuple[str, int]] = ()
    over_time: Sequence[int] = ()
    span_secs: float = 1.0


def page(report: Report) -> str:
    """Return the HTML page of a report."""
    script = _asset("page.js")
    sha = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    origins = sum(report.by_state.values())
    return Template(_asset("page.html")).substitute(
        spider=text(report.spider),
        when=f"{clock(report.began)} to {clock(report.ended)}",
        off="" if report.obeyed else _OFF,
        origins=_number(origins, report.exact),
        blocked=f"{report.blocked:,}",
        unreachable=_number(report.unreachable, report.exact),
        states=shares(report.by_state),
        reasons=bars([(why, "", count) for why, count in report.reasons], _NOTHING),
        over_time=over_time(report.over_time, report.span_secs, report.began),
        bars=bars(
            [(rule.text, f"{rule.robots_txt}, line {rule.line}", rule.blocked) for rule in report.rules[:_BARS]],
            "No rule blocked a request.",
        ),
        site_bars=bars(
            [(each.robots_txt, f"{each.state}: {each.why}", each.blocked) for each in _most_blocked(report.origins)],
            _NOTHING,
        ),
        rules="\n".join(map(_rule, report.rules)),
        rules_note=_left_out(len(report.rules), report.rules_known, report.rules_exact),
        origin_rows="\n".join(map(_origin, report.origins)),
        origins_note=_left_out(len(report.origins), origins, report.exact),
        overrides=_overrides(report) + _preferences(report),
        style=_asset("page.css"),
        script=script,
        script_hash=f"sha256-{sha}",
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip("\n")


def _most_blocked(origins: Sequence[OriginRow]) -> list[OriginRow]:
    return [each for each in origins[:_BARS] if each.blocked]


def _rule(rule: RuleRow) -> str:
    return _row(
        [(rule.blocked, f"{rule.blocked:,}"), rule.text, rule.group, rule.robots_txt, (rule.line, str(rule.line))]
    )


def _origin(origin: OriginRow) -> str:
    status = (origin.status or 0, str(origin.status or ""))
    return _row([(origin.blocked, f"{origin.blocked:,}"), origin.robots_txt, origin.state, status, origin.why])


def _overrides(report: Report) -> str:
    """The section about overrides; "" if no override was used."""
    if not report.overrides:
        return ""
    rows = "\n".join(
        _row([*((count, f"{count:,}") for count in use[:3]), use.key, use.what, use.reason, use.until])
        for use in report.overrides
    )
    note = _left_out(len(report.overrides), report.overrides_used, exact=True).replace("blocked requests", "requests")
    return Template(_asset("overrides.html")).substitute(rows=rows, note=note)


def _preferences(report: Report) -> str:
    """The section about the purposes of the crawl; none where it has none."""
    if not report.preferences:
        return ""
    rows = "\n".join(_row([row.purpose, *((count, f"{count:,}") for count in row[1:])]) for row in report.preferences)
    return Template(_asset("preferences.html")).substitute(rows=rows)


def _row(cells: Iterable[str | tuple[int, str]]) -> str:
    """A table row. A number is a pair: the value to sort by, and the text to show."""
    columns = (
        f"<td>{text(cell)}</td>" if isinstance(cell, str) else f'<td class="number" data-by="{cell[0]}">{cell[1]}</td>'
        for cell in cells
    )
    return f"<tr>{''.join(columns)}</tr>"


def _left_out(shown_rows: int, known: int, exact: bool) -> str:
    if shown_rows >= known:
        return ""
    return f"<p>The {shown_rows:,} with most blocked requests, of {_number(known, exact)}.</p>"


def _number(count: int, exact: bool) -> str:
    return f"{'' if exact or not count else 'more than '}{count:,}"
