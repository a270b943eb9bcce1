"""Run `scrapy robots test EXPECTATIONS`, which tests whether a robots.txt does what it should.

The owners of a site write expectations such as "allow Googlebot /shop/" in a file. For each
expectation that is not met, the output shows the deciding line of the robots.txt.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.lines import UTF_16_MARKS
from ..core.named_user_agent import NamedUserAgent, checked_url, hints_on, verdict_on
from ..core.urls import Origin, shown
from ..counts import plural
from .check import Check, show_line
from .ending import FINE, FOUND, CommandError
from .inputs import SOURCE, add_shared, fetched, is_url, read, versions_among
from .output import Terminal
from .world import RobotsFile, World

if TYPE_CHECKING:
    from .sites import RobotsState

_SETTING = "GBOT_ROBOTS_ACCESS_DENIED"
# A "#" inside a URL does not begin a comment.
_COMMENT = re.compile(r"(?:^|\s)#.*")
# A User-Agent header may contain spaces.
_FORM = re.compile(
    r"(allow|deny|disallow)\s+(\S+|\S[^(]*\(.*\S)\s+(\S+)|sitemap\s+(\S+)", re.IGNORECASE
)


class Expectation(NamedTuple):
    """One line of the file of expectations.

    Attributes:
        line: the line number, from 1.
        text: the line without a comment.
        url: the URL or path of a page, or the URL of a sitemap.
        named_user_agent: the crawler for which the page should be allowed or disallowed; None if
            `url` is a sitemap that the robots.txt should list.
        allowed: whether the page should be allowed.
    """

    line: int
    text: str
    url: str
    named_user_agent: NamedUserAgent | None = None
    allowed: bool = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "expectations",
        metavar="EXPECTATIONS",
        help='a file, "-" for standard input; a line is "allow CRAWLER URL", "deny CRAWLER URL" '
        'or "sitemap URL"',
    )
    parser.add_argument("--robots", required=True, **SOURCE)
    add_shared(parser, "--json")


def run(options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    """Test the expectations, and return the exit status.

    The status is FOUND if one of the expectations is not met, and otherwise FINE.

    Raises:
        CommandError: a file or the robots.txt of the site cannot be read, a line is not an
            expectation, or the site denies access to its robots.txt and GBOT_ROBOTS_ACCESS_DENIED
            is not set.
    """
    sites = fetched([options.robots], world, err)
    for site in sites.values():
        if site.is_denied:
            _require_choice(site, world)
    (robots,) = versions_among([options.robots], sites, world, err)
    expectations = [*_expectations(options.expectations, robots)]
    if not expectations:
        raise CommandError(f"{options.expectations}: it contains no expectation")
    _note_misspelt(expectations, options.expectations, err)
    robotstxt = world.parse(robots.body)
    failed = 0
    for line, text, url, named, allowed in expectations:
        facts: dict[str, Any] = {}
        is_met = url in robotstxt.sitemaps
        check = None
        if named is not None:
            verdict = verdict_on(url, named.crawler, robotstxt)
            check = Check(url, named, robots, robotstxt, verdict, verdict)
            is_met = verdict.allowed == allowed
            facts = check.facts
        out.json({"line": line, "expectation": text, **facts, "met": is_met})
        if is_met:
            continue
        failed += 1
        where = f"{options.expectations}:{line}: "
        out.say((where, "strong"), ("not met", "bad"), f": {text}")
        if check is None:
            listed = plural(len(robotstxt.sitemaps), "other sitemap")
            out.fact("sitemaps", f"the robots.txt does not list this one; it lists {listed}")
        else:
            show_line(check, out)
            out.fact("verdict", str(check.verdict))
            out.fact("group", check.group)
    ending = ("all met", "good")
    if failed:
        ending = (f"{failed:,} not met", "bad")
    counted = plural(len(expectations), "expectation")
    out.say((robots.where, "strong"), f": {counted}, ", ending)
    return FOUND if failed else FINE


def _note_misspelt(expectations: Iterable[Expectation], where: str, err: Terminal) -> None:
    """Write a note for each name that is probably the misspelt name of a known crawler."""
    lines: dict[str, int] = {}
    for expectation in expectations:
        if expectation.named_user_agent is not None:
            lines.setdefault(expectation.named_user_agent.name, expectation.line)
    for name, line in lines.items():
        for hint in hints_on([name]):
            err.say((f"note: {where}:{line}: {hint}", "warning"))


def _require_choice(robots: RobotsState, world: World) -> None:
    """Require GBOT_ROBOTS_ACCESS_DENIED for a site that denies access to its robots.txt.

    Without the setting, everything on the site is allowed, so most expectations are met. A wrong
    password for a staging server would then look like a success.

    Raises:
        CommandError: GBOT_ROBOTS_ACCESS_DENIED is not set.
    """
    if not world.words.get(_SETTING):
        raise CommandError(
            f"{robots.where}: the server denies access to it, so nothing was tested: "
            f"{robots.decision.why}; with -s {_SETTING}=allow, everything counts as allowed"
        )


def _expectations(where: str, robots: RobotsFile | RobotsState) -> Iterator[Expectation]:
    """Yield the expectations in the file `where`, which is "-" for standard input.

    Raises:
        CommandError: the file is UTF-16, a line is not an expectation, or its URL does not
            belong to the site of `robots`.
    """
    content = read(where)
    if content.startswith(UTF_16_MARKS):
        raise CommandError(f"{where}: the file is UTF-16; save it as UTF-8")
    file = content.decode("utf-8-sig", "surrogateescape")
    for number, raw in enumerate(file.splitlines(), 1):
        text = _COMMENT.sub("", raw).strip()
        try:
            if text:
                yield _expectation(number, text, robots)
        except ValueError as error:
            raise CommandError(f"{where}:{number}: {error}: {shown(raw.strip())}") from None


def _expectation(number: int, text: str, robots: RobotsFile | RobotsState) -> Expectation:
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError('must be "allow CRAWLER URL", "deny CRAWLER URL" or "sitemap URL"')
    verb, name, url, sitemap = form.groups()
    if sitemap:
        Origin.of(sitemap)  # This checks the URL. A sitemap may be on any host.
        return Expectation(number, text, sitemap)
    checked_url(url, has_robots=True)
    if is_url(url) and robots.origin not in {None, Origin.of(url)}:
        raise ValueError(f"{robots.where} is not for the origin of this URL")
    named = NamedUserAgent.of(name, "the expectation")
    return Expectation(number, text, url, named, verb.lower() == "allow")
