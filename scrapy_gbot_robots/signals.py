"""The plugin's own Scrapy signals. Connect to them with `crawler.signals.connect(handler, signal)`.

`robotstxt_known(origin, robotstxt, answer, request)` is sent whenever this crawl learns what the robots.txt of an
origin says, be it freshly fetched or from storage: `origin` is an `Origin`, `robotstxt` the parsed `RobotsTxt` (empty
when there is none), `answer` the `Answer` that requests of this origin get, and `request` the request that made the
crawl ask, or None.

`robotstxt_changed(origin, old, new, spider)` is sent when this crawl fetches a robots.txt whose rules are not those that
were known: `old` and `new` are `RobotsTxt`. Comments, dates and the order of lines are no change; a file that vanished is an
empty one.

`robotstxt_unreachable(origin, answer)` is sent when the robots.txt of an origin cannot be had and something stands in
for it; once until it can be had again.

`request_forbidden(request, error)` is sent when a request is kept back: `error` is the `ForbiddenByRobotsTxt` that its
errback gets, with the verdict.

`robotstxt_served(outcome, request, response, headers)` is sent when a server has answered for a robots.txt and no
redirect is left to follow: `outcome` is what that came to, a `Fetched` with the decoded `body`, an `Unavailable` or an
`Unreachable`; `request` and `response` are as the download handler had them, `headers` all headers of the response.

`override_used(override, origin, refusal, against_robotstxt)` is sent when an override of `GBOT_ROBOTS_OVERRIDES` decides
about a request: `override` has its `key`, `reason` and `until`, `refusal` is the verdict if the request is kept back, None
if it goes on, and `against_robotstxt` says whether it does though the site's own robots.txt refuses it.

`sitemap_found(sitemap, request, spider)` is sent for each sitemap that a robots.txt lists, before it is fed to the
spider. `sitemap` is a `FoundSitemap` (its URL, the URL of the robots.txt, the line), `request` is the Request about to
be scheduled, or None if sitemaps are only collected. A handler that returns a Request has that one scheduled instead;
one that returns False or raises IgnoreRequest vetoes it. Handlers may be coroutine functions. A spider with a method
`sitemap_found(sitemap, request)` is asked in the same way.
"""

override_used = object()
request_forbidden = object()
robotstxt_changed = object()
robotstxt_known = object()
robotstxt_served = object()
robotstxt_unreachable = object()
sitemap_found = object()
