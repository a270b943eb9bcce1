"""`scrapy robots check URL...`: may it be fetched, by which line of which robots.txt, and how good that answer is.

Answers as a crawl of the project would, from the same cache; or from a file, without any network.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..core import grammar
from ..core.groups import read_groups
from ..core.lines import split_lines
from ..core.lint import is_binary
from ..core.origin import Origin
from ..core.robots import RobotsTxt
from ..core.rules import IGNORES_ROBOTS, Verdict
from . import crawlers as agents
from .excerpt import Mark, excerpt
from .exits import FAILED, FINE, FOUND, ROBOTS_TXT_ITSELF, CommandError
from .inputs import checked, origin_of, read
from .output import span

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from ..policy.ladder import Decision
    from ..settings import GbotSettings
    from .crawlers import Who
    from .output import Terminal
    from .session import Known, Visit

HELP = "Say whether URLs may be fetched, and why"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "urls", nargs="+", metavar="URL", help="absolute URL; with --file also a path that begins with /"
    )
    agents.add_argument(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--file", metavar="FILE", help='ask this robots.txt, "-" for standard input; nothing is fetched'
    )
    source.add_argument("--fresh", action="store_true", help="fetch the robots.txt, whatever the cache holds")
    parser.add_argument("--json", action="store_true", help="one JSON object a URL, one a line")


@dataclass(frozen=True)
class Check:
    """A URL, the verdict on it, and what that rests on.

    Attributes:
        where: the robots.txt's URL, or the path of the file.
        body: the robots.txt, None where there is none or it plays no part.
        known: what is known of the robots.txt; None where a file was asked.
    """

    url: str
    who: Who
    verdict: Verdict
    where: str
    body: bytes | None
    robotstxt: RobotsTxt
    known: Known | None = None

    @property
    def stands_in(self) -> bool:
        """Whether the verdict stands in for one that could not be had."""
        return self.known is not None and self.known.missing and self.verdict.reason != ROBOTS_TXT_ITSELF

    @cached_property
    def group_line(self) -> int | None:
        """The user-agent line that puts the deciding rule, else any, into the group that was used."""
        rule = self.verdict.rule
        if self.verdict.group is None:
            return None
        for group in read_groups(self.robotstxt.lines):
            line = group.agents.get(self.verdict.group.encode("ascii"))
            if line is not None and (rule is None or rule in group.rules):
                return line
        return None

    @property
    def group(self) -> str:
        """The group that was used, and why that one, in words."""
        tokens = [token for token in self.who.crawler.tokens if token.lower() != self.verdict.group]
        none = f"no group names {' or '.join(tokens)}" if tokens else "the user agent has no product token"
        if self.verdict.group is None:
            if self.who.crawler.ignores_robots:
                return f"none: {IGNORES_ROBOTS}"
            return f"none: {none}" + (
                ", and there is none for *" if self.who.crawler.heeds_global else ", and it ignores *"
            )
        where = f'"{self.verdict.group}" (line {self.group_line})'
        if self.verdict.group.encode("ascii") == grammar.GLOBAL:
            return f"{where}: {none}"
        if self.verdict.group == self.who.crawler.tokens[0].lower():
            return f"{where}: it names the crawler"
        return f"{where}: the fall-back, as no group names {self.who.crawler.tokens[0]}"


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Check the URLs; return the exit status: the worst of all."""
    (who,) = agents.named(options.agents, settings, err)
    gbot = checked(settings)
    checks = _by_origin(options, who, settings) if options.file is None else _by_file(options, who, gbot, err)
    for number, check in enumerate(checks):
        if options.json:
            out.write(json.dumps(_as_json(check)) + "\n")
        else:
            if number:
                out.say()
            _show(check, gbot, out)
    if any(check.stands_in for check in checks):
        return FAILED
    return FINE if all(check.verdict.allowed for check in checks) else FOUND


def _by_file(options: Namespace, who: Who, gbot: GbotSettings, err: Terminal) -> list[Check]:
    for url in options.urls:
        if not url.startswith("/"):
            _absolute(url)
    body = read(options.file)
    if is_binary(body):
        err.say((f"note: {options.file} is binary data: as a robots.txt it restricts nothing", "warning"))
    robotstxt = RobotsTxt.parse(body, strict=gbot.strict, max_bytes=gbot.max_bytes)
    rules = robotstxt.rules_for(who.crawler)
    return [Check(url, who, rules.verdict(url), options.file, body, robotstxt) for url in options.urls]


def _by_origin(options: Namespace, who: Who, settings: Settings) -> list[Check]:
    from .crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which a file needs not

    origins = [_absolute(url) for url in options.urls]

    async def work(visit: Visit) -> list[Check]:
        found = {
            origin: await visit.known(origin, who.crawler, fresh=options.fresh) for origin in dict.fromkeys(origins)
        }
        return [_of(url, who, found[origin], visit.settings) for url, origin in zip(options.urls, origins, strict=True)]

    return during_a_visit(settings, work)


