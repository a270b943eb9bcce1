"""Decide what a server's response to a robots.txt request means, now and over time.

The modules of this package use no network and no files, and do not read the clock: the caller
passes in the present time. Of scrapy_gbot_robots, they import only `core`.
Source: Google's page, "Handling of errors and HTTP status codes" and "Caching"; RFC 9309 2.3.1 and
2.4.
"""
