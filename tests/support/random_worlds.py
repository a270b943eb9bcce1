"""Make worlds of loopback hosts for `random_crawls`.

A world contains the responses of each host, the settings of the crawl, and the pages that may be
fetched. All of this is made from a seed. Each host has an address of 127.0.0.0/8, and all hosts
have the port of one server, which counts the requests.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from .crawls import DOWNLOAD_HANDLERS
from .web import Asked, Content, Reply, Site, raw, redirect

# The settings of a crawl for each kind of scheduler or queue.
SCHEDULERS: dict[str, dict[str, Any]] = {
    "default": {},
    "strict": {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"},
    "named-aware": {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"},
    "named-priority": {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"},
    "own-aware": {"SCHEDULER_PRIORITY_QUEUE": "tests.support.schedulers.OwnAwareQueue"},
    "own-priority": {"SCHEDULER_PRIORITY_QUEUE": "tests.support.schedulers.OwnPriorityQueue"},
    "fifo": {"SCHEDULER": "tests.support.schedulers.Fifo"},
    "names-itself": {"SCHEDULER": "tests.support.schedulers.NamesItself"},
    "slotted": {"SCHEDULER": "tests.support.schedulers.Slotted"},
    "duck": {"SCHEDULER": "tests.support.schedulers.Duck"},
    **{
        f"redis-{name.lower()}": {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "SCHEDULER_QUEUE_CLASS": f"scrapy_redis.queue.{name}Queue",
        }
        for name in ("Fifo", "Lifo", "Priority")
    },
}
# The schedulers that lose their requests when the process ends.
WITHOUT_DISK = ("fifo", "names-itself", "slotted", "duck")

AGENTS = ("alphabot", "bravobot", "charliebot")
RULES = """\
user-agent: *
disallow: /no
disallow: /free

