"""Lets each request wait until its robots.txt is known, and then allows or forbids the request.

This package imports `answers`, and never `sitemaps`.
Source: RFC 9309 2.2 and 2.4, and Scrapy's RobotsTxtMiddleware, which this package replaces.
"""
