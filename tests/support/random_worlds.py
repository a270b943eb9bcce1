"""Worlds of loopback hosts for `random_crawls`: what each host answers, how it is crawled, and what may be fetched.

All of a world follows from its seed. Each host is an address of 127.0.0.0/8 at the one port of a server that counts.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from threading import Lock
from typing import Any

from .web import Asked, Content, Reply, Site, raw, redirect

SCHEDULERS: dict[str, dict[str, Any]] = {  # by what a crawl has, its settings
    "default": {},
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
WITHOUT_DISK = ("fifo", "names-itself", "slotted", "duck")  # what they hold ends with the process

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
LONG_WAIT = 30.0
TIMEOUT = 3.0  # GBOT_ROBOTS_TIMEOUT_SECS


@dataclass(frozen=True)
class Host:
    number: int
    kind: str  # one of WELL or ILL, "dead" or "lost"
    secs: float  # how long its robots.txt takes, or is ill

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
    agent: str
    slot: str  # "": Scrapy's own
    priority: int

    @property
    def is_allowed(self) -> bool:
        """Whether `RULES` allow it."""
        if self.path.startswith("/no/"):
            return False
        return self.agent != "bravobot" or not self.path.startswith("/some/")


@dataclass
class World:
    scheduler: str
    hosts: list[Host]
    pages: list[Page]  # that `start` yields
    settings: dict[str, Any]
    seed: int = 0
    way: str = "asyncio"  # a reactor
    idle: list[Page] = field(default_factory=list)  # that a handler of `spider_idle` adds
    direct: list[Page] = field(default_factory=list)  # that callbacks download past the scheduler
    stop_after: int = 0  # SIGTERM when so many requests have come to the servers; 0: never
    workers: int = 1
    page_secs: float = 0.05

    @property
    def waits_long(self) -> bool:
        """Whether requests wait for longer than any host of it is ill, but those that are lost."""
        return bool(self.settings["GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"] >= LONG_WAIT)

    @property
    def uses_redis(self) -> bool:
        return self.scheduler.startswith("redis-")

    @classmethod
    def of(cls, seed: int, scheduler: str = "") -> World:
        dice = Random(seed)
        scheduler = scheduler or list(SCHEDULERS)[seed % len(SCHEDULERS)]
        uses_redis = scheduler.startswith("redis-")
        has_lost = dice.random() < 0.2
        hosts = _hosts(dice, has_lost=has_lost)
        agents = AGENTS[: dice.choice((1, 1, 2, 3))]
        shared_slots = dice.choice((0, 0, 0, 1, 3))
        number = dice.randrange(20, 300)
        makes = _Pages(dice, len(hosts), agents, shared_slots)
        storages = ("memory", "redis" if uses_redis else "sqlite")
        settings: dict[str, Any] = {
            **SCHEDULERS[scheduler],
            "CONCURRENT_REQUESTS": dice.choice((1, 2, 4, 8, 16)),
            "CONCURRENT_REQUESTS_PER_DOMAIN": dice.choice((1, 2, 8)),
            "DOWNLOAD_DELAY": 0,
            "GBOT_ROBOTS_MAX_AGE_SECS": dice.choice((0, 0, 1, 86400)),
            "GBOT_ROBOTS_TIMEOUT_SECS": TIMEOUT,
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 2.0 if has_lost else LONG_WAIT,
            "GBOT_ROBOTS_STORAGE": dice.choice(storages),
        }
        has_jobdir = scheduler not in WITHOUT_DISK and dice.random() < 0.6
        if has_jobdir and not uses_redis:
            settings["JOBDIR"] = "job"
        stop_after = 0
        if has_jobdir and dice.random() < 0.7:
            stop_after = dice.randrange(len(hosts), number)
        return cls(
            seed=seed,
            scheduler=scheduler,
            way=dice.choice(("asyncio", "asyncio", "select", "reactorless")),
            hosts=hosts,
            pages=makes.some(number, ("yes", "yes", "yes", "no", "some", "free", "moved")),
            idle=makes.some(dice.choice((0, 0, 5)), ("yes", "no"), "idle-"),
            direct=makes.some(dice.choice((0, 0, 10)), ("yes", "no"), "direct-"),
            settings=settings,
            stop_after=stop_after,
            workers=dice.choice((1, 2)) if uses_redis else 1,
            page_secs=dice.choice((0, 0.02, 0.1)),
        )


def _hosts(dice: Random, *, has_lost: bool) -> list[Host]:
    """Some hosts of all kinds. The first is always well, so that a server answers."""
    kinds = [*WELL, *ILL, *ILL, *(["lost", "lost"] if has_lost else [])]
    hosts = [Host(0, "fine", 0.0)]
    hosts += [
        Host(number, dice.choice(kinds), dice.uniform(0.2, 2.5))
        for number in range(1, dice.randrange(2, 20))
    ]
    if dice.random() < 0.2:
        hosts.append(Host(len(hosts), "dead", 0.0))
    return hosts


class _Pages:
    """Makes pages, each with a URL of its own."""

    def __init__(self, dice: Random, hosts: int, agents: tuple[str, ...], slots: int) -> None:
        self._dice = dice
        self._hosts = hosts
        self._agents = agents
        self._slots = slots

    def some(self, number: int, kinds: tuple[str, ...], prefix: str = "") -> list[Page]:
        return [self._one(self._dice.choice(kinds), f"{prefix}{name}") for name in range(number)]

    def _one(self, kind: str, name: str) -> Page:
        dice = self._dice
        slot = f"slot{dice.randrange(self._slots)}" if self._slots else ""
        priority = dice.choice((0, 0, 0, 1, -1))
        host = dice.randrange(self._hosts)
        return Page(host, f"/{kind}/{name}", dice.choice(self._agents), slot, priority)


class Server(Site):
    """The hosts of a world, on one port of loopback."""

    def __init__(self, world: World) -> None:
        super().__init__({}, host="0.0.0.0")
        self.world = world
        self.now = self.most = 0  # pages under way, but those that go past the scheduler
        self.is_well = False  # from then on no host is down, silent or reset, whatever its time
        self._counting = Lock()
        self._hosts = {host.name: host for host in world.hosts}
        self._robots = Counter[str]()  # how often each host's was asked for
        self._ill_since: dict[str, float] = {}

    def _answer(self, asked: Asked) -> Content:
        if asked.path == "/robots.txt":
            return self._robots_txt(self._hosts[asked.host])
        if asked.path.startswith("/rules/"):
            return RULES
        counts = "x-direct" not in asked.headers
        with self._counting:
            self.now += counts
            self.most = max(self.most, self.now)
        time.sleep(self.world.page_secs)
        with self._counting:
            self.now -= counts
        return Reply(200, b"<html>page</html>", {"Content-Type": "text/html"})

    def _robots_txt(self, host: Host) -> Content:
        self._robots[host.name] += 1
        began = self._ill_since.setdefault(host.name, time.monotonic())
        is_ill = not self.is_well and time.monotonic() - began < host.secs
        match host.kind:
            case "slow":
                return Reply(200, RULES.encode(), after_secs=host.secs / 2)
            case "missing":
                return Reply(404)
            case "redirected":
                well = self.world.hosts[0].name
                return redirect(f"http://{well}:{self.port}/rules/{host.number}")
            case "lost":
                return Reply(503)
            case "flapping" if self._robots[host.name] % 2:
                return Reply(503)
            case "down" if is_ill:
                return Reply(503)
            case "silent" if is_ill:
                return Reply(200, RULES.encode(), after_secs=2 * TIMEOUT)
            case "reset" if is_ill:
                return raw()
        return RULES
