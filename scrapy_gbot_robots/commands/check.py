"""`scrapy robots check URL...`: whether URLs may be fetched, which line says so, and how old the robots.txt is.

It answers as a crawl of the project would, from the same storage; or from a file, without a network.
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings

from ..core.crawlers import AllOf, Crawler, agents_heeded
from ..core.lines import split_lines
from ..core.lint import KINDS, findings
from ..core.robots import RobotsTxt, groups_of
from ..core.urls import ROBOTS_PATH, Origin
from ..core.verdict import IGNORES_ROBOTS, ROBOTS_TXT_ITSELF, Verdict
from ..experimental.purposes import refusal, word_on
from ..policy.outages import Decision, Entry, Kind
from ..policy.overrides import Action, Override
from ..report.summary import count, span
from ..settings import GbotSettings
from . import crawlers
from .command import FAILED, FINE, FOUND, CommandError
from .crawlers import Asker
from .inputs import add_shared, is_host, is_url, origin_of, overrides_checked, read, typed
from .output import Mark, Terminal, excerpt
from .overrides import override_facts

if TYPE_CHECKING:
    from ..experimental.preferences import Preferences
    from .project_crawl import ProjectCrawl, RobotsState


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "urls", nargs="+", type=typed, metavar="URL", help="an absolute URL; with --file also a path that begins with /"
    )
    add_shared(parser, "--as", "--purpose", "--json")
    parser.add_argument(
        "--mode",
        choices=("first", "all"),
        help='take the crawlers of --as as one: "first" heeds the group of the first that has one, "all" heeds those of '
        "all; without --mode, each crawler gets its own verdict",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--file", metavar="FILE", help='read this robots.txt, "-" for standard input; fetch nothing')
    add_shared(source, "--fresh")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Check the URLs; return the exit status: the worst of all."""
    askers = crawlers.named(options.agents, settings, err, options.mode)
    checks = _by_origin(options, askers, settings) if options.file is None else _by_file(options, askers, settings, err)
    for number, check in enumerate(checks):
        out.json(check.facts)
        if number:
            out.say()
        _show(check, out)
    if any(check.unreachable for check in checks):
        return FAILED
    return FINE if all(check.decided.allowed and not check.refused_purpose for check in checks) else FOUND


def _by_file(options: Namespace, askers: list[Asker], settings: Settings, err: Terminal) -> list[Check]:
    for url in options.urls:
        if not url.startswith("/"):
            _absolute(url, has_file=True)
    gbot, body = GbotSettings.of(settings), read(options.file)
    for finding in findings(body, strict=gbot.strict, max_bytes=gbot.max_bytes):
        if not KINDS[finding.kind].part:
            err.say((f"note: {options.file}: {finding.text}", "warning"))
    robotstxt = gbot.parse(body)
    return [
        checked(
            Check(url, asker, robotstxt.verdict(url, asker.crawler), options.file, body, robotstxt, options.purposes)
        )
        for url in options.urls
        for asker in askers
    ]


def _by_origin(options: Namespace, askers: list[Asker], settings: Settings) -> list[Check]:
    from .project_crawl import run_in_crawl  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    origins = [_absolute(url) for url in options.urls]
    overrides = overrides_checked(settings)

    async def work(crawl: ProjectCrawl) -> list[Check]:
        checks: list[Check] = []
        states: dict[Origin, RobotsState] = {}
        for url, origin in zip(options.urls, origins, strict=True):
            if origin not in states:
                states[origin] = await crawl.state_of(origin, fresh=options.fresh)
            known, where = states[origin], origin.robots_url
            override = overrides.of(origin, time.time()) if Origin.of_robots_txt(url) is None else None
            instead = None if override is None else override.crawler
            for each in askers:
                asker = each if instead is None else Asker(instead, "the override", instead.name)
                verdict = crawl.verdict(url, asker.crawler, known.served, overridden=False)
                overriding = crawl.verdict(url, asker.crawler, known.served) if override else None
                found = (known.body, known.robotstxt, options.purposes, known, override, overriding)
                checks.append(checked(Check(url, asker, verdict, where, *found)))
        return checks

    return run_in_crawl(settings, work)