def _of(url: str, who: Who, known: Known, gbot: GbotSettings) -> Check:
    verdict = known.answer.verdict(url, who.crawler)
    body = known.body
    if Origin.of_robots_txt(url) is not None:
        verdict, body = Verdict(allowed=True, rule=None, reason=ROBOTS_TXT_ITSELF), None
    robotstxt = RobotsTxt.parse(body or b"", strict=gbot.strict, max_bytes=gbot.max_bytes)
    return Check(url, who, verdict, known.origin.robots_url, body, robotstxt, known)


def _absolute(url: str) -> Origin:
    if "://" not in url:
        raise CommandError(f"not an absolute URL: {url} (https://{url.lstrip('/')} is meant?)")
    return origin_of(url)


def _show(check: Check, gbot: GbotSettings, out: Terminal) -> None:
    """Write the verdict with its line in place, and below it what it rests on."""
    verdict, style = check.verdict, "good" if check.verdict.allowed else "bad"
    word = "allowed" if verdict.allowed else "disallowed"
    out.say((f"{word} for now" if check.stands_in else word, style), ": ", (check.url, "strong"))
    rule = verdict.rule
    out.say((" --> ", "faint"), check.where if rule is None else f"{check.where}:{rule.line}")
    marks = []
    if rule is not None:
        marks.append(Mark(rule.line, "value", verdict.reason, style))
    if check.group_line is not None:
        marks.append(Mark(check.group_line, "value", "the group that was used" if marks else verdict.reason))
    for line in excerpt(split_lines(check.body or b""), marks):
        out.say(*line)
    for name, text in _facts(check, gbot):
        out.say(("  = ", "faint"), (name, "strong"), f": {text}")


def _facts(check: Check, gbot: GbotSettings) -> list[tuple[str, str]]:
    known = check.known
    facts = [] if check.verdict.rule else [("reason", check.verdict.reason)]
    if known is not None and check.verdict.reason == known.decision.why:
        facts = [("reason", _state(known.decision))]
    facts.append(("crawler", f"{check.who}; it heeds {check.who.heeds}"))
    if check.body is not None:
        facts.append(("group", check.group))
    if known is not None:
        now = time.time()
        facts.append(("robots.txt", _served(known)))
        facts.append(("fetched", _age(known, gbot, now)))
        until = span(max(0.0, math.ceil(known.decision.ask_at - now)))
        facts.append(("asked again", f"in {until}") if known.decision.temporary else ("fresh", f"for {until}"))
    return facts


def _state(decision: Decision) -> str:
    """Say what stands in for rules, and why."""
    if decision.temporary:
        return f"{decision.state.value} for now: {decision.why}"
    return f"{decision.state.value}, as there is no robots.txt: {decision.why}"


def _served(known: Known) -> str:
    """Say what the origin answered, and who answered in the end."""
    copy, outage = known.entry.copy, known.entry.outage
    text = known.decision.why
    if known.decision.temporary and outage is not None:
        text = f"{outage.why}; {outage.failures} failure{'s' if outage.failures > 1 else ''} on end"
    if len(known.hops) > 1:
        return f"{text}; redirected: {', then '.join(f'{status} {url}' for status, url in known.hops)}"
    if copy is not None and copy.url != known.origin.robots_url:
        return f"{text}; redirected to {copy.url}"
    return text


def _age(known: Known, gbot: GbotSettings, now: float) -> str:
    if known.fetched:
        return "just now"
    copy = known.decision.copy
    ago = f"{span(max(0.0, now - copy.fetched_at))} ago, " if copy else ""
    return f"{ago}from the cache ({gbot.storage})"


def _as_json(check: Check) -> dict[str, Any]:
    """The same as is shown, for programs; times are seconds."""
    verdict, crawler, rule = check.verdict, check.who.crawler, check.verdict.rule
    facts: dict[str, Any] = {
        "url": check.url,
        "allowed": verdict.allowed,
        "reason": verdict.reason,
        "rule": None if rule is None else {"line": rule.line, "allow": rule.allow, "pattern": rule.pattern},
        "group": verdict.group,
        "group_line": check.group_line,
        "crawler": {"name": crawler.name, "tokens": crawler.tokens, "heeds_global": crawler.heeds_global},
        "robots_txt": {"url" if check.known else "file": check.where},
    }
    known = check.known
    if known is not None:
        decision, copy, outage = known.decision, known.entry.copy, known.entry.outage
        facts["robots_txt"] |= {
            "state": decision.state.value,
            "temporary": decision.temporary,
            "why": decision.why,
            "status": known.answer.status,
            "served_by": copy.url if copy else None,
            "hops": [{"status": status, "url": url} for status, url in known.hops],
            "from_cache": not known.fetched,
            "fetched_at": copy.fetched_at if copy else None,
            "unreachable_since": outage.since if outage else None,
            "fresh_secs": max(0.0, decision.ask_at - time.time()),
        }
    return facts
