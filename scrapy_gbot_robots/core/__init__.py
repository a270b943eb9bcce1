"""One robots.txt: bytes in, verdicts out.

Pure: this package needs only the standard library and idna. It uses no clock, network, file or log.
Source: Google's robots.txt parser (google/robotstxt), then RFC 9309.
"""
