"""`scrapy robots test EXPECTATIONS`: whether a robots.txt says what its owner wants.

It is for a site's own tests. It shows the deciding line for each expectation that is not met.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import takewhile
from typing import Any, NamedTuple

from scrapy.settings import Settings

from ..core.asker import Asker, checked_url, verdict_on
from ..core.robots import RobotsTxt
from ..core.urls import Origin, shown
from ..report.summary import count
from ..settings import GbotSettings
from .check import Check, show_line
from .ending import FINE, FOUND, CommandError
from .inputs import SOURCE, STDIN, add_shared, is_url, read, versions
from .output import Terminal
from .project_crawl import RobotsState

_VERBS = {"allow": True, "deny": False, "disallow": False}
_LONGEST = 100  # characters of a wrong line that are shown


class Expectation(NamedTuple):
    """One line of the file: its number, its text without a comment, and what it expects.

    It says whether `asker` should be allowed to fetch `url`. Without an asker, `url` is a sitemap
    that should be listed.
    """

    line: int
    text: str
    url: str
    asker: Asker | None = None
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


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Test the expectations; return the exit status: FOUND if one is not met."""
    if options.expectations == options.robots == STDIN:
        raise CommandError('"-" cannot be both the expectations and the robots.txt')
    (robots,) = versions([options.robots], settings, err)
    expected = _expectations(options.expectations, robots, err)
    robotstxt = GbotSettings.of(settings).parse(robots.copy.body)
    failed = 0
    for line, text, url, asker, allowed in expected:
        facts: dict[str, Any] = {"line": line, "expectation": text}
        is_met = url in robotstxt.sitemaps
        check = None
        if asker is not None:
            verdict = verdict_on(url, asker.crawler, robotstxt)
            check = Check(url, asker, robots, robotstxt, verdict, verdict)
            is_met = verdict.allowed == allowed
            facts |= check.facts
        out.json({**facts, "met": is_met})
        if not is_met:
            failed += 1
            where = f"{options.expectations}:{line}: "
            out.say((where, "strong"), ("not met", "bad"), f": {text}")
            _show(check, robotstxt, out)
    counted = f": {count(len(expected), 'expectation')}, "
    if failed:
        out.say((robots.where, "strong"), counted, (f"{failed:,} not met", "bad"))
        return FOUND
    out.say((robots.where, "strong"), counted, ("all met", "good"))
    return FINE


def _show(check: Check | None, robotstxt: RobotsTxt, out: Terminal) -> None:
    """Write what the robots.txt says instead. `check` is None for a sitemap."""
    if check is None:
        listed = count(len(robotstxt.sitemaps), "other sitemap")
        out.say(("  = ", "faint"), f"the robots.txt does not list this sitemap; it lists {listed}")
        return
    show_line(check, out)
    out.fact("verdict", str(check.verdict))
    out.fact("group", check.group)


def _expectations(where: str, robots: RobotsState, err: Terminal) -> list[Expectation]:
    """Return the expectations in a file. Name the lines that are none.

    Raises:
        CommandError: there is such a line, or no expectation.
    """
    expectations, wrong = [], 0
    text = read(where).decode("utf-8-sig", "surrogateescape")
    for number, raw in enumerate(text.splitlines(), 1):
        # of a URL, "#" is a part
        words = [*takewhile(lambda word: not word.startswith("#"), raw.split())]
        if words:
            try:
                expectations.append(_expectation(number, words, robots))
            except ValueError as error:
                wrong += 1
                err.say((f"{where}:{number}: {error}: {shown(raw.strip(), _LONGEST)}", "bad"))
    if wrong:
        raise CommandError(f"{where}: {count(wrong, 'wrong line')}; nothing was tested")
    if not expectations:
        raise CommandError(f"{where}: there is no expectation in it")
    return expectations


def _expectation(number: int, words: list[str], robots: RobotsState) -> Expectation:
    verb, *names, url = words if len(words) > 1 else ["", *words]
    verb, name, text = verb.lower(), " ".join(names), " ".join(words)
    if verb == "sitemap" and not names:
        Origin.of(url)  # it may be anywhere
        return Expectation(number, text, url)
    # a User-Agent header may have blanks
    if verb not in _VERBS or not names or (len(names) > 1 and "(" not in name):
        raise ValueError('must be "allow CRAWLER URL", "deny CRAWLER URL" or "sitemap URL"')
    checked_url(url, has_robots=True)
    if is_url(url) and robots.origin not in {None, Origin.of(url)}:
        raise ValueError(f"{robots.where} is not for the origin of this URL")
    return Expectation(number, text, url, Asker.of(name, "the expectation"), _VERBS[verb])
