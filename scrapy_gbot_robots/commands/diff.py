"""Run `scrapy robots diff OLD NEW`, which shows what changed between two robots.txt files.

The output shows, for each user agent whose rules changed, the lines that were removed and added.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..core.changes import change_in_words, changes
from ..counts import plural
from .ending import FINE, FOUND
from .inputs import SOURCE, add_shared, versions
from .output import Terminal
from .world import World

_STYLES = {"-": "bad", "+": "good", "!": "warning", "?": "warning"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    for name in ("old", "new"):
        parser.add_argument(name, **{**SOURCE, "metavar": name.upper()})
    add_shared(parser, "--json")


def run(options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    """Write the changes, and return the exit status: FOUND if there are any, otherwise FINE."""
    old, new = versions([options.old, options.new], world, err)
    parse = world.parse
    every = changes(parse(old.body), parse(new.body))
    changed = 0
    for change in every:
        changed += len(change.user_agents)
        facts = change._asdict()
        for name in ("removed", "added"):
            facts[name] = [text._asdict() for text in facts[name]]
        out.json(facts)
        group = ""
        if change.group is not None:
            group = f"  (group {change.group})"
        out.say((f"User-agent: {', '.join(change.user_agents)}", "strong"), group)
        for sign, (text, line) in change_in_words(change):
            where = "" if line is None else f"  (line {line})"
            out.say((f"  {sign} {text}", _STYLES[sign]), (where, "faint"))
    out.say(
        (f"{old.where} -> {new.where}", "strong"),
        f": {plural(changed, 'user agent')} changed",
    )
    return FOUND if every else FINE
