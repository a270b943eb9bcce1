"""What pages say of themselves: `X-Robots-Tag` headers, robots meta tags, `rel` of links.

It knows Scrapy and `obeying`'s user agents; it is switched off unless `GBOT_ROBOTS_TAGS` is on.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications".
"""
