"""`scrapy robots cache list|show|forget`: the entries that the storage keeps between runs.

It fetches nothing.

`list` and `show` create and change no file. An entry means what the settings of today make of it.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from ..core.lines import split_lines
from ..core.urls import ROBOTS_PATH
from ..policy.outages import Entry, decide, span
from ..report.summary import count
from ..settings import GbotSettings
from ..storage.base import Storage, StorageError
from ..storage.client import choice_of
from ..storage.memory import MemoryStorage
from .check import asked_again, entry_facts, show_entry
from .ending import FINE, FOUND, CommandError
from .inputs import add_shared, origin_of, typed
from .output import Terminal

_ACTS = ("list", "show", "forget")
_TITLES = f"{'STATE':<13}  {'STATUS':>6}  {'FETCHED':>10}  {'ASKED AGAIN':>11}  ORIGIN"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "act",
        choices=_ACTS,
        metavar="|".join(_ACTS),
        help="list: one line per origin; show: all about each ORIGIN; forget: delete each ORIGIN",
    )
    parser.add_argument(
        "origins",
        nargs="*",
        default=[],  # else Python 3.11 says that it is required
        type=typed,
        metavar="ORIGIN",
        help="a URL, or a host (https); list and show: default all",
    )
    parser.add_argument("--all", action="store_true", help="with forget: delete all origins")
    add_shared(parser, "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """List, show or forget; return the exit status: FOUND if an origin is not in the storage."""
    gbot, forgets = GbotSettings.of(settings), options.act == "forget"
    if options.all != (forgets and not options.origins):
        raise CommandError("forget needs an ORIGIN, or --all; nothing else takes --all")
    wanted = [str(origin_of(text)) for text in options.origins]
    done = 0
    with _storage(gbot, settings, writes=forgets) as (storage, where):
        origins: Iterable[str] = wanted
        if not wanted:
            origins = storage.origins()
        for origin in origins:
            if _act(options.act, origin, storage, gbot, out, is_first=not done):
                done += 1
            elif wanted:
                err.say((f"{origin}: not in the storage", "warning"))
        if not wanted:
            what = count(done, "origin")
            if forgets:
                what += " forgotten"
            out.say(f"{what} in {where}")
    if done < len(wanted):
        return FOUND
    return FINE


@contextmanager
def _storage(
    gbot: GbotSettings, settings: Settings, *, writes: bool
) -> Iterator[tuple[Storage, str]]:
    """Open the storage that the settings name; say where it is.

    It creates and changes files only if it `writes`.

    Raises:
        CommandError: nothing is stored between runs, or the storage is in trouble.
    """
    try:
        choice = choice_of(gbot, Crawler(Spider, settings), read_only=not writes)
        where = choice.words
        if (
            choice.name == "sqlite"
            and gbot.sqlite_path is not None
            and not gbot.sqlite_path.exists()
        ):
            where += ", which does not exist yet"
        storage = choice.opens()
    except Exception as error:
        raise CommandError(f"the storage {gbot.storage} cannot be opened: {error}") from error
    if isinstance(storage, MemoryStorage):
        raise CommandError(
            'nothing is stored between runs: GBOT_ROBOTS_STORAGE is "memory", or this directory is '
            "in no Scrapy project; -s GBOT_ROBOTS_SQLITE_PATH=FILE names a storage"
        )
    try:
        with closing(storage):
            yield storage, where
    except StorageError as error:
        raise CommandError(f"the storage {gbot.storage} failed: {error}") from error


def _act(
    act: str, origin: str, storage: Storage, gbot: GbotSettings, out: Terminal, *, is_first: bool
) -> bool:
    """List, show or forget an origin; return whether it is stored.

    Another process may delete it meanwhile.
    """
    if act == "forget":
        is_stored = storage.delete(origin)
        if is_stored:
            out.say(f"{origin}: forgotten")
        return is_stored
    entry = storage.get(origin)
    if entry is None:
        return False
    decision = decide(entry, time.time(), gbot.policy)
    facts = {"origin": origin, **entry_facts(origin + ROBOTS_PATH, entry, decision)}
    out.json(facts)
    if act == "list":
        if is_first:
            out.say((_TITLES, "strong"))
        _list(facts, out)
    else:
        _show(facts, entry, out)
    return True


def _list(facts: dict[str, Any], out: Terminal) -> None:
    """Write a line about an entry: at once, as there may be millions."""
    status, age = "", ""
    if facts["status"] is not None:
        status = facts["status"]
    if facts["age_secs"] is not None:
        age = f"{span(facts['age_secs'])} ago"
    row = f"{facts['state']:<13}  {status:>6}  {age:>10}  {asked_again(facts):>11}"
    out.say(f"{row}  {facts['origin']}")


def _show(facts: dict[str, Any], entry: Entry, out: Terminal) -> None:
    """Write all about an entry, and its robots.txt."""
    out.say((facts["origin"], "strong"))
    show_entry(facts, out)
    if entry.copy is not None and entry.copy.body:
        for number, line in enumerate(split_lines(entry.copy.body), 1):
            out.say((f"{number:>4} | ", "faint"), line.decode("utf-8", "backslashreplace"))
