"""`scrapy robots test EXPECTATIONS --robots FILE|URL|HOST`: whether a robots.txt says what its owner wants.

It is for a site's own tests. It shows the deciding line for each expectation that is not met.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..core.origin import Origin
from ..core.robots import RobotsTxt
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..report.words import count
from .exits import FINE, FOUND, CommandError
from .expectations import Expectation, read_expectations
from .explain import Check, show_line
from .explain_json import as_json
from .inputs import STDIN, checked, is_url, read, typed_source
from .versions import versions

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from ..settings import GbotSettings
    from .output import Terminal
    from .versions import Version

HELP = "Test a robots.txt against a file of expectations"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "expectations",
        metavar="EXPECTATIONS",
        help='a file, "-" for standard input; a line is "allow CRAWLER URL", "deny CRAWLER URL" or "sitemap URL"',
    )
    parser.add_argument(
        "--robots",
        required=True,
        type=typed_source,
        metavar="FILE|URL|HOST",
        help='a file, "-" for standard input, or a host (https) or URL whose robots.txt is fetched',
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object per expectation, one per line")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Test the expectations; return the exit status: FOUND if one is not met."""
    gbot = checked(settings)
    if options.expectations == options.robots == STDIN:
        raise CommandError('"-" cannot be both the expectations and the robots.txt')
    expected = list(read_expectations(options.expectations, read(options.expectations)))
    if not expected:
        raise CommandError(f"{options.expectations}: there is no expectation in it")
    (robots,) = versions([options.robots], settings)
    robotstxt = RobotsTxt.parse(robots.body, strict=gbot.strict, max_bytes=gbot.max_bytes)
    failed = 0
    for each in expected:
        check = None if each.asker is None else _check(each, robots, robotstxt)
        met = each.url in robotstxt.sitemaps if check is None else check.verdict.allowed == each.allowed
        failed += not met
        if options.json:
            out.write(json.dumps(_as_json(each, check, gbot, met=met)) + "\n")
        elif not met:
            _show(each, check, robotstxt, options.expectations, out)
    if not options.json:
        style = "bad" if failed else "good"
        out.say((robots.name, "strong"), f": {count(len(expected), 'expectation')}, ", (f"{failed:,} not met", style))
    return FOUND if failed else FINE


def _check(each: Expectation, robots: Version, robotstxt: RobotsTxt) -> Check:
    assert each.asker is not None  # noqa: S101  for the type checker
    if robots.origin is not None and is_url(each.url) and Origin.of(each.url) != robots.origin:
        raise CommandError(f"line {each.line}: {robots.name} is not for the origin of {each.url}")
    verdict = robotstxt.verdict(each.url, each.asker.crawler)
    if each.url == "/robots.txt" or Origin.of_robots_txt(each.url) is not None:
        verdict = Verdict(allowed=True, rule=None, reason=ROBOTS_TXT_ITSELF)
    return Check(each.url, each.asker, verdict, robots.name, robots.body, robotstxt)


def _show(each: Expectation, check: Check | None, robotstxt: RobotsTxt, where: str, out: Terminal) -> None:
    out.say((f"{where}:{each.line}: ", "strong"), ("not met", "bad"), f": {each.text}")
    if check is None:
        listed = count(len(robotstxt.sitemaps), "other sitemap")
        out.say(("  = ", "faint"), f"the robots.txt does not list this sitemap; it lists {listed}")
        return
    show_line(check, out)
    out.say(("  = ", "faint"), ("verdict", "strong"), f": {check.verdict}")
    out.say(("  = ", "faint"), ("group", "strong"), f": {check.group}")


def _as_json(each: Expectation, check: Check | None, gbot: GbotSettings, *, met: bool) -> dict[str, object]:
    facts: dict[str, object] = {"line": each.line, "expectation": each.text, "met": met}
    return facts if check is None else facts | as_json(check, gbot)
