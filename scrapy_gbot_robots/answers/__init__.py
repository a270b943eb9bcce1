"""Finds out what the robots.txt of an origin means for a crawl.

The result is an *answer* (`Answer` in answer.py), and a crawl has one answer for each origin. The
answer is in memory, or it is made from the storage or from a fetch of the robots.txt. The package
`obeying` applies the answers to requests.
Source: RFC 9309 2.2, 2.3 and 2.4.
"""
