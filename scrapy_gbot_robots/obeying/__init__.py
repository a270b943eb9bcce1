"""Requests wait for the answer of their origin, and are allowed or forbidden by it.

This package imports `fetching` and `storage`, and never `sitemaps`.
Source: RFC 9309 2.2 and 2.4, and Scrapy's own RobotsTxtMiddleware, which it replaces.
"""
