"""The plugin's own Scrapy signals.

`crawler.signals.connect(handler, signal)` connects a handler to a signal. A handler may take any of
the arguments of its signal. Handlers of `robotstxt_known`, `robotstxt_changed` and `sitemap_found`
may be coroutine functions.
"""

robotstxt_known = object()
"""`robotstxt_known(origin, robotstxt, answer, request, spider)` is sent when this crawl gets
the robots.txt of an origin from its server or from the storage, or finds out that there is none.
`origin` is an `Origin`. `robotstxt` is the parsed `RobotsTxt`, which is empty if the origin has no
robots.txt. `answer` is the `Answer`, which decides whether requests to this origin are allowed. A
handler cannot change it. `request` is the request that needed the robots.txt.
"""

robotstxt_changed = object()
"""`robotstxt_changed(origin, old, new, spider)` is sent when this crawl fetches a
robots.txt whose rules, crawl-delays or preferences have changed since it was last fetched.
`old` and `new` are `RobotsTxt`. Changes of comments, dates, Sitemap lines, or of the order of
rules and groups do not count. If the server has no robots.txt any more, `new` is empty.
"""

robotstxt_unreachable = object()
"""`robotstxt_unreachable(origin, answer)` is sent when the robots.txt of an origin is
unreachable, for example because its server does not answer. `answer` is the `Answer`, which
decides whether requests to this origin are allowed until the server answers again. A handler
cannot change it. The signal is sent once for an outage, unless the crawl has dropped the answer
from memory meanwhile (`GBOT_ROBOTS_CACHE_ORIGINS`).
"""

request_forbidden = object()
"""`request_forbidden(request, error)` is sent when a request is forbidden. `error`
is the exception `ForbiddenByRobotsTxt`, which the request's errback gets. It contains the verdict.
"""

robotstxt_served = object()
"""`robotstxt_served(origin, outcome, request, response, headers)` is sent when a server
has answered a request for the robots.txt of `origin` with a response that is not a
redirect. `outcome` is a `Fetched` with the decoded `body`, an `Unavailable` or an
`Unreachable`. `request` is the Request for the robots.txt, and `response` is the Response of the
download handler. `headers` contains all headers of the response.
"""

override_used = object()
"""`override_used(override, origin, refusal)` is sent when an override in
`GBOT_ROBOTS_OVERRIDES` decides whether a request is allowed. `override` is the `Override`, with
its `key`, `reason` and `until`. `refusal` is the `Verdict` if the request is forbidden, and None if
it is allowed.
"""

sitemap_found = object()
"""`sitemap_found(sitemap, request, spider)` is sent for each sitemap that a robots.txt
lists, unless a setting or a rule skips the sitemap. `sitemap` is a `FoundSitemap`, which contains
the URL of the sitemap, the URL of the robots.txt and the number of the line. `request` is the
Request for the sitemap, which is scheduled afterwards. It is None if this crawl does not request
the sitemap. A handler may return a different Request, which is scheduled instead. If a handler
returns False or raises IgnoreRequest, the sitemap is skipped. An error in a handler also skips it.
Handlers may be coroutine functions. If the spider has a method `sitemap_found(sitemap, request)`,
the method is a handler, too.
"""
