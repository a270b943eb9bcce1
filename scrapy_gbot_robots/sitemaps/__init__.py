"""Crawls the sitemaps that robots.txt files list, and the pages that these sitemaps list.

This package does not import the package `obeying`. It gets each robots.txt from the plugin's signal
`robotstxt_known`. A spider may also request a robots.txt itself, like any page. The middleware in
`obeying` then returns a Scrapy response that contains the file.
Source: the section "sitemap" of Google's robots.txt specification; the protocol of sitemaps.org.
"""
