"""Run `scrapy robots cache`, which lists, shows or deletes the entries in the storage.

The storage keeps an *entry* for each origin between crawls. The entry contains the last robots.txt
of the origin, or another definite response such as a 404. It also contains the failures of later
fetches. This sub-command does not fetch anything. It shows what each entry means for a crawl with
the current settings.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from contextlib import closing, suppress

from ..core.urls import ROBOTS_PATH, Origin
from ..counts import plural
from ..policy.outages import Entry, decide
from ..settings import GbotSettings
from ..storage.base import StorageError
from .ending import FINE, FOUND, CommandError
from .inputs import add_shared, origin_of, typed
from .output import Terminal
from .sites import NEXT_FETCH, RobotsState
from .world import World

_ACTS = ("list", "show", "forget")
_TIMES = ("fetched", NEXT_FETCH)  # The names of the two times that `list` shows for each entry.


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
        default=[],  # Without a default, argparse in Python 3.11 requires at least one ORIGIN.
        type=typed,
        metavar="ORIGIN",
        help="a URL, or a host (https); list and show: default all",
    )
    parser.add_argument("--all", action="store_true", help="with forget: delete all origins")
    add_shared(parser, "--json")


def run(options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    """List, show or delete entries, and return the exit status.

    The status is FOUND if the arguments name an origin for which the storage has no entry.
    Otherwise it is FINE.
    """
    try:
        return _done(options, world, out, err)
    except StorageError as error:
        raise CommandError(str(error)) from error


def _done(options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    gbot, forgets = world.settings, options.act == "forget"
    if options.all != (forgets and not options.origins):
        raise CommandError("forget needs an ORIGIN, or --all; nothing else takes --all")
    wanted = [str(origin_of(text)) for text in options.origins]
    storage, where = world.storage()
    done = 0
    with closing(storage):
        # The method `origins` returns an iterator, because there may be millions of origins.
        for origin in wanted or storage.origins():
            entry = None if forgets else storage.get(origin)
            if entry is not None:
                _show(origin, entry, gbot, out, is_brief=options.act == "list")
            elif forgets and storage.delete(origin):
                out.say(f"{origin}: forgotten")
            else:
                err.say((f"{origin}: not in the storage", "warning"))
                continue
            done += 1
    if not wanted:
        out.say(f"{plural(done, 'origin')}{' forgotten' * forgets} in {where}")
    elif done < len(wanted):
        return FOUND
    return FINE


def _show(origin: str, entry: Entry, gbot: GbotSettings, out: Terminal, *, is_brief: bool) -> None:
    """Write the facts about the entry of `origin`, and the lines of its robots.txt.

    If `is_brief`, write only one line, with the most important facts.
    """
    decision = decide(entry, time.time(), gbot.policy)
    site = None
    # Other programs may have written to the storage, so `origin` might be invalid.
    with suppress(ValueError):
        site = Origin.of(origin)
    state = RobotsState(origin + ROBOTS_PATH, decision, entry, site)
    out.json({"origin": origin, **state.facts})
    words = [*state.in_words()]
    if is_brief:
        times = ", ".join(f"{name} {text}" for name, text in words if name in _TIMES)
        out.say((origin, "strong"), f": {words[0][1]} ({times})")
        return
    out.say((origin, "strong"))
    for name, text in words:
        out.fact(name, text)
    for number, line in enumerate(state.copy.body.splitlines(), 1):
        out.say((f"{number:>4} | ", "faint"), line.decode("utf-8", "backslashreplace"))
