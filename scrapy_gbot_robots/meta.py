"""The plugin's own keys in request.meta. All values are plain data."""

from __future__ import annotations

__all__ = ["FOLLOW", "LISTED", "PAGE_RULES", "PREFERENCES", "PROVENANCE", "SITEMAP"]

SITEMAP = "gbot_robots_sitemap"
"""In the meta of a request for a sitemap file: a dict that names the origin of its URL.
`robotstxt` is the URL of the robots.txt that listed the sitemap, and `line` the line,
from 1 (0 if no line lists it). If a sitemap index listed the sitemap, `index` is the URL of
that sitemap index and `level` the number of indexes above it.
"""

LISTED = "gbot_robots_listed"
"""In the meta of a request for a page that `RobotsSitemapSpider` found in a sitemap: a
dict with `sitemap`, the URL of the sitemap file, and `lastmod`, the date of the last
change as in the file ("" if there is none).
"""

PROVENANCE = "gbot_robots"
"""In the meta of a response if `GBOT_ROBOTS_PROVENANCE` is on: a dict that names the
robots.txt that allowed the request. `robots` is the SHA-256 of that file (None if there is
none), `fetched` the time of its fetch in ISO 8601, and `status` the status code of the last
response to a request for it. `line` is the line of the rule that decided, `group` the group
that was used, and `override` the key of the override that decided (None if none did). If a
browser or another download handler has followed a redirect by itself, the page came from
another URL, which was not judged. Then `judged` is False, and all of these are None.
`preferences`, with `GBOT_ROBOTS_PURPOSES`, is the dict of "gbot_robots_preferences".
"""

PREFERENCES = "gbot_robots_preferences"
"""In the meta of a response if `GBOT_ROBOTS_PURPOSES` names the purposes of the crawl: a dict
of what the site declares about the use of the page. "train-ai", "search" and "ai-use" are each
"granted", "refused" or "unsaid". "use" is "immediate", "reference", "full" or None. "lines"
are the numbers of the robots.txt lines that declare it. Experimental.
"""

PAGE_RULES = "gbot_robots_page_rules"
"""In the meta of a page's response if `GBOT_ROBOTS_PAGE_RULES` is on: a dict of the
directives for this crawler in the page's X-Robots-Tag headers and robots meta tags. The value
of a word such as "noindex" is True, the value of a limit such as "max-snippet" its text, and
the value of "unavailable_after" a time in ISO 8601.
"""

FOLLOW = "gbot_robots_follow"
"""Set it to True in a request, and the request is sent though its page asks not to follow links."""

# The keys below are for the plugin's own classes.

# This flag is in `response.flags` if a spider requested a robots.txt that was known already and not
# fetched again. Another flag is the state of that robots.txt: "full allow", "full disallow" or
# "rules".
ANSWERED = "gbot_robots"

# True in a request for a robots.txt that does not wait if no server answers at all.
PROBE = "gbot_robots_probe"

# True in a request for a page that `RobotsSitemapSpider` found in a sitemap. The key is removed
# when the fate of the page is counted, so the spider's code never copies it from a
# response.
UNCOUNTED = "_gbot_robots_uncounted"

# In a request that has gone back to the scheduler: the request's own value of `dont_filter`. The
# key is removed when the request is handed out again.
RETURNED = "_gbot_robots_returned"

# In a request for a sitemap file: the URL that has passed all checks. A redirect leads to another
# URL, which is checked when the redirected request reaches the middlewares.
CHECKED = "_gbot_robots_checked"

# The following keys are in a request on its way to the downloader and back, and in the requests
# that middlewares make from it there, for example for a redirect. The spider gets none of them.
#
# The User-Agent header or product token for which the request was judged first.
JUDGED_AS = "_gbot_robots_judged_as"
# The download slot, if Scrapy or this plugin and not the user has chosen it.
OWN_SLOT = "_gbot_robots_slot"
# The request's own values of meta keys that have other values on the way.
OWN_META = "_gbot_robots_own_meta"
