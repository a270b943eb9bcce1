"""`scrapy robots check URL...`: whether URLs may be fetched, which line says so, and how old the robots.txt is.

It answers as a crawl of the project would, from the same storage; or from a file, without a network.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.lint import findings
from ..core.lint_findings import OF_THE_FILE
from ..core.origin import Origin
from ..core.robots import RobotsTxt
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..obeying.overridden import OverriddenAnswer
from . import crawlers, purposes
from .crawlers import Asker
from .exits import FAILED, FINE, FOUND, CommandError
from .explain import Check, show
from .explain_json import as_json
from .inputs import checked, is_url, origin_of, overrides_checked, read, typed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from ..policy.overrides import Override
    from ..settings import GbotSettings
    from .output import Terminal
    from .session import Known, Visit

HELP = "Say whether URLs may be fetched, and why"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "urls", nargs="+", type=typed, metavar="URL", help="an absolute URL; with --file also a path that begins with /"
    )
    crawlers.add_argument(parser)
    crawlers.add_mode_argument(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--file", metavar="FILE", help='read this robots.txt, "-" for standard input; fetch nothing')
    source.add_argument("--fresh", action="store_true", help="fetch the robots.txt even if the storage has it")
    purposes.add_argument(parser)
    parser.add_argument("--json", action="store_true", help="write one JSON object per URL and crawler, one per line")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Check the URLs; return the exit status: the worst of all."""
    askers = crawlers.named(options.agents, settings, err, options.mode)
    gbot = checked(settings)
    checks = _by_origin(options, askers, settings) if options.file is None else _by_file(options, askers, gbot, err)
    if options.purposes:
        checks = [replace(check, purposes=tuple(options.purposes)) for check in checks]
    for number, check in enumerate(checks):
        if options.json:
            out.write(json.dumps(as_json(check, gbot)) + "\n")
        else:
            if number:
                out.say()
            show(check, gbot, out)
    if any(check.unreachable for check in checks):
        return FAILED
    return FINE if all(check.decided.allowed and not check.refused_purpose for check in checks) else FOUND


def _by_file(options: Namespace, askers: list[Asker], gbot: GbotSettings, err: Terminal) -> list[Check]:
    for url in options.urls:
        if not url.startswith("/"):
            _absolute(url)
    body = read(options.file)
    for finding in findings(body, strict=gbot.strict, max_bytes=gbot.max_bytes):
        if finding.kind in OF_THE_FILE:
            err.say((f"note: {options.file}: {finding.text}", "warning"))
    robotstxt = RobotsTxt.parse(body, strict=gbot.strict, max_bytes=gbot.max_bytes)
    asked = [(asker, robotstxt.rules_for(asker.crawler)) for asker in askers]
    return [
        Check(url, asker, rules.verdict(url), options.file, body, robotstxt)
        for url in options.urls
        for asker, rules in asked
    ]


def _by_origin(options: Namespace, askers: list[Asker], settings: Settings) -> list[Check]:
    from .crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    origins = [_absolute(url) for url in options.urls]
    overrides = overrides_checked(settings)

    async def work(visit: Visit) -> list[Check]:
        checks: list[Check] = []
        known: dict[tuple[Origin, Asker], Known] = {}
        for url, origin in zip(options.urls, origins, strict=True):
            override = overrides.of(origin, time.time()) if Origin.of_robots_txt(url) is None else None
            for each in askers:
                asker = _as_override_says(each, override)
                if (origin, asker) not in known:
                    fresh = options.fresh and not any(origin == other for other, _ in known)
                    known[origin, asker] = await visit.known(origin, asker.crawler, fresh=fresh)
                checks.append(_of(url, asker, known[origin, asker], visit.settings, override))
        return checks

    return during_a_visit(settings, work)


def _as_override_says(asker: Asker, override: Override | None) -> Asker:
    if override is None or override.crawler is None:
        return asker
    return Asker(override.crawler, "the override", override.crawler.name)


def _of(url: str, asker: Asker, known: Known, gbot: GbotSettings, override: Override | None) -> Check:
    verdict = known.answer.verdict(url, asker.crawler)
    body = known.body
    if Origin.of_robots_txt(url) is not None:
        verdict, body = Verdict(allowed=True, rule=None, reason=ROBOTS_TXT_ITSELF), None
    robotstxt = RobotsTxt.parse(body or b"", strict=gbot.strict, max_bytes=gbot.max_bytes)
    overriding = None
    if override is not None:
        answer = OverriddenAnswer(known.origin, override, asker.crawler, known.answer, lambda *use: None)
        overriding = answer.verdict(url, asker.crawler)
    return Check(url, asker, verdict, known.origin.robots_url, body, robotstxt, known, override, overriding)


def _absolute(url: str) -> Origin:
    if url.startswith("/"):
        raise CommandError(f"{url} is a path; give the whole URL, or a robots.txt with --file")
    if not is_url(url):
        raise CommandError(f"not an absolute URL: {url}; did you mean https://{url}?")
    return origin_of(url)
