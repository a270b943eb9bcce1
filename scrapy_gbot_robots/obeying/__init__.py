"""Each request waits for the answer of its origin, then goes on or is refused.

This room knows `fetching` and `storage`, and never `sitemaps`.
Source: RFC 9309 2.2 and 2.4, and Scrapy's own RobotsTxtMiddleware, which it replaces.
"""
