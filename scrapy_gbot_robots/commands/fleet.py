"""`scrapy robots fleet`: the processes that share a Redis, and how many origins they know, as a table or JSON."""

from __future__ import annotations

import json
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..report.summary import count, span
from ..storage.base import StorageError
from ..storage.client import redis_of
from .command import FINE, FOUND, CommandError
from .inputs import checked

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from ..storage.redis import RedisStorage
    from .output import Terminal

HELP = "Show the processes that share a Redis, with their fetches, leases and waiting requests"

_MOST_ORIGINS = 20_000  # counted each time
_EVERY_SECS = 2.0
_TITLES = ("PROCESS", "SPIDER", "RUNS FOR", "FETCHES A MINUTE", "LEASES", "WAITING", "HELD", "FORBIDDEN", "PAGES")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("--redis", metavar="URL", help="the Redis (default: that of the settings)")
    parser.add_argument("--watch", action="store_true", help="show the table again every two seconds, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the table; return the exit status: FOUND if no process runs."""
    gbot = checked(settings)
    if options.redis:
        gbot = replace(gbot, redis_url=options.redis, redis_client=None)
    try:
        with closing(redis_of(gbot, settings)()) as storage:
            while True:
                lives = _show(storage, out, as_json=options.json)
                if not options.watch:
                    return FINE if lives else FOUND
                out.flush()
                time.sleep(_EVERY_SECS)
    except (ImportError, ValueError, StorageError) as error:
        raise CommandError(str(error)) from None


def _show(storage: RedisStorage, out: Terminal, *, as_json: bool) -> bool:
    fleet = storage.fleet(_MOST_ORIGINS)
    processes, held = sorted(fleet.processes.items()), fleet.leases.total()
    if as_json:
        rows = [{"id": key, **facts, "leases": fleet.leases[key]} for key, facts in processes]
        origins = {"known": fleet.known, "unreachable": fleet.unreachable, "more": fleet.more, "leased": held}
        out.write(json.dumps({"redis": storage.server, "origins": origins, "processes": rows}) + "\n")
        return bool(processes)
    if processes:
        out.table(_TITLES, [_row(facts, fleet.leases[key]) for key, facts in processes])
    known = f"{count(fleet.known, 'origin', exact=not fleet.more)} known, {fleet.unreachable:,} unreachable"
    out.say(
        (storage.server, "strong"),
        f": {count(len(processes), 'process', 'processes')}; {known}; {count(held, 'lease')}",
    )
    return bool(processes)


def _row(facts: dict[str, Any], leases: int) -> tuple[str, ...]:
    runs = max(1.0, time.time() - _number(facts, "started"))
    figures = (_number(facts, name) for name in ("waiting", "held", "forbidden", "pages"))
    return (
        f"{facts.get('host', '?')}:{facts.get('pid', '?')}",
        str(facts.get("spider", "?")),
        span(runs),
        f"{_number(facts, 'fetched') * 60 / runs:,.1f}",
        str(leases),
        *(f"{figure:,.0f}" for figure in figures),
    )


def _number(facts: dict[str, Any], name: str) -> float:
    """A figure that a process has written; 0 if it is no number, since other programs may write to the Redis."""
    value = facts.get(name)
    return float(value) if isinstance(value, (int, float)) else 0.0
