"""The reports on a crawl: the summary in the log, the page, and the record of robots.txt files.

This package listens to signals and reads stats. Its memory is bounded, and it changes nothing in
the crawl.
Source: our own.
"""
