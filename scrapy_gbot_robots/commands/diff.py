"""`scrapy robots diff A B`: what changed between two versions of a robots.txt, for whom, and for which URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.changes import changes
from ..core.crawlers import Crawler
from ..core.robots import size_of
from ..core.rules import weight_of
from ..core.urls import is_absolute, shown
from ..report.summary import count
from ..settings import GbotSettings
from . import crawlers
from .command import FINE, FOUND
from .inputs import SOURCE, add_shared, url_batches, versions

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

    from ..core.changes import AgentChange
    from ..core.robots import RobotsTxt
    from ..core.rules import Rules
    from ..core.verdict import Rule
    from .output import Terminal

    Judge = tuple[str, Rules, Rules]  # a user agent, and its rules in both versions

_TURNED = {True: "everything is disallowed to it now", False: "not everything is disallowed to it any more"}
_NOT_COMPARED = "not compared: these files have too many rules for too many user agents"
_JUDGED_FOR_SOME = (
    "URLs are judged for {:,} of {:,} user agents: these files have too many rules or user agents for more"
)
_EXAMPLE = 100  # characters of a line that is shown
_MOST_READ = 100 * 2**20  # bytes: both files are read again for each user agent that URLs are judged for
_MOST_WEIGHT = 200 * 2**20  # bytes of memory for the rules of these user agents, by `weight_of`
_SAID: dict[bool | str | None, str] = {True: "granted", False: "refused", None: "not said"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    for name in ("old", "new"):
        parser.add_argument(name, **{**SOURCE, "metavar": name.upper()})
    parser.add_argument(
        "--urls", metavar="FILE", help="show the URLs of this file whose verdict differs; one URL or path a line"
    )
    add_shared(parser, "--as", "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the changes; return FOUND if there are any."""
    old, new = versions([options.old, options.new], settings)
    before, after = map(GbotSettings.of(settings).parse, (old.body, new.body))
    found = changes(before, after)
    for change in found:
        out.json(_facts(change))
        _show(change, out)
    told = [count(len(found), "user agent") + " changed"]
    flips = 0
    if options.urls is not None:
        names = [change.agent for change in found]
        if options.agents:
            names = [asker.text for asker in crawlers.named(options.agents, settings, err)]
        judges = _judges(names, before, after)
        if len(judges) < len(names):
            err.say((_JUDGED_FOR_SOME.format(len(judges), len(names)), "warning"))
        for flip in _flips(options.urls, judges, err):
            flips += 1
            out.json(flip)
            now, style = ("now allowed   ", "good") if flip["allowed"] else ("now disallowed", "bad")
            out.say((now, style), f"  {flip['agent']}  {flip['url']}  {flip['reason']}")
        told.append(count(flips, "URL") + " judged otherwise")
    out.say((f"{old.name} -> {new.name}", "strong"), ": ", ", ".join(told))
    return FOUND if found or flips else FINE


def _judges(names: Sequence[str], before: RobotsTxt, after: RobotsTxt) -> list[Judge]:
    """Return judges until they take too much time or memory.

    Thousands of user agents fit into a file, and each of them may have thousands of rules.
    """
    judges: list[Judge] = []
    weight, size = 0, size_of(before) + size_of(after)
    for name in names:
        if len(judges) * size > _MOST_READ or weight > _MOST_WEIGHT:
            break
        crawler = Crawler.of("" if name == "*" else name)
        judges.append((name, before.rules_for(crawler), after.rules_for(crawler)))
        weight += sum(map(weight_of, judges[-1][1:]))
    return judges


def _flips(path: str, judges: Sequence[Judge], err: Terminal) -> Iterator[dict[str, Any]]:
    """Yield the URLs of a file whose verdicts differ; then say how many of its lines are neither URLs nor paths."""
    left_out, example = 0, ""
    for lines, _ in url_batches(path):
        for url in lines:
            if not (url.startswith("/") or is_absolute(url)):
                left_out += 1
                example = example or shown(url, _EXAMPLE)
                continue
            for agent, old, new in judges:
                if old.allowed(url) != new.allowed(url):
                    verdict = new.verdict(url)
                    yield {"url": url, "agent": agent, "allowed": verdict.allowed, "reason": str(verdict)}
    if left_out:
        told = f"{count(left_out, 'line')} of {path} left out: no absolute URL and no path, such as: {example}"
        err.say((told, "warning"))


def _show(change: AgentChange, out: Terminal) -> None:
    out.say((f"User-agent: {change.agent}", "strong"), f"  (group {change.group})" if change.group else "")
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
