"""`scrapy robots history ORIGIN`: the versions of a robots.txt, and whom each affects."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from hashlib import sha256

from scrapy.settings import Settings

from ..core.changes import AgentChange, changes
from ..core.robots import RobotsTxt
from ..policy.outages import Copy, date_of
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
    parse = GbotSettings.of(settings).parse
    versions: list[dict[str, object]] = []
    before: RobotsTxt | None = None
    for copy in history_of(origin, settings):
        robotstxt = parse(copy.body)
        changed_for: list[str] | None = None
        if before is not None:
            changed_for = _agents_of(changes(before, robotstxt))
        versions.append(_facts(copy, changed_for))
        before = robotstxt
    out.rows(versions, _COLUMNS)
    if not versions:
        err.say(
            (
                f"{origin}: no version is stored; GBOT_ROBOTS_HISTORY says how many a crawl keeps",
                "warning",
            )
        )
    return FINE if versions else FOUND


def _agents_of(changed: list[AgentChange]) -> list[str]:
    agents: list[str] = []
    for change in changed:
        agents += change.agents
    return sorted(agents, key=lambda agent: (agent != "*", agent))


def _facts(version: Copy, changed_for: list[str] | None) -> dict[str, object]:
    date = date_of(version.fetched_at)
    return {
        "fetched": None if date is None else date.isoformat(timespec="seconds"),
        "status": version.status,
        "bytes": len(version.body),
        "sha256": sha256(version.body).hexdigest(),
        "cut": version.cut,
        "changed_for": changed_for,
    }
