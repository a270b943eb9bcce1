"""What surrounds a sub-command: the settings, the crawler that asks, and who fetches for it.

A sub-command gets a `World`. Outside a Scrapy project, only the settings of `-s` count in it, and
a sub-command that reads files imports no Scrapy. The world of a project is in `project_crawl`. That
module also has what asks servers and storages, and it is imported on first use.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..core.crawlers import UserAgent
from ..core.lines import MAX_BYTES
from ..core.named_user_agent import NOBODY, NamedUserAgent, verdict_on
from ..core.robots import RobotsTxt
from ..core.urls import Origin
from ..core.verdict import Verdict
from .ending import CommandError

if TYPE_CHECKING:
    from ..settings import GbotSettings, Words
    from ..storage.base import Storage
    from .sites import RobotsState

_T = TypeVar("_T")

_OWN_NAMES = ("ROBOTSTXT_USER_AGENT", "USER_AGENT")  # settings that name the crawler


class RobotsFile:
    """A robots.txt in a file. It is read as rules, whatever it contains.

    Args:
        where: the path; "-" is standard input.
        body: the content.
    """

    origin: None = None
    is_cut = False
    is_unreachable = False
    has_rules = True

    def __init__(self, where: str, body: bytes) -> None:
        self.where = where
        self.body = body

    @property
    def rules(self) -> bytes:
        """The robots.txt."""
        return self.body

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of it, for programs."""
        return {"file": self.where}

    def in_words(self) -> Iterable[tuple[str, str]]:
        """What is known of it, for people: nothing but its name."""
        return ()

    def verdicts(
        self, url: str, crawler: UserAgent, robotstxt: RobotsTxt
    ) -> tuple[Verdict, Verdict]:
        """Return the verdict of the rules, and the same again, since nothing else counts."""
        verdict = verdict_on(url, crawler, robotstxt)
        return verdict, verdict


class RobotsFiles(Protocol):
    """The robots.txt files and sitemaps of sites, which `World.run` lets its work ask for."""

    async def states_of(
        self, origins: Collection[Origin], *, fresh: bool = False
    ) -> dict[Origin, RobotsState]:
        """Look up the robots.txt files of `origins` at the same time.

        Servers are asked for those that shall be `fresh`, or of which the storage has no good one.
        """

    async def body_of(self, url: str) -> bytes:
        """Fetch a sitemap; return its bytes. Raises CommandError that says why there are none."""


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
        settings: GbotSettings = self._settings_module.GbotSettings.of(self.words)
        return settings

    @property
    def max_bytes(self) -> int:
        """How many bytes of a robots.txt count."""
        if not self.words:
            return MAX_BYTES
        return self.settings.max_bytes

    def parse(self, body: bytes) -> RobotsTxt:
        """Parse a robots.txt as far as it counts."""
        return RobotsTxt.parse(body, max_bytes=self.max_bytes)

    def mistakes(self) -> Iterable[str]:
        """Return a sentence for each setting that is probably a mistake, such as a misspelt one."""
        if not self.words:
            return ()
        sentences: Iterable[str] = self._settings_module.mistakes(self.words)
        return sentences

    @property
    def named_user_agent(self) -> NamedUserAgent:
        """The crawler that counts if `--as` names none: that of a setting, else any, "*"."""
        user_agents: Sequence[str] = ()
        if self.words:
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

    @property
    def _settings_module(self) -> Any:
        """The module of the settings, which takes as long to import as a file takes to be read."""
        return import_module("..settings", __package__)

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
