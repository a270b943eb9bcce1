"""Page rules: the rules in `X-Robots-Tag` headers, robots meta tags and the `rel` of links.

A page can ask crawlers not to index it, for example, or not to follow its links. `directives` reads
these rules, and `middleware` obeys them if `GBOT_ROBOTS_PAGE_RULES` is on. This package uses
`obeying` only to find the user agent of a request.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications".
"""
