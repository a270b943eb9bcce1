"""`scrapy robots fleet`: the processes that share a Redis, and how many origins they know."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from contextlib import closing
from dataclasses import replace
from typing import Any

from scrapy.settings import Settings

from ..policy.outages import span
from ..report.summary import count
from ..settings import GbotSettings
from ..storage.base import StorageError
from ..storage.client import redis_opener
from .command import FINE, FOUND, CommandError
from .inputs import add_shared
from .output import Terminal

_MOST_ORIGINS = 20_000  # counted
_MOST = 1e15  # of a figure
_TITLES = (
    "PROCESS",
    "SPIDER",
    "RUNS FOR",
    "FETCHES A MINUTE",
    "LEASES",
    "WAITING",
    "HELD",
    "FORBIDDEN",
    "PAGES",
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("--redis", metavar="URL", help="the Redis (default: that of the settings)")
    add_shared(parser, "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the table; return the exit status: FOUND if no process runs."""
    gbot = GbotSettings.of(settings)
    if options.redis:
        gbot = replace(gbot, redis_url=options.redis, redis_client=None)
    try:
        with closing(redis_opener(gbot, settings)()) as storage:
            fleet, server = storage.fleet(_MOST_ORIGINS), storage.server
    except (ImportError, ValueError, StorageError) as error:
        raise CommandError(str(error)) from None
    processes, origins = fleet["processes"], fleet["origins"]
    out.json(fleet)
    if processes:
        out.table(_TITLES, [_row(facts) for facts in processes])
    running = count(len(processes), "process", "processes")
    stored = count(origins["known"], "origin", exact=not origins["more"])
    leases = count(origins["leased"], "lease")
    summary = f": {running}; {stored} known, {origins['unreachable']:,} unreachable; {leases}"
    out.say((server, "strong"), summary)
    if processes:
        return FINE
    return FOUND


def _is_figure(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) < _MOST


def _row(facts: dict[str, Any]) -> list[str]:
    # Other programs may write to the Redis, too.
    number = {name: value for name, value in facts.items() if _is_figure(value)}
    runs = max(1.0, time.time() - number.get("started", 0.0))
    figures = [
        f"{number.get(name, 0.0):,.0f}"
        for name in ("leases", "waiting", "held", "forbidden", "pages")
    ]
    fetches = f"{number.get('fetched', 0.0) * 60 / runs:,.1f}"
    process = f"{facts.get('host', '?')}:{facts.get('pid', '?')}"
    return [process, str(facts.get("spider", "?")), span(runs), fetches, *figures]
