"""The project's settings. ADDONS is all that scrapy-gbot-robots needs; its own settings show their defaults."""

# Switches everything on: the crawl obeys robots.txt as Googlebot does, and finds the sitemaps that
# robots.txt files list.
ADDONS = {"scrapy_gbot_robots.Addon": 500}

# Whose rules count: the crawl looks for the product token in front of the "/" in each robots.txt.
USER_AGENT = "examplebot/1.0 (+https://example.com/bot)"

# Where robots.txt files are kept between runs: "sqlite" (in .scrapy/), "redis" (shared by a fleet)
# or "memory".
# GBOT_ROBOTS_STORAGE = "sqlite"

# What an unreachable robots.txt (a 5xx, a 429, no answer) means over time: "google", "google-2026",
# "rfc9309", "allow".
# GBOT_ROBOTS_UNREACHABLE = "google"

# About how long requests wait for an unreachable robots.txt before they are refused, in seconds.
# GBOT_ROBOTS_UNREACHABLE_WAIT_SECS = 60

# What to do with the sitemaps that robots.txt files list: "auto" feeds a SitemapSpider that names
# none, "feed" every SitemapSpider; "collect" only collects them, "off" ignores them.
# GBOT_ROBOTS_SITEMAPS = "auto"

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]
NEWSPIDER_MODULE = "example.spiders"
CONCURRENT_REQUESTS_PER_DOMAIN = 2
DOWNLOAD_DELAY = 0.5
