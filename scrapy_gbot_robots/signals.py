"""The plugin's own Scrapy signals. Connect to them with `crawler.signals.connect(handler, signal)`.

`robotstxt_known(origin, robotstxt, answer, request)` is sent whenever this crawl learns what the robots.txt of an
origin says, be it freshly fetched or from storage: `origin` is an `Origin`, `robotstxt` the parsed `RobotsTxt` (empty
when there is none), `answer` the `Answer` that requests of this origin get, and `request` the request that made the
crawl ask, or None.

`request_forbidden(request, error)` is sent when a request is kept back: `error` is the `ForbiddenByRobotsTxt` that its
errback gets, with the verdict.
"""

request_forbidden = object()
robotstxt_known = object()
