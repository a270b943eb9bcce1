"""Run `scrapy robots check URL...`, which shows whether URLs may be fetched, and why.

A crawl of the project would get the same verdicts, because the sub-command uses the settings and
the storage of the project. With `--robots FILE`, the rules in the file decide, and nothing is
fetched.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.lines import split_lines
from ..core.named_user_agent import NamedUserAgent, checked_url, group_in_words, group_line
from ..core.robots import RobotsTxt
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from .ending import FAILED, FINE, FOUND
from .inputs import SOURCE, add_shared, crawlers_named, fetched, typed, versions
from .output import Terminal
from .world import RobotsFile, World

if TYPE_CHECKING:
    from .sites import RobotsState

_ANSWERS = {True: ("allowed", "good"), False: ("disallowed", "bad")}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "urls",
        nargs="+",
        type=typed,
        metavar="URL",
        help="an absolute URL; with --robots also a path that begins with /",
    )
    add_shared(parser, "--user-agent", "--json")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--robots", **SOURCE)
    add_shared(source, "--fresh")


def run(options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    """Check each URL for each crawler, and return the exit status.

    The status is FAILED if a robots.txt is unreachable. Otherwise it is FOUND if a URL is
    disallowed, and FINE if all URLs are allowed.
    """
    crawlers = crawlers_named(options.user_agents, world, err)
    for url in options.urls:
        checked_url(url, has_robots=options.robots is not None)
    states: Mapping[str, RobotsFile | RobotsState]
    if options.robots is None:
        states = fetched(options.urls, world, err, fresh=options.fresh)
    else:
        (version,) = versions([options.robots], world, err)
        states = dict.fromkeys(options.urls, version)
    parse = lru_cache(world.parse)
    status = FINE
    for number, (url, named) in enumerate(product(options.urls, crawlers)):
        state = states[url]
        robotstxt = parse(state.rules)
        verdicts = state.verdicts(url, named.crawler, robotstxt)
        check = Check(url, named, state, robotstxt, *verdicts)
        out.json(check.facts)
        if number:
            out.say()
        _show(check, out)
        if check.unreachable:
            status = FAILED
        elif not check.decided.allowed:
            status = max(status, FOUND)
    return status


class Check(NamedTuple):
    """The verdict on one URL for one crawler, with the facts on which the verdict is based.

    Attributes:
        url: an absolute URL, or a path.
        named_user_agent: the crawler for which the URL was checked.
        state: a `RobotsFile` for a robots.txt in a file, or the `RobotsState` of a site.
        robotstxt: the parsed robots.txt. It is empty if URLs are not judged by its rules, for
            example because the robots.txt is unreachable.
        verdict: the verdict of the robots.txt alone.
        decided: the verdict that a crawl would get. It may differ from `verdict` if an override
            applies to the site.
    """

    url: str
    named_user_agent: NamedUserAgent
    state: RobotsFile | RobotsState
    robotstxt: RobotsTxt
    verdict: Verdict
    decided: Verdict

    @property
    def unreachable(self) -> bool:
        """Whether the URL was judged without a robots.txt, because the file is unreachable."""
        if self.verdict.reason == ROBOTS_TXT_ITSELF or self.decided.override is not None:
            return False
        return self.state.is_unreachable

    @property
    def group_line(self) -> int | None:
        """The number of the user-agent line that applies to the crawler; None if there is none."""
        return group_line(self.robotstxt, self.verdict)

    @property
    def group(self) -> str:
        """A text with the name of the group for the crawler, and the reason for this group."""
        crawler = self.named_user_agent.crawler
        return group_in_words(crawler, self.verdict.group, self.group_line, self.state.rules)

    @property
    def facts(self) -> dict[str, Any]:
        """The result of the check, for the JSON output. Times are in seconds."""
        verdict, robots_txt = self.verdict, self.state.facts
        rule = None
        if verdict.rule is not None:
            rule = verdict.rule._asdict()
        facts: dict[str, Any] = {
            "url": self.url,
            "allowed": self.decided.allowed,
            "reason": self.decided.reason,
            "rule": rule,
            "group": verdict.group,
            "group_line": self.group_line,
            "crawler": self.named_user_agent.crawler._asdict(),
            "robots_txt": robots_txt,
        }
        if self.decided.override is not None:
            facts["override"] = self.decided.override
            robots_txt |= {"allowed": verdict.allowed, "reason": verdict.reason}
        return facts


def _show(check: Check, out: Terminal) -> None:
    """Write the verdict, the deciding line of the robots.txt, and other facts."""
    word, style = _ANSWERS[check.decided.allowed]
    if check.unreachable:
        word += " for now"
    out.say((word, style), ": ", (check.url, "strong"))
    if check.decided.override is not None:
        out.fact("GBOT_ROBOTS_OVERRIDES", str(check.decided))
        out.fact("by robots.txt alone", str(check.verdict))
    show_line(check, out)
    if check.verdict.rule is None:
        out.fact("reason", check.verdict.reason)
    out.fact("crawler", str(check.named_user_agent))
    if check.state.has_rules and check.verdict.reason != ROBOTS_TXT_ITSELF:
        out.fact("group", check.group)
    for name, text in check.state.in_words():
        out.fact(name, text)


def show_line(check: Check, out: Terminal) -> None:
    """Write two lines of the robots.txt: the user-agent line of the group, and the deciding rule.

    The name of the robots.txt comes before them.
    """
    rule, where = check.verdict.rule, check.state.where
    marks = {}
    if check.group_line is not None:
        marks[check.group_line] = ("the group that was used", "strong")
    if rule is not None:
        where += f":{rule.line}"
        marks[rule.line] = (check.verdict.reason, _ANSWERS[rule.allow][1])
    out.say((" --> ", "faint"), where)
    out.excerpt(split_lines(check.state.rules), marks)
