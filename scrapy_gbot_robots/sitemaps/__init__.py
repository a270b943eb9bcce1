"""`Sitemap:` lines become requests of the running crawl.

It knows `fetching` and Scrapy's signals, and never `obeying`.
Source: Google's page, "sitemap"; sitemaps.org's protocol.
"""
