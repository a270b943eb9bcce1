"""The Scrapy add-on of the plugin.

`ADDONS = {"scrapy_gbot_robots.Addon": 500}` in a project's settings enables the whole plugin.
"""

from __future__ import annotations

import logging
from inspect import isclass
from typing import Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from .answers.robotparser import GbotRobotParser
from .obeying.front import with_front
from .obeying.middleware import GbotRobotsTxtMiddleware
from .pages.middleware import PageRulesMiddleware
from .report.extension import RobotsReport
from .report.record import RobotsRecord
from .settings import GbotSettings, is_enabled, warn_of_mistakes
from .sitemaps.discovery import SitemapDiscovery
from .sitemaps.middlewares import SitemapDownloaderMiddleware, SitemapSpiderMiddleware

# The import path of Scrapy's own robots.txt middleware, as in DOWNLOADER_MIDDLEWARES_BASE.
STOCK = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
POSITION = 100  # The position of Scrapy's robots.txt middleware in DOWNLOADER_MIDDLEWARES_BASE.

# The components that the add-on enables. Each row contains the name of a setting such as
# EXTENSIONS, the class of the component, and the position of the component in the value of the
# setting.
COMPONENTS = (
    ("EXTENSIONS", RobotsRecord, 0),  # RobotsRecord does nothing unless GBOT_ROBOTS_RECORD is set.
    ("EXTENSIONS", RobotsReport, 0),
    ("EXTENSIONS", SitemapDiscovery, 0),
    # PageRulesMiddleware does nothing unless GBOT_ROBOTS_PAGE_RULES is True.
    ("SPIDER_MIDDLEWARES", PageRulesMiddleware, 940),
    # SitemapSpiderMiddleware has the highest position, so it is nearest to the spider. If it drops
    # a request of the spider, the other spider middlewares do not get the request.
    ("SPIDER_MIDDLEWARES", SitemapSpiderMiddleware, 950),
    # SitemapDownloaderMiddleware is nearer to the engine than the middleware with which this plugin
    # forbids requests, and also nearer than Scrapy's middlewares that retry or redirect requests.
    ("DOWNLOADER_MIDDLEWARES", SitemapDownloaderMiddleware, 90),
)

# Settings that have no effect if ROBOTSTXT_OBEY is False, because the plugin's robots.txt
# middleware is then off. They are listed in the log, because a user who sets one of them expects
# the crawl to obey robots.txt. The keys are field names of `GbotSettings`.
_OF_MIDDLEWARE = {
    "record": "GBOT_ROBOTS_RECORD",
    "provenance": "GBOT_ROBOTS_PROVENANCE",
    "purposes": "GBOT_ROBOTS_PURPOSES",
}

logger = logging.getLogger(__name__)


