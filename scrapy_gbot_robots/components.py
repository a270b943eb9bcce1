"""The classes that the add-on puts into a project's settings.

A project without the add-on lists these classes in its own settings, as docs/settings.md shows. A
project with the add-on needs their paths only to move a class, or to switch it off.
"""

from __future__ import annotations

from .obeying.front import RobotsScheduler
from .pages.middleware import PageRulesMiddleware
from .report.extension import RobotsReport
from .report.record import RobotsRecord
from .sitemaps.discovery import SitemapDiscovery
from .sitemaps.middlewares import SitemapDownloaderMiddleware, SitemapSpiderMiddleware

__all__ = [
    "PageRulesMiddleware",
    "RobotsRecord",
    "RobotsReport",
    "RobotsScheduler",
    "SitemapDiscovery",
    "SitemapDownloaderMiddleware",
    "SitemapSpiderMiddleware",
]
