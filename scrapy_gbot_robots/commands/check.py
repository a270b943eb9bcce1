"""`scrapy robots check URL...`: whether URLs may be fetched, which line says so, and how old the robots.txt is.

It answers as a crawl of the project would, from the same storage; or from a file, without a network.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..core import lines as grammar
from ..core.crawlers import AllOf
from ..core.lines import split_lines
from ..core.lint import KINDS, findings
from ..core.robots import RobotsTxt, read_groups
from ..core.urls import Origin
from ..core.verdict import IGNORES_ROBOTS, ROBOTS_TXT_ITSELF, Verdict
from ..experimental import purposes
from ..experimental.purposes import refusal, word_on
from ..obeying.overridden import OverriddenAnswer
from ..policy.outages import Kind, State
from ..policy.overrides import Action
from ..report.summary import count, span
from . import crawlers
from .command import FAILED, FINE, FOUND, CommandError
from .crawlers import Asker
from .inputs import checked, is_host, is_url, origin_of, overrides_checked, read, typed
from .output import Mark, excerpt, printable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from ..core.crawlers import Crawler
    from ..experimental.preferences import Preferences
    from ..policy.outages import Decision
    from ..policy.overrides import Override
    from ..settings import GbotSettings
    from .output import Terminal
    from .project_crawl import Known, Visit


HELP = "Say whether URLs may be fetched, and why"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "urls", nargs="+", type=typed, metavar="URL", help="an absolute URL; with --file also a path that begins with /"
    )
    crawlers.add_argument(parser)
    crawlers.add_mode_argument(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--file", metavar="FILE", help='read this robots.txt, "-" for standard input; fetch nothing')
    source.add_argument("--fresh", action="store_true", help="fetch the robots.txt even if the storage has it")
    purposes.add_argument(parser)
    parser.add_argument("--json", action="store_true", help="write one JSON object per URL and crawler, one per line")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Check the URLs; return the exit status: the worst of all."""
    askers = crawlers.named(options.agents, settings, err, options.mode)
    gbot = checked(settings)
    checks = _by_origin(options, askers, settings) if options.file is None else _by_file(options, askers, gbot, err)
    if options.purposes:
        checks = [replace(check, purposes=tuple(options.purposes)) for check in checks]
    for number, check in enumerate(checks):
        if options.json:
            out.json(as_json(check, gbot))
        else:
            if number:
                out.say()
            show(check, gbot, out)
    if any(check.unreachable for check in checks):
        return FAILED
    return FINE if all(check.decided.allowed and not check.refused_purpose for check in checks) else FOUND


def _by_file(options: Namespace, askers: list[Asker], gbot: GbotSettings, err: Terminal) -> list[Check]:
    for url in options.urls:
        if not url.startswith("/"):
            _absolute(url, has_file=True)
    body = read(options.file)
    for finding in findings(body, strict=gbot.strict, max_bytes=gbot.max_bytes):
        if not KINDS[finding.kind].part:
            err.say((f"note: {options.file}: {finding.text}", "warning"))
    robotstxt = RobotsTxt.parse(body, strict=gbot.strict, max_bytes=gbot.max_bytes)
    asked = [(asker, robotstxt.rules_for(asker.crawler)) for asker in askers]
    return [
        Check(url, asker, rules.verdict(url), options.file, body, robotstxt)
        for url in options.urls
        for asker, rules in asked
    ]


def _by_origin(options: Namespace, askers: list[Asker], settings: Settings) -> list[Check]:
    from .project_crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    origins = [_absolute(url) for url in options.urls]
    overrides = overrides_checked(settings)

    async def work(visit: Visit) -> list[Check]:
        checks: list[Check] = []
        known: dict[tuple[Origin, Asker], Known] = {}
        for url, origin in zip(options.urls, origins, strict=True):
            override = overrides.of(origin, time.time()) if Origin.of_robots_txt(url) is None else None
            for each in askers:
                asker = _as_override_says(each, override)
                if (origin, asker) not in known:
                    fresh = options.fresh and not any(origin == other for other, _ in known)
                    known[origin, asker] = await visit.known(origin, asker.crawler, fresh=fresh)
                checks.append(_of(url, asker, known[origin, asker], visit.settings, override))
        return checks

    return during_a_visit(settings, work)


def _as_override_says(asker: Asker, override: Override | None) -> Asker:
    if override is None or override.crawler is None:
        return asker
    return Asker(override.crawler, "the override", override.crawler.name)


