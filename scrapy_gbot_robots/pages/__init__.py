"""The page rules: `X-Robots-Tag` headers, robots meta tags and the `rel` of links.

This package uses Scrapy, and `obeying` only for the user agent of a request. The middleware is off
unless `GBOT_ROBOTS_PAGE_RULES` is on.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications".
"""
