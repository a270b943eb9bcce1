"""One origin in, one outcome out: the request for a robots.txt, and what its server answered.

It knows Scrapy, `core` and `policy`, but not the requests that wait for the outcome.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.
"""
