#!/bin/sh
# Versions: Scrapy 2.19.0, PyDispatcher 2.0.7.
# Scrapy 2.19.0 (PyDispatcher 2.0.7): a signal handler that disconnects itself while its signal is sent makes the handler
# that was connected next miss that signal. Nothing is logged.
# Seen: of two handlers of response_received, the second is called for 2 of 3 responses.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'scrapy==2.19.0' 'pydispatcher==2.0.7'
cat > finding.py <<'PY'
from scrapy import Spider, signals
from scrapy.crawler import AsyncCrawlerProcess


class Pages(Spider):
    name = "pages"
    start_urls = ["data:,1", "data:,2", "data:,3"]
    seen = {"first": 0, "second": 0}

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.first, signals.response_received)
        crawler.signals.connect(spider.second, signals.response_received)
        return spider

    def first(self):
        self.seen["first"] += 1
        self.crawler.signals.disconnect(self.first, signals.response_received)

    def second(self):
        self.seen["second"] += 1

    def parse(self, response):
        pass


process = AsyncCrawlerProcess({"LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False})
process.crawl(Pages)
process.start()
print(Pages.seen)
assert Pages.seen == {"first": 1, "second": 2}
PY
v/bin/python finding.py
