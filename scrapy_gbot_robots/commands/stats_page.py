"""The HTML page of `scrapy robots stats`: tables and charts, in one file that needs nothing else and runs no script.

Pure: data in, text out. All that comes from an archive is escaped.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from ..core.urls import shown
from ..report import __name__ as _report
from .stats import size_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..bulk.survey import Share, Study

    Bar = tuple[str, int, int, str]  # what it says, how long it is, of how much, and a word on it

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>robots.txt files in $archive</title>
<style>
$style
</style>
</head>
<body>
<header>
<h1>robots.txt files in <em>$archive</em></h1>
</header>
<main>
<dl class="numbers">
<div><dt>origins</dt><dd>$origins</dd></div>
<div><dt>files with rules</dt><dd>$rules</dd></div>
<div><dt>bytes of these</dt><dd>$bytes</dd></div>
</dl>
$sections
</main>
</body>
</html>
""")


def page(archive: str, study: Study) -> str:
    """Return the page about an archive of this name."""
    rules = study.states["rules"]
    sections = [
        ("States", [(state, origins, study.origins, "") for state, origins in study.states.items()]),
        (
            "Statuses",
            [(str(status or "no answer"), origins, study.origins, "") for status, origins in study.statuses.items()],
        ),
        ("Sizes, in bytes", [(size_in_words(size), each, rules, "") for size, each in study.sizes]),
        ("Fields, by files that have them", _bars(study.fields, rules, "lines")),
        ("Agents, by files that name them", _bars(study.agents, rules, "kept from the home page")),
        (
            "Named agents, by files that keep them from the home page",
            [(row.name, row.times, row.files, f"of {row.files:,} that name it") for row in study.agents],
        ),
        (
            "Preferences about the home page, for all crawlers",
            [
                (f"{label} {word}", files, rules, "")
                for label, said in study.preferences.items()
                for word, files in said.items()
            ],
        ),
        (
            "Crawlers that were asked for, by files that keep them from the home page",
            [(row.name, row.times, row.files, "") for row in study.crawlers],
        ),
    ]
    return _PAGE.substitute(
        archive=escape(shown(archive)),
        style=files(_report).joinpath("page.css").read_text(encoding="utf-8").strip("\n"),
        origins=f"{study.origins:,}",
        rules=f"{rules:,}",
        bytes=f"{study.total_bytes:,}",
        sections="\n".join(_section(title, bars) for title, bars in sections if bars),
    )


def _bars(rows: Sequence[Share], whole: int, what: str) -> list[Bar]:
    return [(row.name, row.files, whole, f"{row.times:,} {what}") for row in rows]


def _section(title: str, bars: Sequence[Bar]) -> str:
    rows = "".join(
        f'<li><span class="rule">{escape(name)}</span> <span class="faint">{escape(_words(part, whole, word))}</span>'
        '<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{100 * part / max(whole, 1):.2f}" height="1"/></svg><b>{part:,}</b></li>'
        for name, part, whole, word in bars
    )
    return f'<section>\n<h2>{escape(title)}</h2>\n<ol class="bars">{rows}</ol>\n</section>'


def _words(part: int, whole: int, word: str) -> str:
    share = f"{100 * part / max(whole, 1):.1f} %"
    return f"{share}, {word}" if word else share
