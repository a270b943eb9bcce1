"""The charts of the page, as SVG in HTML. Beside each chart, words or a table say the same."""

from __future__ import annotations

from datetime import datetime, timezone
from html import escape
from typing import TYPE_CHECKING

from ..core.urls import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SVG = '<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'


def text(raw: str) -> str:
    """Return `raw` for HTML: escaped, printable, of bounded length."""
    return escape(shown(raw, limit=500))


def clock(seconds: float) -> str:
    """Return a time, in seconds since the epoch, as UTC."""
    return f"{datetime.fromtimestamp(seconds, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def shares(parts: Sequence[tuple[str, str, int]]) -> str:
    """The parts of a whole, each a name, what to call it after its number, and the number: one bar, and a legend."""
    if not parts:
        return "<p>The crawl met no origin.</p>"
    total = sum(count for _, _, count in parts)
    rects, legend, at = [], [], 0.0
    for name, words, count in parts:
        width, kind = 100 * count / total, name.replace(" ", "-")
        rects.append(f'<rect class="{kind}" x="{at:.2f}" width="{width:.2f}" height="1"/>')
        legend.append(f'<li><i class="{kind}"></i>{count:,} {escape(words)}</li>')
        at += width
    return f'{_SVG}{"".join(rects)}</svg><ul class="legend">{"".join(legend)}</ul>'


def bars(rows: Iterable[tuple[str, str, int]], none: str) -> str:
    """A bar for each row of title, smaller text and number; the text `none` if there is no row."""
    counted = list(rows)
    longest = max((count for _, _, count in counted), default=1)
    items = [
        f'<li><span class="rule">{text(title)}</span> <span class="faint">{text(beside)}</span>{_SVG}'
        f'<rect width="{100 * count / longest:.2f}" height="1"/></svg><b>{count:,}</b></li>'
        for title, beside, count in counted
    ]
    return f'<ol class="bars">{"".join(items)}</ol>' if items else f"<p>{escape(none)}</p>"


def over_time(counts: Sequence[int], span_secs: float, began: float) -> str:
    """A bar for each span of the crawl, and a table that unfolds."""
    if not any(counts):
        return "<p>Nothing was blocked.</p>"
    most, width = max(counts), 100 / len(counts)
    rects = [
        f'<rect x="{at * width:.2f}" y="{1 - count / most:.3f}" width="{width * 0.85:.2f}" height="{count / most:.3f}"/>'
        for at, count in enumerate(counts)
        if count
    ]
    rows = [
        f'<tr><td>{clock(began + at * span_secs)}</td><td class="number">{count:,}</td></tr>'
        for at, count in enumerate(counts)
        if count
    ]
    svg = _SVG.replace('class="bar"', 'class="time"')
    return (
        f'{svg}{"".join(rects)}</svg><p class="faint">Each bar is {_length(span_secs)}; the highest is {most:,}.</p>'
        f"<details><summary>As a table</summary><table><thead><tr><th>From</th><th>Blocked</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></details>"
    )


def _length(secs: float) -> str:
    for unit, name in ((3_600, "h"), (60, "min")):
        if secs >= 2 * unit:
            return f"{secs / unit:.3g} {name}"
    return f"{secs:.0f} s"
