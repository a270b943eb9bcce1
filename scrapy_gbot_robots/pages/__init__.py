"""What pages say to crawlers: `X-Robots-Tag` headers, robots meta tags, the `rel` of links.

It knows Scrapy, and from `obeying` for which user agent a request asks. The middleware is off
unless `GBOT_ROBOTS_PAGE_RULES` is on.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications".
"""
