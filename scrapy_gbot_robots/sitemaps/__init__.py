"""`Sitemap:` lines become requests of the crawl, and `RobotsSitemapSpider` turns hosts into pages.

It knows `fetching` and Scrapy's signals, and never `obeying`, whose answers reach it as responses.
Source: Google's page, "sitemap"; sitemaps.org's protocol.
"""
