"""Fetch the robots.txt of an origin, and return the outcome.

An origin is the scheme, the host and the port of a URL, for example "https://example.com:8443". An
outcome is a value that contains the robots.txt, or the reason why there is none. This package
imports Scrapy, `core` and `policy`. The package `answers` calls it. The package `obeying` lets
requests for pages wait until the outcome is known.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.
"""
