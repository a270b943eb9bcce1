"""What the plugin writes into request.meta and response.flags for others to read. All plain.

`SITEMAP` stands in a request for a sitemap file: a dict that says where its URL comes from. `robotstxt` is the URL of
the robots.txt that listed it and `line` the line, from 1 (0: none did, the URL was guessed); if a sitemap index listed
it, `index` is the URL of that index and `level` how many indexes are above it.

`LISTED` stands in a request for a page that `RobotsSitemapSpider` found in a sitemap: a dict with `sitemap`, the URL of
the file, and `lastmod`, the text that stands there as the date of the last change ("" if there is none).

`PROBE` may be set to True in a request for a robots.txt: if the server does not answer at all, do not wait for it.

`ANSWERED` is in the flags of a response to a request for a robots.txt that was not fetched for it but known already;
another flag says what that amounts to now: "full allow", "full disallow" or "rules".

`PROVENANCE` stands in the meta of a response when `GBOT_ROBOTS_PROVENANCE` is on: a dict that says by which robots.txt
the request went on. `robots` is the SHA-256 of that file (None if there is none), `fetched` when it was fetched, as ISO
8601, and `status` its status code; `line` and `group` are those of the rule that decided, `override` the key of the
override that did.

`PREFERENCES` stands in the meta of a response when `GBOT_ROBOTS_PURPOSES` names what the crawl is for: a dict of what the
site says about the use of the page. "train-ai", "search" and "ai-use" are each "granted", "refused" or "unsaid"; "use" is
"immediate", "reference", "full" or None; "lines" are those of the robots.txt that this rests on. Experimental.

`TAGS` stands in the meta of a response to a page when `GBOT_ROBOTS_TAGS` is on: a dict of what the page's X-Robots-Tag
headers and robots meta tags say to this crawler. A word such as "noindex" is True, a limit such as "max-snippet" its
text, "unavailable_after" a time in ISO 8601.

`FOLLOW` may be set to True in a request for a link that its page asks not to follow: it is followed all the same.
"""

from __future__ import annotations

FOLLOW = "gbot_robots_follow"
TAGS = "robots_tags"
ANSWERED = "gbot_robots"
LISTED = "gbot_robots_listed"
PREFERENCES = "gbot_robots_preferences"
PROVENANCE = "gbot_robots"
PROBE = "gbot_robots_probe"
SITEMAP = "gbot_robots_sitemap"
