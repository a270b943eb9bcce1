"""Decides what a server's response to a robots.txt request means, now and over time.

Pure: of this package, these modules import only `core`. The caller passes in the present time.
Source: Google's page, "Handling of errors and HTTP status codes" and "Caching"; RFC 9309 2.3.1 and
2.4.
"""
