"""`scrapy robots fleet`: who shares a Redis, and what they do."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.storage.redis import RedisStorage

from ..support.clock import DAY
from ..support.command import run, run_here
from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.entries import DOWN, RULES
from ..support.redis_server import redis_server
from ..support.redis_topologies import cluster, of_cluster  # type: ignore[attr-defined]
from ..support.web import Reply, Site


@pytest.fixture
def url() -> Iterator[str]:
    with redis_server() as server:
        yield server.url


def told(url: str, directory: Path) -> tuple[int, dict[str, Any]]:
    ended = run_here("fleet", "--redis", url, "--json", cwd=directory)
    assert ended.err == ""
    return ended.status, json.loads(ended.out)


def test_without_redis_py_it_says_what_to_install(tmp_path: Path) -> None:
    script = "import sys; sys.modules['redis'] = None; from scrapy_gbot_robots.__main__ import console; console()"
    ended = run("fleet", cwd=tmp_path, command=[sys.executable, "-c", script])
    needed = "GBOT_ROBOTS_STORAGE = 'redis' needs redis-py: pip install 'scrapy-gbot-robots[redis]'"
    assert ended == (2, "", f"gbot-robots fleet: error: {needed}\n")


def test_processes_their_leases_and_the_origins_are_told(url: str, tmp_path: Path) -> None:
    status, facts = told(url, tmp_path)
    assert (status, facts["processes"]) == (1, []), "nobody is there"
    assert facts["origins"] == {"known": 0, "unreachable": 0, "more": False, "leased": 0}
    with closing(RedisStorage(url)) as one, closing(RedisStorage(url)) as other:
        started = time.time() - 60 * DAY
        one.beat({"host": "a", "pid": 1, "spider": "s", "started": started, "fetched": 60 * DAY})
        other.beat({"host": "b", "pid": 2})
        one.put("https://a.example", Entry(RULES))
        one.put("https://b.example", Entry(RULES, DOWN))
        for storage, name in ((one, "c"), (one, "d"), (other, "e")):
            storage.lease(f"https://{name}.example", 60)
        status, facts = told(url, tmp_path)
        shown = run_here("fleet", "--redis", url, cwd=tmp_path).out
    assert status == 0
    assert facts["origins"] == {"known": 2, "unreachable": 1, "more": False, "leased": 3}
    assert sorted((row["host"], row["leases"]) for row in facts["processes"]) == [
        ("a", 2),
        ("b", 1),
    ]
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("a:1 ")]
    assert row == ["a:1", "s", "60", "d", "60.0", "2", "0", "0", "0", "0"], "one a second"
    assert "2 processes; 2 origins known, 1 unreachable; 3 leases" in shown


def test_of_many_origins_the_first_are_counted(url: str) -> None:
    with closing(RedisStorage(url)) as storage:
        for number in range(7):
            storage.put(f"https://{number}.example", Entry(RULES))
        for most, more in ((7, False), (6, True)):
            assert storage.fleet(most)["origins"] == {
                "known": most,
                "unreachable": 0,
                "more": more,
                "leased": 0,
            }


def test_what_strangers_wrote_does_no_harm(url: str, tmp_path: Path) -> None:
    import redis

    wrong = [b'{"started": "text", "fetched": []}', b'{"pages": 1%s}' % (b"0" * 999)]
    with redis.Redis.from_url(url) as client:
        client.lpush("gbot_robots:process:y", 1)
        for forged in (b"\xff\xfe", b"[]", b"[" * 4_000, b"nothing", b"x" * 10_000, *wrong):
            for kind in ("process", "lease", "entry"):
                client.set(f"gbot_robots:{kind}:x", forged)
            assert run_here("fleet", "--redis", url, cwd=tmp_path).status in {0, 1}, forged


def test_fleet_on_a_cluster_is_told(tmp_path: Path) -> None:
    with cluster() as servers:
        with closing(
            RedisStorage("cluster", make_client=lambda: of_cluster(Settings(servers.settings)))
        ) as storage:
            storage.beat({"host": "a", "pid": 1})
            for number in range(9):
                storage.put(f"https://{number}.example", Entry(RULES))
            storage.lease("https://c.example", 60)
        client, nodes = (
            servers.settings["GBOT_ROBOTS_REDIS_CLIENT"],
            ",".join(servers.settings["REDIS_CLUSTER"]),
        )
        ended = run_here(
            "fleet",
            "--json",
            "-s",
            f"GBOT_ROBOTS_REDIS_CLIENT={client}",
            "-s",
            f"REDIS_CLUSTER={nodes}",
            cwd=tmp_path,
        )
    facts = json.loads(ended.out)
    assert ended.status == 0
    assert facts["origins"] == {"known": 9, "unreachable": 0, "more": False, "leased": 1}
    assert [row["leases"] for row in facts["processes"]] == [1]


@in_reactor
async def test_crawl_says_that_it_lives(url: str) -> None:
    seen: list[dict[str, Any]] = []

    class Looks(Pages):
        def parse(self, response: Any, **kwargs: Any) -> None:
            super().parse(response)
            with closing(RedisStorage(url)) as storage:
                seen.extend(storage.fleet(1)["processes"])

    settings = {"GBOT_ROBOTS_STORAGE": "redis", "GBOT_ROBOTS_REDIS_URL": url}
    with Site({"/robots.txt": b"", "*": Reply(200, b"ok", after_secs=0.3)}) as site:
        crawler = await crawl(Looks, settings, urls=[site.url("/a")])
    assert pages(crawler).crawled
    (facts,) = seen
    assert facts["spider"] == "pages"
    assert isinstance(facts["pid"], int)
