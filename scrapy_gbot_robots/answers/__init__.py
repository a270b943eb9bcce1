"""Finds out what the robots.txt of an origin means for a crawl.

The result is an *answer* (`Answer` in answer.py). A crawl has one answer for each origin, and keeps
it in memory. To make an answer, this package reads the storage, or fetches the robots.txt. The
package `obeying` applies the answers to requests.
Source: RFC 9309 2.2, 2.3 and 2.4.
"""
