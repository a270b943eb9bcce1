"""Decide what a server's response to the request for a robots.txt means for a crawl.

The modules of this package use neither the network nor files. They do not read the clock, because
the caller passes in the present time.
Source: Google's page, "Handling of errors and HTTP status codes" and "Caching"; RFC 9309 2.3.1 and
2.4.
"""
