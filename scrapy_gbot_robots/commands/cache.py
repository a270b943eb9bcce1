"""`scrapy robots cache list|show|forget`: what the storage holds between runs. Nothing is fetched.

Sub-commands of their own right act on one storage, opened and closed here; entries mean what the policy says now.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.crawler import Crawler

from ..core.lines import split_lines
from ..obeying.entries import driver_for
from ..policy.ladder import decide
from ..storage.base import StorageError
from ..storage.memory import MemoryStorage
from .exits import FINE, FOUND, CommandError
from .inputs import checked, origin_of
from .output import span

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from ..policy.entry import Entry
    from ..settings import GbotSettings
    from ..storage.base import Storage
    from .output import Terminal

HELP = "Say what is kept of robots.txt files between runs, or forget it"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("act", choices=("list", "show", "forget"), help="one line an origin; all of some; forget some")
    parser.add_argument(
        "origins", nargs="*", metavar="ORIGIN", help="a URL of it, or a host that is asked by https; none lists all"
    )
    parser.add_argument("--json", action="store_true", help="list: one JSON object an origin, one a line")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Do what is asked for; return the exit status: FOUND if an origin is not kept."""
    gbot = checked(settings)
    origins = [str(origin_of(text)) for text in options.origins]
    if not origins and options.act != "list":
        raise CommandError(f"{options.act} needs an ORIGIN")
    with _storage(gbot, settings) as storage:
        if options.act == "list":
            return _list(origins, options.json, storage, gbot, out)
        act = _show if options.act == "show" else _forget
        return max([act(origin, storage, gbot, out, err) for origin in origins])


@contextmanager
def _storage(gbot: GbotSettings, settings: Settings) -> Iterator[Storage]:
    """Open the storage of the settings. Raises CommandError if that is none, or it is in trouble."""
    try:
        storage = driver_for(gbot, Crawler(Spider, settings))()
    except Exception as error:
        raise CommandError(f"the storage {gbot.storage} cannot be opened: {error}") from error
    if isinstance(storage, MemoryStorage):
        raise CommandError("nothing is kept between runs: GBOT_ROBOTS_STORAGE is memory, or this is no Scrapy project")
    try:
        with closing(storage):
            yield storage
    except StorageError as error:
        raise CommandError(f"the storage {gbot.storage} failed: {error}") from error


def _list(origins: list[str], as_json: bool, storage: Storage, gbot: GbotSettings, out: Terminal) -> int:
    if not as_json:
        out.say(f"{'STATE':<13}  {'STATUS':>6}  {'FETCHED':>10}  {'FRESH FOR':>9}  ORIGIN")
    for origin in origins or storage.origins():
        entry = storage.get(origin)
        if entry is None:
            continue
        facts = _facts(origin, entry, gbot)
        if as_json:
            out.write(json.dumps(facts) + "\n")
        else:
            status = "" if facts["status"] is None else facts["status"]
            out.say(f"{facts['state']:<13}  {status:>6}  {_age(facts):>10}  {_fresh(facts):>9}  {origin}")
    return FINE


def _facts(origin: str, entry: Entry, gbot: GbotSettings) -> dict[str, Any]:
    """Say what an entry means now; times are in seconds."""
    now = time.time()
    decision = decide(entry, now, gbot.policy)
    copy, outage = entry.copy, entry.outage
    known = outage or copy
    return {
        "origin": origin,
        "state": decision.state.value,
        "why": decision.why,
        "status": known.status if known else None,
        "served_by": copy.url if copy else None,
        "age_secs": max(0.0, now - copy.fetched_at) if copy else None,
        "fresh_secs": max(0.0, decision.ask_at - now),
        "failures": outage.failures if outage else 0,
        "bytes": len(copy.body) if copy else 0,
    }


def _age(facts: dict[str, Any]) -> str:
    return "" if facts["age_secs"] is None else f"{span(facts['age_secs'])} ago"


def _fresh(facts: dict[str, Any]) -> str:
    return span(math.ceil(facts["fresh_secs"])) if facts["fresh_secs"] else "stale"


def _show(origin: str, storage: Storage, gbot: GbotSettings, out: Terminal, err: Terminal) -> int:
    entry = storage.get(origin)
    if entry is None:
        return _unknown(origin, err)
    facts = _facts(origin, entry, gbot)
    told = {
        "state": f"{facts['state']}: {facts['why']}",
        "served by": facts["served_by"],
        "fetched": _age(facts),
        "fresh for": _fresh(facts),
        "failures": f"{facts['failures']} on end" if facts["failures"] else None,
        "size": f"{facts['bytes']:,} bytes{', the rest was cut off' if entry.copy and entry.copy.cut else ''}",
    }
    out.say((origin, "strong"))
    for name, value in told.items():
        if value:
            out.say(("  = ", "faint"), (name, "strong"), f": {value}")
    lines = split_lines(entry.copy.body) if entry.copy and entry.copy.body else []
    for number, line in enumerate(lines, 1):
        out.say((f"{number:>{len(str(len(lines)))}} | ", "faint"), line.decode("utf-8", "backslashreplace"))
    return FINE


def _forget(origin: str, storage: Storage, gbot: GbotSettings, out: Terminal, err: Terminal) -> int:
    if not storage.delete(origin):
        return _unknown(origin, err)
    out.say(f"{origin}: forgotten")
    return FINE


def _unknown(origin: str, err: Terminal) -> int:
    err.say((f"{origin}: not in the cache", "warning"))
    return FOUND
