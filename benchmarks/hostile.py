"""Peak memory of a crawl that meets a hostile robots.txt, beside a crawl that meets an ordinary one.

The server is in this process, and each crawl in its own. Run it as `python -m benchmarks.hostile`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys

KINDS = ("ordinary", "gzip bomb of 1 GB", "endless")


def child(url: str, addon: str) -> None:
    from twisted.internet import asyncioreactor

    asyncioreactor.install()  # type: ignore[no-untyped-call]
    from twisted.internet.defer import Deferred
    from twisted.internet.task import react

    from tests.support.crawls import Pages, crawl, pages

    async def run() -> None:
        settings = {} if addon == "here" else {"ROBOTSTXT_OBEY": True, "DOWNLOAD_TIMEOUT": 10}
        crawler = await crawl(
            Pages, settings, addon=addon == "here", urls=[f"{url}/page", f"{url}/free"]
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(
            json.dumps([sorted(page.rpartition("/")[2] for page in pages(crawler).crawled), peak])
        )

    react(lambda _: Deferred.fromCoroutine(run()))


def main() -> None:
    from tests.fetching.scenarios import RULES, bomb, coded, endless
    from tests.support.web import Site

    robots = dict(zip(KINDS, (RULES, coded("gzip", bomb()), endless), strict=True))
    print(f"{'robots.txt':20} {'with':8} {'crawled':16} {'peak':>10} {'over an ordinary one':>22}")
    for addon in ("here", "Scrapy"):
        base = 0
        for kind in KINDS:
            with Site({"/robots.txt": robots[kind], "*": b"ok"}) as site:
                command = [
                    sys.executable,
                    "-W",
                    "ignore",
                    "-m",
                    "benchmarks.hostile",
                    site.url(""),
                    addon,
                ]
                out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            crawled, peak = json.loads(out.splitlines()[-1])
            base = base or peak
            print(
                f"{kind:20} {addon:8} {','.join(crawled):16} {peak / 2**20:6.1f} MiB {(peak - base) / 2**20:18.1f} MiB"
            )


if __name__ == "__main__":
    child(*sys.argv[1:]) if sys.argv[1:] else main()
