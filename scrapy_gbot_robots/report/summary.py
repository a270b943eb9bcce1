"""The report as a few lines for the log, and the words for numbers, also for page and command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from ..core.urls import shown
from ..obeying.answer import Source
from ..policy.outages import REFUSALS, Kind, State, span
from .counters import FINISHED, CrawlCounts, Origins

_MOST = 5  # rules, unreachable robots.txt files, and overrides
_IN_STATE = {State.RULES: "with rules"}
_KINDS = (
    (Kind.WALL, "{} of bot walls, not of the sites; GBOT_ROBOTS_REFUSED says what they mean"),
    (Kind.WEB_PAGE, "{} with a web page in place of the robots.txt, so no rules"),
)


def count(number: int, noun: str, nouns: str = "", *, exact: bool = True) -> str:
    """Return a number with its noun: "1 URL", "2 URLs"; `nouns` is another plural.

    A number that is not `exact` becomes "more than 2 URLs".
    """
    name = noun
    if number != 1 or not exact:
        name = nouns or f"{noun}s"
    return f"{amount(number, exact=exact)} {name}"


def amount(number: int, *, exact: bool) -> str:
    """Return a number; "more than" stands before it unless it is `exact`."""
    return f"{number:,}" if exact else f"more than {number:,}"


def states_in_words(origins: Origins) -> list[tuple[str, int]]:
    """Return how to call the states that origins are in, and how many are."""
    numbers = Counter(row.state for row in origins.rows.values())
    return [
        (_IN_STATE.get(state, state.value), numbers[state]) for state in State if numbers[state]
    ]


def summary(counts: CrawlCounts) -> str:
    """Return the summary: one line, and indented lines that say more, what is gravest first."""
    origins = count(len(counts.origins.rows), "origin", exact=counts.origins.exact)
    states = ", ".join(f"{number:,} {words}" for words, number in states_in_words(counts.origins))
    if states:
        origins += f" ({states})"
    first = f"robots.txt: {origins}, {count(counts.blocked, 'request')} blocked"
    more = chain(
        notes(counts),
        _unreachable(counts.origins),
        _rules(counts),
        _overrides(counts),
        counts.preferences,
    )
    return "\n  ".join([first, *more])


def notes(counts: CrawlCounts) -> Iterator[str]:
    """Yield what a user should know of the whole crawl, a line for each thing."""
    if counts.finish_reason != FINISHED:
        end = f"the crawl ended early ({counts.finish_reason})"
        if counts.waiting:
            end += f"; {count(counts.waiting, 'request')} still waited for a robots.txt"
        yield end
    yield from _answers(counts.origins)
    left_out = [f"{number:,} by {why}" for why, number in counts.sitemaps_left_out.items()]
    if left_out:
        yield f"sitemaps left out: {', '.join(left_out)}"


def _answers(origins: Origins) -> Iterator[str]:
    """Say where the answers came from, and which of them were no robots.txt of the site's."""
    rows = origins.rows.values()
    sources = Counter(row.source for row in rows)
    words = [f"{sources[source]:,} {source.value}" for source in Source if sources[source]]
    if words:
        line = f"answers: {', '.join(words)}"
        if origins.oldest_secs >= 1:
            line += f"; the oldest was {span(origins.oldest_secs)} old"
        if sources[None]:
            line += f"; no answer from {count(sources[None], 'origin')}"
        yield line
    refused = Counter((row.state, row.status) for row in rows if row.kind is Kind.NONE)
    for state in (State.FULL_ALLOW, State.FULL_DISALLOW):
        numbers = {code: refused[state, code] for code in REFUSALS}
        by_status = [f"{number:,} by HTTP {code}" for code, number in numbers.items() if number]
        if by_status:
            means = f"by GBOT_ROBOTS_REFUSED this means {state.value}"
            yield f"refused: {', '.join(by_status)}; {means}"
    kinds = Counter(row.kind for row in rows)
    for kind, sentence in _KINDS:
        if kinds[kind]:
            yield sentence.format(count(kinds[kind], "answer"))


def _unreachable(origins: Origins) -> Iterator[str]:
    rows = [
        (origin, row.cause, blocked)
        for origin, row, blocked in origins.most_blocking()
        if row.unreachable
    ]
    for origin, cause, blocked in rows[:_MOST]:
        requests = count(blocked, "request")
        yield f"unreachable: {origin.robots_url} ({shown(cause)}), {requests} blocked"
    if len(rows) > _MOST:
        yield f"unreachable: {amount(len(rows) - _MOST, exact=origins.exact)} more"


def _rules(counts: CrawlCounts) -> Iterator[str]:
    for rule, blocked in counts.rules.top(_MOST):
        yield f"{blocked:,} by {rule}"
    more = len(counts.rules) - _MOST
    if more > 0:
        yield f"the rest by {count(more, 'other rule', exact=counts.rules.exact)}"


def _overrides(counts: CrawlCounts) -> Iterator[str]:
    for override, requests in counts.overridden.most_common(_MOST):
        about = f"{shown(override.key)} ({override.action.value}, {shown(override.reason)})"
        blocked = counts.blocked_by_override[override]
        yield f"override for {about}: {count(requests, 'request')}, {blocked:,} blocked"
    if len(counts.overridden) > _MOST:
        yield f"overrides: {len(counts.overridden) - _MOST:,} more"
