"""`scrapy robots cache list|show|forget`: what the storage holds between runs. Nothing is fetched.

Sub-commands of their own right act on one storage, opened and closed here; entries mean what the policy says now.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.crawler import Crawler

from ..policy.ladder import decide
from ..storage.base import StorageError
from ..storage.memory import MemoryStorage
from ..store import driver_for
from . import FINE, FOUND, CommandError
from .source import checked, origin_of
from .terminal import span

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from ..policy.entry import Entry
    from ..policy.ladder import Decision
    from ..settings import GbotSettings
    from ..storage.base import Storage
    from .terminal import Terminal

HELP = "Say what is kept of robots.txt files between runs, or forget it"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    acts = parser.add_subparsers(title="What to do", dest="act", metavar="list|show|forget", required=True)
    listing = acts.add_parser("list", help="one line an origin")
    listing.add_argument("prefix", nargs="?", default="", metavar="PREFIX", help="only origins that begin so")
    listing.add_argument("--json", action="store_true", help="one JSON object an origin, one a line")
    show = acts.add_parser("show", help="all that is kept of an origin, its robots.txt included")
    forget = acts.add_parser("forget", help="let the next crawl fetch it again")
    for act in (show, forget):
        act.add_argument("origins", nargs="+", metavar="ORIGIN", help="a URL of it, or a host that is asked by https")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Do what is asked for; return the exit status: FOUND if an origin is not kept."""
    gbot = checked(settings)
    with _storage(gbot, settings) as storage:
        if options.act == "list":
            return _list(options, storage, gbot, out)
        act = _show if options.act == "show" else _forget
        statuses = [act(str(origin_of(text)), storage, gbot, out, err) for text in options.origins]
    return max(statuses)


@contextmanager
def _storage(gbot: GbotSettings, settings: Settings) -> Iterator[Storage]:
    """Open the storage of the settings. Raises CommandError if that is none, or it is in trouble."""
    try:
        opens = driver_for(gbot, Crawler(Spider, settings))
        if opens is MemoryStorage:
            raise CommandError("nothing is kept between runs: GBOT_ROBOTS_STORAGE is memory, or this is no Scrapy project")
        storage = opens()
    except CommandError:
        raise
    except Exception as error:
        raise CommandError(f"the storage {gbot.storage} cannot be opened: {error}") from error
    try:
        yield storage
    except StorageError as error:
        raise CommandError(f"the storage {gbot.storage} failed: {error}") from error
    finally:
        storage.close()


def _list(options: Namespace, storage: Storage, gbot: GbotSettings, out: Terminal) -> int:
    if not options.json:
        out.say(f"{'STATE':<13}  {'STATUS':>6}  {'FETCHED':>10}  {'FRESH FOR':>9}  ORIGIN")
    for origin in storage.origins(options.prefix):
        entry = storage.get(origin)
        if entry is None:
            continue
        facts = _facts(origin, entry, gbot)
        if options.json:
            out.write(json.dumps(facts) + "\n")
            continue
        age = "" if facts["age_secs"] is None else f"{span(facts['age_secs'])} ago"
        fresh = span(facts["fresh_secs"]) if facts["fresh_secs"] > 0 else "stale"
        out.say(f"{facts['state']:<13}  {facts['status'] or '':>6}  {age:>10}  {fresh:>9}  {origin}")
    return FINE


def _facts(origin: str, entry: Entry, gbot: GbotSettings) -> dict[str, Any]:
    now = time.time()
    decision: Decision = decide(entry, now, gbot.policy)
    known = entry.outage or entry.copy
    return {
        "origin": origin,
        "state": decision.state.value,
        "temporary": decision.temporary,
        "why": decision.why,
        "status": known.status if known else None,
        "age_secs": max(0.0, now - entry.copy.fetched_at) if entry.copy else None,
        "fresh_secs": max(0.0, decision.ask_at - now),
        "served_by": entry.copy.url if entry.copy else None,
        "bytes": len(entry.copy.body) if entry.copy else 0,
        "cut": entry.copy.cut if entry.copy else False,
        "failures": entry.outage.failures if entry.outage else 0,
    }


def _show(origin: str, storage: Storage, gbot: GbotSettings, out: Terminal, err: Terminal) -> int:
    entry = storage.get(origin)
    if entry is None:
        err.say((f"{origin}: not in the cache", "warning"))
        return FOUND
    out.say((origin, "strong"))
    for name, value in _facts(origin, entry, gbot).items():
        ...
    return FINE


def _forget(origin: str, storage: Storage, gbot: GbotSettings, out: Terminal, err: Terminal) -> int:  # noqa: ARG001
    if not storage.delete(origin):
        err.say((f"{origin}: not in the cache", "warning"))
        return FOUND
    out.say(f"{origin}: forgotten")
    return FINE
