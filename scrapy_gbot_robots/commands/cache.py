"""`scrapy robots cache list|show|forget`: the entries that the storage keeps between runs. It fetches nothing.

`list` and `show` create and change no file. An entry means what the settings of today make of it.
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from ..core.lines import split_lines
from ..core.urls import DEFAULT_PORTS, ROBOTS_PATH, Origin
from ..policy.outages import decide
from ..report.summary import count, span
from ..settings import GbotSettings
from ..storage.base import Storage, StorageError
from ..storage.client import choice_of
from ..storage.memory import MemoryStorage
from .check import entry_facts, show_entry
from .command import FINE, FOUND, CommandError
from .inputs import add_shared, is_url, origin_of, typed
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
    add_shared(parser, "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """List, show or forget; return the exit status: FOUND if an origin is not in the storage."""
    gbot, act = GbotSettings.of(settings), options.act
    _check(options)
    wanted = {text: origin_of(text) for text in options.origins}
    with _storage(gbot, settings, writes=act == "forget") as (storage, where):
        kept = {text: _kept(text, origin, storage) for text, origin in wanted.items()}
        missing = [text for text in kept if not kept[text] and act != "list"]
        for text in missing:
            err.say((f"{text}: not in the storage", "warning"))
        found = chain(*kept.values()) if wanted else storage.origins()
        if act == "forget":
            gone = [origin for origin in list(found) if storage.delete(origin)]
            for origin in gone if wanted else ():
                out.say(f"{origin}: forgotten")
            if options.all:
                out.say(f"{count(len(gone), 'origin')} forgotten in {where}")
        elif act == "show":
            for origin in found:
                _show(origin, storage, gbot, out)
        else:
            out.say((f"{'STATE':<13}  {'STATUS':>6}  {'FETCHED':>10}  {'FRESH FOR':>9}  ORIGIN", "strong"))
            listed = sum(_show(origin, storage, gbot, out, in_a_line=True) for origin in found)
            out.say(f"{count(listed, 'origin')} in {where}")
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
        where = choice.words
        if choice.name == "sqlite" and gbot.sqlite_path is not None and not gbot.sqlite_path.exists():
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


def _show(origin: str, storage: Storage, gbot: GbotSettings, out: Terminal, *, in_a_line: bool = False) -> bool:
    """Write what an entry means now; return whether there is one, as another process may have deleted it meanwhile."""
    entry = storage.get(origin)
    if entry is None:
        return False
    facts = {"origin": origin, **entry_facts(origin + ROBOTS_PATH, entry, decide(entry, time.time(), gbot.policy))}
    out.json(facts)
    if in_a_line:  # at once, as there may be millions
        status = "" if facts["status"] is None else facts["status"]
        age = "" if facts["age_secs"] is None else f"{span(facts['age_secs'])} ago"
        fresh = span(math.ceil(facts["fresh_secs"])) if facts["fresh_secs"] else "stale"
        out.say(f"{facts['state']:<13}  {status:>6}  {age:>10}  {fresh:>9}  {origin}")
        return True
    out.say((origin, "strong"))
    show_entry(facts, out)
    lines = split_lines(entry.copy.body) if entry.copy and entry.copy.body else []
    for number, line in enumerate(lines, 1):
        out.say((f"{number:>{len(str(len(lines)))}} | ", "faint"), line.decode("utf-8", "backslashreplace"))
    return True