user-agent: bravobot
disallow: /no
disallow: /free
disallow: /some
"""
WELL = ("fine", "fine", "slow", "missing", "redirected")
ILL = ("flapping", "down", "silent", "reset")
LONG_WAIT, SHORT_WAIT = 30.0, 2.0
TIMEOUT = 3.0  # the setting GBOT_ROBOTS_TIMEOUT_SECS


@dataclass(frozen=True)
class Host:
    number: int
    kind: str  # an item of WELL or ILL, "dead" or "lost"
    # For how many seconds the robots.txt is delayed, or for how many seconds the host is ill.
    secs: float

    @property
    def name(self) -> str:
        return f"127.0.{1 + self.number // 200}.{1 + self.number % 200}"

    @property
    def is_well(self) -> bool:
        return self.kind in WELL


@dataclass(frozen=True)
class Page:
    """A page that the spider requests."""

    host: int
    path: str
    user_agent: str
    slot: str  # the download slot; "" for the slot that Scrapy chooses
    priority: int

    @property
    def is_allowed(self) -> bool:
        """Whether `RULES` allow the page."""
        if self.path.startswith("/no/"):
            return False
        return self.user_agent != "bravobot" or not self.path.startswith("/some/")


@dataclass
class World:
    seed: int
    scheduler: str
    hosts: list[Host]
    pages: list[Page]  # the pages that the spider's `start` yields
    settings: dict[str, Any]
    page_secs: float
    way: str = "asyncio"  # a key of `WAYS`, which selects a reactor
    # The pages that a handler of `spider_idle` adds.
    idle: list[Page] = field(default_factory=list)
    # The pages that callbacks download directly, past the scheduler.
    direct: list[Page] = field(default_factory=list)
    # SIGTERM is sent after this number of requests has reached the server; 0 means never.
    stop_after: int = 0
    workers: int = 1
    start_secs: float = 0  # the duration of the spider's `start`

    @property
    def uses_redis(self) -> bool:
        return self.scheduler.startswith("redis-")

    @classmethod
    def of(cls, seed: int, scheduler: str = "") -> World:
        dice = Random(seed)
        scheduler = scheduler or list(SCHEDULERS)[seed % len(SCHEDULERS)]
        uses_redis = scheduler.startswith("redis-")
        theme = dice.choice(("mixed", "mixed", "flapping", "outage"))
        has_lost = theme == "mixed" and dice.random() < 0.2
        hosts = _hosts(dice, theme, has_lost=has_lost)
        user_agents = AGENTS[: dice.choice((1, 1, 2, 3))]
        shared_slots = dice.choice((0, 0, 0, 1, 3))
        delay = dice.choice((0, 0, 0, 0.05)) if theme == "mixed" else 0
        number = dice.randrange(20, 60 if delay else 150)
        if theme != "mixed":
            number += 150
        some_pages = partial(_some_pages, dice, len(hosts), user_agents, shared_slots)
        storages = ("memory", "redis" if uses_redis else "sqlite")
        settings: dict[str, Any] = {
            **SCHEDULERS[scheduler],
            "CONCURRENT_REQUESTS": dice.choice((1, 2, 4, 8, 16)),
            "CONCURRENT_REQUESTS_PER_DOMAIN": dice.choice((1, 2, 8)),
            "DOWNLOAD_DELAY": delay,
            "GBOT_ROBOTS_MAX_AGE_SECS": dice.choice((0, 0, 1, 86400)),
            "GBOT_ROBOTS_TIMEOUT_SECS": TIMEOUT,
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": SHORT_WAIT if has_lost else LONG_WAIT,
            "GBOT_ROBOTS_STORAGE": dice.choice(storages),
        }
        has_jobdir = scheduler not in WITHOUT_DISK and dice.random() < 0.6
        if has_jobdir and not uses_redis:
            settings["JOBDIR"] = "job"
        stop_after = 0
        if has_jobdir and dice.random() < 0.7:
            stop_after = dice.randrange(len(hosts), number if theme == "mixed" else 60)
        page_secs = dice.choice((0, 0.02, 0.1))
        if theme != "mixed":
            # With this duration, pages overlap.
            page_secs = 1.6 / number * settings["CONCURRENT_REQUESTS"]
        way = dice.choice(("asyncio", "asyncio", "select", "reactorless"))
        start_secs = dice.choice((0, 0, 2))
        if way == "select" and stop_after:
            # Without asyncio, Scrapy logs an error if it has to cancel `start`.
            start_secs = 0
        return cls(
            seed=seed,
            scheduler=scheduler,
            way=way,
            hosts=hosts,
            pages=some_pages(number, ("yes", "yes", "yes", "no", "some", "free", "moved")),
            idle=some_pages(dice.choice((0, 0, 5)), ("yes", "no"), "idle-"),
            direct=some_pages(dice.choice((0, 0, 10)), ("yes", "no"), "direct-"),
            settings=settings,
            stop_after=stop_after,
            workers=dice.choice((1, 2)) if uses_redis else 1,
            start_secs=start_secs,
            page_secs=page_secs,
        )

    @classmethod
    def by_any_handler(cls, seed: int) -> World:
        """Return the world of `seed`, but with another reactor and download handler.

        Each third world runs without asyncio. The other worlds use any of Scrapy's download
        handlers.
        """
        world, dice = cls.of(seed), Random(f"handler {seed}")
        if dice.random() < 1 / 3:
            start_secs = 0 if world.stop_after else world.start_secs
            return replace(world, way="select", start_secs=start_secs)
        # `CrawlerProcess` makes the download handlers before its event loop runs. Scrapy's handler
        # for aiohttp needs a running loop.
        way, name = dice.choice(
            (
                ("asyncio", "http11"),
                ("asyncio", "httpx"),
                ("reactorless", "httpx"),
                ("reactorless", "aiohttp"),
            )
        )
        handler = DOWNLOAD_HANDLERS[name]
        handlers = dict.fromkeys(("http", "https"), handler)
        return replace(world, way=way, settings={**world.settings, "DOWNLOAD_HANDLERS": handlers})


def _hosts(dice: Random, theme: str, *, has_lost: bool) -> list[Host]:
    """Return some hosts.

    With the theme "mixed", they are of different kinds. With any other theme, all hosts except the
    first are of one kind. The first host is always well, so that at least one server answers.
    """
    hosts = [Host(0, "fine", 0.0)]
    if theme == "mixed":
        kinds = [*WELL, *ILL, *ILL, *(["lost", "lost"] if has_lost else [])]
        hosts += [
            Host(number, dice.choice(kinds), dice.uniform(0.2, 2.5))
            for number in range(1, dice.randrange(2, 9))
        ]
        if dice.random() < 0.2:
            hosts.append(Host(len(hosts), "dead", 0.0))
        return hosts
    kind, secs = ("flapping", 0.0) if theme == "flapping" else ("down", dice.uniform(2, 6))
    return hosts + [Host(number, kind, secs) for number in range(1, dice.randrange(8, 20))]


def _some_pages(
    dice: Random,
    hosts: int,
    user_agents: tuple[str, ...],
    slots: int,
    number: int,
    kinds: tuple[str, ...],
    prefix: str = "",
) -> list[Page]:
    """Return `number` pages. Each page has a different URL."""
    pages = []
    for name in range(number):
        path = f"/{dice.choice(kinds)}/{prefix}{name}"
        slot = f"slot{dice.randrange(slots)}" if slots else ""
        priority = dice.choice((0, 0, 0, 1, -1))
        pages.append(Page(dice.randrange(hosts), path, dice.choice(user_agents), slot, priority))
    return pages


class Server(Site):
    """A server for all hosts of a world, on one port of loopback.

    It counts the pages that are under way.
    """

    def __init__(self, world: World) -> None:
        super().__init__({}, host="0.0.0.0")
        self.world = world
        # If this is true, no host is down, silent or reset, whatever the time is.
        self.is_well = False
        # The number of pages that are under way now, and the greatest number so far, for each
        # worker and for each slot of a worker.
        self.under_way, self.most = Counter[str](), Counter[str]()
        self._hosts = {host.name: host for host in world.hosts}
        self._robots = Counter[str]()  # how often the robots.txt of each host was requested
        self._ill_since: dict[str, float] = {}
        self._counting = threading.Lock()

    def _answer(self, asked: Asked) -> Content:
        if asked.path.startswith("/rules/"):
            return RULES
        if asked.path == "/robots.txt":
            return self._robots_txt(self._hosts[asked.host])
        return self._page(asked.headers)

    def _page(self, headers: Mapping[str, str]) -> Content:
        worker = headers.get("x-worker", "")
        keys = [f"{worker} {headers.get('x-slot', '')}"]
        if "x-direct" not in headers:  # Scrapy's limits do not apply to direct requests.
            keys.append(worker)
        with self._counting:
            self.under_way.update(keys)
            self.most |= self.under_way
        time.sleep(self.world.page_secs)
        with self._counting:
            self.under_way.subtract(keys)
        return Reply(200, b"<html>page</html>", {"Content-Type": "text/html"})

    def _robots_txt(self, host: Host) -> Content:
        with self._counting:
            self._robots[host.name] += 1
            times = self._robots[host.name]
            began = self._ill_since.setdefault(host.name, time.monotonic())
        is_ill = not self.is_well and time.monotonic() - began < host.secs
        match host.kind:
            case "slow":
                return Reply(200, RULES.encode(), after_secs=host.secs / 2)
            case "missing":
                return Reply(404)
            case "redirected":
                return redirect(
                    f"http://{self.world.hosts[0].name}:{self.port}/rules/{host.number}"
                )
            case "lost":
                return Reply(503)
            case "flapping" if times % 2:
                return Reply(503)
            case "down" if is_ill:
                return Reply(503)
            case "silent" if is_ill:
                return Reply(200, RULES.encode(), after_secs=2 * TIMEOUT)
            case "reset" if is_ill:
                return raw()
        return RULES
