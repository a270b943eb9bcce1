"""Define the class `World`, from which a sub-command gets its settings and files.

A `World` also contains the name of the crawler for which URLs are judged. The class itself is for
runs outside a Scrapy project, with only the settings that the user gives with `-s`. The module
`project_crawl` defines a subclass for runs in a project, fetches files, and opens storages. Because
`project_crawl` imports Scrapy, it is imported only when it is needed.
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

# Scrapy's settings that name the crawler. If both are set, the first one is used.
_OWN_NAMES = ("ROBOTSTXT_USER_AGENT", "USER_AGENT")


class RobotsFile:
    """A robots.txt in a file.

    URLs are always judged by the rules in the file. With a site, this is not so: all its URLs may
    be allowed or disallowed without rules, for example if its server has no robots.txt.

    Args:
        where: the path of the file; "-" for standard input.
        body: the content of the file.
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
        """The facts about the file, for the JSON output."""
        return {"file": self.where}

    def in_words(self) -> Iterable[tuple[str, str]]:
        """Return an empty tuple. The only fact about a file is its path, which the user knows."""
        return ()

    def verdicts(
        self, url: str, crawler: UserAgent, robotstxt: RobotsTxt
    ) -> tuple[Verdict, Verdict]:
        """Return the verdict of the robots.txt alone, and the verdict with overrides.

        Both are the same here, because overrides apply to sites and not to files.
        """
        verdict = verdict_on(url, crawler, robotstxt)
        return verdict, verdict


class SitemapSkipped(CommandError):  # noqa: N818  The name says what happened to the sitemap.
    """Raised for a sitemap that a crawl would not request, because of the host of its URL."""


class RobotsFiles(Protocol):
    """Fetches robots.txt files and sitemaps. `World.run` passes this object to `work`."""

    async def states_of(
        self, origins: Collection[Origin], *, fresh: bool = False
    ) -> dict[Origin, RobotsState]:
        """Look up the robots.txt files of `origins` at the same time, and return their states.

        If `fresh`, fetch each file. Otherwise fetch only files that are not in the storage, or
        whose entry in the storage is too old.
        """

    async def body_of(self, url: str, listed_at: str | None) -> bytes:
        """Fetch a sitemap, and return its bytes.

        Args:
            url: the URL of the sitemap.
            listed_at: the URL of the sitemap index that lists the sitemap; None if the user has
                named the sitemap, or if the index is a file.

        Raises:
            SitemapSkipped: a crawl would not request the sitemap.
            CommandError: the sitemap cannot be fetched.
        """


class World:
    """Gives a sub-command its settings and files, outside a Scrapy project.

    Attributes:
        words: the settings that the user has given with `-s`: a dict from names to texts. In the
            subclass for projects, all settings of the project.
    """

    def __init__(self, words: Words) -> None:
        self.words = words

    @cached_property
    def settings(self) -> GbotSettings:
        """The plugin's settings. Raises ValueError if one of them has an invalid value."""
        settings: GbotSettings = self._settings_module.GbotSettings.of(self.words)
        return settings

    @property
    def max_bytes(self) -> int:
        """The maximum number of bytes of a robots.txt that are read."""
        if not self.words:
            return MAX_BYTES
        return self.settings.max_bytes

    def parse(self, body: bytes) -> RobotsTxt:
        """Parse the first `max_bytes` bytes of a robots.txt."""
        return RobotsTxt.parse(body, max_bytes=self.max_bytes)

    def mistakes(self) -> Iterable[str]:
        """Return a sentence for each setting that is probably a mistake, such as a wrong name."""
        if not self.words:
            return ()
        sentences: Iterable[str] = self._settings_module.mistakes(self.words)
        return sentences

    @property
    def named_user_agent(self) -> NamedUserAgent:
        """The crawler for which URLs are judged if the option `--user-agent` is not given.

        It is the crawler that is named in the settings or, if there is none, "*".
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
        """Run `work` with an object that fetches files, and return the result of `work`.

        Raises:
            CommandError: Scrapy is not installed.
            Exception: `project_crawl.run_in_crawl` has raised this exception.
        """
        result: _T = self._crawls().run_in_crawl(self.words, work)
        return result

    def storage(self) -> tuple[Storage, str]:
        """Open the storage that the settings choose. Return it, and its description for the output.

        Raises:
            CommandError: nothing is stored between runs, or the storage cannot be opened.
        """
        opened: tuple[Storage, str] = self._crawls().opened_storage(self.words)
        return opened

    @property
    def _settings_module(self) -> Any:
        """The plugin's module `settings`. It is imported only when needed, because this is slow."""
        return import_module("..settings", __package__)

    @staticmethod
    def _crawls() -> Any:
        """Return the module `project_crawl`, which needs Scrapy.

        Raises:
            CommandError: Scrapy is not installed.
        """
        try:
            return import_module(".project_crawl", __package__)
        except ModuleNotFoundError as error:
            raise CommandError(
                f"Scrapy is needed to fetch files or to open a storage, and {error.name} is not "
                "installed: pip install scrapy (it is not needed for a robots.txt in a file)"
            ) from None
