"""The plugin's own keys in request.meta. All values are plain data."""

from __future__ import annotations

__all__ = ["FOLLOW", "LISTED", "PAGE_RULES", "PREFERENCES", "PROVENANCE", "SITEMAP"]

SITEMAP = "gbot_robots_sitemap"
"""In the meta of a request for a sitemap file: a dict that says where its URL comes from.
`robotstxt` is the URL of the robots.txt that listed the sitemap, and `line` the line,
from 1 (0: no line lists it). If a sitemap index listed the sitemap, `index` is the URL of
that sitemap index and `level` the number of indexes above it.
"""

LISTED = "gbot_robots_listed"
"""In the meta of a request for a page that `RobotsSitemapSpider` found in a sitemap: a
dict with `sitemap`, the URL of the sitemap file, and `lastmod`, the date of the last
change as in the file ("" if there is none).
"""

PROVENANCE = "gbot_robots"
"""In the meta of a response if `GBOT_ROBOTS_PROVENANCE` is on: a dict that says which
robots.txt let the request go on. `robots` is the SHA-256 of that file (None if there is
none), `fetched` the time of its fetch in ISO 8601, and `status` the status code of the
last answer. `line` is that of the verdict's rule, `group` the group that was used, and
`override` the key of the override that counted (None if none did). `judged` is False if the
page came from another URL, which nothing has judged, since a browser or another download
handler has followed a redirect by itself; then all these are None. `preferences`, with
`GBOT_ROBOTS_PURPOSES`, is the dict of "gbot_robots_preferences".
"""

PREFERENCES = "gbot_robots_preferences"
"""In the meta of a response if `GBOT_ROBOTS_PURPOSES` names the purposes of the crawl: a dict
of what the site says about the use of the page. "train-ai", "search" and "ai-use" are each
"granted", "refused" or "unsaid". "use" is "immediate", "reference", "full" or None. "lines"
are the lines of the robots.txt that say so. Experimental.
"""

PAGE_RULES = "gbot_robots_page_rules"
"""In the meta of a response to a page if `GBOT_ROBOTS_PAGE_RULES` is on: a dict of what the
page's X-Robots-Tag headers and robots meta tags say to this crawler. A word such as
"noindex" is True, a limit such as "max-snippet" its text, "unavailable_after" a time in
ISO 8601.
"""

FOLLOW = "gbot_robots_follow"
"""Set it to True in a request for a link, and the link is followed though its page asks not to."""

# Between our own classes:

# A flag of the response to a request for a robots.txt that was known already and not fetched again.
# Another flag says what that robots.txt amounts to now: "full allow", "full disallow" or "rules".
ANSWERED = "gbot_robots"

# True in a request for a robots.txt that does not wait if the server does not answer at all.
PROBE = "gbot_robots_probe"

# True in a request for a page that `RobotsSitemapSpider` found in a sitemap, until what became of
# the page is counted. So it is in no meta that the spider's code can copy from a response.
UNCOUNTED = "_gbot_robots_uncounted"

# In a request that has gone back to the scheduler: its own `dont_filter`, until it is handed out
# again.
RETURNED = "_gbot_robots_returned"

# In a request for a sitemap file: the URL that passed all checks of where the file may lie. A
# redirect leads to another URL, which is checked when the request has reached the middlewares.
CHECKED = "_gbot_robots_checked"

# In a request on its way to the downloader and back, and in the requests that middlewares make of
# it there, such as those of a redirect. The spider gets none of them.
#
# The User-Agent header, or a name, by which the request was judged first.
JUDGED_AS = "_gbot_robots_judged_as"
# The download slot, if Scrapy or this plugin has chosen it, and not the user.
OWN_SLOT = "_gbot_robots_slot"
# The request's own values of the meta keys that it has for the way only.
OWN_META = "_gbot_robots_own_meta"
