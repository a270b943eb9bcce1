"""The report as one HTML page without other files: it works from a disk, without a network, and on a phone.

Data in, text out. All text from outside is escaped, and the page's content security policy allows no script but ours.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from .charts import bars, clock, over_time, shares, text
from .words import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .facts import OriginRow, Report, RuleRow

_BARS = 10  # in a chart
_NOTHING = "Nothing was blocked."
_OFF = '<p class="off">This crawl did not obey robots.txt: ROBOTSTXT_OBEY is False</p>'


def page(report: Report) -> str:
    """Return the HTML page of a report."""
    script = _asset("page.js")
    sha = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return Template(_asset("page.html")).substitute(
        spider=text(report.spider),
        when=f"{clock(report.began)} to {clock(report.ended)}",
        off="" if report.obeyed else _OFF,
        end=_sentence(report.end_in_words),
        origins=amount(report.origins_known, exact=report.exact),
        blocked=f"{report.blocked:,}",
        unreachable=amount(report.unreachable, exact=report.exact or not report.unreachable),
        states=shares([(state.value, words, count) for state, count, words in report.states_in_words]),
        answers=_sentence(report.answers_in_words and f"Answers: {report.answers_in_words}")
        + _sentence(report.walls_in_words),
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
        rules_note=_left_out(len(report.rules), report.rules_known, exact=report.rules_exact),
        origin_rows="\n".join(map(_origin, report.origins)),
        origins_note=_left_out(len(report.origins), report.origins_known, exact=report.exact),
        overrides=_overrides(report) + _preferences(report),
        style=_asset("page.css"),
        script=script,
        script_hash=f"sha256-{sha}",
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip("\n")


def _sentence(words: str) -> str:
    """Return a paragraph of these words, "" of none."""
    return f"<p>{text(words[0].upper() + words[1:])}.</p>" if words else ""


def _most_blocked(origins: Sequence[OriginRow]) -> list[OriginRow]:
    return [each for each in origins[:_BARS] if each.blocked]


def _rule(rule: RuleRow) -> str:
    return _row(
        [(rule.blocked, f"{rule.blocked:,}"), rule.text, rule.group, rule.robots_txt, (rule.line, str(rule.line))]
    )


def _origin(origin: OriginRow) -> str:
    status = (origin.status or 0, str(origin.status or ""))
    fetched = (0, "") if origin.fetched_at is None else (int(origin.fetched_at), clock(origin.fetched_at))
    blocked = (origin.blocked, f"{origin.blocked:,}")
    return _row([blocked, origin.robots_txt, origin.state, status, origin.why, origin.source, fetched])


def _overrides(report: Report) -> str:
    """The section about overrides; "" if no override was used."""
    if not report.overrides:
        return ""
    rows = "\n".join(
        _row([*((count, f"{count:,}") for count in use[:3]), use.key, use.what, use.reason, use.until])
        for use in report.overrides
    )
    note = _left_out(len(report.overrides), report.overrides_used, most="requests")
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


def _left_out(shown_rows: int, known: int, *, exact: bool = True, most: str = "blocked requests") -> str:
    """A paragraph that says how many rows there are, if not all are shown; `most` is what the shown ones have most of."""
    if shown_rows >= known:
        return ""
    return f"<p>The {shown_rows:,} with most {most}, of {amount(known, exact=exact)}.</p>"
