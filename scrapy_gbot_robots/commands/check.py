"""`scrapy robots check URL...`: whether URLs may be fetched, which line says so, and how old the robots.txt is.

It answers as a crawl of the project would, from the same storage; or from a file, without a
network.
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from ..core.asker import MODES, Asker, group_in_words, group_line, verdict_on
from ..core.crawlers import Crawler
from ..core.lines import split_lines
from ..core.robots import RobotsTxt
from ..core.urls import Origin
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..experimental.purposes import refusal, word_on
from ..policy.outages import Decision, Entry, Kind, span
from ..policy.overrides import Override
from ..settings import GbotSettings
from .command import FAILED, FINE, FOUND
from .crawlers import named
from .inputs import add_shared, checked_url, read, typed
from .output import Terminal
from .overrides import override_facts

if TYPE_CHECKING:
    from ..experimental.preferences import Preferences
    from .project_crawl import ProjectCrawl, RobotsState


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "urls",
        nargs="+",
        type=typed,
        metavar="URL",
        help="an absolute URL; with --file also a path that begins with /",
    )
    add_shared(parser, "--as", "--purpose", "--json")
    parser.add_argument(
        "--mode",
        choices=MODES,
        help='take the crawlers of --as as one: "first" heeds the group of the first that has one, "all" heeds those of '
        "all; without --mode, each crawler gets its own verdict",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--file", metavar="FILE", help='read this robots.txt, "-" for standard input; fetch nothing'
    )
    add_shared(source, "--fresh")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Check the URLs; return the exit status: the worst of all."""
    askers = named(options.agents, settings, err, options.mode)
    for url in options.urls:
        checked_url(url, has_robots=options.file is not None)
    checks = (_by_origin if options.file is None else _by_file)(options, askers, settings)
    for number, check in enumerate(checks):
        out.json(check.facts)
        if number:
            out.say()
        _show(check, out)
    if any(check.unreachable for check in checks):
        return FAILED
    return (
        FINE
        if all(check.decided.allowed and not check.refused_purpose for check in checks)
        else FOUND
    )


def _by_file(options: Namespace, askers: list[Asker], settings: Settings) -> list[Check]:
    body = read(options.file)
    robotstxt = GbotSettings.of(settings).parse(body)
    return [
        Check(
            url,
            asker,
            verdict_on(url, asker, robotstxt),
            options.file,
            body,
            robotstxt,
            options.purposes,
        )
        for url in options.urls
        for asker in askers
    ]


def _by_origin(options: Namespace, askers: list[Asker], settings: Settings) -> list[Check]:
    from .project_crawl import run_in_crawl  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    async def work(crawl: ProjectCrawl) -> list[Check]:
        checks: list[Check] = []
        states: dict[Origin, RobotsState] = {}
        for url in options.urls:
            origin = Origin.of(url)
            if origin not in states:
                states[origin] = await crawl.state_of(origin, fresh=options.fresh)
            known, override = states[origin], crawl.overrides.of(origin, time.time())
            instead = None if override is None else override.crawler
            for each in askers:
                asker = each if instead is None else Asker(instead, "the override", instead.name)
                verdict = crawl.verdict(url, asker.crawler, known.served, overridden=False)
                decided = crawl.verdict(url, asker.crawler, known.served)
                found = (known.body, known.robotstxt, options.purposes, known, override, decided)
                checks.append(Check(url, asker, verdict, origin.robots_url, *found))
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
    known: RobotsState | None = None  # None if `body` is from a file
    override: Override | None = None  # that counts for the URL in a crawl
    overriding: Verdict | None = None  # with the overrides

    @property
    def decided(self) -> Verdict:
        """The verdict that counts in a crawl."""
        return self.overriding or self.verdict

    @property
    def crawler(self) -> Crawler:
        """The crawler that the verdict is about."""
        return self.asker.judged(self.verdict)

    @property
    def is_itself(self) -> bool:
        """Whether the URL is that of a robots.txt."""
        return self.verdict.reason == ROBOTS_TXT_ITSELF

    @property
    def unreachable(self) -> bool:
        """Whether the policy decided in place of rules, since robots.txt is unreachable."""
        if self.is_itself or (self.override is not None and self.override.decides):
            return False
        return self.known is not None and self.known.unreachable

    @cached_property
    def said(self) -> Preferences:
        """What the robots.txt says about the use of the URL's content."""
        return self.robotstxt.preferences(self.url, self.asker.crawler)

    @property
    def refused_purpose(self) -> bool:
        """Whether the site refuses one of the purposes. It does not count under an override."""
        return (
            not self.is_itself
            and self.override is None
            and refusal(self.purposes, self.said) is not None
        )

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
        facts: dict[str, Any] = {
            "url": self.url,
            "allowed": self.decided.allowed,
            "reason": self.decided.reason,
            "rule": self.verdict.rule and self.verdict.rule._asdict(),
            "group": self.verdict.group,
            "group_line": self.group_line,
            "crawler": self.crawler._asdict(),
            "robots_txt": {"url" if self.known else "file": self.where},
        }
        if self.override is not None:
            facts["override"] = override_facts(self.override)
            facts["robots_txt"] |= {"allowed": self.verdict.allowed, "reason": self.verdict.reason}
        if self.purposes:
            words = {purpose: word_on(purpose, self.said) for purpose in self.purposes}
            facts["preferences"] = {**words, "use": self.said.use, "lines": list(self.said.lines)}
        if self.known is not None:
            known = self.known
            facts["robots_txt"] |= {
                **entry_facts(self.where, known.entry, known.decision),
                "why": known.why,
                "hops": [{"status": status, "url": url} for status, url in known.hops],
                "from_cache": not known.fetched,
                "storage": None if known.fetched else known.settings.storage,
            }
        return facts


