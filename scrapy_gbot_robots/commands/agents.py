"""Run `scrapy robots agents URL`, which shows which well-known crawlers may fetch a URL.

For each crawler, the output shows "yes" or "no", and the reason, such as a rule of the robots.txt.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..core.known_crawlers import AS_OF, KNOWN_CRAWLERS
from ..core.named_user_agent import checked_url, verdict_on
from ..core.verdict import NO_GROUP
from ..counts import plural
from .ending import FINE
from .inputs import SOURCE, add_shared, typed, versions
from .output import Part, Terminal
from .world import World

_TITLES = ("crawler", "operator", "purpose", "may fetch it", "by")
# If a crawler may not fetch the URL, the output shows "no" and one of these texts. The key is True
# if, according to its operator, the crawler always obeys robots.txt, False if it may ignore
# robots.txt, and None if no statement of the operator is known.
_DOUBTS = {
    True: "",
    False: ", but it may ignore that",
    None: ", if it obeys (its operator does not say)",
}
_ANSWERS = {True: ("yes", "good"), False: ("no", "bad")}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "url", metavar="URL", type=typed, help="an absolute URL; with --robots also a path"
    )
    parser.add_argument("--robots", **SOURCE)
    parser.add_argument(
        "--only", choices=("yes", "no"), help="show only crawlers that may fetch it, or may not"
    )
    add_shared(parser, "--json")


def run(options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    """Write a row for each crawler, and return the exit status FINE."""
    url = checked_url(options.url, has_robots=options.robots is not None)
    (version,) = versions([options.robots or options.url], world, err)
    robotstxt = world.parse(version.body)
    forbidden = 0
    rows: list[list[Part]] = []
    for entry in KNOWN_CRAWLERS:
        verdict = verdict_on(url, entry.crawler, robotstxt)
        forbidden += not verdict.allowed
        answer, style = _ANSWERS[verdict.allowed]
        if options.only not in {None, answer}:
            continue
        name = entry.tokens[0]
        reason = str(verdict)
        if verdict.reason == NO_GROUP and not entry.crawler.heeds_global:
            reason += "; it ignores *"
        facts = {"crawler": name, "allowed": verdict.allowed, "line": None, "reason": reason}
        if verdict.rule is not None:
            facts["line"] = verdict.rule.line
        out.json({**entry._asdict(), **facts})
        if not verdict.allowed:
            answer += _DOUBTS[entry.obeys]
        rows.append([name, entry.operator, entry.purpose, (answer, style), reason])
    if rows:
        out.table(_TITLES, rows)
    crawlers = plural(len(KNOWN_CRAWLERS), "crawler")
    summary = f": {forbidden} of {crawlers} may not fetch it (the list is of {AS_OF})"
    out.say((version.where, "strong"), summary)
    return FINE
