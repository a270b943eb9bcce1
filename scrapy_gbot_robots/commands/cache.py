"""`scrapy robots cache list|show|forget`: the entries that the storage keeps between runs. It fetches nothing.

`list` and `show` create and change no file. An entry means what the settings of today make of it.
"""

from __future__ import annotations

import math
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.crawler import Crawler

from ..core.lines import split_lines
from ..core.urls import DEFAULT_PORTS, Origin
from ..policy.outages import decide
from ..report.summary import count, span
from ..settings import GbotSettings
from ..storage.base import StorageError
from ..storage.client import choice_of
from ..storage.memory import MemoryStorage
from .command import FINE, FOUND, CommandError
from .inputs import is_url, origin_of, typed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    from scrapy.settings import Settings

    from ..policy.outages import Entry
    from ..storage.base import Storage
    from .output import Terminal

_SCHEMES = DEFAULT_PORTS.items()


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "act",
        choices=("list", "show", "forget"),
        help="list: one line per origin; show: all about each ORIGIN; forget: delete each ORIGIN",
    )
    parser.add_argument(
        "origins",
        nargs="*",
        type=typed,
        metavar="ORIGIN",
        help="a URL, or a host for all its schemes and ports; without ORIGIN, list shows all",
    )
    parser.add_argument("--all", action="store_true", help="with forget: delete all origins")
    parser.add_argument("--json", action="store_true", help="with list or show: write one JSON object per line")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """List, show or forget; return the exit status: FOUND if an origin is not in the storage."""
    gbot = GbotSettings.of(settings)
    _check(options)
    wanted = [(text, origin_of(text)) for text in options.origins]
    with _storage(gbot, settings, writes=options.act == "forget") as (storage, where):
        found = [(text, _kept(text, origin, storage)) for text, origin in wanted]
        origins = [origin for _, kept in found for origin in kept]
        if options.act == "list":
            listed = _list(origins if wanted else storage.origins(), storage, gbot, out)
            out.say(f"{count(listed, 'origin')} in {where}")
            return FINE
        missing = [text for text, kept in found if not kept]
        for text in missing:
            err.say((f"{text}: not in the storage", "warning"))
        for origin in origins:
            if options.act == "show":
                _show(origin, storage, gbot, out)
            elif storage.delete(origin):
                out.say(f"{origin}: forgotten")
        if options.all:
            forgotten = sum(storage.delete(origin) for origin in list(storage.origins()))
            out.say(f"{count(forgotten, 'origin')} forgotten in {where}")
        return FOUND if missing else FINE


def _check(options: Namespace) -> None:
    """Raise CommandError if arguments do not fit to one another."""
    if options.all and (options.act != "forget" or options.origins):
        raise CommandError("--all is for forget without an ORIGIN")
    if options.act != "list" and not options.origins and not options.all:
        raise CommandError(f"{options.act} needs an ORIGIN{', or --all' if options.act == 'forget' else ''}")


def _kept(text: str, origin: Origin, storage: Storage) -> list[str]:
    """Return the origins in the storage that `text` stands for: a URL for one, a host for all its schemes and ports."""
    if is_url(text):
        return [str(origin)] if storage.get(str(origin)) is not None else []
    one_port = origin.port != DEFAULT_PORTS[origin.scheme]
    starts = [str(Origin(scheme, origin.host, origin.port if one_port else port)) for scheme, port in _SCHEMES]
    return [
        name
        for start in starts
        for name in storage.origins(start)
        if name == start or (name.startswith(f"{start}:") and not one_port)
    ]


@contextmanager
def _storage(gbot: GbotSettings, settings: Settings, *, writes: bool) -> Iterator[tuple[Storage, str]]:
    """Open the storage that the settings name; say where it is. Unless `writes`, no file is created or changed.

    Raises:
        CommandError: nothing is stored between runs, or the storage is in trouble.
    """
    try:
        choice = choice_of(gbot, Crawler(Spider, settings), read_only=not writes)
        where = ", ".join(filter(None, (choice.name, choice.where)))
        if choice.name == "sqlite" and not Path(choice.where).exists():
            where += ", which does not exist yet"
        storage = choice.opens()
    except Exception as error:
        raise CommandError(f"the storage {gbot.storage} cannot be opened: {error}") from error
    if isinstance(storage, MemoryStorage):
        raise CommandError(
            'nothing is stored between runs: GBOT_ROBOTS_STORAGE is "memory", or this directory is in no Scrapy project; '
            "-s GBOT_ROBOTS_SQLITE_PATH=FILE names a storage"
        )
    try:
        with closing(storage):
            yield storage, where
    except StorageError as error:
        raise CommandError(f"the storage {gbot.storage} failed: {error}") from error


def _list(origins: Iterable[str], storage: Storage, gbot: GbotSettings, out: Terminal) -> int:
    """Write the origins at once, as there may be millions; return their number."""
    out.say((f"{'STATE':<13}  {'STATUS':>6}  {'FETCHED':>10}  {'FRESH FOR':>9}  ORIGIN", "strong"))
    listed = 0
    for origin in origins:
        entry = storage.get(origin)
        if entry is None:
            continue
        listed += 1
        facts = _facts(origin, entry, gbot)
        out.json(facts)
        status = "" if facts["status"] is None else facts["status"]
        out.say(f"{facts['state']:<13}  {status:>6}  {_age(facts):>10}  {_fresh(facts):>9}  {origin}")
    return listed


def _facts(origin: str, entry: Entry, gbot: GbotSettings) -> dict[str, Any]:
    """What an entry means now. Times are in seconds."""
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


def _show(origin: str, storage: Storage, gbot: GbotSettings, out: Terminal) -> None:
    entry = storage.get(origin)
    if entry is None:  # another process has deleted it meanwhile
        return
    facts = _facts(origin, entry, gbot)
    told = {
        "state": f"{facts['state']}: {facts['why']}",
        "served by": facts["served_by"],
        "fetched": _age(facts),
        "fresh for": _fresh(facts),
        "failures": f"{facts['failures']:,} in a row" if facts["failures"] else None,
        "size": f"{count(facts['bytes'], 'byte')}{', the rest was cut off' if entry.copy and entry.copy.cut else ''}",
    }
    out.json(facts)
    out.say((origin, "strong"))
    for name, value in told.items():
        if value:
            out.fact(name, value)
    lines = split_lines(entry.copy.body) if entry.copy and entry.copy.body else []
    for number, line in enumerate(lines, 1):
        out.say((f"{number:>{len(str(len(lines)))}} | ", "faint"), line.decode("utf-8", "backslashreplace"))
