"""Whose rules count: the crawlers named by `--as`, else the project's own; and who they are, in words."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from ..core.agents import GOOGLE_NAMES, Crawler
from ..obeying.user_agent import of_project
from .exits import CommandError
from .output import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy.settings import BaseSettings

    from .output import Terminal

_MAX_NAME = 60  # characters of a name that may be misspelt


class Who(NamedTuple):
    """A crawler, and where it was named, such as `--as` or a setting, with the text it was found in."""

    crawler: Crawler
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
        if self.crawler.ignores_robots:
            return "no robots.txt"
        chain = [*self.crawler.tokens, "*"] if self.crawler.heeds_global else list(self.crawler.tokens)
        heeded = f"the group of {', else of '.join(chain)}"
        return heeded if self.crawler.heeds_global else f"{heeded}; it ignores *"


def add_argument(parser: ArgumentParser) -> None:
    """Add `--as` to a sub-command."""
    parser.add_argument(
        "--as",
        dest="agents",
        action="append",
        metavar="TOKEN[,TOKEN...]",
        help="product token or User-Agent header of a crawler, Google's crawlers included; may be repeated. "
        "Without it, what the project's ROBOTSTXT_USER_AGENT or USER_AGENT says",
    )


def named(texts: list[str] | None, settings: BaseSettings, err: Terminal) -> list[Who]:
    """Return the crawlers that `--as` names, each once, else the project's own.

    Args:
        texts: the values of `--as`; commas separate names, but a text with a parenthesis is one User-Agent header.
        settings: the project's.
        err: gets a hint where a name looks like one of Google's and is none.

    Raises:
        CommandError: there is no product token in a name.
    """
    if texts is None:
        sent = of_project(settings)
        return [Who(Crawler.of(sent.text), sent.source, sent.text)]
    found = []
    for name in (name for text in texts for name in ([text] if "(" in text else text.split(","))):
        crawler = Crawler.of(name.strip())
        if not crawler.name:
            raise CommandError(f'--as "{printable(name)}" names no crawler: a product token is letters, "-" and "_"')
        _hint(crawler.name, err)
        found.append(Who(crawler, "--as", name.strip()))
    return list({who.crawler: who for who in found}.values())


def _hint(name: str, err: Terminal) -> None:
    known = {each.lower(): each for each in GOOGLE_NAMES}
    if name.lower() in known:
        return
    for close in get_close_matches(name.lower()[:_MAX_NAME], known, n=1, cutoff=0.85):
        err.say((f'note: "{name}" is none of Google\'s crawlers; {known[close]} is', "warning"))
