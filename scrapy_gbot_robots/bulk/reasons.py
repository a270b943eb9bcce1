"""Why a URL may be fetched or not: the deciding rule, its line, and the reason in words, for each URL and crawler.

Answers alone come faster (bench.py), since rules judge all URLs of a site at once. Here each URL is judged on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.origin import Origin
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..core.wire import verdict_on_all_forms
from ..policy.ladder import State
from ..policy.overrides import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .bench import Bench, Served, Site

_ITSELF = Verdict(True, None, ROBOTS_TXT_ITSELF)
_NO_URL = Verdict(False, None, "no URL")


class Reasons(NamedTuple):
    """Columns for one crawler, each as long as the URLs: the deciding rule and its line, or None; the reason in words."""

    rules: list[str | None]
    lines: list[int | None]
    words: list[str]


def reasons(bench: Bench, urls: Sequence[str], judged: Iterable[tuple[Site, Served]]) -> list[Reasons]:
    """Return the reasons of the answers that `bench.answers` gives, for each crawler."""
    columns = [Reasons([], [], []) for _ in bench.crawlers]
    for (first, end, _, origin), robots in judged:
        for column, verdict_on in zip(columns, _judges(bench, origin, robots), strict=True):
            for url in urls[first:end]:
                verdict = verdict_on(url) if Origin.of_robots_txt(url) is None else _ITSELF
                rule = verdict.rule
                column.rules.append(None if rule is None else str(rule))
                column.lines.append(None if rule is None else rule.line)
                column.words.append(verdict.reason)
    return columns


def _judges(bench: Bench, origin: Origin | None, robots: Served) -> Iterator[Callable[[str], Verdict]]:
    """Yield a function for each crawler, which returns the verdict on a URL of the site."""
    if origin is None:
        yield from [lambda _url: _NO_URL] * len(bench.crawlers)
        return
    override = bench.override_of(origin)
    if override is not None and override.action in {Action.IGNORE, Action.DISALLOW}:
        whole = override.verdict(allowed=override.action is Action.IGNORE)
        yield from [lambda _url: whole] * len(bench.crawlers)
        return
    decision = None if override is not None and override.robotstxt is not None else bench.decision(robots)
    if decision is not None:
        stated = Verdict(decision.state is State.FULL_ALLOW, None, decision.why)
        verdict = stated if override is None else override.named(stated)
        yield from [lambda _url: verdict] * len(bench.crawlers)
        return
    for rules in bench.rules(robots, override):
        if override is None:
            yield lambda url, rules=rules: verdict_on_all_forms(rules, url)  # type: ignore[misc]
        else:
            yield lambda url, rules=rules: override.named(verdict_on_all_forms(rules, url))  # type: ignore[misc]
