"""`scrapy robots diff A B`: what changed between two versions of a robots.txt, and for whom."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from scrapy.settings import Settings

from ..core.changes import AgentChange, changes
from ..core.verdict import Rule
from ..report.summary import count
from ..settings import GbotSettings
from .command import FINE, FOUND
from .inputs import SOURCE, add_shared, versions
from .output import Terminal

_TURNED = {
    True: "everything is disallowed to it now",
    False: "not everything is disallowed to it any more",
}
_NOT_COMPARED = "not compared: these files have too many rules for too many user agents"
_SAID: dict[bool | str | None, str] = {True: "granted", False: "refused", None: "not said"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    for name in ("old", "new"):
        parser.add_argument(name, **{**SOURCE, "metavar": name.upper()})
    add_shared(parser, "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the changes; return FOUND if there are any."""
    old, new = versions([options.old, options.new], settings)
    parse = GbotSettings.of(settings).parse
    found = changes(parse(old.body), parse(new.body))
    for change in found:
        out.json(_facts(change))
        _show(change, out)
    out.say((f"{old.name} -> {new.name}", "strong"), f": {count(len(found), 'user agent')} changed")
    return FOUND if found else FINE


def _show(change: AgentChange, out: Terminal) -> None:
    out.say(
        (f"User-agent: {change.agent}", "strong"),
        f"  (group {change.group})" if change.group else "",
    )
    if change.closed is not None:
        out.say(("  ! ", "bad" if change.closed else "good"), _TURNED[change.closed])
    for sign, style, rules in (("-", "bad", change.removed), ("+", "good", change.added)):
        for rule in rules:
            out.say((f"  {sign} {_text(rule)}", style), (f"  (line {rule.line})", "faint"))
    if change.delays[0] != change.delays[1]:
        before, after = ("none" if delay is None else f"{delay:g} s" for delay in change.delays)
        out.say(f"  crawl-delay: {before} -> {after}")
    for turned in change.preferences:
        where = "" if turned.path == "/" else f" for {turned.path}"
        was, now = _SAID.get(turned.before, turned.before), _SAID.get(turned.after, turned.after)
        out.say(f"  preference {turned.label}{where}: {was} -> {now}")
    if not change.compared:
        out.say(("  ? ", "warning"), _NOT_COMPARED)


def _text(rule: Rule) -> str:
    return f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}"


def _facts(change: AgentChange) -> dict[str, object]:
    return {
        "agent": change.agent,
        "added": [{"rule": _text(rule), "line": rule.line} for rule in change.added],
        "removed": [{"rule": _text(rule), "line": rule.line} for rule in change.removed],
        "group": change.group or None,
        "full_disallow": change.closed,
        "crawl_delay": list(change.delays),
        "preferences": [turned._asdict() for turned in change.preferences],
        "compared": change.compared,
    }
