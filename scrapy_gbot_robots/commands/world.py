"""What surrounds a sub-command: the settings, the crawler that asks, and who fetches for it.

A sub-command gets a `World`. Outside a Scrapy project, only the settings of `-s` count in it, and
a sub-command that reads files imports no Scrapy. The world of a project is in `project_crawl`. That
module also has what asks servers and storages, and it is imported on first use.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeVar

from ..core.crawlers import UserAgent
from ..core.named_user_agent import NOBODY, NamedUserAgent
from ..core.urls import Origin
from ..policy.outages import Copy, Decision, Entry, Kind, State
from ..policy.overrides import Override
from ..settings import GbotSettings, Words
from ..storage.base import Storage
from .ending import CommandError

_T = TypeVar("_T")

_OWN_NAMES = ("ROBOTSTXT_USER_AGENT", "USER_AGENT")  # settings that name the crawler

# stands for a copy where there is none
_NO_COPY = Copy(Kind.NONE, 0, "", b"", False, "", 0.0, 0.0)


class RobotsState(NamedTuple):
    """What is known of a robots.txt, that of a site or one in a file."""

    where: str  # its URL, or the path of the file
    decision: Decision  # what the entry means now
    entry: Entry = Entry()  # in the storage
    origin: Origin | None = None  # of the site; None for a file
    override: Override | None = None  # that counts for the site in a crawl
    storage: str | None = None  # the name of the storage, if it had the answer

    @property
    def copy(self) -> Copy:
        """The copy that counts, an empty one if there is none."""
        return self.decision.copy or _NO_COPY

    @property
    def rules(self) -> bytes:
        """The robots.txt if its rules decide, else nothing."""
        if self.decision.state is State.RULES:
            return self.copy.body
        return b""


class RobotsFiles(Protocol):
    """The robots.txt files of sites, which can be looked up while `World.run` runs."""

    async def states_of(
        self, origins: Collection[Origin], *, fresh: bool = False
    ) -> dict[Origin, RobotsState]:
        """Look up the robots.txt files of `origins` at the same time.

        Servers are asked for those that shall be `fresh`, or of which the storage has no good one.
        """


class World:
    """The world outside a Scrapy project.

    Attributes:
        words: the settings as users write them.
    """

    def __init__(self, words: Words) -> None:
        self.words = words

    @cached_property
    def settings(self) -> GbotSettings:
        """The plugin's settings. Raises ValueError if one has a wrong value."""
        return GbotSettings.of(self.words)

    @property
    def named_user_agent(self) -> NamedUserAgent:
        """The crawler that counts if `--as` names none: that of a setting, else any, "*"."""
        user_agents = self.settings.user_agents
        if user_agents:
            return NamedUserAgent(
                UserAgent.of(user_agents), "GBOT_ROBOTS_USER_AGENTS", ", ".join(user_agents)
            )
        return self._sender()

    def _sender(self) -> NamedUserAgent:
        for name in _OWN_NAMES:
            text = self.words.get(name)
            if text:
                return NamedUserAgent(UserAgent.of(text), name, text)
        return NamedUserAgent.of("*", NOBODY)

    def run(self, work: Callable[[RobotsFiles], Awaitable[_T]]) -> _T:
        """Let `work` look up robots.txt files as a crawl would, and return its result.

        Raises what `project_crawl.run_in_crawl` raises, and CommandError without Scrapy.
        """
        result: _T = self._crawls().run_in_crawl(self.words, work)
        return result

    def storage(self) -> tuple[Storage, str]:
        """Open the storage that the settings name; return it and the words for where it is.

        Raises CommandError: nothing is stored between runs, or the storage cannot be opened.
        """
        opened: tuple[Storage, str] = self._crawls().opened_storage(self.words)
        return opened

    @staticmethod
    def _crawls() -> Any:
        """Import what needs Scrapy. Raises CommandError if that is not installed."""
        try:
            return import_module(".project_crawl", __package__)
        except ModuleNotFoundError as error:
            raise CommandError(
                f"only Scrapy can fetch and use a storage, and {error.name} is not installed: "
                "pip install scrapy (for a robots.txt in a file, nothing is missing)"
            ) from None
