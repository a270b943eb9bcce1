"""The plugin's own keys in request.meta. The values are plain data, which any queue can store."""

from __future__ import annotations

__all__ = ["FOLLOW", "LISTED", "PAGE_RULES", "PREFERENCES", "PROVENANCE", "SITEMAP"]

SITEMAP = "gbot_robots_sitemap"
"""This key is in the meta of a request for a sitemap file. The value is a dict that shows where the
URL of the sitemap comes from. `robotstxt` is the URL of the robots.txt that lists the sitemap, and
`line` the number of the line. The first line is 1, and 0 means that no line lists the sitemap. If a
sitemap index lists the sitemap, `index` is the URL of this index, and `level` is the number of
sitemap indexes that led to the sitemap, one below the other.
"""

LISTED = "gbot_robots_listed"
"""This key is in the meta of a request for a page that `RobotsSitemapSpider` has found in a
sitemap. The value is a dict. `sitemap` is the URL of the sitemap file. `lastmod` is the date of the
page's last change, as it is written in the file, or "" if the file has no date for the page.
"""

PROVENANCE = "gbot_robots"
"""This key is in the meta of a response if `GBOT_ROBOTS_PROVENANCE` is on. The value is a dict that
describes why the request was allowed. `robots` is the SHA-256 of the robots.txt, or None if there
is none. `fetched` is the time at which it was fetched, in ISO 8601. `status` is the status code of
the last response to a request for it. `line` is the line of the rule that decided, and `group` is
the group that the crawl obeys. `override` is the key of the override that decided, or None.

A browser, a renderer or a download handler may follow a redirect by itself. The page then comes
from another URL. If the crawl has not checked this URL, `judged` is False, and the values above are
None.

With `GBOT_ROBOTS_PURPOSES`, `preferences` is the same dict as in "gbot_robots_preferences".
"""

PREFERENCES = "gbot_robots_preferences"
"""This key is in the meta of a response if `GBOT_ROBOTS_PURPOSES` lists the purposes of the crawl.
The value is a dict with the preferences of the site, which declare how the page may be used. The
values of "train-ai", "search" and "ai-use" are "granted", "refused" or "unsaid". "use" is
"immediate", "reference", "full" or None. "lines" is a list with the numbers of the robots.txt lines
that contain these preferences. Experimental.
"""

PAGE_RULES = "gbot_robots_page_rules"
"""This key is in the meta of a page's response if `GBOT_ROBOTS_PAGE_RULES` is on. The value is a
dict with the directives in the page's X-Robots-Tag headers and robots meta tags that apply to this
crawl. The value of a word such as "noindex" is True. The value of a limit such as "max-snippet" is
its text. The value of "unavailable_after" is a time in ISO 8601.
"""

FOLLOW = "gbot_robots_follow"
"""Set this key to True in the meta of a request if the request should be sent even though the page
or its link asks crawlers not to follow the link ("nofollow"). It has an effect only with
`GBOT_ROBOTS_PAGE_RULES`.
"""

# Users do not need the following names. Only the plugin's own classes use them.

# A flag in `response.flags`. If a spider requests a robots.txt that the crawl already has, the
# plugin does not fetch the file again. It returns a response with two flags: this flag, and the
# state of the robots.txt, which is "full allow", "full disallow" or "rules".
ANSWERED = "gbot_robots"

# A meta key. When a spider requests a robots.txt with this key set to True, the request fails at
# once if the server does not answer. Without this key, the plugin would try the server again later.
PROBE = "gbot_robots_probe"

# A meta key. It is True in a request for a page that `RobotsSitemapSpider` has found in a sitemap.
# The spider removes the key when it counts the page, for example as crawled or forbidden. So no
# page is counted twice, even if the spider's code copies the meta to a new request.
UNCOUNTED = "_gbot_robots_uncounted"

# A meta key of a request that the plugin has put back into the scheduler. The scheduler's duplicate
# filter would drop this request, so the plugin sets its `dont_filter` to True. This key contains
# the previous value of `dont_filter`. When the request leaves the scheduler again, the plugin
# restores the value and removes the key.
RETURNED = "_gbot_robots_returned"

# A meta key of a request for a sitemap file whose URL has passed all checks. The value is the URL
# that was checked. After a redirect, the request has a different URL, so the middlewares check it
# again.
CHECKED = "_gbot_robots_checked"

# The following meta keys are in a request only between the engine and the downloader. If a
# middleware copies the request, for example for a redirect, the copy has these keys as well. The
# keys are removed before the spider gets the response.
#
# A meta key. The value is the user agent whose rules the plugin has applied to the request: a
# User-Agent header or a product token.
JUDGED_AS = "_gbot_robots_judged_as"
# A meta key. A request has this key unless the user has chosen the download slot. The value is the
# key of the slot that the downloader has chosen, or "" before the downloader has chosen a slot.
OWN_SLOT = "_gbot_robots_slot"
# A meta key. The value is a dict with the original values of meta keys that the plugin has changed,
# such as `dont_cache`.
OWN_META = "_gbot_robots_own_meta"
