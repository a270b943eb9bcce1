"""`scrapy robots diff A B`: what changed between two versions of a robots.txt, and for whom."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from scrapy.settings import Settings

from ..core.changes import AgentChange, change_in_words, changes, written
from ..report.summary import count
from ..settings import GbotSettings
from .ending import FINE, FOUND
from .inputs import SOURCE, add_shared, versions
from .output import Terminal

_STYLES = {"-": "bad", "+": "good", "?": "warning"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    for name in ("old", "new"):
        parser.add_argument(name, **{**SOURCE, "metavar": name.upper()})
    add_shared(parser, "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the changes; return FOUND if there are any."""
    old, new = versions([options.old, options.new], settings, err)
    parse = GbotSettings.of(settings).parse
    every = changes(parse(old.copy.body), parse(new.copy.body))
    for change in every:
        out.json(_facts(change))
        _show(change, out)
    agents = sum(len(change.agents) for change in every)
    out.say((f"{old.where} -> {new.where}", "strong"), f": {count(agents, 'user agent')} changed")
    return FOUND if every else FINE


def _show(change: AgentChange, out: Terminal) -> None:
    group = f"  (group {change.group})" if change.group else ""
    out.say((f"User-agent: {', '.join(change.agents)}", "strong"), group)
    for sign, text, line in change_in_words(change):
        style = _STYLES.get(sign, "")
        if sign == "!":
            style = "bad" if change.closed else "good"
        where = "" if line is None else f"  (line {line})"
        out.say((f"  {sign} {text}" if sign else f"  {text}", style), (where, "faint"))


def _facts(change: AgentChange) -> dict[str, object]:
    return {
        "agents": list(change.agents),
        "added": [{"rule": written(rule), "line": rule.line} for rule in change.added],
        "removed": [{"rule": written(rule), "line": rule.line} for rule in change.removed],
        "group": change.group or None,
        "full_disallow": change.closed,
        "crawl_delay": list(change.delays),
        "preferences": dict(zip(("removed", "added"), change.preferences, strict=True)),
        "compared": change.compared,
    }
