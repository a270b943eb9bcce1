"""What robots.txt costs a crawl: with this plugin, with Scrapy alone, and without robots.txt, in turn.

    python -m benchmarks.crawl                       # all cases, three rounds
    python -m benchmarks.crawl --case one --rounds 5
    python -m benchmarks.crawl --python /other/venv/bin/python     # another version, to compare with

The cases:

* one host of 3,000 pages, whose robots.txt has 300 rules; the pages are start URLs, or links of the first page;
* 600 hosts of two pages each;
* one host of 5,000 pages, whose robots.txt arrives after two seconds.

Each crawl is a process, and the loopback server is another. The run prints medians: the ratios of the crawling process's
processor time to that of the other crawls, and the peak memory of the three.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request, Spider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

KINDS = ("plugin", "scrapy", "off")
RULES = "user-agent: *\n" + "".join(
    f"disallow: /private{number}/*.html$\n" for number in range(300)
)


class Case(NamedTuple):
    """One web to crawl: how many hosts, how many pages of each, and seconds until a robots.txt arrives.

    Its pages are start URLs, or they are links of the first page.
    """

    words: str
    hosts: int
    pages: int
    after_secs: float = 0.0
    linked: bool = False


CASES = {
    "linked": Case("one host, 3,000 pages as links of the first, 300 rules", 1, 3000, linked=True),
    "one": Case("one host, 3,000 pages as start URLs, 300 rules", 1, 3000),
    "many": Case("600 hosts, two pages each", 600, 2),
    "slow": Case("one host, 5,000 pages, robots.txt after 2 s", 1, 5000, 2.0),
}
WARM_UP = Case("not counted: it compiles the modules", 1, 1)
TITLES = """\
| crawl | plugin / Scrapy alone | plugin / off | plugin | Scrapy alone | off |
|---|---|---|---|---|---|"""


class Listed(Spider):
    """Crawls the pages of a case, host by host."""

    name = "listed"

    def __init__(self, hosts: int, pages: int, port: int, linked: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = [
            f"http://127.0.{1 + host // 250}.{1 + host % 250}:{port}/page/{page}"
            for host in range(hosts)
            for page in range(pages)
        ]
        self.links = self.urls[1:] if linked else []
        self.crawled = 0

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls[: len(self.urls) - len(self.links)]:
            yield Request(url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        self.crawled += 1
        links, self.links = self.links, []
        yield from map(Request, links)


def crawl(kind: str, hosts: int, pages: int, port: int, *, linked: bool) -> dict[str, float]:
    """Crawl in this process; return its processor seconds, its peak memory in MB, and the pages that were crawled."""
    from scrapy.crawler import CrawlerProcess

    settings: dict[str, Any] = {
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
        "DOWNLOAD_DELAY": 0,
        "LOG_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "ROBOTSTXT_OBEY": kind == "scrapy",
        "TELNETCONSOLE_ENABLED": False,
        "USER_AGENT": "testbot (+https://example.com)",
    }
    if kind == "plugin":
        settings |= {"ADDONS": {"scrapy_gbot_robots.Addon": 500}, "GBOT_ROBOTS_STORAGE": "memory"}
        del settings["ROBOTSTXT_OBEY"]
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Listed)
    process.crawl(crawler, hosts=hosts, pages=pages, port=port, linked=linked)
    process.start()
    used = resource.getrusage(resource.RUSAGE_SELF)
    assert isinstance(crawler.spider, Listed)
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return {
        "secs": used.ru_utime + used.ru_stime,
        "megabytes": used.ru_maxrss / unit,
        "crawled": crawler.spider.crawled,
    }


async def serve(after_secs: float) -> None:
    """Serve pages and robots.txt files on all of 127.0.0.0/8, and print the port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = b"<html>" + b"x" * 1000
                kind = b"text/html"
                if head.startswith(b"GET /robots.txt"):
                    await asyncio.sleep(after_secs)
                    body, kind = RULES.encode(), b"text/plain"
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
                    % (kind, len(body))
                )
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "0.0.0.0", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def measure(
    case: Case, rounds: int, python: str = sys.executable
) -> dict[str, list[dict[str, float]]]:
    """Crawl `case` in `rounds` rounds, by the interpreter `python`; return what each crawl of each kind took."""
    taken: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with subprocess.Popen(
        [sys.executable, __file__, "serve", str(case.after_secs)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        port = server.stdout.readline().strip()
        try:
            for kind in KINDS:
                _crawl(python, kind, WARM_UP, port)
            for _ in range(rounds):
                for kind in KINDS:
                    taken[kind].append(_crawl(python, kind, case, port))
        finally:
            server.kill()
    return taken


def _crawl(python: str, kind: str, case: Case, port: str) -> dict[str, float]:
    """Crawl in a process of its own, with compiled modules as an installed package has them."""
    run = [
        python,
        __file__,
        "crawl",
        kind,
        str(case.hosts),
        str(case.pages),
        port,
        *(["linked"] if case.linked else []),
    ]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True, env=env)
    took: dict[str, float] = json.loads(done.stdout)
    assert took["crawled"] == case.hosts * case.pages
    return took


def report(case: Case, taken: dict[str, list[dict[str, float]]]) -> None:
    middle = {
        kind: {what: median(run[what] for run in runs) for what in ("secs", "megabytes")}
        for kind, runs in taken.items()
    }
    ours, alone, off = (middle[kind] for kind in KINDS)
    memory = " | ".join(f"{kind['megabytes']:.0f} MB" for kind in (ours, alone, off))
    beside_alone, beside_off = ours["secs"] / alone["secs"], ours["secs"] / off["secs"]
    print(f"| {case.words} | {beside_alone:.2f} | {beside_off:.2f} | {memory} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--case", choices=tuple(CASES), action="append", help="may be repeated; default: all"
    )
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument(
        "--python",
        default=sys.executable,
        help="the interpreter that crawls, with the plugin that it has",
    )
    chosen = options.parse_args()
    print(TITLES)
    for name in chosen.case or CASES:
        report(CASES[name], measure(CASES[name], chosen.rounds, chosen.python))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", after_secs]:
            asyncio.run(serve(float(after_secs)))
        case ["crawl", kind, hosts, pages, port, *linked]:
            print(json.dumps(crawl(kind, int(hosts), int(pages), int(port), linked=bool(linked))))
        case _:
            main()
