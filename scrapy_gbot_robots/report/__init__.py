"""The reports on a crawl: the summary in the log, the page, and the record of robots.txt files.

The modules of this package get their facts from signals and stats. They change nothing in the
crawl, and the memory that they use is bounded.
Source: our own.
"""
