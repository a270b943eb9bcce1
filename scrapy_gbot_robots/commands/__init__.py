"""`scrapy robots`: one module for each sub-command, and what they share.

It knows every other package here; no other one knows it.
Source: our own; exit statuses as google/robotstxt has them.
"""
