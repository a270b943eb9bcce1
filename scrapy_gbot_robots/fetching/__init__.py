"""The fetch of one robots.txt: an origin goes in, an outcome comes out.

This package imports Scrapy, `core` and `policy`. It does not deal with the requests that wait for
the outcome.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.
"""
