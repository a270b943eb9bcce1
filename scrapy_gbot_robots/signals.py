"""The plugin's own Scrapy signals.

Connect to them with `crawler.signals.connect(handler, signal)`. Handlers of `robotstxt_known`,
`robotstxt_changed` and `sitemap_found` may be coroutine functions.
"""

robotstxt_known = object()
"""`robotstxt_known(origin, robotstxt, answer, request, spider)` is sent when this crawl gets
the robots.txt of an origin, or learns that there is none, from a server or the storage.
`origin` is an `Origin`, `robotstxt` the parsed `RobotsTxt` (empty if there is none). `answer`
is the `Answer` that decides about requests of this origin; it cannot be changed. `request`
is the request that needed the robots.txt.
"""

robotstxt_changed = object()
"""`robotstxt_changed(origin, old, new, spider)` is sent when this crawl fetches a
robots.txt whose rules, crawl-delays or preferences differ from the version that was known.
`old` and `new` are `RobotsTxt`. Comments, dates, Sitemap lines and the order of rules and
groups do not count as changes. If the server has no robots.txt any more, `new` is empty.
"""

robotstxt_unreachable = object()
"""`robotstxt_unreachable(origin, answer)` is sent when the robots.txt of an origin is
unreachable. `answer` is the `Answer` that decides about requests meanwhile; it cannot be
changed. The signal is sent once for an outage, as long as the answer stays in memory.
"""

request_forbidden = object()
"""`request_forbidden(request, error)` is sent when a request is forbidden. `error`
is the `ForbiddenByRobotsTxt` that its errback gets, with the verdict.
"""

robotstxt_served = object()
"""`robotstxt_served(origin, outcome, request, response, headers)` is sent when a server
has answered a request for the robots.txt of `origin` with a response that is not a
redirect. `outcome` is a `Fetched` with the decoded `body`, an `Unavailable` or an
`Unreachable`. `request` is the Request that the download handler got, `response` the Response
that it returned, and `headers` contains all headers of the response.
"""

override_used = object()
"""`override_used(override, origin, refusal)` is sent when an override of
`GBOT_ROBOTS_OVERRIDES` decides about a request. `override` has its `key`, `reason` and
`until`. `refusal` is the verdict if the request is forbidden, None if it goes on.
"""

sitemap_found = object()
"""`sitemap_found(sitemap, request, spider)` is sent for each sitemap that a robots.txt
lists and no setting or rule skips, before it is fed to the spider. `sitemap` is a
`FoundSitemap` (its URL, the URL of the robots.txt, the line). `request` is the Request
about to be scheduled, or None if the spider is not fed the sitemap. A handler may return
another Request to schedule instead. It may return False or raise IgnoreRequest to skip
the sitemap. Any other error in a handler skips it, too. Handlers may be coroutine
functions. If the spider has a method `sitemap_found(sitemap, request)`, the method is
called in the same way.
"""
