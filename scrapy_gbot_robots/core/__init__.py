"""What one robots.txt says: bytes in, verdicts out.

Pure: the standard library and idna. It knows no clock, no network, no file and no log.
Source: Google's robots.txt parser (google/robotstxt), then RFC 9309.
"""
