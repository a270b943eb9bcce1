"""The add-on: `ADDONS = {"scrapy_gbot_robots.Addon": 500}` switches on the whole plugin."""

from __future__ import annotations

import logging
from inspect import isclass
from typing import Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from .obeying.front import with_front
from .obeying.middleware import GbotRobotsTxtMiddleware
from .obeying.robotparser import GbotRobotParser
from .pages.middleware import PageRulesMiddleware
from .report.extension import RobotsReport
from .report.record import RobotsRecord
from .settings import GbotSettings, is_enabled, warn_of_mistakes
from .sitemaps.discovery import SitemapDiscovery
from .sitemaps.middlewares import SitemapDownloaderMiddleware, SitemapSpiderMiddleware

# Scrapy's own middleware, by its path in Scrapy's default settings.
STOCK = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
POSITION = 100  # The place of that middleware in Scrapy's default settings.

COMPONENTS = (
    ("EXTENSIONS", RobotsRecord, 0),  # It is off unless GBOT_ROBOTS_RECORD is set.
    ("EXTENSIONS", RobotsReport, 0),
    ("EXTENSIONS", SitemapDiscovery, 0),
    # It is off unless GBOT_ROBOTS_PAGE_RULES is on.
    ("SPIDER_MIDDLEWARES", PageRulesMiddleware, 940),
    # This middleware is next to the spider, so no other middleware gets requests that it drops.
    ("SPIDER_MIDDLEWARES", SitemapSpiderMiddleware, 950),
    # This middleware is nearer to the engine than those that retry, redirect or forbid requests.
    ("DOWNLOADER_MIDDLEWARES", SitemapDownloaderMiddleware, 90),
)

logger = logging.getLogger(__name__)


class Addon:
    """Switches on all parts of the plugin, and `ROBOTSTXT_OBEY`."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Change `settings`. A `ROBOTSTXT_OBEY` that the user has set stays.

        The plugin's robots.txt middleware replaces Scrapy's, and the scheduler gets a front, in
        which requests wait for their robots.txt. With `GBOT_ROBOTS_ENABLED = False` the settings
        stay as they are, except that Scrapy's middleware replaces the project's own subclasses of
        the plugin's middleware.

        Raises:
            ValueError: one of the plugin's settings has a wrong value.
        """
        if not is_enabled(settings):
            self._leave_it_to_scrapy(settings)
            return
        GbotSettings.of(settings)
        settings.set("ROBOTSTXT_OBEY", True, "addon")
        settings.set("ROBOTSTXT_PARSER", GbotRobotParser, "addon")
        for name, component, position in COMPONENTS:
            configured = settings.getdict(name)
            if component not in map(_loaded, configured):
                _keep_priority(settings, name, {**configured, component: position})
        if settings.getbool("ROBOTSTXT_OBEY"):
            _keep_priority(settings, "SCHEDULER", with_front(load_object(settings["SCHEDULER"])))
        else:
            level = logging.WARNING
            if settings.getpriority("ROBOTSTXT_OBEY") == SETTINGS_PRIORITIES["spider"]:
                level = logging.INFO  # A spider's own setting is a decision, not a mistake.
            logger.log(
                level,
                "ROBOTSTXT_OBEY is False: this crawl obeys neither robots.txt nor "
                "GBOT_ROBOTS_OVERRIDES, though the scrapy-gbot-robots add-on is on",
            )
            warn_of_mistakes(settings)  # Otherwise the middleware, which is off now, logs these.
        self._replace_middleware(settings)

    @staticmethod
    def _leave_it_to_scrapy(settings: BaseSettings) -> None:
        """Put Scrapy's middleware in the place of each subclass of the plugin's middleware."""
        middlewares = settings.getdict("DOWNLOADER_MIDDLEWARES")
        for name, at in [*middlewares.items()]:
            cls = _loaded(name)
            if at is None or not isclass(cls) or not issubclass(cls, GbotRobotsTxtMiddleware):
                continue
            middlewares = {
                other: position
                for other, position in middlewares.items()
                if _loaded(other) is not RobotsTxtMiddleware
            }
            middlewares |= {name: None, STOCK: at}
            _keep_priority(settings, "DOWNLOADER_MIDDLEWARES", middlewares)
        level, how = logging.INFO, "as Scrapy alone does"
        if not settings.getbool("ROBOTSTXT_OBEY"):
            level, how = logging.WARNING, "in no way, because ROBOTSTXT_OBEY is not True"
        logger.log(
            level,
            "GBOT_ROBOTS_ENABLED is False: the scrapy-gbot-robots add-on does nothing, and this "
            "crawl obeys robots.txt %s",
            how,
        )

    @staticmethod
    def _replace_middleware(settings: BaseSettings) -> None:
        """Put the plugin's middleware in the place of Scrapy's, if the settings allow that."""
        middlewares: dict[Any, int | None] = {STOCK: None}  # The new value of the setting.
        position: int | None = POSITION  # The place of Scrapy's middleware.
        # The places of our middleware and its subclasses; None for one that is switched off.
        ours: list[int | None] = []
        others: list[str] = []  # The paths of other subclasses of Scrapy's middleware.
        for name, at in settings.getdict("DOWNLOADER_MIDDLEWARES").items():
            cls = _loaded(name)
            if cls is RobotsTxtMiddleware:
                position = at
                continue
            middlewares[name] = at
            if not isclass(cls) or not issubclass(cls, RobotsTxtMiddleware):
                continue
            if issubclass(cls, GbotRobotsTxtMiddleware):
                ours.append(at)
            elif at is not None:
                others.append(global_object_name(cls))
        if position is not None and not ours:
            ours = [position]
            middlewares[GbotRobotsTxtMiddleware] = position
        if any(at is not None for at in ours):
            _keep_priority(settings, "DOWNLOADER_MIDDLEWARES", middlewares)
            return
        how = "is not obeyed"
        if ours:
            how = "is obeyed as Scrapy alone does"
        elif others:
            how = (
                f"is obeyed as {', '.join(others)} does. Derive the class from "
                "scrapy_gbot_robots.GbotRobotsTxtMiddleware to have Google's way, too"
            )
        logger.warning(
            "DOWNLOADER_MIDDLEWARES leaves the scrapy-gbot-robots add-on no place for its "
            "GbotRobotsTxtMiddleware, so robots.txt %s",
            how,
        )


def _keep_priority(settings: BaseSettings, name: str, value: object) -> None:
    """Set `name` at the priority that it has, because a lower priority would have no effect."""
    settings.set(name, value, settings.getpriority(name) or 0)


def _loaded(name: Any) -> Any:
    """Return the component with the path `name`; `name` itself if it cannot be loaded.

    A wrong path is not an error here, because Scrapy does not load a component that is off.
    """
    try:
        return load_object(name)
    except Exception:  # If the component is on, Scrapy will raise the same exception.
        return name
