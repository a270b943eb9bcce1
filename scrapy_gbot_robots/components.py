"""Classes that the add-on puts into a project's settings, and that have no other public module.

A project that does not use the add-on names these classes in its settings (docs/settings.md shows
how). A project that uses the add-on needs their paths only to change the position of a class, or to
switch it off.
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
