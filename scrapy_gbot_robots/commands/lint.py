"""`scrapy robots lint FILE|URL`: what is odd about a robots.txt, the greatest harm first. `core.lint` finds it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from ..core import lint as core
from ..core import remarks as kinds
from ..core.agents import Crawler
from ..core.lines import split_lines
from ..obeying.user_agent import of_project
from ..policy.entry import Kind
from .excerpt import Mark, excerpt
from .exits import FINE, FOUND, CommandError
from .inputs import checked, is_url, origin_of, read

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from .output import Terminal
    from .session import Visit

HELP = "Say what is wrong or odd in a robots.txt, the greatest harm first"

_STYLES = {core.ERROR: "bad", core.WARNING: "warning", core.NOTE: "faint"}

# What of a line a finding is about; the rest are about its value.
_PART = {
    core.MISSPELT: "key",
    kinds.TYPO: "key",
    kinds.PREFIX: "key",
    kinds.MISSING_COLON: "key",
    kinds.UNKNOWN_FIELD: "key",
    kinds.UNUSED_FIELD: "key",
    kinds.IGNORED: "whole",
    kinds.RULE_BEFORE_GROUP: "whole",
    kinds.CUT: "whole",
    core.DUPLICATE: "whole",
    core.SHADOWED: "whole",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "source",
        metavar="FILE|URL",
        help='a file, "-" for standard input, or any URL of the site whose robots.txt to fetch',
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a remark, one a line")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the findings; return the exit status: FOUND if there are any."""
    gbot = checked(settings)
    name, truncated = options.source, False
    if is_url(name):
        name, body, truncated = _fetched(name, settings)
    else:
        body = read(name)
    found = core.findings(body, strict=gbot.strict, max_bytes=gbot.max_bytes, truncated=truncated)
    lines = split_lines(body)
    for finding in found:
        if options.json:
            out.write(json.dumps(finding._asdict()) + "\n")
        else:
            _show(finding, name, lines, out)
    if not options.json:
        levels = Counter(finding.level for finding in found)
        counts = [f"{levels[level]} {level}{'s' if levels[level] > 1 else ''}" for level in _STYLES if levels[level]]
        out.say((name, "strong"), ": ", ", ".join(counts) or ("clean", "good"))
    return FOUND if found else FINE


def _fetched(url: str, settings: Settings) -> tuple[str, bytes, bool]:
    """Return the URL of a site's robots.txt, its body, and whether more of it was served. Raises CommandError."""
    from .crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which a file needs not

    origin = origin_of(url)

    async def work(visit: Visit) -> tuple[str, bytes, bool]:
        known = await visit.known(origin, Crawler.of(of_project(settings).text), fresh=True)
        copy = known.entry.copy
        if known.decision.temporary or copy is None or copy.kind is Kind.NONE:
            raise CommandError(f"{origin.robots_url}: there is nothing to read: {known.decision.why}")
        return origin.robots_url, copy.body, copy.cut

    return during_a_visit(settings, work)


def _show(finding: core.Finding, name: str, lines: list[bytes], out: Terminal) -> None:
    style = _STYLES[finding.level]
    out.say((f"{name}:{finding.line}: ", "strong"), (finding.level, style), f": {finding.text}")
    if finding.kind != core.NOT_TEXT:
        for line in excerpt(lines, [Mark(finding.line, _PART.get(finding.kind, "value"), "", style)]):
            out.say(*line)
