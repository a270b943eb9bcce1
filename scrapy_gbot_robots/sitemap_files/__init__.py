"""What a sitemap file says: bytes in, entries out.

Pure: lxml and w3lib. It knows no crawl and no network.
Source: sitemaps.org's protocol; RSS 2.0 and Atom (RFC 4287), as far as the protocol takes them.
"""
