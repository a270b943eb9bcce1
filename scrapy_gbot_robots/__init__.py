"""Google's robots.txt semantics for Scrapy: with a robots.txt, a spider does as Googlebot does.

Importing this package loads neither scrapy, twisted nor redis: each public name is loaded on first
use (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "1.0.0rc1"

_HOME = {
    "Addon": "addon",
    "Answer": "obeying.answer",
    "UserAgent": "core.crawlers",
    "Fetcher": "fetching.fetcher",
    "FoundSitemap": "sitemaps.urls",
    "GbotRobotParser": "obeying.robotparser",
    "GbotRobotsTxtMiddleware": "obeying.middleware",
    "Origin": "core.urls",
    "RobotsReport": "report.extension",
    "RobotsScheduler": "obeying.front",
    "RobotsSitemapSpider": "sitemaps.spider",
    "RobotsTxt": "core.robots",
    "Rule": "core.verdict",
    "Rules": "core.rules",
    "SitemapDiscovery": "sitemaps.discovery",
    "SitemapDownloaderMiddleware": "sitemaps.middlewares",
    "SitemapSpiderMiddleware": "sitemaps.middlewares",
    "State": "policy.outages",
    "Verdict": "core.verdict",
}

__all__ = list(_HOME)

if TYPE_CHECKING:
    from .addon import Addon as Addon
    from .core.crawlers import UserAgent as UserAgent
    from .core.robots import RobotsTxt as RobotsTxt
    from .core.rules import Rules as Rules
    from .core.urls import Origin as Origin
    from .core.verdict import Rule as Rule
    from .core.verdict import Verdict as Verdict
    from .fetching.fetcher import Fetcher as Fetcher
    from .obeying.answer import Answer as Answer
    from .obeying.front import RobotsScheduler as RobotsScheduler
    from .obeying.middleware import GbotRobotsTxtMiddleware as GbotRobotsTxtMiddleware
    from .obeying.robotparser import GbotRobotParser as GbotRobotParser
    from .policy.outages import State as State
    from .report.extension import RobotsReport as RobotsReport
    from .sitemaps.discovery import SitemapDiscovery as SitemapDiscovery
    from .sitemaps.middlewares import SitemapDownloaderMiddleware as SitemapDownloaderMiddleware
    from .sitemaps.middlewares import SitemapSpiderMiddleware as SitemapSpiderMiddleware
    from .sitemaps.spider import RobotsSitemapSpider as RobotsSitemapSpider
    from .sitemaps.urls import FoundSitemap as FoundSitemap


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value  # so that the next use does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