class Addon:
    """Enables all components of the plugin, and sets `ROBOTSTXT_OBEY` to True."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Change `settings` so that the crawl uses the plugin.

        The plugin's robots.txt middleware replaces Scrapy's robots.txt middleware. The scheduler in
        `SCHEDULER` is replaced with a subclass of it, in which requests wait until their robots.txt
        is known. `ROBOTSTXT_OBEY` becomes True, unless the user has set it.

        With `GBOT_ROBOTS_ENABLED = False`, the crawl uses Scrapy's robots.txt middleware, and no
        component of the plugin.

        Raises:
            ValueError: one of the plugin's settings has an invalid value.
        """
        if not is_enabled(settings):
            self._leave_it_to_scrapy(settings)
            return
        gbot = GbotSettings.of(settings)
        settings.set("ROBOTSTXT_OBEY", True, "addon")
        settings.set("ROBOTSTXT_PARSER", GbotRobotParser, "addon")
        for name, component, position in COMPONENTS:
            configured = settings.getdict(name)
            if component not in map(_loaded, configured):
                _keep_priority(settings, name, {**configured, component: position})
        if settings.getbool("ROBOTSTXT_OBEY"):
            _keep_priority(settings, "SCHEDULER", with_front(load_object(settings["SCHEDULER"])))
        else:
            useless = [name for field, name in _OF_MIDDLEWARE.items() if getattr(gbot, field)]
            more = ""
            if useless:
                more = f". The crawl ignores {' and '.join(useless)}"
            logger.log(
                _level_if_not_obeyed(settings),
                "ROBOTSTXT_OBEY is False: this crawl obeys neither robots.txt nor "
                "GBOT_ROBOTS_OVERRIDES, though the scrapy-gbot-robots add-on is on%s",
                more,
            )
        self._replace_middleware(settings)
        # The plugin's middleware also calls this function, but the middleware may be switched off.
        warn_of_mistakes(settings)

    @staticmethod
    def _leave_it_to_scrapy(settings: BaseSettings) -> None:
        """Switch off the components of the plugin that the project's settings contain.

        Scrapy's robots.txt middleware replaces the plugin's middleware and its subclasses.
        `SCHEDULER` is not changed, because a scheduler of the plugin does not delay requests while
        the plugin's middleware is off. One line in the log describes how the crawl obeys
        robots.txt.
        """
        for setting, component, _ in COMPONENTS:
            places = settings.getdict(setting)
            for name in places:
                if _is_derived(_loaded(name), component):
                    places[name] = None
            if places != settings.getdict(setting):
                _keep_priority(settings, setting, places)
        middlewares = settings.getdict("DOWNLOADER_MIDDLEWARES")
        for name, at in [*middlewares.items()]:
            if at is None or not _is_derived(_loaded(name), GbotRobotsTxtMiddleware):
                continue
            middlewares = {
                other: position
                for other, position in middlewares.items()
                if _loaded(other) is not RobotsTxtMiddleware
            }
            middlewares |= {name: None, STOCK: at}
            _keep_priority(settings, "DOWNLOADER_MIDDLEWARES", middlewares)
        level, how = _obedience(settings)
        logger.log(
            level,
            "GBOT_ROBOTS_ENABLED is False: the scrapy-gbot-robots add-on does nothing, and this "
            "crawl %s",
            how,
        )

    @staticmethod
    def _replace_middleware(settings: BaseSettings) -> None:
        """Replace Scrapy's robots.txt middleware with the plugin's, at the same position.

        If `DOWNLOADER_MIDDLEWARES` contains a subclass of the plugin's middleware, the subclass is
        used. If the project has switched the plugin's middleware off, a warning is logged. A
        warning is also logged if the project has switched Scrapy's middleware off and has not added
        the plugin's middleware itself.
        """
        # The new value of the setting DOWNLOADER_MIDDLEWARES.
        middlewares: dict[Any, int | None] = {STOCK: None}
        position: int | None = POSITION  # The position of Scrapy's robots.txt middleware.
        # The positions in DOWNLOADER_MIDDLEWARES of the plugin's middleware and of its subclasses.
        # None means that the middleware is switched off.
        ours: list[int | None] = []
        # The import paths of the subclasses of Scrapy's `RobotsTxtMiddleware` in the project's
        # settings. Subclasses of the plugin's middleware are not among them.
        others: list[str] = []
        for name, at in settings.getdict("DOWNLOADER_MIDDLEWARES").items():
            cls = _loaded(name)
            if cls is RobotsTxtMiddleware:
                position = at
                continue
            middlewares[name] = at
            if not _is_derived(cls, RobotsTxtMiddleware):
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
                f"is obeyed as {', '.join(others)} does. To obey it as Google does, derive the "
                "class from scrapy_gbot_robots.GbotRobotsTxtMiddleware"
            )
        logger.warning(
            "DOWNLOADER_MIDDLEWARES leaves the scrapy-gbot-robots add-on no place for its "
            "GbotRobotsTxtMiddleware, so robots.txt %s",
            how,
        )


def _level_if_not_obeyed(settings: BaseSettings) -> int:
    """Return the log level of the message that ROBOTSTXT_OBEY is False."""
    if settings.getpriority("ROBOTSTXT_OBEY") == SETTINGS_PRIORITIES["spider"]:
        # If the value comes from a spider's `custom_settings`, the user has set it on purpose.
        return logging.INFO
    return logging.WARNING


def _obedience(settings: BaseSettings) -> tuple[int, str]:
    """Describe how a crawl that does not use the plugin obeys robots.txt.

    Returns:
        The level of a log line, and the text that follows the words "this crawl" in this line.
    """
    if not settings.getbool("ROBOTSTXT_OBEY"):
        why = "because ROBOTSTXT_OBEY is not True"
        return _level_if_not_obeyed(settings), f"does not obey robots.txt, {why}"
    # In older versions of Scrapy, `Settings` has only the method `getwithbase`.
    with_base = getattr(settings, "get_component_priority_dict_with_base", settings.getwithbase)
    obeying: list[type] = []
    for name, at in with_base("DOWNLOADER_MIDDLEWARES").items():
        cls = _loaded(name)
        if at is not None and _is_derived(cls, RobotsTxtMiddleware):
            obeying.append(cls)
    if not obeying:
        why = "because DOWNLOADER_MIDDLEWARES switches Scrapy's RobotsTxtMiddleware off"
        return logging.WARNING, f"does not obey robots.txt, {why}"
    if obeying == [RobotsTxtMiddleware]:
        return logging.INFO, "obeys robots.txt as Scrapy alone does"
    names = " and ".join(map(global_object_name, obeying))
    return logging.INFO, f"obeys robots.txt as {names} does"


def _is_derived(component: object, cls: type) -> bool:
    """Whether `component` is `cls` or a subclass of `cls`."""
    return isclass(component) and issubclass(component, cls)


def _keep_priority(settings: BaseSettings, name: str, value: object) -> None:
    """Set the setting `name` to `value`, without changing the priority of the setting.

    With a lower priority, the new value would have no effect.
    """
    settings.set(name, value, settings.getpriority(name) or 0)


def _loaded(name: Any) -> Any:
    """Return the class whose path is `name`. If the class cannot be imported, return `name`.

    If the import fails, this function raises no exception. A component that is switched off is not
    imported by Scrapy either. If the component is on, Scrapy itself raises an exception later.
    """
    try:
        return load_object(name)
    except Exception:
        return name
