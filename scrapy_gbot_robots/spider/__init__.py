"""`RobotsSitemapSpider`: hosts in, pages out.

It knows `sitemaps` and `sitemap_files`; the answers of `obeying` reach it as responses.
Source: sitemaps.org's protocol and Scrapy's SitemapSpider.
"""
