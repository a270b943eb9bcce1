"""Google's robots.txt semantics for Scrapy: spiders obey a robots.txt as Googlebot does.

Importing this package does not import scrapy, twisted or redis. The module of a public name is
imported when the name is used for the first time (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "1.0.0rc1"

# The classes that users import in their code, each with the module that contains it.
_HOME = {
    "Addon": "addon",
    "Answer": "answers.answer",
    "Fetched": "policy.outcome",
    "Fetcher": "fetching.fetcher",
    "Finding": "core.remarks",
    "FoundSitemap": "sitemaps.urls",
    "GbotRobotParser": "answers.robotparser",
    "GbotRobotsTxtMiddleware": "obeying.middleware",
    "Origin": "core.urls",
    "Override": "policy.overrides",
    "Preferences": "core.preferences",
    "RobotsSitemapSpider": "sitemaps.spider",
    "RobotsTxt": "core.robots",
    "Rule": "core.verdict",
    "Rules": "core.rules",
    "Source": "answers.answer",
    "State": "policy.outages",
    "Unavailable": "policy.outcome",
    "Unreachable": "policy.outcome",
    "UserAgent": "core.crawlers",
    "Verdict": "core.verdict",
}

# Classes that users name in a settings file, but do not import. The module `components` contains
# them.
_COMPONENTS = {
    "RobotsReport",
    "RobotsScheduler",
    "SitemapDiscovery",
    "SitemapDownloaderMiddleware",
    "SitemapSpiderMiddleware",
}

__all__ = list(_HOME)

if TYPE_CHECKING:
    from .addon import Addon as Addon
    from .answers.answer import Answer as Answer
    from .answers.answer import Source as Source
    from .answers.robotparser import GbotRobotParser as GbotRobotParser
    from .components import RobotsReport as RobotsReport
    from .components import RobotsScheduler as RobotsScheduler
    from .components import SitemapDiscovery as SitemapDiscovery
    from .components import SitemapDownloaderMiddleware as SitemapDownloaderMiddleware
    from .components import SitemapSpiderMiddleware as SitemapSpiderMiddleware
    from .core.crawlers import UserAgent as UserAgent
    from .core.preferences import Preferences as Preferences
    from .core.remarks import Finding as Finding
    from .core.robots import RobotsTxt as RobotsTxt
    from .core.rules import Rules as Rules
    from .core.urls import Origin as Origin
    from .core.verdict import Rule as Rule
    from .core.verdict import Verdict as Verdict
    from .fetching.fetcher import Fetcher as Fetcher
    from .obeying.middleware import GbotRobotsTxtMiddleware as GbotRobotsTxtMiddleware
    from .policy.outages import State as State
    from .policy.outcome import Fetched as Fetched
    from .policy.outcome import Unavailable as Unavailable
    from .policy.outcome import Unreachable as Unreachable
    from .policy.overrides import Override as Override
    from .sitemaps.spider import RobotsSitemapSpider as RobotsSitemapSpider
    from .sitemaps.urls import FoundSitemap as FoundSitemap


def __getattr__(name: str) -> object:
    home = "components" if name in _COMPONENTS else _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value  # From now on, Python finds the name without this function.
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
