"""`scrapy robots`: one module for each sub-command, and what they share.

This package may use every other package here, and no other package uses it.
Source: our own; the exit statuses are the ones of google/robotstxt.
"""
