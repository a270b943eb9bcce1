"""`scrapy robots test EXPECTATIONS --robots FILE|URL|HOST`: whether a robots.txt says what its owner wants.

It is for a site's own tests. It shows the deciding line for each expectation that is not met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.robots import RobotsTxt
from ..core.urls import Origin
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..report.summary import count
from .check import Check, show_line
from .command import FINE, FOUND, CommandError
from .crawlers import Asker
from .inputs import STDIN, checked, is_url, read, typed_source, versions
from .output import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from ..settings import GbotSettings
    from .inputs import Version
    from .output import Terminal


HELP = "Test a robots.txt against a file of expectations"

_VERBS = {"allow": True, "deny": False, "disallow": False}
_WORDS = 3  # verb, crawler, URL
_LONGEST = 100  # characters of a wrong line that an error shows


class Expectation(NamedTuple):
    """One line of the file.

    Attributes:
        line: its number, from 1.
        text: the line, without a comment.
        url: absolute, or a path that begins with "/"; or the sitemap.
        asker: the crawler; None if the line expects a sitemap.
        allowed: whether the crawler should be allowed to fetch `url`.
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
        check = None if each.asker is None else _check(each, robots, robotstxt, gbot)
        met = each.url in robotstxt.sitemaps if check is None else check.verdict.allowed == each.allowed
        failed += not met
        if options.json:
            facts = {} if check is None else check.facts
            out.json({"line": each.line, "expectation": each.text, "met": met, **facts})
        elif not met:
            _show(each, check, robotstxt, options.expectations, out)
    if not options.json:
        said = (f"{failed:,} not met", "bad") if failed else ("all met", "good")
        out.say((robots.name, "strong"), f": {count(len(expected), 'expectation')}, ", said)
    return FOUND if failed else FINE


def _check(each: Expectation, robots: Version, robotstxt: RobotsTxt, gbot: GbotSettings) -> Check:
    assert each.asker is not None  # noqa: S101  for the type checker
    if robots.origin is not None and is_url(each.url) and Origin.of(each.url) != robots.origin:
        raise CommandError(f"line {each.line}: {robots.name} is not for the origin of {each.url}")
    verdict = robotstxt.verdict(each.url, each.asker.crawler)
    if each.url == "/robots.txt" or Origin.of_robots_txt(each.url) is not None:
        verdict = Verdict(allowed=True, rule=None, reason=ROBOTS_TXT_ITSELF)
    return Check(each.url, each.asker, verdict, robots.name, robots.body, gbot)


def _show(each: Expectation, check: Check | None, robotstxt: RobotsTxt, where: str, out: Terminal) -> None:
    out.say((f"{where}:{each.line}: ", "strong"), ("not met", "bad"), f": {each.text}")
    if check is None:
        listed = count(len(robotstxt.sitemaps), "other sitemap")
        out.say(("  = ", "faint"), f"the robots.txt does not list this sitemap; it lists {listed}")
        return
    show_line(check, out)
    out.fact("verdict", str(check.verdict))
    out.fact("group", check.group)


def read_expectations(name: str, body: bytes) -> Iterator[Expectation]:
    """Yield the expectations in a file. `name` is for errors.

    Raises:
        CommandError: a line is no expectation.
    """
    for number, raw in enumerate(body.decode("utf-8-sig", "surrogateescape").splitlines(), 1):
        words = _without_comment(raw).split()
        if words:
            try:
                yield _expectation(number, words)
            except ValueError as error:
                raise CommandError(f"{name}:{number}: {error}: {printable(raw.strip()[:_LONGEST])}") from None


def _without_comment(line: str) -> str:
    """Remove a comment: it begins with a "#" at the start or after white space. Another "#" is part of a URL."""
    start = line.find("#")
    while start > 0 and not line[start - 1].isspace():
        start = line.find("#", start + 1)
    return line if start < 0 else line[:start]


def _expectation(number: int, words: list[str]) -> Expectation:
    verb, text = words[0].lower(), " ".join(words)
    if verb == "sitemap" and len(words) == _WORDS - 1:
        Origin.of(words[1])
        return Expectation(number, text, words[1])
    if verb not in _VERBS or len(words) != _WORDS:
        raise ValueError('must be "allow CRAWLER URL", "deny CRAWLER URL" or "sitemap URL"')
    _, name, url = words
    if is_url(url):
        Origin.of(url)
    elif not url.startswith("/"):
        raise ValueError('the URL must be absolute, or a path that begins with "/"')
    return Expectation(number, text, url, Asker.of(name, "the expectation"), _VERBS[verb])
