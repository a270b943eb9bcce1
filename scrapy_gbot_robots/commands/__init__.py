"""`scrapy robots`: one module for each sub-command, and what they share.

It knows every other room; no other room knows it.
Source: our own; exit statuses as google/robotstxt has them.
"""