def entry_facts(url: str, entry: Entry, decision: Decision) -> dict[str, Any]:
    """Return what is known of the robots.txt at `url`, for programs. Times are in seconds."""
    now, copy, outage = time.time(), entry.copy, entry.outage
    return {
        "url": url,
        "state": decision.state.value,
        "temporary": decision.temporary,
        "walled": decision.copy is not None and decision.copy.kind is Kind.WALL,
        "why": decision.why,
        "status": getattr(outage or copy, "status", None),
        "served_by": copy.url if copy else None,
        "age_secs": max(0.0, now - copy.fetched_at) if copy else None,
        "fetched_at": copy.fetched_at if copy else None,
        "unreachable_since": outage.since if outage else None,
        "failures": outage.failures if outage else 0,
        "fresh_secs": max(0.0, decision.ask_at - now),
        "bytes": len(copy.body) if copy else 0,
        "cut": copy is not None and copy.cut,
    }


def show_entry(facts: dict[str, Any], out: Terminal) -> None:
    """Write what `entry_facts` found, with the hops and the storage if these are known."""
    source = f", from the storage ({facts['storage']})" if facts.get("storage") else ""
    out.fact(
        "robots.txt",
        f"{facts['state']}{' for now' if facts['temporary'] else ''}: {facts['why']}{source}",
    )
    if facts["walled"]:
        out.fact("note", "a wall answered, not the site")
    hops = [f"{hop['status']} {hop['url']}" for hop in facts.get("hops", ())]
    if len(hops) > 1:
        out.fact("redirected", ", then ".join(hops))
    elif facts["served_by"] not in {None, facts["url"]}:
        out.fact("served by", facts["served_by"])
    if facts["age_secs"] is not None:
        out.fact("fetched", f"{span(facts['age_secs'])} ago")
    out.fact(
        "asked again",
        f"in {span(math.ceil(facts['fresh_secs']))}" if facts["fresh_secs"] else "now",
    )
    if facts["failures"]:
        out.fact("failures", f"{facts['failures']:,} in a row")


def _show(check: Check, out: Terminal) -> None:
    """Write the verdict with the deciding line in place, and below it what the verdict rests on."""
    verdict = check.decided
    word = (
        f"{'allowed' if verdict.allowed else 'disallowed'}{' for now' if check.unreachable else ''}"
    )
    out.say((word, "good" if verdict.allowed else "bad"), ": ", (check.url, "strong"))
    if check.override is not None:
        out.fact(f"GBOT_ROBOTS_OVERRIDES[{check.override.key!r}]", check.override.what)
        out.fact("it says", str(verdict))
        out.fact("robots.txt itself says", str(check.verdict))
    show_line(check, out)
    if check.verdict.rule is None:
        out.fact("reason", check.verdict.reason)
    out.fact("crawler", str(check.asker))
    if check.body is not None and not check.is_itself:
        out.fact("group", check.group)
    lines = (
        f" (line {', '.join(map(str, check.said.lines))})"
        if check.purposes and check.said.lines
        else ""
    )
    for purpose in check.purposes:
        out.fact(purpose, word_on(purpose, check.said) + lines)
    if check.known is not None:
        show_entry(check.facts["robots_txt"], out)


def show_line(check: Check, out: Terminal) -> None:
    """Write the name of the robots.txt, and mark in it the deciding line and the group's line."""
    rule, reason = check.verdict.rule, check.verdict.reason
    out.say((" --> ", "faint"), check.where if rule is None else f"{check.where}:{rule.line}")
    marks = {}
    if check.group_line is not None:
        marks[check.group_line] = ("the group that was used" if rule else reason, "strong")
    if rule is not None:
        marks[rule.line] = (reason, "good" if check.verdict.allowed else "bad")
    out.excerpt(split_lines(check.body or b""), marks)
