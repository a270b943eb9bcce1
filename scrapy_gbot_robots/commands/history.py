"""`scrapy robots history ORIGIN`: the versions of a robots.txt, and what changed from one to the next."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ..core.changes import changes
from ..core.robots import RobotsTxt
from ..report.words import count
from .command import FINE, FOUND
from .inputs import checked, history_of, origin_of, typed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from ..core.changes import AgentChange
    from ..settings import GbotSettings
    from ..storage.history import Version
    from .output import Terminal

HELP = "List the versions of a robots.txt that the storage has kept"

_HASH_DIGITS = 12  # shown


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("origin", metavar="ORIGIN", type=typed, help="a URL, or a host (https)")
    parser.add_argument("--json", action="store_true", help="write one JSON object per version, one per line")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the versions, the oldest first; return the exit status: FOUND if there is none."""
    origin = origin_of(options.origin)
    found = history_of(origin, settings)
    rows = list(_with_changes(found, checked(settings)))
    if options.json:
        for version, changed in rows:
            out.write(json.dumps(_as_json(version, changed)) + "\n")
    elif rows:
        titles = ("FETCHED (UTC)", "STATUS", "BYTES", "SHA-256", "CHANGED")
        out.table(titles, [_row(version, changed) for version, changed in rows])
    if not found:
        err.say((f"{origin}: no version is stored; GBOT_ROBOTS_HISTORY says how many a crawl keeps", "warning"))
    return FINE if found else FOUND


def _with_changes(found: list[Version], gbot: GbotSettings) -> Iterator[tuple[Version, list[AgentChange] | None]]:
    """Yield each version with the changes since the one before; None for the first."""
    before: RobotsTxt | None = None
    for version in found:
        robotstxt = RobotsTxt.parse(version.body, strict=gbot.strict, max_bytes=gbot.max_bytes)
        yield version, None if before is None else changes(before, robotstxt)
        before = robotstxt


def _row(version: Version, changed: list[AgentChange] | None) -> tuple[str, str, str, str, str]:
    facts = str(version.status), f"{len(version.body):,}", version.hash[:_HASH_DIGITS]
    return _time(version).replace("T", " ").removesuffix("+00:00"), *facts, _in_words(changed)


def _in_words(changed: list[AgentChange] | None) -> str:
    if changed is None:
        return ""
    if not changed:
        return "nothing that a crawler reads"
    added, removed = (sum(len(getattr(change, kind)) for change in changed) for kind in ("added", "removed"))
    closed = [change.agent for change in changed if change.closed]
    shut = f"; everything is disallowed to {', '.join(closed[:3])} now" if closed else ""
    turned = [change.agent for change in changed if change.preferences]
    said = f"; preferences turned for {', '.join(turned[:3])}" if turned else ""
    return f"{count(added, 'rule')} added, {removed:,} removed for {count(len(changed), 'user agent')}{shut}{said}"


def _time(version: Version) -> str:
    return datetime.fromtimestamp(version.fetched_at, timezone.utc).isoformat(timespec="seconds")


def _as_json(version: Version, changed: list[AgentChange] | None) -> dict[str, object]:
    return {
        "fetched": _time(version),
        "status": version.status,
        "bytes": len(version.body),
        "sha256": version.hash,
        "cut": version.cut,
        "changed_for": None if changed is None else [change.agent for change in changed],
    }
