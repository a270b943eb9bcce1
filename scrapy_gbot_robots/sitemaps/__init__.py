"""`Sitemap:` lines become requests of the crawl, and `RobotsSitemapSpider` turns hosts into pages.

This package uses `fetching` and Scrapy's signals. It never uses `obeying`, whose answers reach it
as responses.
Source: Google's page, "sitemap"; sitemaps.org's protocol.
"""