def _of(url: str, asker: Asker, known: Known, gbot: GbotSettings, override: Override | None) -> Check:
    verdict = known.answer.verdict(url, asker.crawler)
    body = known.body
    if Origin.of_robots_txt(url) is not None:
        verdict, body = Verdict(allowed=True, rule=None, reason=ROBOTS_TXT_ITSELF), None
    robotstxt = RobotsTxt.parse(body or b"", strict=gbot.strict, max_bytes=gbot.max_bytes)
    overriding = None
    if override is not None:
        answer = OverriddenAnswer(known.origin, override, asker.crawler, known.answer, lambda *use: None)
        overriding = answer.verdict(url, asker.crawler)
    return Check(url, asker, verdict, known.origin.robots_url, body, robotstxt, known, override, overriding)


def _absolute(url: str, *, has_file: bool = False) -> Origin:
    """Return the origin of an absolute URL. If it is none, say what may be meant."""
    if url.startswith("/"):
        raise CommandError(f"{url} is a path; give the whole URL, or a robots.txt with --file")
    if is_url(url):
        return origin_of(url)
    host = url.partition("/")[0]
    meant = f"/{url}" if has_file else ""
    if host and is_host(host):
        meant = f"http{'' if ':' in host else 's'}://{url}"
    raise CommandError(f'not an absolute URL: "{url}"' + (f"; did you mean {meant}?" if url and meant else ""))


@dataclass(frozen=True)
class Check:
    """A URL, the verdict on it, and what that rests on.

    Attributes:
        url: absolute, or a path.
        asker: the crawler.
        verdict: what the robots.txt says.
        where: the URL of the robots.txt, or the path of the file.
        body: the bytes of the robots.txt; None if there is none, or if it plays no part.
        robotstxt: `body`, parsed.
        known: what is known of the site's robots.txt; None if `body` is from a file.
        override: the override that counts for the URL in a crawl, if any.
        overriding: the verdict under that override.
        purposes: what the crawl would be for.
    """

    url: str
    asker: Asker
    verdict: Verdict
    where: str
    body: bytes | None
    robotstxt: RobotsTxt
    known: Known | None = None
    override: Override | None = None
    overriding: Verdict | None = None
    purposes: tuple[str, ...] = ()

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
        """The group that was used, and why, in words."""
        tokens = [token for token in self.crawler.tokens if token.lower() != self.verdict.group]
        none = f"no group names {' or '.join(tokens)}" if tokens else "the user agent has no product token"
        if self.asker.text == "*":
            none = "the crawler stands for all that no group names"
        if self.verdict.group is None:
            if self.crawler.ignores_robots:
                return f"none: {IGNORES_ROBOTS}"
            return f"none: {none}" + (
                ", and there is no group for *" if self.crawler.heeds_global else ", and it ignores *"
            )
        where = f'"{self.verdict.group}" (line {self.group_line})'
        if self.verdict.group.encode("ascii") == grammar.GLOBAL:
            return f"{where}: {none}"
        if self.verdict.group == self.crawler.tokens[0].lower():
            return f"{where}: it names the crawler"
        return f"{where}: the fall-back, since no group names {self.crawler.tokens[0]}"


def show(check: Check, gbot: GbotSettings, out: Terminal) -> None:
    """Write the verdict with the deciding line in place, and below it what the verdict rests on."""
    verdict, style = check.decided, "good" if check.decided.allowed else "bad"
    word = "allowed" if verdict.allowed else "disallowed"
    out.say((f"{word} for now" if check.unreachable else word, style), ": ", (check.url, "strong"))
    if check.override is not None:
        out.say((" --> ", "faint"), f"GBOT_ROBOTS_OVERRIDES[{check.override.key!r}]")
        for name, text in _of_override(check, check.override):
            out.say(("  = ", "faint"), (name, "strong"), f": {text}")
    show_line(check, out)
    for name, text in _facts(check, gbot):
        out.say(("  = ", "faint"), (name, "strong"), f": {text}")


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


def _of_override(check: Check, override: Override) -> list[tuple[str, str]]:
    """What the override does, and what the robots.txt itself says."""
    until = "" if override.until is None else f", until {override.until}"
    return [
        ("override", f"{override.what}{until}"),
        ("reason", printable(override.reason)),
        ("it says", str(check.decided)),
        ("robots.txt itself says", str(check.verdict)),
    ]


