"""Give a sub-command its settings, the name of its crawler, and a way to fetch files.

A sub-command gets these from its `World`. Outside a Scrapy project, a world has only the settings
of `-s`, and a sub-command that reads files does not import Scrapy. The class for the world of a
project is in `project_crawl`. The same module fetches files and opens storages. It is imported on
first use.
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

# Scrapy's settings that name the crawler, with the stronger one at the beginning.
_OWN_NAMES = ("ROBOTSTXT_USER_AGENT", "USER_AGENT")


class RobotsFile:
    """A robots.txt in a file. Its rules decide, whatever the file contains.

    Args:
        where: the path; "-" for standard input.
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
        """The content of the file."""
        return self.body

    @property
    def facts(self) -> dict[str, Any]:
        """The facts about the file, for programs."""
        return {"file": self.where}

    def in_words(self) -> Iterable[tuple[str, str]]:
        """Return no facts, because people already see the name of the file."""
        return ()

    def verdicts(
        self, url: str, crawler: UserAgent, robotstxt: RobotsTxt
    ) -> tuple[Verdict, Verdict]:
        """Return the verdict of the rules twice, because no override counts for a file."""
        verdict = verdict_on(url, crawler, robotstxt)
        return verdict, verdict


class RobotsFiles(Protocol):
    """An object that fetches robots.txt files and sitemaps. `World.run` passes it to `work`."""

    async def states_of(
        self, origins: Collection[Origin], *, fresh: bool = False
    ) -> dict[Origin, RobotsState]:
        """Look up the robots.txt files of `origins` at the same time.

        If `fresh`, fetch each of them. Otherwise fetch only those that are not in the storage, or
        whose stored answer is too old.
        """

    async def body_of(self, url: str) -> bytes:
        """Fetch a sitemap, and return its bytes.

        Raises CommandError if the sitemap cannot be fetched.
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
        """The plugin's settings. Raises ValueError if one of them has a wrong value."""
        settings: GbotSettings = self._settings_module.GbotSettings.of(self.words)
        return settings

    @property
    def max_bytes(self) -> int:
        """The greatest number of bytes of a robots.txt that are read."""
        if not self.words:
            return MAX_BYTES
        return self.settings.max_bytes

    def parse(self, body: bytes) -> RobotsTxt:
        """Parse the first `max_bytes` bytes of a robots.txt."""
        return RobotsTxt.parse(body, max_bytes=self.max_bytes)

    def mistakes(self) -> Iterable[str]:
        """Return a sentence for each setting that is probably a mistake, such as a misspelt one."""
        if not self.words:
            return ()
        sentences: Iterable[str] = self._settings_module.mistakes(self.words)
        return sentences

    @property
    def named_user_agent(self) -> NamedUserAgent:
        """The crawler for which URLs are judged if `--user-agent` names none.

        A setting names this crawler. If no setting does, the crawler is "*".
        """
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

        Raises the exceptions of `project_crawl.run_in_crawl`, and CommandError if Scrapy is not
        installed.
        """
        result: _T = self._crawls().run_in_crawl(self.words, work)
        return result

    def storage(self) -> tuple[Storage, str]:
        """Open the storage that the settings name. Return it, and words for its place.

        Raises:
            CommandError: nothing is stored between runs, or the storage cannot be opened.
        """
        opened: tuple[Storage, str] = self._crawls().opened_storage(self.words)
        return opened

    @property
    def _settings_module(self) -> Any:
        """The module of the settings. It is imported late, because the import takes long."""
        return import_module("..settings", __package__)

    @staticmethod
    def _crawls() -> Any:
        """Import the module that needs Scrapy. Raise CommandError if Scrapy is not installed."""
        try:
            return import_module(".project_crawl", __package__)
        except ModuleNotFoundError as error:
            raise CommandError(
                f"Scrapy is needed to fetch or use a storage, and {error.name} is not installed: "
                "pip install scrapy (it is not needed for a robots.txt in a file)"
            ) from None