def checked(check: Check) -> Check:
    """Return the check, but for a robots.txt itself one that allows it: it is never disallowed (RFC 9309 2.2.2)."""
    if check.url != ROBOTS_PATH and Origin.of_robots_txt(check.url) is None:
        return check
    return replace(check, verdict=Verdict(True, None, ROBOTS_TXT_ITSELF), body=None, robotstxt=RobotsTxt.parse(b""))


def _absolute(url: str, *, has_file: bool = False) -> Origin:
    """Return the origin of an absolute URL. If it is none, say what may be meant."""
    if is_url(url):
        return origin_of(url)
    if url.startswith("/"):
        raise CommandError(f"{url} is a path; give the whole URL, or a robots.txt with --file")
    host = url.partition("/")[0]
    meant = f"/{url}" if has_file and url else ""
    if host and is_host(host):
        meant = f"http{'' if ':' in host else 's'}://{url}"
    raise CommandError(f'not an absolute URL: "{url}"' + (f"; did you mean {meant}?" if meant else ""))


@dataclass(frozen=True)
class Check:
    """A URL, the verdict on it, and what that rests on.

    Attributes:
        url: absolute, or a path.
        asker: the crawler.
        verdict: what the robots.txt says.
        where: the URL of the robots.txt, or the path of the file.
        body: the bytes of the robots.txt; None if there is none, or if it plays no part.
        robotstxt: what was read of it.
        purposes: what the crawl would be for.
        known: what is known of the site's robots.txt; None if `body` is from a file.
        override: the override that counts for the URL in a crawl, if any.
        overriding: the verdict under that override.
    """

    url: str
    asker: Asker
    verdict: Verdict
    where: str
    body: bytes | None
    robotstxt: RobotsTxt
    purposes: Sequence[str] = ()
    known: RobotsState | None = None
    override: Override | None = None
    overriding: Verdict | None = None

    @property
    def decided(self) -> Verdict:
        """The verdict that counts in a crawl."""
        return self.overriding or self.verdict

    @property
    def crawler(self) -> Crawler:
        """The crawler that the verdict is about."""
        return self.asker.judged(self.verdict)

    @property
    def unreachable(self) -> bool:
        """Whether the policy decided in place of rules, since robots.txt is unreachable."""
        if self.override is not None and self.override.action is not Action.KEEP:
            return False
        return self.known is not None and self.known.unreachable and self.verdict.reason != ROBOTS_TXT_ITSELF

    @cached_property
    def said(self) -> Preferences:
        """What the robots.txt says about the use of the URL's content."""
        return self.robotstxt.preferences(self.url, self.asker.crawler)

    @property
    def refused_purpose(self) -> bool:
        """Whether the site refuses one of the purposes. It does not count under an override."""
        return self.overriding is None and refusal(self.purposes, self.said) is not None

    @cached_property
    def group_line(self) -> int | None:
        """The number of the user-agent line whose group was used: of several, the one above the deciding rule, if any."""
        rule, agent = self.verdict.rule, self.verdict.group or ""
        groups = groups_of(self.robotstxt) if agent else ()
        lines = (group.agents.get(agent) for group in groups if rule is None or rule in group.rules)
        return next((line for line in lines if line is not None), None)

    @property
    def group(self) -> str:
        """The group that was used, and why, in words."""
        crawler, group = self.crawler, self.verdict.group
        if group is None and not agents_heeded(crawler):
            return f"none: {IGNORES_ROBOTS}"
        tokens = [token for token in crawler.tokens if token.lower() != group]
        why = f"no group names {' or '.join(tokens)}" if tokens else "the user agent has no product token"
        if self.asker.text == "*":
            why = "the crawler stands for all that no group names"
        if group is None:
            return f"none: {why}, and {'there is no group for *' if crawler.heeds_global else 'it ignores *'}"
        if group != "*":
            first = crawler.tokens[0]
            why = "it names the crawler" if group == first.lower() else f"the fall-back, since no group names {first}"
        return f'"{group}" (line {self.group_line}): {why}'

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the check found, for programs. Times are in seconds."""
        crawler, rule = self.crawler, self.verdict.rule
        facts: dict[str, Any] = {
            "url": self.url,
            "allowed": self.decided.allowed,
            "reason": self.decided.reason,
            "rule": None if rule is None else {"line": rule.line, "allow": rule.allow, "pattern": rule.pattern},
            "group": self.verdict.group,
            "group_line": self.group_line,
            "crawler": {"name": crawler.name, "tokens": crawler.tokens, "heeds_global": crawler.heeds_global},
            "robots_txt": {"url" if self.known else "file": self.where},
        }
        if self.override is not None:
            facts["override"] = override_facts(self.override)
            facts["robots_txt"] |= {"allowed": self.verdict.allowed, "reason": self.verdict.reason}
        if isinstance(self.asker.crawler, AllOf):
            facts["crawlers"] = [each.name for each in self.asker.crawler]
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
    hops = facts.get("hops", [])
    told = {
        "robots.txt": f"{facts['state']}{' for now' if facts['temporary'] else ''}: {facts['why']}{source}",
        "note": "a wall answered, not the site" if facts["walled"] else "",
        "redirected": ", then ".join(f"{hop['status']} {hop['url']}" for hop in hops if len(hops) > 1),
        "served by": facts["served_by"] if facts["served_by"] != facts["url"] and not hops else "",
        "fetched": "" if facts["age_secs"] is None else f"{span(facts['age_secs'])} ago",
        "asked again": f"in {span(math.ceil(facts['fresh_secs']))}" if facts["fresh_secs"] else "now",
        "failures": f"{facts['failures']:,} in a row" if facts["failures"] else "",
        "size": count(facts["bytes"], "byte") if facts["bytes"] else "",
        "cut": "the server sent more" if facts["cut"] else "",
    }
    for name, text in told.items():
        if text:
            out.fact(name, text)


def _show(check: Check, out: Terminal) -> None:
    """Write the verdict with the deciding line in place, and below it what the verdict rests on."""
    verdict = check.decided
    word = f"{'allowed' if verdict.allowed else 'disallowed'}{' for now' if check.unreachable else ''}"
    out.say((word, "good" if verdict.allowed else "bad"), ": ", (check.url, "strong"))
    if check.override is not None:
        until = "" if check.override.until is None else f", until {check.override.until}"
        out.say((" --> ", "faint"), f"GBOT_ROBOTS_OVERRIDES[{check.override.key!r}]")
        out.fact("override", f"{check.override.what}{until}")
        out.fact("reason", check.override.reason)
        out.fact("it says", str(verdict))
        out.fact("robots.txt itself says", str(check.verdict))
    show_line(check, out)
    if check.verdict.rule is None:
        out.fact("reason", check.verdict.reason)
    out.fact("crawler", f"{check.asker}; it heeds {check.asker.heeds}")
    if check.body is not None:
        out.fact("group", check.group)
    lines = f" (line {', '.join(map(str, check.said.lines))})" if check.purposes and check.said.lines else ""
    for purpose in check.purposes:
        out.fact(purpose, word_on(purpose, check.said) + lines)
    if check.known is not None:
        show_entry(check.facts["robots_txt"], out)


def show_line(check: Check, out: Terminal) -> None:
    """Write the name of the robots.txt, and mark in it the deciding line and the group's line."""
    verdict, style = check.verdict, "good" if check.verdict.allowed else "bad"
    rule = verdict.rule
    out.say((" --> ", "faint"), check.where if rule is None else f"{check.where}:{rule.line}")
    marks = []
    if rule is not None:
        marks.append(Mark(rule.line, "value", verdict.reason, style))
    if check.group_line is not None:
        marks.append(Mark(check.group_line, "value", "the group that was used" if marks else verdict.reason))
    for line in excerpt(split_lines(check.body or b""), marks):
        out.say(*line)
