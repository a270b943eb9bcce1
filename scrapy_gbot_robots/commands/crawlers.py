"""The crawlers whose rules count: those of `--as`, else the project's own."""

from __future__ import annotations

from typing import NamedTuple

from scrapy.settings import BaseSettings

from ..core.crawlers import AllOf, Crawler, RobotsAgent, cut_token
from ..core.known_crawlers import meant_by
from ..core.urls import shown
from ..core.verdict import Verdict
from ..obeying.identity import of_project
from ..settings import GbotSettings
from .command import CommandError
from .output import Terminal


class Asker(NamedTuple):
    """The crawler for which a command asks, or several taken as one."""

    crawler: RobotsAgent
    source: str  # where it was named, such as "--as" or the name of a setting
    text: str  # there

    @classmethod
    def of(cls, name: str, source: str) -> Asker:
        """Take the crawler of a product token or User-Agent header; "*" is one that no group names.

        Raises:
            ValueError: `name` has no product token.
        """
        crawler = Crawler.of("" if name == "*" else name)
        if not crawler.name and name != "*":
            raise ValueError(f'"{shown(name)}" names no crawler')
        if (cut := cut_token(name)) is not None:
            raise ValueError(
                f'"{shown(name)}" is no name of a crawler: it would be read as "{cut}"'
            )
        return cls(crawler, source, name)

    def __str__(self) -> str:
        """Return the name, with its source and text unless these say nothing more."""
        if self.text == self.name:
            return self.name if self.source == "--as" else f"{self.name}, from {self.source}"
        return f'{self.name}, from {self.source} "{self.text}"'

    @property
    def name(self) -> str:
        """The crawler's name; "*" if it has none."""
        return self.crawler.name or "*"

    def judged(self, verdict: Verdict) -> Crawler:
        """Return the crawler that `verdict` is about: of several, the one that is disallowed, else the first."""
        if isinstance(self.crawler, AllOf):
            return next(
                (each for each in self.crawler if each.name == verdict.crawler), self.crawler[0]
            )
        return self.crawler


def named(
    texts: list[str] | None, settings: BaseSettings, err: Terminal, mode: str | None = None
) -> list[Asker]:
    """Return the crawlers of `--as`, each once; without `--as`, the project's own.

    Args:
        texts: the values of `--as`. Commas separate names. A text with a parenthesis is one User-Agent header.
        settings: the project's.
        err: gets a hint if a name looks like that of a known crawler.
        mode: "first", "all" or None.

    Raises:
        CommandError: a name has no product token, or there is a mode without `--as`.
    """
    if texts is None:
        if mode is not None:
            raise CommandError("--mode needs --as")
        gbot, sent = GbotSettings.of(settings), of_project(settings)
        if gbot.asked_as is not None:
            return [
                Asker(
                    gbot.asked_as,
                    f"GBOT_ROBOTS_AGENTS ({gbot.agents_mode})",
                    ", ".join(gbot.agents),
                )
            ]
        return [Asker(Crawler.of(sent.text), sent.source, sent.text)]
    names = [
        name.strip() for text in texts for name in ([text] if "(" in text else text.split(","))
    ]
    try:
        found = {asker.crawler: asker for asker in (Asker.of(name, "--as") for name in names)}
    except ValueError as error:
        raise CommandError(f'--as {error}: a product token has letters, "-" and "_" only') from None
    for name in (asker.name for asker in found.values()):
        if meant := meant_by(name):
            err.say(
                (
                    f'note: no known crawler is called "{name}"; did you mean {" or ".join(meant)}?',
                    "warning",
                )
            )
    if mode is not None:
        return [
            Asker(
                AllOf(names) if mode == "all" else Crawler.of(names),
                f"--as ({mode})",
                ", ".join(names),
            )
        ]
    return list(found.values())
