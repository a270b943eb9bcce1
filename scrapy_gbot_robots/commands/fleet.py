"""`scrapy robots fleet`: the processes that share a Redis, and how many origins they know, as a table or JSON."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ..report.words import count, span
from ..storage.base import StorageError
from .command import FINE, FOUND, CommandError
from .inputs import checked

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from ..storage.redis_fleet import Origins, RedisFleet
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
    url = options.redis or checked(settings).redis_url
    try:
        from ..storage.redis_fleet import RedisFleet  # noqa: PLC0415  redis-py is an extra

        with closing(RedisFleet(url)) as fleet:
            while True:
                lives = _show(fleet, out, as_json=options.json)
                if not options.watch:
                    return FINE if lives else FOUND
                out.flush()
                time.sleep(_EVERY_SECS)
    except ImportError:
        raise CommandError("fleet needs redis-py: pip install 'scrapy-gbot-robots[redis]'") from None
    except StorageError as error:
        raise CommandError(str(error)) from None


def _show(fleet: RedisFleet, out: Terminal, *, as_json: bool) -> bool:
    processes, leases, origins = fleet.processes(), fleet.leases(), fleet.origins(_MOST_ORIGINS)
    held = Counter(leases.values())
    if as_json:
        rows = [{"id": key, **facts, "leases": held[key]} for key, facts in sorted(processes.items())]
        known = {**origins._asdict(), "leased": len(leases)}
        out.write(json.dumps({"redis": fleet.place, "origins": known, "processes": rows}) + "\n")
        return bool(processes)
    if processes:
        out.table(_TITLES, [_row(facts, held[key]) for key, facts in sorted(processes.items())])
    out.say(
        (fleet.place, "strong"),
        f": {count(len(processes), 'process', 'processes')}; {_in_words(origins)}; ",
        count(len(leases), "lease"),
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


def _in_words(origins: Origins) -> str:
    return f"{count(origins.known, 'origin', exact=not origins.more)} known, {origins.unreachable:,} unreachable"
