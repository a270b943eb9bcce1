"""`scrapy robots agents URL`: which well-known crawlers may fetch a URL, and which line says so."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from scrapy.settings import Settings

from ..core.asker import NAMED, Asker, verdict_on
from ..core.known_crawlers import AS_OF, KNOWN_CRAWLERS, KnownCrawler
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..report.summary import count
from ..settings import GbotSettings
from .ending import FINE
from .inputs import SOURCE, add_shared, checked_url, typed, versions
from .output import Part, Terminal

_TITLES = ("crawler", "operator", "purpose", "may fetch it", "by")


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
    robotstxt = GbotSettings.of(settings).parse(version.body)
    every, wanted = [], []
    for crawler in KNOWN_CRAWLERS:
        asker = Asker(crawler.crawler, NAMED, crawler.tokens[0])
        verdict = verdict_on(url, asker, robotstxt)
        if version.refused and verdict.reason != ROBOTS_TXT_ITSELF:
            verdict = Verdict(allowed=False, reason=version.refused)
        facts = _facts(crawler, verdict)
        every.append(facts)
        if options.only is None or facts["allowed"] == (options.only == "yes"):
            wanted.append(facts)
    for facts in wanted:
        out.json(facts)
    if wanted:
        out.table(_TITLES, map(_row, wanted))
    refused = sum(not facts["allowed"] for facts in every)
    crawlers = count(len(every), "crawler")
    summary = f": {refused} of {crawlers} refused (the list is of {AS_OF})"
    out.say((version.name, "strong"), summary)
    return FINE


def _facts(crawler: KnownCrawler, verdict: Verdict) -> dict[str, object]:
    line = None
    if verdict.rule is not None:
        line = verdict.rule.line
    return {
        "crawler": crawler.tokens[0],
        "operator": crawler.operator,
        "purpose": crawler.purpose,
        "obeys": crawler.obeys,
        "allowed": verdict.allowed,
        "line": line,
        "reason": str(verdict),
    }


def _row(facts: Mapping[str, Any]) -> list[Part]:
    answer: Part = ("yes", "good")
    if not facts["allowed"]:
        answer = ("no", "bad")
        if not facts["obeys"]:
            answer = ("no, but it may ignore that", "bad")
    return [facts["crawler"], facts["operator"], facts["purpose"], answer, facts["reason"]]
