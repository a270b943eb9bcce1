"""The crawlers whose rules count: those of `--as`, else the project's own."""

from __future__ import annotations

from itertools import chain

from scrapy.settings import BaseSettings

from ..core.asker import NAMED, Asker, as_one, hints_on, names_in
from ..core.crawlers import Crawler, RobotsAgent
from ..core.known_crawlers import meant_by
from ..obeying.identity import of_project
from ..settings import GbotSettings
from .command import CommandError
from .output import Terminal


def named(
    texts: list[str] | None, settings: BaseSettings, err: Terminal, mode: str | None = None
) -> list[Asker]:
    """Return the crawlers of `--as`, each once; without `--as`, the project's own.

    Args:
        texts: the values of `--as`, with commas between names. A text with a parenthesis is one
            User-Agent header.
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
    names = list(chain.from_iterable(map(names_in, texts)))
    askers: dict[RobotsAgent, Asker] = {}
    for name in names:
        try:
            asker = Asker.of(name, NAMED)
        except ValueError as error:
            raise CommandError(f"--as {error}{_advice_on(name)}") from None
        askers[asker.crawler] = asker
    for hint in hints_on(asker.name for asker in askers.values()):
        err.say((f"note: {hint}", "warning"))
    if mode is not None:
        return [as_one(names, mode)]
    return list(askers.values())


def _advice_on(name: str) -> str:
    """Say what to write in the place of a name that names no crawler."""
    meant = meant_by(name)
    if meant:
        return f"; did you mean {' or '.join(meant)}?"
    return ': a product token has letters, "-" and "_" only'
