"""The report as a few lines for the log. Data in, text out."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from ..core.urls import shown
from .words import amount, count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .facts import OverrideRow, Report

_Row = TypeVar("_Row")

_MOST = 5  # rules, unreachable robots.txt files, and overrides


def summary(report: Report) -> str:
    """Return the summary: one line, and indented lines that say more."""
    states = ", ".join(f"{number:,} {words}" for _, number, words in report.states_in_words)
    origins = count(report.origins_known, "origin", exact=report.exact) + (f" ({states})" if states else "")
    first = f"robots.txt: {origins}, {count(report.blocked, 'request')} blocked"
    more = chain(
        _about_the_crawl(report), _rules(report), _unreachable(report), _overrides(report), _preferences(report)
    )
    return "\n".join([first, *(f"  {line}" for line in more)])


def _about_the_crawl(report: Report) -> Iterator[str]:
    if report.end_in_words:
        yield report.end_in_words
    if report.answers_in_words:
        yield f"answers: {report.answers_in_words}"
    if report.walls_in_words:
        yield report.walls_in_words
    if report.sitemaps_left_out:
        yield "sitemaps left out: " + ", ".join(
            f"{number:,} by {why}" for why, number in report.sitemaps_left_out.items()
        )


def _rules(report: Report) -> Iterator[str]:
    return _listed(
        report.rules,
        report.rules_known,
        lambda rule: f'{rule.blocked:,} by "{rule.text}" in {rule.robots_txt} (line {rule.line})',
        lambda more: f"the rest by {count(more, 'other rule', exact=report.rules_exact)}",
    )


def _unreachable(report: Report) -> Iterator[str]:
    return _listed(
        report.unreachable_origins,
        report.unreachable,
        lambda row: f"unreachable: {row.robots_txt} ({shown(row.why)}), {count(row.blocked, 'request')} blocked",
        lambda more: f"unreachable: {amount(more, exact=report.exact)} more",
    )


def _overrides(report: Report) -> Iterator[str]:
    return _listed(
        report.overrides,
        report.overrides_used,
        lambda use: f"override for {shown(use.key)} ({shown(use.what)}, {shown(use.reason)}): {_decided(use)}",
        lambda more: f"overrides: {more:,} more",
    )


def _listed(rows: Sequence[_Row], known: int, line: Callable[[_Row], str], rest: Callable[[int], str]) -> Iterator[str]:
    """Yield a line for each of the first rows, and one for the rest: `known` says how many there are in all."""
    listed = rows[:_MOST]
    yield from map(line, listed)
    if known > len(listed):
        yield rest(known - len(listed))


def _decided(use: OverrideRow) -> str:
    counts = [count(use.requests, "request")]
    counts += [f"{use.blocked:,} blocked"] if use.blocked else []
    counts += [f"{use.against:,} against robots.txt"] if use.against else []
    return ", ".join(counts)


def _preferences(report: Report) -> Iterator[str]:
    for row in report.preferences:
        yield f"{row.purpose}: {count(row.refused, 'page')} refused, {row.granted:,} granted, {row.unsaid:,} not said"
