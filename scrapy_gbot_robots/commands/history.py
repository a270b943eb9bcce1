"""`scrapy robots history ORIGIN`: the versions of a robots.txt, and for whom each of them changed something."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import datetime, timezone
from hashlib import sha256

from scrapy.settings import Settings

from ..core.changes import AgentChange, changes
from ..policy.outages import Copy
from ..settings import GbotSettings
from .command import FINE, FOUND
from .inputs import add_shared, history_of, origin_of, typed
from .output import Column, Terminal

_HASH_DIGITS = 12  # shown
_COLUMNS: dict[str, Column] = {
    "FETCHED": "fetched",
    "STATUS": "status",
    "BYTES": "bytes",
    "SHA-256": lambda facts: facts["sha256"][:_HASH_DIGITS],
    "CHANGED FOR": lambda facts: ", ".join(facts["changed_for"] or ()),
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("origin", metavar="ORIGIN", type=typed, help="a URL, or a host (https)")
    add_shared(parser, "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the versions, the oldest first; return the exit status: FOUND if there is none."""
    origin = origin_of(options.origin)
    found, before, parse = [], None, GbotSettings.of(settings).parse
    for version in history_of(origin, settings):
        robotstxt = parse(version.body)
        found.append(_facts(version, None if before is None else changes(before, robotstxt)))
        before = robotstxt
    out.rows(found, _COLUMNS)
    if not found:
        err.say(
            (
                f"{origin}: no version is stored; GBOT_ROBOTS_HISTORY says how many a crawl keeps",
                "warning",
            )
        )
    return FINE if found else FOUND


def _facts(version: Copy, changed: list[AgentChange] | None) -> dict[str, object]:
    return {
        "fetched": datetime.fromtimestamp(version.fetched_at, timezone.utc).isoformat(
            timespec="seconds"
        ),
        "status": version.status,
        "bytes": len(version.body),
        "sha256": sha256(version.body).hexdigest(),
        "cut": version.cut,
        "changed_for": None if changed is None else [change.agent for change in changed],
    }
