#!/bin/sh
# Versions: Scrapy 2.19.0, Twisted 26.10.0.
# Scrapy 2.19.0 with Twisted 26.10.0: each page starts two timers, one for the time limit of its download (180 s) and one for the time limit
# of the idle connection (240 s). Both are usually cancelled soon. Under the asyncio reactor, Scrapy's default, cancelled timers stay in
# memory until a timer of the reactor fires. In a crawl of one host over connections that are kept open, that may take minutes.
# The select reactor removes cancelled timers when there are more than 50 of them.
# Seen in five runs, the most timers in memory during 3,000 pages: 3,184 to 5,776 under the asyncio reactor, 68 to 76 under the select
# reactor.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'Scrapy==2.19.0' 'Twisted==26.10.0'
cat > web.py <<'PY'
import asyncio


async def answer(reader, writer):
    """Answer every request on a connection that stays open."""
    try:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\ntea")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
PY
cat > crawl.py <<'PY'
import gc
import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from twisted.internet.base import DelayedCall

port, reactor = sys.argv[1:]
PAGES = 3000


class Tea(scrapy.Spider):
    name = "tea"
    pages = most = 0

    async def start(self):
        # A first page, so that all connections are open before the other pages.
        yield scrapy.Request(f"http://127.0.0.1:{port}/", self.first)

    def first(self, response):
        for page in range(PAGES):
            yield scrapy.Request(f"http://127.0.0.1:{port}/{page}", self.parse)

    def parse(self, response):
        self.pages += 1
        if self.pages % 100 == 0:
            timers = sum(isinstance(thing, DelayedCall) for thing in gc.get_objects())
            self.most = max(self.most, timers)

    def closed(self, reason):
        print(self.most)


process = CrawlerProcess(
    {
        "LOG_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "TELNETCONSOLE_ENABLED": False,
        "TWISTED_REACTOR": reactor,
    }
)
process.crawl(Tea)
process.start()
PY
v/bin/python web.py > port &
server=$!
trap 'kill $server; rm -rf "$dir"' EXIT
while ! [ -s port ]; do sleep 0.1; done
asyncio=$(v/bin/python crawl.py "$(cat port)" twisted.internet.asyncioreactor.AsyncioSelectorReactor)
select=$(v/bin/python crawl.py "$(cat port)" twisted.internet.selectreactor.SelectReactor)
echo "most timers: $asyncio under the asyncio reactor, $select under the select reactor"
test "$asyncio" -gt 600
test "$select" -lt 200
