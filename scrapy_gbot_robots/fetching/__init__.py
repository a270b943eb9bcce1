"""Fetch the robots.txt of an origin, and return the outcome.

This package imports Scrapy, `core` and `policy`. The requests that wait for the outcome are the
concern of `obeying`.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.
"""
