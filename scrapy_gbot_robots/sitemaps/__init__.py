"""Crawls the sitemaps that robots.txt files list, and the pages that these sitemaps list.

This package uses the package `fetching` and Scrapy's signals. It does not import the package
`obeying`. If a spider requests a robots.txt, `obeying` answers with a Scrapy response.
Source: the section "sitemap" of Google's robots.txt specification; the protocol of sitemaps.org.
"""
