"""The report as a few lines for the log, and the words for numbers, also for page and command."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from ..core.urls import shown
from ..obeying.answer import Source
from ..policy.outages import State, span
from .counters import FINISHED, CrawlCounts, OverrideUse

_MOST = 5  # rules, unreachable robots.txt files, and overrides
_IN_STATE = {State.RULES: "with rules"}


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


def states_in_words(counts: CrawlCounts) -> list[tuple[str, int]]:
    """Return how to call the states that origins are in, and how many are."""
    by_state = counts.origins.by_state
    return [
        (_IN_STATE.get(state, state.value), by_state[state]) for state in State if by_state[state]
    ]


def answers_in_words(counts: CrawlCounts) -> str:
    """Return where the answers came from, and how old the oldest was; "" without an answer."""
    by_source = counts.origins.by_source
    if not by_source:
        return ""
    sources = [f"{by_source[source]:,} {source.value}" for source in Source if by_source[source]]
    words = ", ".join(sources)
    oldest, without = counts.origins.oldest_secs, len(counts.origins) - sum(by_source.values())
    if oldest >= 1:
        words += f"; the oldest was {span(oldest)} old"
    if without:
        words += f"; no answer from {count(without, 'origin')}"
    return words


def walls_in_words(counts: CrawlCounts) -> str:
    """Return how many answers were not of the sites, but of bot walls; "" if none was."""
    if not counts.walled:
        return ""
    answers = count(counts.walled, "answer")
    return f"{answers} of bot walls, not of the sites; GBOT_ROBOTS_REFUSED says what they mean"


def sitemaps_in_words(counts: CrawlCounts) -> str:
    """Return how many sitemaps were left out, by which settings and rules; "" if none was."""
    left_out = counts.sitemaps_left_out.items()
    if not left_out:
        return ""
    return "sitemaps left out: " + ", ".join(f"{number:,} by {why}" for why, number in left_out)


def end_in_words(counts: CrawlCounts) -> str:
    """Return that the crawl ended early, why, and what still waited; "" if it did not."""
    if counts.finish_reason == FINISHED:
        return ""
    end = f"the crawl ended early ({counts.finish_reason})"
    if counts.waiting:
        end += f"; {count(counts.waiting, 'request')} still waited for a robots.txt"
    return end


def summary(counts: CrawlCounts) -> str:
    """Return the summary: one line, and indented lines that say more, what is gravest first."""
    origins = count(len(counts.origins), "origin", exact=counts.origins.exact)
    states = ", ".join(f"{number:,} {words}" for words, number in states_in_words(counts))
    if states:
        origins += f" ({states})"
    first = f"robots.txt: {origins}, {count(counts.blocked, 'request')} blocked"
    more = chain(
        _about_the_crawl(counts),
        _unreachable(counts),
        _rules(counts),
        _overrides(counts),
        counts.preferences,
    )
    return "\n".join([first, *(f"  {line}" for line in more)])


def _about_the_crawl(counts: CrawlCounts) -> Iterator[str]:
    end, walls = end_in_words(counts), walls_in_words(counts)
    if end:
        yield end
    answers = answers_in_words(counts)
    if answers:
        yield f"answers: {answers}"
    if walls:
        yield walls
    left_out = sitemaps_in_words(counts)
    if left_out:
        yield left_out


def _unreachable(counts: CrawlCounts) -> Iterator[str]:
    rows = counts.origins.rows(_MOST, unreachable=True)
    for row, blocked in rows:
        requests = count(blocked, "request")
        yield f"unreachable: {row.origin.robots_url} ({shown(row.cause)}), {requests} blocked"
    more = counts.origins.unreachable - len(rows)
    if more:
        yield f"unreachable: {amount(more, exact=counts.origins.exact)} more"


def _rules(counts: CrawlCounts) -> Iterator[str]:
    rules = counts.rules.top(_MOST)
    for rule, blocked in rules:
        yield f"{blocked:,} by {rule}"
    more = len(counts.rules) - len(rules)
    if more:
        yield f"the rest by {count(more, 'other rule', exact=counts.rules.exact)}"


def _overrides(counts: CrawlCounts) -> Iterator[str]:
    for use in islice(most_used(counts), _MOST):
        override = use.override
        about = f"{shown(override.key)} ({override.action.value}, {shown(override.reason)})"
        yield f"override for {about}: {count(use.requests, 'request')}, {use.blocked:,} blocked"
    if len(counts.overrides) > _MOST:
        yield f"overrides: {len(counts.overrides) - _MOST:,} more"


def most_used(counts: CrawlCounts) -> Iterator[OverrideUse]:
    """Yield the overrides that decided about requests, those with most requests first."""
    yield from sorted(counts.overrides.values(), key=lambda use: -use.requests)
