"""The answer of each origin, which a crawl finds in memory, in the storage, or by a fetch.

This package imports `fetching` and `storage`. It does not handle the requests that wait for an
answer. The package `obeying` does that: it asks for the answers, and applies them to requests.
Source: RFC 9309 2.2, 2.3 and 2.4.
"""
