"""Decide what a server's response to a robots.txt request means, now and over time.

The modules of this package use no network and no files, and do not read the clock. The caller
passes in the present time. The only other package of scrapy_gbot_robots that they import is `core`.
Source: Google's page, "Handling of errors and HTTP status codes" and "Caching"; RFC 9309 2.3.1 and
2.4.
"""
