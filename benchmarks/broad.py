"""A broad crawl's questions without the crawl: `python -m benchmarks.broad --storage sqlite --origins 100000`.

The run asks the look-up layer with a real storage. In place of the network, a stub returns a random robots.txt after 20
milliseconds; the bodies have the sizes of real ones. 500 origins are in work at a time, each gets ten questions, and some
questions are about an earlier origin.

The run prints memory over time, questions per second, and where the answers came from. It also prints how late a coroutine
that only sleeps wakes up: for that long, something blocked the reactor.

`--per-second` sets a pace, as a crawl has one. Without it the next question comes as soon as one is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from scrapy_gbot_robots import Origin
    from scrapy_gbot_robots.answers.lookup import Lookup
    from scrapy_gbot_robots.policy.outcome import Outcome

TICK_SECS = 0.001
FETCH_SECS = 0.02
IN_WORK = 500  # origins at a time
ASKING = 100  # at a time
WORDS = ("wp-admin", "search", "cart", "user", "tag*", "api", "feed", "login", "*.pdf$", "print")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--storage", default="sqlite", choices=("memory", "sqlite", "redis"))
    options.add_argument("--origins", type=int, default=100_000)
    options.add_argument("--each", type=int, default=10, help="questions about each origin")
    options.add_argument(
        "--again", type=float, default=0.02, help="share of questions about an earlier origin"
    )
    options.add_argument(
        "--per-second", type=float, default=0, help="questions; 0: as fast as they are answered"
    )
    options.add_argument("--cache-origins", type=int, default=10_000)
    logging.disable(logging.WARNING)  # each unreachable origin causes one
    asyncio.run(crawl(options.parse_args()))


async def crawl(chosen: argparse.Namespace) -> None:
    from scrapy.utils.test import get_crawler

    from scrapy_gbot_robots.answers.lookup import Lookup
    from scrapy_gbot_robots.settings import GbotSettings

    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        named: dict[str, Any] = {
            "GBOT_ROBOTS_STORAGE": chosen.storage,
            "GBOT_ROBOTS_SQLITE_PATH": f"{directory}/robots.sqlite",
            "GBOT_ROBOTS_CACHE_ORIGINS": chosen.cache_origins,
        }
        if chosen.storage == "redis":
            from tests.support.redis_server import redis_server

            named["REDIS_URL"] = stack.enter_context(redis_server()).url
        crawler = get_crawler(settings_dict=named)
        settings = GbotSettings.of(crawler.settings)
        lookup = Lookup(crawler, settings, lambda *_: Hat())  # type: ignore[arg-type]
        await ask_all(lookup, chosen)
        await lookup.close()
        for name, count in sorted(crawler.stats.get_stats().items()):
            if name.startswith("gbot_robots/lookup/") or "error" in name:
                print(f"  {name:32} {count:12,}")
        if chosen.storage == "sqlite":
            print(
                f"  the file has {sum(each.stat().st_size for each in Path(directory).iterdir()) / 2**20:,.0f} MiB"
            )


async def ask_all(lookup: Lookup, chosen: argparse.Namespace) -> None:
    from scrapy import Request

    from scrapy_gbot_robots import Origin, UserAgent

    user_agent = UserAgent.of("benchbot/1.0")
    request = Request("https://any.example/")
    asked = allowed = 0
    total = chosen.origins * chosen.each
    urls = questions(chosen.origins, chosen.each, chosen.again)
    ticker = Ticker()
    ticking = asyncio.create_task(ticker.tick())
    await asyncio.sleep(1)
    print(
        f"{chosen.storage}, {chosen.origins:,} origins; idle: {memory() / 2**20:.0f} MiB, {ticker.lateness()}",
        flush=True,
    )
    ticker.late.clear()
    began, cpu_began = time.monotonic(), time.process_time()

    pending: dict[Origin, asyncio.Future[Any]] = {}

    async def ask() -> None:
        nonlocal asked, allowed
        for url in urls:
            origin = Origin.of(url)
            answer = lookup.take_answer(origin, user_agent, request)
            if answer is None:
                if origin not in pending:
                    pending[origin] = asyncio.get_running_loop().create_future()
                    lookup.look_up(origin, [user_agent], request, pending[origin].set_result)
                answer = await pending[origin]
                pending.pop(origin, None)
            allowed += answer.allowed(url, user_agent)
            asked += 1
            if asked % (total // 10) == 0:
                print(f"  {asked:12,} questions, {memory() / 2**20:6.0f} MiB", flush=True)
            if chosen.per_second:
                await asyncio.sleep(max(0.0, began + asked / chosen.per_second - time.monotonic()))

    await asyncio.gather(*(ask() for _ in range(ASKING)))
    secs, cpu_secs = time.monotonic() - began, time.process_time() - cpu_began
    ticking.cancel()
    print(
        f"  {asked / secs:,.0f} questions and {chosen.origins / secs:,.0f} new origins per second, {allowed:,} allowed"
    )
    print(
        f"  {1e6 * cpu_secs / chosen.origins:,.0f} microseconds of CPU per new origin, all its questions included"
    )
    print(f"  the reactor was blocked: {ticker.lateness()}")


class Ticker:
    """Sleeps a millisecond at a time, and remembers by how much each sleep was too long."""

    def __init__(self) -> None:
        self.late: list[float] = []

    async def tick(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_SECS)
            self.late.append(time.perf_counter() - began - TICK_SECS)

    def lateness(self) -> str:
        late = sorted(self.late)
        shares = ", ".join(
            f"{share}% {1000 * late[int(share / 100 * (len(late) - 1))]:.1f}"
            for share in (50, 99, 99.9)
        )
        return f"{shares}, at most {1000 * late[-1]:.1f} ms ({len(late):,} ticks)"


class Hat:
    """A fetcher that sends no request and draws a robots.txt."""

    def __init__(self) -> None:
        self._dice = random.Random(1)
        self.bodies = [self._body() for _ in range(2000)]

    async def fetch(self, origin: Origin, request: Request | None = None) -> Outcome:
        from scrapy_gbot_robots.policy.outcome import Fetched, Unavailable, Unreachable

        await asyncio.sleep(FETCH_SECS)
        lot = self._dice.random()
        if lot < 0.05:
            return Unreachable("connection refused")
        if lot < 0.25:
            return Unavailable(404, origin.robots_url, "HTTP 404")
        return Fetched(200, origin.robots_url, self._dice.choice(self.bodies))

    def _body(self) -> bytes:
        """Half of them are under 600 bytes, one in a hundred is over 70,000."""
        dice, length = self._dice, 0
        size = min(dice.lognormvariate(6.35, 2.05), 500_000)
        lines = ["Sitemap: https://example.com/sitemap.xml", "User-agent: *"]
        while length < size:
            path = "/".join(dice.choices(WORDS, k=dice.randrange(1, 4)))
            lines.append(
                f"{dice.choice(('Disallow', 'Disallow', 'Allow'))}: /{path}/{dice.randrange(1000)}"
            )
            if dice.random() < 0.04:
                lines.append(f"\nUser-agent: {dice.choice(('googlebot', 'bingbot', 'ccbot'))}")
            length += len(lines[-1])
        return "\n".join(lines).encode()


def questions(origins: int, each: int, again: float) -> Iterator[str]:
    """Yield `each` URLs of each of the origins; a share `again` is of an earlier origin instead."""
    dice = random.Random(2)
    left = dict.fromkeys(range(min(IN_WORK, origins)), each)
    in_work, comes = list(left), len(left)
    while in_work:
        place = dice.randrange(len(in_work))
        number = in_work[place]
        if dice.random() < again:
            number = dice.randrange(comes)
        else:
            left[number] -= 1
            if not left[number]:
                del left[number]
                if comes < origins:
                    in_work[place] = comes
                    left[comes] = each
                    comes += 1
                else:
                    in_work[place] = in_work[-1]
                    in_work.pop()
        yield f"https://host{number}.example.com/{dice.choice(WORDS)}/{dice.randrange(1000)}"


def memory() -> int:
    """Return how many bytes of memory this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


if __name__ == "__main__":
    main()
