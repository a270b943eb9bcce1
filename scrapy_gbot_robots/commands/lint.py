"""`scrapy robots lint FILE|URL|HOST...`: what is wrong or odd in robots.txt files, the greatest harm first.

`core.lint` has the findings, `lint_formats` writes them. This module gets the files and decides the exit status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import lint_findings as core
from ..core.agents import Crawler
from ..core.lint import findings
from ..obeying.user_agent import of_project
from ..policy.outages import Kind
from .exits import FAILED, FINE, FOUND, CommandError
from .inputs import STDIN, checked, is_site, origin_of, read, typed_source
from .lint_formats import FORMATS, Source

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from ..core.origin import Origin
    from .output import Terminal
    from .session import Visit

HELP = "Say what is wrong or odd in robots.txt files, the greatest harm first"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "sources",
        nargs="+",
        type=typed_source,
        metavar="FILE|URL|HOST",
        help='a file, "-" for standard input, or a host (https) or URL whose robots.txt is fetched',
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        help="text (the default), one JSON object per finding and line, SARIF 2.1.0, or annotations for a GitHub workflow",
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="same as --format json")
    parser.add_argument(
        "--fail-on",
        choices=core.LEVELS,
        default=core.NOTE,
        help="end with status 1 only if a finding is at least this bad (default: note)",
    )


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the findings; return the exit status: FOUND if a finding is bad enough, FAILED if a source cannot be read."""
    gbot = checked(settings)
    fails_on = core.LEVELS[: core.LEVELS.index(options.fail_on) + 1]
    sites = {name: origin_of(name) for name in options.sources if is_site(name)}
    fetched = _fetched(list(dict.fromkeys(sites.values())), settings) if sites else {}
    report, status = FORMATS[options.format](out), FINE
    for name in options.sources:
        try:
            source = (
                _of_site(fetched[sites[name]]) if name in sites else Source(name, read(name), is_file=name != STDIN)
            )
        except CommandError as error:
            err.say((f"error: {error}", "bad"))
            status = FAILED
            continue
        found = findings(source.body, strict=gbot.strict, max_bytes=gbot.max_bytes, truncated=source.truncated)
        report.take(source, found)
        if status == FINE and any(finding.level in fails_on for finding in found):
            status = FOUND
    report.finish()
    return status


def _of_site(fetched: Source | str) -> Source:
    if isinstance(fetched, str):
        raise CommandError(fetched)
    return fetched


def _fetched(origins: list[Origin], settings: Settings) -> dict[Origin, Source | str]:
    """Return the robots.txt of each site, or why it cannot be read."""
    from .crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    agent = Crawler.of(of_project(settings).text)

    async def work(visit: Visit) -> dict[Origin, Source | str]:
        found: dict[Origin, Source | str] = {}
        for origin in origins:
            known = await visit.known(origin, agent, fresh=True)
            copy = known.entry.copy
            if known.decision.temporary or copy is None or copy.kind is Kind.NONE:
                found[origin] = f"{origin.robots_url}: there is nothing to read: {known.decision.why}"
            else:
                found[origin] = Source(origin.robots_url, copy.body, truncated=copy.cut)
        return found

    return during_a_visit(settings, work)
