"""One origin in, one outcome out: the request for a robots.txt and what its server made of it.

It knows Scrapy, `core` and `policy`, and nothing of who waits for the outcome.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.
"""
