"""Read the bytes of one robots.txt, and decide which URLs a crawler may fetch.

This package imports only the standard library and idna. It does not read the clock, use the
network, open files or write to the log.
Source: Google's robots.txt parser (github.com/google/robotstxt), Google's page about robots.txt,
and RFC 9309.
"""
