"""`scrapy robots agents URL`: which well-known crawlers may fetch a URL, and which line says so."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from scrapy.settings import Settings

from ..core.asker import verdict_on
from ..core.known_crawlers import AS_OF, KNOWN_CRAWLERS, KnownCrawler
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..policy.outages import State
from ..report.summary import count
from ..settings import GbotSettings
from .ending import FINE
from .inputs import SOURCE, add_shared, checked_url, typed, versions
from .output import Part, Terminal

_TITLES = ("crawler", "operator", "purpose", "may fetch it", "by")
_ANSWERS = {True: ("yes", "good"), False: ("no", "bad")}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "url", metavar="URL", type=typed, help="an absolute URL; with --robots also a path"
    )
    parser.add_argument("--robots", **SOURCE)
    parser.add_argument(
        "--only", choices=("yes", "no"), help="show only crawlers that may fetch it, or may not"
    )
    add_shared(parser, "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the table; return FINE."""
    url = checked_url(options.url, has_robots=options.robots is not None)
    (version,) = versions([options.robots or options.url], settings, err, may_refuse=True)
    robotstxt = GbotSettings.of(settings).parse(version.copy.body)
    refused, rows = 0, []
    for known in KNOWN_CRAWLERS:
        verdict = verdict_on(url, known.crawler, robotstxt)
        if version.decision.state is State.FULL_DISALLOW and verdict.reason != ROBOTS_TXT_ITSELF:
            verdict = Verdict(allowed=False, reason=version.why)
        refused += not verdict.allowed
        if options.only in {None, _ANSWERS[verdict.allowed][0]}:
            out.json(_facts(known, verdict))
            rows.append(_row(known, verdict))
    if rows:
        out.table(_TITLES, rows)
    crawlers = count(len(KNOWN_CRAWLERS), "crawler")
    summary = f": {refused} of {crawlers} refused (the list is of {AS_OF})"
    out.say((version.where, "strong"), summary)
    return FINE


def _facts(known: KnownCrawler, verdict: Verdict) -> dict[str, object]:
    line = None
    if verdict.rule is not None:
        line = verdict.rule.line
    return {
        "crawler": known.tokens[0],
        "operator": known.operator,
        "purpose": known.purpose,
        "obeys": known.obeys,
        "allowed": verdict.allowed,
        "line": line,
        "reason": str(verdict),
    }


def _row(known: KnownCrawler, verdict: Verdict) -> list[Part]:
    answer, style = _ANSWERS[verdict.allowed]
    if not verdict.allowed and not known.obeys:
        answer += ", but it may ignore that"
    return [known.tokens[0], known.operator, known.purpose, (answer, style), str(verdict)]
