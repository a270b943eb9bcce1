"""`scrapy robots check URL...`: whether URLs may be fetched, and which line says so.

It answers as a crawl of the project would, from the same storage; or from a file, without a
network.
"""

from __future__ import annotations

import math
import time
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from ..core.asker import Asker, group_in_words, group_line, verdict_on
from ..core.crawlers import Crawler
from ..core.lines import split_lines
from ..core.robots import RobotsTxt
from ..core.urls import Origin
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..experimental.preferences import refusal, word_on
from ..policy.outages import Decision, Entry, Kind, span
from ..policy.overrides import Override
from ..settings import GbotSettings
from .ending import FAILED, FINE, FOUND, CommandError
from .inputs import add_shared, check_file, checked_url, crawlers_named, is_url, read, typed
from .output import Terminal

if TYPE_CHECKING:
    from ..core.preferences import Preferences
    from .project_crawl import ProjectCrawl, RobotsState


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "urls",
        nargs="+",
        type=typed,
        metavar="URL",
        help="an absolute URL; with --robots also a path that begins with /",
    )
    add_shared(parser, "--as", "--purpose", "--json")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--robots",
        metavar="FILE",
        help='read this robots.txt, "-" for standard input; fetch nothing',
    )
    source.add_argument("--file", dest="robots", help=SUPPRESS)  # its name until 1.0; goes in 2.0
    add_shared(source, "--fresh")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Check the URLs; return the exit status: the worst of all."""
    askers = crawlers_named(options.agents, settings, err)
    for url in options.urls:
        checked_url(url, has_robots=options.robots is not None)
    if options.robots is None:
        checks = _by_origin(options, askers, settings)
    else:
        if is_url(options.robots):
            hint = "without it, a URL is checked by the robots.txt of its own site"
            raise CommandError(f"--robots {options.robots}: not a file; {hint}")
        body = read(options.robots)
        check_file(options.robots, body, settings, err)
        checks = _by_file(options, body, askers, settings)
    for number, check in enumerate(checks):
        out.json(check.facts)
        if number:
            out.say()
        _show(check, out)
    if any(check.unreachable for check in checks):
        return FAILED
    if not all(check.decided.allowed for check in checks):
        return FOUND
    return FINE


def _by_file(
    options: Namespace, body: bytes, askers: list[Asker], settings: Settings
) -> list[Check]:
    robotstxt = GbotSettings.of(settings).parse(body)
    checks = []
    for url, asker in product(options.urls, askers):
        verdict = verdict_on(url, asker, robotstxt)
        checks.append(Check(url, asker, verdict, options.robots, body, robotstxt, options.purposes))
    return checks


def _by_origin(options: Namespace, askers: list[Asker], settings: Settings) -> list[Check]:
    from .project_crawl import run_in_crawl  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    async def work(crawl: ProjectCrawl) -> list[Check]:
        checks: list[Check] = []
        states: dict[Origin, RobotsState] = {}
        for url, asker in product(options.urls, askers):
            origin = Origin.of(url)
            if origin not in states:
                states[origin] = await crawl.state_of(origin, fresh=options.fresh)
            state, override = states[origin], crawl.overrides.of(origin, time.time())
            verdict = crawl.verdict(url, asker.crawler, state.decision, overridden=False)
            decided = crawl.verdict(url, asker.crawler, state.decision)
            source = (state.body, state.robotstxt, options.purposes, state, override, decided)
            checks.append(Check(url, asker, verdict, origin.robots_url, *source))
        return checks

    return run_in_crawl(settings, work)


@dataclass(frozen=True)
class Check:
    """A URL, the verdict on it, and what that rests on."""

    url: str  # absolute, or a path
    asker: Asker
    verdict: Verdict  # by the robots.txt
    where: str  # the URL of the robots.txt, or the path of the file
    body: bytes | None  # of the robots.txt; None if no rules decide
    robotstxt: RobotsTxt
    purposes: Sequence[str] = ()  # what the crawl would be for
    state: RobotsState | None = None  # None if `body` is from a file
    override: Override | None = None  # that counts for the URL in a crawl
    overriding: Verdict | None = None  # with the overrides

    @property
    def decided(self) -> Verdict:
        """The verdict that counts in a crawl for the purposes."""
        verdict = self.verdict
        if self.overriding is not None:
            verdict = self.overriding
        if verdict.allowed and self.refusal is not None:
            return self.refusal
        return verdict

    @property
    def crawler(self) -> Crawler:
        """The crawler that the verdict is about."""
        return self.asker.crawler

    @property
    def is_for_robots_txt(self) -> bool:
        """Whether the URL is that of a robots.txt."""
        return self.verdict.reason == ROBOTS_TXT_ITSELF

    @property
    def unreachable(self) -> bool:
        """Whether the policy decided in place of rules, since robots.txt is unreachable."""
        if self.is_for_robots_txt or self.state is None:
            return False
        if self.override is not None:
            return False
        return self.state.unreachable

    @cached_property
    def preferences(self) -> Preferences:
        """What the site or, in its place, an override says about the use of the URL's content."""
        robotstxt = self.robotstxt
        if self.override is not None and self.override.robotstxt is not None:
            robotstxt = self.override.robotstxt
        return robotstxt.preferences(self.url, self.asker.crawler)

    @cached_property
    def refusal(self) -> Verdict | None:
        """The verdict that refuses one of the purposes; None if none is refused.

        With an override that ignores the site's rules, no preference counts.
        """
        override = self.override
        if self.is_for_robots_txt:
            return None
        if override is not None and override.robotstxt is None:
            return None
        verdict = refusal(self.purposes, self.preferences)
        if verdict is not None and override is not None:
            return override.named(verdict)
        return verdict

    @cached_property
    def group_line(self) -> int | None:
        """The number of the user-agent line whose group was used."""
        return group_line(self.robotstxt, self.verdict)

    @property
    def group(self) -> str:
        """The group that was used, and why, in words."""
        return group_in_words(self.crawler, self.verdict.group, self.group_line)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the check found, for programs. Times are in seconds."""
        verdict, decided, rule = self.verdict, self.decided, None
        robots_txt: dict[str, Any] = {"file": self.where}
        if self.state is not None:
            robots_txt = state_facts(self.where, self.state)
        if verdict.rule is not None and decided is not self.refusal:
            rule = verdict.rule._asdict()
        facts: dict[str, Any] = {
            "url": self.url,
            "allowed": decided.allowed,
            "reason": decided.reason,
            "rule": rule,
            "group": verdict.group,
            "group_line": self.group_line,
            "crawler": self.crawler._asdict(),
            "robots_txt": robots_txt,
        }
        if self.override is not None:
            facts["override"] = override_facts(self.override)
            robots_txt |= {"allowed": verdict.allowed, "reason": verdict.reason}
        if self.purposes:
            words = {purpose: word_on(purpose, self.preferences) for purpose in self.purposes}
            lines = list(self.preferences.lines)
            facts["preferences"] = {**words, "use": self.preferences.use, "lines": lines}
        return facts


def override_facts(override: Override) -> dict[str, object]:
    """Return what an override says, for programs."""
    until = None
    if override.until is not None:
        until = override.until.isoformat()
    return {
        "key": override.key,
        "rules": override.action.value,
        "reason": override.reason,
        "until": until,
    }


def state_facts(url: str, state: RobotsState) -> dict[str, Any]:
    """Return what is known of the robots.txt at `url`, and how it was had, for programs."""
    storage = None
    if state.is_stored:
        storage = state.settings.storage
    return {
        **entry_facts(url, state.entry, state.decision),
        "why": state.why,
        "hops": [{"status": status, "url": hop} for status, hop in state.hops],
        "from_cache": state.is_stored,
        "storage": storage,
    }


def entry_facts(url: str, entry: Entry, decision: Decision) -> dict[str, Any]:
    """Return what is known of the robots.txt at `url`, for programs. Times are in seconds."""
    now, copy, outage = time.time(), entry.copy, entry.outage
    facts: dict[str, Any] = {
        "url": url,
        "state": decision.state.value,
        "temporary": decision.temporary,
        "walled": decision.copy is not None and decision.copy.kind is Kind.WALL,
        "why": decision.why,
        **dict.fromkeys(("status", "served_by", "age_secs", "fetched_at", "unreachable_since")),
        "failures": 0,
        "last_failure": None,
        "fresh_secs": max(0.0, decision.ask_at - now),
        "bytes": 0,
        "cut": False,
    }
    if copy is not None:
        facts |= {
            "status": copy.status,
            "served_by": copy.url,
            "age_secs": max(0.0, now - copy.fetched_at),
            "fetched_at": copy.fetched_at,
            "bytes": len(copy.body),
            "cut": copy.cut,
        }
    if outage is not None:
        facts |= {
            "status": outage.status,
            "unreachable_since": outage.since,
            "failures": outage.failures,
            "last_failure": outage.why,
        }
    return facts


def show_entry(facts: dict[str, Any], out: Terminal) -> None:
    """Write what `entry_facts` found, with the hops and the storage if these are known."""
    state, source = facts["state"], ""
    if facts["temporary"]:
        state += " for now"
    if facts.get("storage"):
        source = f", from the storage ({facts['storage']})"
    out.fact("robots.txt", f"{state}: {facts['why']}{source}")
    if facts["walled"]:
        out.fact("note", "a wall answered, not the site")
    if facts["failures"] and not facts["temporary"]:
        out.fact(
            "note", f"the last fetch failed: {facts['last_failure']}; this answer still counts"
        )
    hops = [f"{hop['status']} {hop['url']}" for hop in facts.get("hops", ())]
    if len(hops) > 1:
        out.fact("redirected", ", then ".join(hops))
    elif facts["served_by"] not in {None, facts["url"]}:
        out.fact("served by", facts["served_by"])
    if facts["age_secs"] is not None:
        out.fact("fetched", f"{span(facts['age_secs'])} ago")
    out.fact("asked again", asked_again(facts))
    if facts["failures"]:
        out.fact("failures", f"{facts['failures']:,} in a row")


def asked_again(facts: Mapping[str, Any]) -> str:
    """When the robots.txt of `entry_facts` is fetched again, if it is needed then."""
    if facts["fresh_secs"]:
        return f"in {span(math.ceil(facts['fresh_secs']))}"
    return "now"


def _show(check: Check, out: Terminal) -> None:
    """Write the verdict with the deciding line in place, and below it what the verdict rests on."""
    verdict = check.decided
    word, style = "disallowed", "bad"
    if verdict.allowed:
        word, style = "allowed", "good"
    if check.unreachable:
        word += " for now"
    out.say((word, style), ": ", (check.url, "strong"))
    if check.override is not None:
        out.fact(f"GBOT_ROBOTS_OVERRIDES[{check.override.key!r}]", check.override.action.value)
        out.fact("it says", str(verdict))
        out.fact("robots.txt itself says", str(check.verdict))
    show_line(check, out)
    if verdict is check.refusal:
        out.fact("reason", verdict.reason)
    elif check.verdict.rule is None:
        out.fact("reason", check.verdict.reason)
    out.fact("crawler", str(check.asker))
    if check.body is not None and not check.is_for_robots_txt:
        out.fact("group", check.group)
    if check.purposes:
        _show_preferences(check, out)
    if check.state is not None:
        show_entry(check.facts["robots_txt"], out)


def _show_preferences(check: Check, out: Terminal) -> None:
    lines = ""
    if check.preferences.lines:
        lines = f" (line {', '.join(map(str, check.preferences.lines))})"
    for purpose in check.purposes:
        out.fact(purpose, word_on(purpose, check.preferences) + lines)


def show_line(check: Check, out: Terminal) -> None:
    """Write the name of the robots.txt, and mark in it the deciding line and the group's line."""
    rule, reason, where = check.verdict.rule, check.verdict.reason, check.where
    marks = {}
    about_group = reason
    if rule is not None:
        where += f":{rule.line}"
        about_group = "the group that was used"
    if check.group_line is not None:
        marks[check.group_line] = (about_group, "strong")
    if rule is not None:
        marks[rule.line] = (reason, "good" if check.verdict.allowed else "bad")
    out.say((" --> ", "faint"), where)
    out.excerpt(split_lines(check.body or b""), marks)