def _facts(check: Check, gbot: GbotSettings) -> list[tuple[str, str]]:
    known = check.known
    facts = [] if check.verdict.rule else [("reason", check.verdict.reason)]
    if known is not None and check.verdict.reason == known.decision.why:
        facts = [("reason", _state(known.decision))]
    facts.append(("crawler", f"{check.asker}; it heeds {check.asker.heeds}"))
    if check.body is not None:
        facts.append(("group", check.group))
    facts += [(purpose, _word_on(purpose, check)) for purpose in check.purposes]
    if known is not None:
        now = time.time()
        facts.append(("robots.txt", _served(known)))
        facts.append(("tried" if known.unreachable else "fetched", _source(known, gbot, now)))
        until = span(max(0.0, math.ceil(known.decision.ask_at - now)))
        facts.append(("asked again", f"in {until}") if known.decision.temporary else ("fresh", f"for {until}"))
    return facts


def _word_on(purpose: str, check: Check) -> str:
    lines = check.said.lines
    return word_on(purpose, check.said) + (f" (line {', '.join(map(str, lines))})" if lines else "")


def _state(decision: Decision) -> str:
    """What applies without rules, and why."""
    if decision.temporary:
        return f"{decision.state.value} for now: {decision.why}"
    if decision.copy is not None and decision.copy.kind is Kind.WALL:
        return f"{decision.state.value}, since a wall answered, not the site: {decision.why}"
    if decision.state is State.FULL_DISALLOW:
        return f"{decision.state.value}, since the site refuses it: {decision.why}"
    return f"{decision.state.value}, since there is no robots.txt: {decision.why}"


def _served(known: Known) -> str:
    """What the server answered, and at which URL."""
    copy, outage = known.entry.copy, known.entry.outage
    text = known.decision.why
    if known.decision.temporary and outage is not None:
        text = f"{outage.why}; {count(outage.failures, 'failure')} in a row"
    if len(known.hops) > 1:
        return f"{text}; redirected: {', then '.join(f'{status} {url}' for status, url in known.hops)}"
    if copy is not None and copy.url != known.origin.robots_url:
        return f"{text}; redirected to {copy.url}"
    return text


def _source(known: Known, gbot: GbotSettings, now: float) -> str:
    """Where the answer comes from, and how old it is."""
    copy, outage = known.decision.copy, known.entry.outage
    ago = f"{span(max(0.0, now - copy.fetched_at))} ago" if copy else ""
    if known.fetched:
        return f"tried just now; the last answer came {ago}" if outage and copy else "just now"
    if copy is None and outage is not None:
        ago = f"unreachable for {span(max(0.0, now - outage.since))}"
    return f"{ago}, from the storage ({gbot.storage})"


def as_json(check: Check, gbot: GbotSettings) -> dict[str, Any]:
    """Return the facts of a check."""
    decided, crawler, rule = check.decided, check.crawler, check.verdict.rule
    facts: dict[str, Any] = {
        "url": check.url,
        "allowed": decided.allowed,
        "reason": decided.reason,
        "rule": None if rule is None else {"line": rule.line, "allow": rule.allow, "pattern": rule.pattern},
        "group": check.verdict.group,
        "group_line": check.group_line,
        "crawler": {"name": crawler.name, "tokens": crawler.tokens, "heeds_global": crawler.heeds_global},
        "robots_txt": {"url" if check.known else "file": check.where},
    }
    if check.override is not None:
        facts["override"] = _override(check.override)
        facts["robots_txt"] |= {"allowed": check.verdict.allowed, "reason": check.verdict.reason}
    if isinstance(check.asker.crawler, AllOf):
        facts["crawlers"] = [each.name for each in check.asker.crawler]
    if check.purposes:
        words = {purpose: word_on(purpose, check.said) for purpose in check.purposes}
        facts["preferences"] = {**words, "use": check.said.use, "lines": list(check.said.lines)}
    if check.known is not None:
        facts["robots_txt"] |= _known(check.known, gbot, time.time())
    return facts


def _override(override: Override) -> dict[str, Any]:
    return {
        "key": override.key,
        "what": override.what,
        "reason": override.reason,
        "until": None if override.until is None else override.until.isoformat(),
    }


def _known(known: Known, gbot: GbotSettings, now: float) -> dict[str, Any]:
    """Return what is known of a site's robots.txt."""
    decision, copy, outage = known.decision, known.entry.copy, known.entry.outage
    return {
        "state": decision.state.value,
        "temporary": decision.temporary,
        "why": decision.why,
        "status": known.answer.status,
        "served_by": copy.url if copy else None,
        "hops": [{"status": status, "url": url} for status, url in known.hops],
        "from_cache": not known.fetched,
        "storage": None if known.fetched else gbot.storage,
        "age_secs": max(0.0, now - copy.fetched_at) if copy else None,
        "fetched_at": copy.fetched_at if copy else None,
        "unreachable_since": outage.since if outage else None,
        "fresh_secs": max(0.0, decision.ask_at - now),
    }
