"""`scrapy robots test EXPECTATIONS`: whether a robots.txt says what its owner wants.

It is for a site's own tests. It shows the deciding line for each expectation that is not met.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import NamedTuple

from scrapy.settings import Settings

from ..core.asker import Asker, verdict_on
from ..core.robots import RobotsTxt
from ..core.urls import Origin, shown
from ..report.summary import count
from ..settings import GbotSettings
from .check import Check, show_line
from .ending import FINE, FOUND, CommandError
from .inputs import SOURCE, STDIN, Version, add_shared, checked_url, is_url, read, versions
from .output import Terminal

_VERBS = {"allow": True, "deny": False, "disallow": False}
_WORDS = 3  # verb, crawler, URL
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
    robotstxt = GbotSettings.of(settings).parse(robots.body)
    failed = 0
    for expectation in expected:
        url, asker = expectation.url, expectation.asker
        facts = {"line": expectation.line, "expectation": expectation.text}
        check: Check | None = None
        if asker is None:
            is_met = url in robotstxt.sitemaps
            out.json({**facts, "met": is_met})
        else:
            verdict = verdict_on(url, asker, robotstxt)
            check = Check(url, asker, verdict, verdict, robots.name, robots.body, robotstxt)
            is_met = verdict.allowed == expectation.allowed
            out.json({**facts, "met": is_met, **check.facts})
        if not is_met:
            failed += 1
            where = f"{options.expectations}:{expectation.line}: "
            out.say((where, "strong"), ("not met", "bad"), f": {expectation.text}")
            _show(check, robotstxt, out)
    counted = f": {count(len(expected), 'expectation')}, "
    if failed:
        out.say((robots.name, "strong"), counted, (f"{failed:,} not met", "bad"))
        return FOUND
    out.say((robots.name, "strong"), counted, ("all met", "good"))
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


def _expectations(where: str, robots: Version, err: Terminal) -> list[Expectation]:
    """Return the expectations in a file. Name the lines that are none.

    Raises:
        CommandError: there is such a line, or no expectation.
    """
    expectations, wrong = [], 0
    for number, raw in enumerate(
        read(where).decode("utf-8-sig", "surrogateescape").splitlines(), 1
    ):
        words = raw.split()
        # of a URL, "#" is a part
        end = next((place for place, word in enumerate(words) if word.startswith("#")), None)
        if words[:end]:
            try:
                expectations.append(_expectation(number, words[:end], robots))
            except (CommandError, ValueError) as error:
                wrong += 1
                err.say((f"{where}:{number}: {error}: {shown(raw.strip(), _LONGEST)}", "bad"))
    if wrong:
        raise CommandError(f"{where}: {count(wrong, 'wrong line')}; nothing was tested")
    if not expectations:
        raise CommandError(f"{where}: there is no expectation in it")
    return expectations


def _expectation(number: int, words: list[str], robots: Version) -> Expectation:
    verb, text = words[0].lower(), " ".join(words)
    if verb == "sitemap" and len(words) == _WORDS - 1:
        Origin.of(words[1])  # it may be anywhere
        return Expectation(number, text, words[1])
    if verb not in _VERBS or len(words) != _WORDS:
        raise ValueError('must be "allow CRAWLER URL", "deny CRAWLER URL" or "sitemap URL"')
    _, name, url = words
    checked_url(url, has_robots=True)
    if is_url(url) and robots.origin not in {None, Origin.of(url)}:
        raise ValueError(f"{robots.name} is not for the origin of this URL")
    return Expectation(number, text, url, Asker.of(name, "the expectation"), _VERBS[verb])
