"""The report as one HTML page without other files: it works from a disk, without a network, and on a phone.

All text from outside is escaped, and the page's content security policy allows no script but ours. Beside each chart,
words or a table say the same. If the page could not be written, the crawl stops at its start and not after hours. A
process that dies while it writes leaves the page of the last crawl as it was.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from html import escape
from importlib.resources import files
from itertools import islice
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG
from string import Template
from typing import TypeAlias

from ..core.urls import shown
from .counters import CrawlCounts, OriginRow, Rule
from .summary import amount, answers_in_words, end_in_words, most_used, states_in_words, walls_in_words

_Cell: TypeAlias = "str | int"


_ROWS = 1_000  # of each table
_BARS = 10  # in a chart
_FEWEST_SPANS = 20  # for which a chart over time has room: a crawl of a second draws one bar and not a wall
_NOTHING = "Nothing was blocked."
_OFF = '<p class="off">This crawl did not obey robots.txt: ROBOTSTXT_OBEY is False</p>'
_SVG = '<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
_PAGE = b"<!doctype html"  # the start of a page; an old page may be replaced, another file may not


def page(counts: CrawlCounts) -> str:
    """Return the HTML page of a report."""
    script = _asset("page.js")
    sha = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    origins, rules = counts.origins.rows(_ROWS), counts.rules.top(_ROWS)
    unreachable, exact = counts.origins.unreachable, counts.origins.exact
    answers = answers_in_words(counts)
    return Template(_asset("page.html")).substitute(
        spider=text(counts.spider),
        when=f"{clock(counts.began)} to {clock(counts.ended)}",
        off="" if counts.obeyed else _OFF,
        end=_sentence(end_in_words(counts)),
        origins=amount(len(counts.origins), exact=exact),
        blocked=f"{counts.blocked:,}",
        unreachable=amount(unreachable, exact=exact or not unreachable),
        states=shares([(state.value, words, number) for state, number, words in states_in_words(counts)]),
        answers=_sentence(answers and f"Answers: {answers}") + _sentence(walls_in_words(counts)),
        reasons=bars([(why, "", number) for why, number in counts.reasons.top(_BARS)], _NOTHING),
        over_time=over_time(counts.over_time.counts, counts.over_time.span_secs, counts.began),
        bars=bars(
            [(rule.text, f"{rule.robots_txt}, line {rule.line}", blocked) for rule, blocked in rules[:_BARS]],
            "No rule blocked a request.",
        ),
        site_bars=bars(
            [
                (each.origin.robots_url, f"{each.state.value}: {each.why}" if each.state else "", each.blocked)
                for each in origins[:_BARS]
                if each.blocked
            ],
            _NOTHING,
        ),
        all_rules=_rules(counts, rules),
        all_origins=_origins(counts, origins),
        overrides=_overrides(counts) + _preferences(counts),
        style=_asset("page.css"),
        script=script,
        script_hash=f"sha256-{sha}",
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip("\n")


def _sentence(words: str) -> str:
    """Return a paragraph of these words, "" of none."""
    return f"<p>{text(words[0].upper() + words[1:])}.</p>" if words else ""


# Tables


def _rules(counts: CrawlCounts, rules: Sequence[tuple[Rule, int]]) -> str:
    heads = ("Blocked", "Rule", "Group", "robots.txt", "Line", "Such as")
    rows = [
        (blocked, rule.text, rule.group, rule.robots_txt, rule.line, " ".join(counts.rules.examples(rule)))
        for rule, blocked in rules
    ]
    note = _left_out(len(rows), len(counts.rules), exact=counts.rules.exact)
    return _table("rules", "All rules that blocked", heads, rows, note)


def _origins(counts: CrawlCounts, origins: Sequence[OriginRow]) -> str:
    heads = ("Blocked", "robots.txt", "State", "Status", "Why", "Answer", "Fetched", "Such as")
    rows: list[Sequence[_Cell]] = []
    for each in origins:
        why = f"{each.why}; redirected to {each.redirected_to}" if each.redirected_to else each.why
        status, fetched = each.status or "", "" if each.fetched_at is None else clock(each.fetched_at)
        state, source = (said.value if said else "" for said in (each.state, each.source))
        examples = " ".join(each.examples)
        rows.append((each.blocked, each.origin.robots_url, state, status, why, source, fetched, examples))
    note = _left_out(len(rows), len(counts.origins), exact=counts.origins.exact)
    return _table("origins", "Origins", heads, rows, note)


def _overrides(counts: CrawlCounts) -> str:
    heads = ("Requests", "Blocked", "Against robots.txt", "Override", "What", "Reason", "Until")
    rows = [
        (use.requests, use.blocked, use.against, each.key, each.what, each.reason, str(each.until or ""))
        for use in islice(most_used(counts), _ROWS)
        for each in (use.override,)
    ]
    note = _left_out(len(rows), len(counts.overrides), most="requests")
    return _table("overrides", "Overrides", heads, rows, note) if rows else ""


def _preferences(counts: CrawlCounts) -> str:
    heads = ("Purpose", "Refused", "Granted", "Not said")
    rows: list[Sequence[_Cell]] = [(purpose, *numbers) for purpose, numbers in counts.preferences.items()]
    return _table("preferences", "What sites say about the use of their pages", heads, rows) if rows else ""


def _table(name: str, title: str, heads: Sequence[str], rows: Iterable[Sequence[_Cell]], note: str = "") -> str:
    """A section with a table."""
    keys = [re.sub(r"\W+", "-", head.lower()) for head in heads]
    columns = "".join(f'<th scope="col" data-key="{key}">{head}</th>' for key, head in zip(keys, heads, strict=True))
    lines = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return Template(_asset("table.html")).substitute(name=name, title=title, heads=columns, rows=lines, note=note)


def _cell(cell: _Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{text(cell)}</td>"
    return f'<td class="number" data-by="{cell}">{cell:,}</td>'


def _left_out(shown_rows: int, known: int, *, exact: bool = True, most: str = "blocked requests") -> str:
    """A paragraph that says how many rows there are, if not all are shown; `most` is what the shown ones have most of."""
    if shown_rows >= known:
        return ""
    return f"<p>The {shown_rows:,} with most {most}, of {amount(known, exact=exact)}.</p>"


# Charts


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
    most, width = max(counts), 100 / max(len(counts), _FEWEST_SPANS)
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


# The file


def try_out(path: Path) -> None:
    """Make the directory of `path`, and check that a page can be written there.

    Raises:
        OSError: it cannot, or `path` exists and is no page.
    """
    with suppress(FileNotFoundError):
        if not S_ISREG(path.stat().st_mode):  # `Path.is_file` hides a name that is too long, or a loop of links
            raise OSError("it is not a file")
        with path.open("rb") as file:
            if file.read(len(_PAGE)).lower() not in {b"", _PAGE}:
                raise OSError("it exists and is no HTML page, so it is not overwritten")
    with _beside(path) as beside:
        beside.touch(exist_ok=False)


def write(path: Path, text: str) -> None:
    """Write `text` beside `path` and rename it, so that `path` is never half a page.

    Raises:
        OSError: the file cannot be written.
    """
    with _beside(path) as beside:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path.resolve())


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Make the directory of `path`, and return the path of a new file in it, which is gone afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    real = path.resolve()  # so that a symbolic link stays a link
    beside = real.with_name(f".{real.name[:100]}.{token_hex(4)}.part")
    try:
        yield beside
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
