"""Whose rules count: the crawlers named by `--as`, else the project's own; and what each heeds, in words."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from ..core.agents import GOOGLE_NAMES, AllOf, Crawler
from ..obeying.user_agent import of_project
from .exits import CommandError
from .inputs import checked
from .output import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy.settings import BaseSettings

    from ..core.agents import RobotsAgent
    from ..core.rules import Verdict
    from .output import Terminal

MODES = ("first", "all")

_MAX_NAME = 60  # characters of a name that may be misspelt


class Who(NamedTuple):
    """A crawler, or several at once, and where it was named, such as `--as` or a setting, with the text it was found in."""

    crawler: RobotsAgent
    source: str
    text: str

    def __str__(self) -> str:
        """Return the name, and where it was found unless that was the name alone."""
        if self.text == self.name:
            return self.name if self.source == "--as" else f"{self.name}, from {self.source}"
        return f'{self.name}, from {self.source} "{self.text}"'

    @property
    def name(self) -> str:
        """The crawler's name; "*" for one without."""
        return self.crawler.name or "*"

    @property
    def heeds(self) -> str:
        """What this crawler heeds, in order, in words."""
        if isinstance(self.crawler, AllOf):
            return "; and ".join(f"{crawler.name}: {_heeds(crawler)}" for crawler in self.crawler)
        return _heeds(self.crawler)

    def judged(self, verdict: Verdict) -> Crawler:
        """Return the crawler that `verdict` is about: of several, the one that is refused, else the first."""
        if isinstance(self.crawler, AllOf):
            return next((each for each in self.crawler if each.name == verdict.crawler), self.crawler[0])
        return self.crawler


def _heeds(crawler: Crawler) -> str:
    if crawler.ignores_robots:
        return "no robots.txt"
    chain = [*crawler.tokens, "*"] if crawler.heeds_global else list(crawler.tokens)
    heeded = f"the group of {', else of '.join(chain)}"
    return heeded if crawler.heeds_global else f"{heeded}; it ignores *"


def add_argument(parser: ArgumentParser) -> None:
    """Add `--as` to a sub-command."""
    parser.add_argument(
        "--as",
        dest="agents",
        action="append",
        metavar="TOKEN[,TOKEN...]",
        help="product token or User-Agent header of a crawler, Google's crawlers included; may be repeated. "
        "Without it, what the project's GBOT_ROBOTS_AGENTS, ROBOTSTXT_USER_AGENT or USER_AGENT says",
    )


def add_mode_argument(parser: ArgumentParser) -> None:
    """Add `--mode` to a sub-command."""
    parser.add_argument(
        "--mode",
        choices=MODES,
        help="take all crawlers of --as for one: the first that a group names, or all, so that a URL is disallowed if it "
        "is disallowed for any; without it, each is asked for itself",
    )


def named(texts: list[str] | None, settings: BaseSettings, err: Terminal, mode: str | None = None) -> list[Who]:
    """Return the crawlers that `--as` names, each once, else the project's own.

    Args:
        texts: the values of `--as`; commas separate names, but a text with a parenthesis is one User-Agent header.
        settings: the project's.
        err: gets a hint where a name looks like one of Google's and is none.
        mode: one of `MODES`, or None.

    Raises:
        CommandError: there is no product token in a name, or a mode and nothing that it is for.
    """
    if texts is None:
        gbot = checked(settings)
        if mode is not None:
            raise CommandError("--mode says what --as means; name the crawlers")
        if gbot.asked_as is not None:
            return [Who(gbot.asked_as, f"GBOT_ROBOTS_AGENTS ({gbot.agents_mode})", ", ".join(gbot.agents))]
        sent = of_project(settings)
        return [Who(Crawler.of(sent.text), sent.source, sent.text)]
    found = []
    for name in (name for text in texts for name in ([text] if "(" in text else text.split(","))):
        crawler = Crawler.of(name.strip())
        if not crawler.name:
            raise CommandError(f'--as "{printable(name)}" names no crawler: a product token is letters, "-" and "_"')
        _hint(crawler.name, err)
        found.append(Who(crawler, "--as", name.strip()))
    if mode is not None:
        names = [who.text for who in found]
        return [Who(AllOf(names) if mode == "all" else Crawler.of(names), f"--as ({mode})", ", ".join(names))]
    return list({who.crawler: who for who in found}.values())


def _hint(name: str, err: Terminal) -> None:
    known = {each.lower(): each for each in GOOGLE_NAMES}
    if name.lower() in known:
        return
    for close in get_close_matches(name.lower()[:_MAX_NAME], known, n=1, cutoff=0.85):
        err.say((f'note: "{name}" is none of Google\'s crawlers; {known[close]} is', "warning"))
