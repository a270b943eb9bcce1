"""`scrapy robots agents URL`: which of the well-known crawlers may fetch a URL, and by which line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..core.robots import RobotsTxt
from .exits import FINE, CommandError
from .inputs import checked, is_site, typed
from .known_crawlers import AS_OF, KNOWN_CRAWLERS, PURPOSES
from .output import count
from .versions import versions

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from ..core.rules import Verdict
    from .known_crawlers import Known
    from .output import Terminal

HELP = "Show which well-known crawlers may fetch a URL, for search, AI or link previews"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("url", metavar="URL", type=typed, help="a URL, a host, or with --robots a path")
    parser.add_argument(
        "--robots", type=typed, metavar="FILE|URL|HOST", help="ask this robots.txt in place of the site's"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a crawler, one a line")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the table; return FINE."""
    gbot = checked(settings)
    if options.robots is None and not is_site(options.url):
        raise CommandError(f"{options.url}: a path says nothing about a site; name the robots.txt by --robots")
    (version,) = versions([options.robots or options.url], settings)
    robotstxt = RobotsTxt.parse(version.body, strict=gbot.strict, max_bytes=gbot.max_bytes)
    url = options.url if "/" in options.url else "/"  # a host stands for its first page
    found = [(known, robotstxt.verdict(url, known.crawler)) for known in KNOWN_CRAWLERS]
    if options.json:
        for known, verdict in found:
            out.write(json.dumps(_as_json(known, verdict)) + "\n")
        return FINE
    for purpose in PURPOSES:
        rows = [_row(known, verdict) for known, verdict in found if known.purpose == purpose]
        out.table((purpose, "operator", "may fetch it", "by"), rows)
        out.say("")
    refused = sum(not verdict.allowed for _, verdict in found)
    out.say((version.name, "strong"), f": {count(refused, 'crawler')} of {len(found)} refused; crawlers as of {AS_OF}")
    return FINE


def _row(known: Known, verdict: Verdict) -> tuple[str, str, str, str]:
    may = "yes" if verdict.allowed else "no"
    return known.tokens[0], known.operator, may if known.obeys else f"{may}, but it may not ask", str(verdict)


def _as_json(known: Known, verdict: Verdict) -> dict[str, object]:
    return {
        "crawler": known.tokens[0],
        "operator": known.operator,
        "purpose": known.purpose,
        "obeys": known.obeys,
        "allowed": verdict.allowed,
        "line": verdict.rule.line if verdict.rule else None,
        "reason": str(verdict),
    }
