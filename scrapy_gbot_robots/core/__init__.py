"""Read the bytes of one robots.txt, and decide which URLs a crawler may fetch.

This package needs only the standard library and idna. It uses no clock, network, file or log.
Source: Google's robots.txt parser (github.com/google/robotstxt) first, and RFC 9309.
"""
