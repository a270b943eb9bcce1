"""`ADDONS = {"scrapy_gbot_robots.Addon": 500}` switches on everything."""

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

# by name, as in the defaults of Scrapy 2.14
STOCK = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
POSITION = 100  # of robots.txt among the downloader middlewares, as in Scrapy itself

COMPONENTS = (
    ("EXTENSIONS", RobotsRecord, 0),  # off unless GBOT_ROBOTS_RECORD is set
    ("EXTENSIONS", RobotsReport, 0),
    ("EXTENSIONS", SitemapDiscovery, 0),
    ("SPIDER_MIDDLEWARES", PageRulesMiddleware, 940),  # off unless GBOT_ROBOTS_PAGE_RULES is on
    # Next to the spider: no middleware counts what it drops.
    ("SPIDER_MIDDLEWARES", SitemapSpiderMiddleware, 950),
    # Before all that retries, redirects or forbids.
    ("DOWNLOADER_MIDDLEWARES", SitemapDownloaderMiddleware, 90),
)

logger = logging.getLogger(__name__)


class Addon:
    """Switches on all parts of the plugin, and `ROBOTSTXT_OBEY`."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Change `settings`. A `ROBOTSTXT_OBEY` that the user has set stays.

        Scrapy's robots.txt middleware gives way to the plugin's, and the scheduler gets a front, in
        which requests wait for their robots.txt. With `GBOT_ROBOTS_ENABLED = False` all stays as it
        is, but the project's own subclasses of our middleware are switched off.

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
                level = logging.INFO  # a spider's own settings are a decision
            logger.log(
                level,
                "ROBOTSTXT_OBEY is False: this crawl does not obey robots.txt, nor "
                "GBOT_ROBOTS_OVERRIDES, though the scrapy-gbot-robots add-on is on",
            )
            warn_of_mistakes(settings)  # otherwise the middleware does
        self._replace_middleware(settings)

    @staticmethod
    def _leave_it_to_scrapy(settings: BaseSettings) -> None:
        """Let Scrapy's own middleware obey robots.txt, also in the place of a subclass of ours."""
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
            level, how = logging.WARNING, "in no way, since ROBOTSTXT_OBEY is not True"
        logger.log(
            level,
            "GBOT_ROBOTS_ENABLED is False: the scrapy-gbot-robots add-on does nothing, and this "
            "crawl obeys robots.txt %s",
            how,
        )

    @staticmethod
    def _replace_middleware(settings: BaseSettings) -> None:
        """Put our middleware in the place of Scrapy's, unless the user has decided otherwise."""
        middlewares: dict[Any, int | None] = {STOCK: None}  # as they will be
        position: int | None = POSITION  # of Scrapy's
        ours: list[int | None] = []  # where ours and its subclasses are; None: switched off
        others: list[str] = []
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
    """Set `name` at the priority that it has: what has set it would win otherwise."""
    settings.set(name, value, settings.getpriority(name) or 0)


def _loaded(name: Any) -> Any:
    """The component that `name` names; `name` itself if it cannot be loaded.

    Scrapy does not load one that is off, so that such a name is no mistake.
    """
    try:
        return load_object(name)
    except Exception:  # of the module, too; if the component is on, Scrapy raises it
        return name
