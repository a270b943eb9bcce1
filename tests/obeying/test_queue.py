"""The scheduler's queue and the gates in it, without a crawl: what is handed out, in which order, and what is looked up."""

from __future__ import annotations

import gc
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, islice, pairwise
from pathlib import Path
from socket import socket
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue, PickleLifoDiskQueue
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import (
    GbotRobotsTxtMiddleware,
    Origin,
    OriginPriorityQueue,
    StrictOriginPriorityQueue,
)
from scrapy_gbot_robots.core.crawlers import Crawler
from scrapy_gbot_robots.engine import DownloadSlots
from scrapy_gbot_robots.meta import PROBE
from scrapy_gbot_robots.obeying import answer as answer_module
from scrapy_gbot_robots.obeying import gates, lookup, queue
from scrapy_gbot_robots.obeying.answer import CachedAnswer, Source
from scrapy_gbot_robots.obeying.gate import State as GateState
from scrapy_gbot_robots.obeying.subject_to_robots import returned
from scrapy_gbot_robots.policy.outages import Decision, Entry, Outage, Policy, State, renew
from scrapy_gbot_robots.policy.outcome import Failure, Unreachable, failed

from ..support.systems import needs_posix

AGENT = Crawler.of("testbot")
WAIT = 60.0
SLOT = {"download_slot": "s"}
STARTS = {"SCHEDULER_START_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}


class World:
    """A scheduler with the queue in it, a downloader that only counts, look-ups that the test ends, and a clock."""

    opened: ClassVar[list[World]] = []

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, kind: type = OriginPriorityQueue, **settings: Any
    ) -> None:
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: 1e9 + self.now)
        monkeypatch.setattr(gates, "time", clock)
        monkeypatch.setattr(lookup, "time", clock)
        # The test ticks.
        idle = SimpleNamespace(start=lambda *args, **named: None, running=False)
        monkeypatch.setattr(gates, "create_looping_call", lambda look: idle)
        monkeypatch.setattr(queue, "time", clock)
        monkeypatch.setattr(answer_module, "time", clock)
        self.crawler: Any = get_crawler(
            settings_dict={"SCHEDULER_PRIORITY_QUEUE": kind, **STARTS, **settings}
        )
        self.known: dict[Origin, CachedAnswer] = {}
        self.asked: dict[
            str, Callable[[CachedAnswer | None], None]
        ] = {}  # look-ups under way, by host
        self.requests: list[Request] = []  # for which they were started
        self.order: list[str] = []
        middleware = GbotRobotsTxtMiddleware.__new__(GbotRobotsTxtMiddleware)
        middleware.gates = self.gates = gates.Gates(self.crawler, self, self, WAIT)  # type: ignore[arg-type]
        self.slots: dict[str, Any] = {}
        downloader = SimpleNamespace(
            slots=self.slots,
            active=set(),
            get_slot_key=lambda request: (
                request.meta.get("download_slot") or urlparse_cached(request).hostname
            ),
            middleware=SimpleNamespace(
                middlewares=[middleware] if settings.get("obeys", True) else []
            ),
        )
        self.crawler.engine = SimpleNamespace(downloader=downloader)  # type: ignore[assignment, unused-ignore]
        self.scheduler: Any = Scheduler.from_crawler(self.crawler)
        self.crawler.spider = self.crawler._create_spider("any")
        self.scheduler.open(self.crawler.spider)
        self.opened.append(self)
        self.gates.start()

    # What the gates ask.

    def agent(self, request: object) -> object:
        return AGENT

    def cached(self, origin: Origin, agent: object) -> CachedAnswer | None:
        answer = self.known.get(origin)
        return answer if answer is not None and 1e9 + self.now < answer.ask_at else None

    def look_up(
        self,
        origin: Origin,
        agent: object,
        request: Request,
        then: Callable[[CachedAnswer | None], None],
    ) -> None:
        host = str(origin).replace("http://", "")
        assert host not in self.asked
        self.asked[host] = then
        self.requests.append(request)
        self.order.append(host)

    # What the tests do.

    def push(self, *urls: str, **more: Any) -> None:
        for url in urls:
            assert self.scheduler.enqueue_request(Request(f"http://{url}", **more))

    def pull(self, most: int = 10_000) -> list[str]:
        """Take out requests until none is handed out."""
        found: list[str] = []
        while len(found) < most and (request := self.scheduler.next_request()) is not None:
            found.append(request.url.partition("://")[2])
        return found

    def pull_with_answers(self, most: int = 10_000) -> Iterator[str]:
        """Take out requests, a few at a time, and answer each look-up, until none is left."""
        while self.scheduler.has_pending_requests():
            for host in list(self.asked):
                self.end(host)
            yield from self.pull(most)
            self.gates.nothing_to_hand_out()

    def end(
        self,
        host: str,
        state: State = State.FULL_ALLOW,
        secs: float = 86400.0,
        status: int | None = 200,
        outage: Outage | None = None,
    ) -> None:
        """End the look-up of `host`; the answer is good for `secs`."""
        origin = Origin.of(f"http://{host}/")
        now = 1e9 + self.now
        is_temporary = state is State.FULL_DISALLOW
        again_at = now + secs
        decision = Decision(state, "because", is_temporary, again_at, again_at, outage=outage)
        answer = CachedAnswer(
            origin, decision, status, Source.FETCHED, before=self.known.get(origin)
        )
        self.known[origin] = answer
        self.asked.pop(host)(answer)

    def fails(
        self,
        host: str,
        secs: float = 7.0,
        status: int | None = 503,
        outcome: Unreachable | None = None,
    ) -> None:
        """End the look-up of `host`: its robots.txt is unreachable, and may be asked again after `secs`."""
        before = self.known.get(Origin.of(f"http://{host}/"))
        entry = Entry(None, before.outage if before else None)
        outcome = outcome or Unreachable("because", status)
        outage = renew(entry, outcome, 1e9 + self.now, Policy()).outage
        self.end(host, State.FULL_DISALLOW, secs, outcome.status, outage)

    def waits(self, secs: float) -> None:
        self.now += secs
        self.gates.tick()

    def stat(self, name: str) -> int:
        return int(self.crawler.stats.get_value(f"gbot_robots/{name}", 0))


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while World.opened:
        World.opened.pop().scheduler.close("finished")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


@pytest.fixture(params=[OriginPriorityQueue, StrictOriginPriorityQueue])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world with either queue."""
    return World(monkeypatch, request.param)


def test_requests_are_handed_out_when_their_origin_is_settled(either: World) -> None:
    either.push("a.x/1", "a.x/2", "b.x/1")
    either.scheduler.enqueue_request(again := Request("http://a.x/1", dont_filter=True))
    either.scheduler.enqueue_request(again)  # the same object twice is two requests
    assert (either.pull(), len(either.scheduler), either.stat("waiting")) == ([], 5, 5)
    assert either.scheduler.has_pending_requests()
    either.end("b.x")
    assert (either.pull(), either.stat("waiting")) == (["b.x/1"], 4)
    either.end("a.x")
    either.push("a.x/3")
    assert either.pull() == ["a.x/3", "a.x/1", "a.x/1", "a.x/2", "a.x/1"]
    assert (len(either.scheduler), either.stat("waiting"), either.stat("waiting_most")) == (0, 0, 5)
    assert either.order == ["a.x", "b.x"]


def test_requests_without_a_robots_txt_do_not_wait_beside_others_of_their_host(
    either: World,
) -> None:
    either.push("a.x/1", "a.x/2")
    either.push("a.x/free", meta={"dont_obey_robotstxt": True})
    assert either.pull() == ["a.x/free"]
    assert either.scheduler.enqueue_request(Request("data:,x"))
    assert either.scheduler.next_request().url == "data:,x"
    assert (either.pull(), len(either.scheduler)) == ([], 2)


@pytest.mark.parametrize("kind", [OriginPriorityQueue, StrictOriginPriorityQueue])
@pytest.mark.parametrize("memory", [LifoMemoryQueue, FifoMemoryQueue])
def test_order_within_an_origin_is_exactly_scrapys(
    kind: type, memory: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(7)
    ours = World(monkeypatch, kind, SCHEDULER_MEMORY_QUEUE=memory)
    alone = World(monkeypatch, DownloaderAwarePriorityQueue, SCHEDULER_MEMORY_QUEUE=memory)
    for number in range(500):
        more = {
            "priority": dice.randrange(-2, 3),
            "meta": {"is_start_request": dice.random() < 0.3},
        }
        for each in (ours, alone):
            each.push(f"a.x/{number}", **more)
        if number == 100:
            ours.end("a.x")
        if number >= 100 and dice.random() < 0.5:
            pulled = dice.randrange(4)
            assert ours.pull(pulled) == alone.pull(pulled)
    assert ours.pull() == alone.pull()


def test_slots_with_the_fewest_requests_come_first_and_others_take_turns(world: World) -> None:
    world.push(*(f"{host}.x/{number}" for host in "abc" for number in range(3)))
    for host in "abc":
        world.end(f"{host}.x")
    assert [url[0] for url in world.pull(3)] == ["a", "b", "c"]
    world.slots.update(
        {
            "a.x": SimpleNamespace(active="1"),
            "b.x": SimpleNamespace(active="12"),
            "c.x": SimpleNamespace(active="1"),
        }
    )
    assert [url[0] for url in world.pull(3)] == ["a", "c", "a"]
    world.slots["b.x"].active = ""
    assert [url[0] for url in world.pull(2)] == ["b", "b"]


def test_no_slot_is_looked_at_again_and_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Counter[str]()

    def active(slots: DownloadSlots, key: str) -> int:
        looks[key] += 1
        return 0

    hosts = [f"h{number}.x" for number in range(300)]
    for host in hosts:
        origin = Origin.of(f"http://{host}/")
        world.known[origin] = CachedAnswer(
            origin, Decision(State.FULL_ALLOW, "", False, 9e9, 9e9), 200
        )
    world.push(*(f"{host}/{number}" for number in range(4) for host in hosts))
    monkeypatch.setattr(DownloadSlots, "active", active)
    pulled = world.pull()
    assert len(pulled) == 1200
    assert looks.total() == 1200
    assert all(one.partition("/")[0] != other.partition("/")[0] for one, other in pairwise(pulled))


def test_origins_in_one_slot_do_not_wait_for_each_other(either: World) -> None:
    hosts = [f"h{number}.x" for number in range(15)]
    either.push(
        *(f"{host}/{number}" for number in range(3) for host in hosts),
        meta={"download_slot": "a proxy"},
    )
    either.push("h1.x/other", "h1.x:81/other")
    either.scheduler.enqueue_request(Request("https://h1.x/other"))
    for host in hosts[1:]:
        either.end(host)
    pulled = either.pull()
    assert sorted(pulled) == sorted(
        [f"{host}/{number}" for number in range(3) for host in hosts[1:]] + ["h1.x/other"]
    )
    assert {url.partition("/")[0] for url in pulled[:14]} >= set(hosts[2:13])  # by turns


def test_better_priority_has_its_turn_first_in_a_slot(world: World) -> None:
    world.push("a.x/1", "b.x/1", meta={"download_slot": "s"})
    world.end("a.x")
    world.end("b.x")
    world.push("b.x/urgent", meta={"download_slot": "s"}, priority=5)
    assert world.pull() == ["b.x/urgent", "a.x/1", "b.x/1"]


def test_better_priority_has_its_turn_first_in_a_slot_when_a_crawl_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, JOBDIR=str(tmp_path))
    world.push("a.x/1", meta=SLOT)
    world.push("b.x/urgent", meta=SLOT, priority=5)
    world.scheduler.close("finished")
    again = World(monkeypatch, JOBDIR=str(tmp_path))
    again.end("a.x")
    again.end("b.x")
    assert again.pull() == ["b.x/urgent", "a.x/1"]


def test_urgent_request_gives_its_line_no_second_turn(either: World) -> None:
    either.push(*(f"{host}.x/{number}" for host in "ab" for number in range(3)), meta=SLOT)
    either.end("a.x")
    either.end("b.x")
    either.push("a.x/urgent", priority=5, meta=SLOT)
    urgent, *others = either.pull()
    assert urgent == "a.x/urgent"
    assert [url[0] for url in others] == [*"bababa"]


def test_line_of_several_origins_stands_at_the_gate_of_its_next_request(world: World) -> None:
    long_name = {"download_slot": "s" * 300}
    world.push("a.x/1", meta=long_name)
    assert (world.pull(), world.order) == ([], ["a.x"])
    world.push("b.x/urgent", priority=5, meta=long_name)
    world.end("a.x")
    assert (world.pull(), world.order, world.stat("waiting")) == ([], ["a.x", "b.x"], 1)
    world.end("b.x")
    assert (world.pull(), world.stat("waiting")) == (["b.x/urgent", "a.x/1"], 0)
    assert world.gates._gates == {}


def test_strict_queue_knows_priorities_across_hosts_and_looks_up_the_urgent_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup, "FEWEST_AT_A_TIME", 1)
    world = World(monkeypatch, StrictOriginPriorityQueue, CONCURRENT_REQUESTS=1)
    for number in range(5):
        world.push(f"h{number}.x/1", f"h{number}.x/2", priority=number)
    for number in (0, 4, 3, 2, 1):
        world.end(f"h{number}.x")
        world.gates.nothing_to_hand_out()
    assert [url[1] for url in world.pull()] == [*"4433221100"]


# Look-ups.


def test_look_ups_run_at_a_time_as_many_as_requests_may_and_not_ahead_of_pages(
    world: World,
) -> None:
    hosts = [f"h{number}.x" for number in range(60)]
    world.push(*(f"{host}/" for host in hosts))
    assert world.order == hosts[:16]
    for host in hosts[:16]:
        world.end(host)
    assert world.order == hosts[:16]  # none of their pages has been taken
    assert len(world.pull(5)) == 5
    assert world.order == hosts[: 16 + 5]
    world.gates.nothing_to_hand_out()  # as when the delay of their slots keeps the other pages back
    assert world.order == hosts[: 16 + 16]


def test_look_ups_that_take_longer_than_usual_do_not_count(world: World) -> None:
    hosts = [f"h{number}.x" for number in range(100)]
    world.push(*(f"{host}/" for host in hosts))
    world.now += 0.1
    for host in hosts[1:16]:
        world.end(host)
    world.pull()
    world.waits(0.2)
    assert len(world.asked) == 16
    world.waits(0.2)
    assert len(world.asked) == 32


def test_late_look_ups_that_end_together_let_none_run_ahead_of_pages(world: World) -> None:
    hosts = [f"h{number}.x" for number in range(100)]
    world.push(*(f"{host}/" for host in hosts))
    world.waits(2)
    assert world.order == hosts[:32]  # those that are late do not count
    for host in hosts[:32]:
        world.end(host)
    assert world.order == hosts[:32]
    assert len(world.pull(16)) == 16
    assert world.order == hosts[:32]  # of 16 open gates no page has been taken
    assert len(world.pull(1)) == 1
    assert world.order == hosts[:33]


def test_look_up_is_made_as_the_next_request_would_be_fetched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup, "FEWEST_AT_A_TIME", 1)
    world = World(monkeypatch, CONCURRENT_REQUESTS=1)
    world.push("first.x/", "a.x/low")
    world.push("a.x/high", priority=1, meta={"proxy": "http://p.x"})
    world.end("first.x")
    world.pull()
    assert [request.url for request in world.requests] == ["http://first.x/", "http://a.x/high"]
    assert world.requests[1].meta["proxy"] == "http://p.x"


def test_start_request_that_is_left_has_its_own_priority_and_its_own_look_up(either: World) -> None:
    either.push("a.x/warm", "b.x/warm")
    for host in ("a.x", "b.x"):
        either.end(host, secs=60)
    either.pull()
    either.push("a.x/start", meta={"is_start_request": True, "proxy": "http://p.x"})
    either.push("a.x/10", priority=10)
    either.push("b.x/5", priority=5)
    assert either.pull(2) == ["a.x/10", "b.x/5"]
    either.waits(61)
    assert either.pull() == []
    assert either.requests[-1].meta["proxy"] == "http://p.x"


def test_queue_that_cannot_tell_what_comes_next_is_asked_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Blind(LifoMemoryQueue):  # type: ignore[misc, valid-type]
        peek = None

    world = World(monkeypatch, SCHEDULER_MEMORY_QUEUE=Blind)
    world.push("a.x/1")
    assert world.requests[0].url == "http://a.x/robots.txt"
    world.end("a.x")
    assert world.pull() == ["a.x/1"]


def test_answer_that_has_expired_is_asked_for_again(world: World) -> None:
    world.push("a.x/1", "a.x/2")
    world.end("a.x", secs=3600)
    assert world.pull(1) == ["a.x/2"]
    world.waits(3601)
    assert (world.pull(), world.order) == ([], ["a.x", "a.x"])
    world.end("a.x")
    assert world.pull() == ["a.x/1"]


def test_answer_that_expires_at_once_serves_as_many_requests_as_waited(either: World) -> None:
    either.push("a.x/1", "a.x/2", "a.x/3")
    either.end("a.x", secs=0)
    either.push("a.x/4")
    assert either.pull() == ["a.x/4", "a.x/3", "a.x/2"]
    assert (len(either.gates.handed), either.order) == (0, ["a.x", "a.x"])  # the requests are gone
    either.end("a.x", secs=0)
    request = either.scheduler.next_request()
    assert either.gates.handed[request].answer is either.known[Origin.of(request.url)]


def test_gate_shuts_when_its_robots_txt_turns_out_to_be_unreachable(world: World) -> None:
    world.push("a.x/1", "a.x/2")
    world.end("a.x")
    (origin,) = world.known
    now = 1e9 + world.now
    world.known[origin] = CachedAnswer(
        origin, Decision(State.FULL_DISALLOW, "", True, now + 7, now + 7), 503
    )
    world.gates.shut(origin)
    assert (world.pull(), world.order, world.stat("held")) == ([], ["a.x"], 2)
    world.waits(8)
    assert world.order == ["a.x", "a.x"]


def test_requests_of_an_unreachable_origin_are_given_up_at_a_rate_and_all_when_it_is_dead(
    either: World,
) -> None:
    either.push(*(f"a.x/{number}" for number in range(400)))
    given_up = []
    while len(either.scheduler):
        either.fails("a.x", secs=10)
        given_up.append(len(either.pull()))
        either.waits(10)
    assert given_up == [0] * 6 + [64] + [0] * 5 + [4] * 18 + [400 - 64 - 18 * 4]
    assert (either.stat("held"), either.stat("waiting"), len(either.scheduler)) == (400, 0, 0)


def test_busy_machine_gives_up_no_more_requests_before_robots_txt_may_be_asked_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.push(*(f"a.x/{number}" for number in range(100)))
    world.fails("a.x", secs=WAIT)
    world.waits(WAIT)

    pauses = count()  # in seconds, each longer than the last

    def wall_clock() -> float:
        now = 1e9 + world.now
        world.now += next(pauses)
        return now

    busy = SimpleNamespace(monotonic=lambda: world.now, time=wall_clock)
    with monkeypatch.context() as patched:
        patched.setattr(gates, "time", busy)
        world.fails("a.x", secs=2 * WAIT)
    assert len(world.pull()) == 64
    world.waits(WAIT + 1)
    assert (world.asked, world.pull()) == ({}, [])


def test_in_a_long_outage_no_look_up_comes_before_robots_txt_may_be_asked_again(
    either: World,
) -> None:
    either.push(*(f"a.x/{number}" for number in range(400)))
    for _ in range(13):  # more than twice the wait
        either.fails("a.x", secs=10)
        either.pull()
        either.waits(10)
    either.fails("a.x", secs=10)
    assert len(either.pull()) == 4
    for _ in range(9):
        either.waits(1)
        assert (either.pull(), either.asked) == ([], {})
    either.waits(1)
    assert [*either.asked] == ["a.x"]


def test_robots_txt_that_may_be_asked_too_late_is_not_waited_for(world: World) -> None:
    world.push("a.x/1")
    world.fails("a.x", secs=3600)
    world.waits(WAIT + 0.2)
    world.fails("a.x", secs=3600 - WAIT)  # from the storage
    assert world.pull() == ["a.x/1"]


def test_probe_does_not_wait_for_a_server_that_does_not_answer(world: World) -> None:
    world.push("a.x/robots.txt", meta={PROBE: True})
    world.push("b.x/robots.txt", meta={PROBE: True})
    world.fails("a.x", status=None)
    world.fails("b.x")
    assert world.pull() == ["a.x/robots.txt"]


@pytest.mark.parametrize("answers", [False, True])
def test_hosts_that_are_gone_together_are_waited_for_unless_another_server_answers(
    world: World, answers: bool
) -> None:
    world.push("a.x/1", "b.x/1")
    for _ in range(3):
        for host in ("a.x", "b.x"):
            world.fails(host, 1.0, outcome=failed(Failure.DNS))
        if answers:
            world.crawler.signals.send_catch_log(signals.response_received)
        pulled = world.pull()
        world.waits(1.1)
    assert sorted(pulled) == (["a.x/1", "b.x/1"] if answers else [])


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(failed(Failure.TIMEOUT), id="slow"),
        pytest.param(failed(Failure.PROXY, "connection refused"), id="proxy-gone"),
        pytest.param(
            failed(Failure.DNS, "", "http://b.x/"), id="redirected-to-a-host-that-is-gone"
        ),
    ],
)
def test_other_trouble_is_waited_for(world: World, outcome: Unreachable) -> None:
    world.push("a.x/1")
    for _ in range(4):
        world.fails("a.x", 1.0, outcome=outcome)
        world.waits(1.1)
    assert world.pull() == []


# The machine of states.


def test_no_gate_changes_its_state_in_a_way_that_the_table_does_not_have(world: World) -> None:
    world.push("a.x/1")
    (gate,) = world.gates._gates.values()
    assert gate.state is GateState.ASKING
    with pytest.raises(AssertionError, match="ASKING to"):
        world.gates._go(gate, GateState.NEW)


def test_unreachable_origin_without_requests_keeps_its_gate_until_its_time_comes(
    either: World,
) -> None:
    either.push("a.x/1")
    for _ in range(6):
        either.fails("a.x", secs=10)
        either.waits(10)
    either.fails("a.x", secs=10)
    assert either.pull() == ["a.x/1"]  # given up
    either.push("a.x/2")
    assert (either.pull(), either.stat("waiting"), either.asked) == ([], 1, {})
    either.waits(11)
    either.end("a.x")
    assert (either.pull(), either.stat("waiting")) == (["a.x/2"], 0)
    assert either.gates._gates == {}


def test_no_more_requests_are_given_up_than_waited(world: World) -> None:
    world.push(*(f"a.x/{number}" for number in range(10)))
    for _ in range(6):
        world.fails("a.x", secs=10)
        world.waits(10)
    world.fails("a.x", secs=10)
    world.push(*(f"a.x/late/{number}" for number in range(30)))
    assert len(world.pull()) == 10


def test_gate_that_shuts_serves_nothing_more_of_its_old_answer(world: World) -> None:
    world.push("a.x/1", "a.x/2")
    world.end("a.x", secs=0)  # it serves both that waited
    world.gates.shut(Origin.of("http://a.x/"))
    assert (world.pull(), world.order) == ([], ["a.x", "a.x"])


def test_answer_that_expires_at_once_serves_for_ten_minutes_and_no_longer(either: World) -> None:
    either.push("a.x/1", "a.x/2")
    either.end("a.x", secs=0)
    either.waits(599)
    assert len(either.pull(1)) == 1
    either.waits(2)
    assert (either.pull(), either.order) == ([], ["a.x", "a.x"])


def test_gate_that_has_expired_holds_no_place_of_a_look_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup, "FEWEST_AT_A_TIME", 1)
    world = World(monkeypatch, CONCURRENT_REQUESTS=1)
    world.push("a.x/1", "b.x/1")
    world.end("a.x", secs=5)
    assert world.order == ["a.x"]  # its page has not been taken
    world.gates.shut(Origin.of("http://a.x/"))
    world.waits(1)
    assert world.order == ["a.x", "b.x"]


def test_urgent_request_moves_the_look_up_of_its_origin_forward(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup, "FEWEST_AT_A_TIME", 1)
    world = World(monkeypatch, StrictOriginPriorityQueue, CONCURRENT_REQUESTS=1)
    hosts = [f"h{number}.x" for number in range(5)]
    world.push(*(f"{host}/1" for host in hosts))
    world.push("h4.x/urgent", priority=100)
    world.end("h0.x")
    assert world.pull() == ["h0.x/1"]
    assert world.order == ["h0.x", "h4.x"]


def test_less_urgent_request_beside_the_disk_does_not_move_the_look_up_of_its_origin_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "FEWEST_AT_A_TIME", 1)
    world = World(
        monkeypatch, StrictOriginPriorityQueue, CONCURRENT_REQUESTS=1, JOBDIR=str(tmp_path)
    )
    world.push("first.x/")
    world.push("a.x/urgent", priority=10)
    world.push("b.x/", priority=5)
    world.push("a.x/in-memory", meta={"not to be pickled": lambda: None})
    world.end("first.x")
    assert world.pull() == ["first.x/"]
    assert world.order == ["first.x", "a.x"]


def test_scout_goes_and_sees_and_others_follow_if_no_robots_txt_keeps_it(world: World) -> None:
    world.gates.send_scouts()
    world.push(*(f"a.x/{number}" for number in range(12)))
    world.fails("a.x")
    scouts: list[Request] = []
    for number in (1, 2, 4, 5):
        while (request := world.scheduler.next_request()) is not None:
            scouts.append(request)
        assert len(scouts) >= number
        for request in scouts:
            world.crawler.signals.send_catch_log(
                signals.request_reached_downloader, request=request
            )
    assert world.stat("given_up") == 0


def go_and_see(world: World) -> list[str]:
    """Let scouts go one after another until none goes; each comes back, as from the middleware."""
    urls: list[str] = []
    while len(urls) < 20 and (request := world.scheduler.next_request()) is not None:
        handed = world.gates.handed.pop(request)
        assert handed.is_scout
        world.gates.came_back(handed)
        assert world.scheduler.enqueue_request(returned(request))
        urls.append(request.url.partition("://")[2])
    return urls


@pytest.mark.parametrize("memory_queue", [FifoMemoryQueue, LifoMemoryQueue])
@pytest.mark.parametrize("kind", [OriginPriorityQueue, StrictOriginPriorityQueue])
def test_each_request_is_a_scout_once_and_those_that_come_back_keep_their_order(
    kind: type, memory_queue: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, kind, SCHEDULER_MEMORY_QUEUE=memory_queue)
    world.gates.send_scouts()
    urls = [f"a.x/{number}" for number in range(6)]
    world.push(*urls[:5])
    if memory_queue is LifoMemoryQueue:
        urls[:5] = reversed(urls[:5])
    world.fails("a.x")
    assert go_and_see(world) == urls[:5]
    world.push(urls[5])
    assert go_and_see(world) == [urls[5]]
    world.waits(7)
    world.fails("a.x")
    assert world.pull() == []
    world.waits(7)
    world.end("a.x")
    assert world.pull() == urls


def test_requests_that_have_come_back_are_no_scouts_of_a_later_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, JOBDIR=str(tmp_path))
    world.gates.send_scouts()
    world.push("a.x/1", "a.x/2", meta={"download_slot": "b"})
    world.fails("a.x")
    assert go_and_see(world) == ["a.x/2", "a.x/1"]
    world.push("a.x/3", meta={"download_slot": "b"})
    world.scheduler.close("finished")
    again = World(monkeypatch, JOBDIR=str(tmp_path))
    again.gates.send_scouts()
    assert {line.slot for line in again.scheduler.dqs._lines.values()} == {"b"}
    again.fails("a.x")
    assert go_and_see(again) == ["a.x/3"]
    again.waits(7)
    again.end("a.x")
    assert sorted(again.pull()) == ["a.x/1", "a.x/2", "a.x/3"]


def test_scout_that_comes_through_late_lets_no_more_be_given_up(world: World) -> None:
    world.gates.send_scouts()
    world.push(*(f"a.x/{number}" for number in range(100)))
    world.fails("a.x", secs=10)
    scout = world.scheduler.next_request()
    for _ in range(6):
        world.pull()  # more scouts
        world.waits(10)
        world.fails("a.x", secs=10)
    world.crawler.signals.send_catch_log(signals.request_reached_downloader, request=scout)
    assert len(world.pull()) == 64


def test_refused_request_costs_its_slot_no_delay(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DownloadSlots, "delay", lambda slots, request: 0.5)
    monkeypatch.setattr(DownloadSlots, "delay_of", lambda slots, key: 0.5)
    world.push(*(f"a.x/{number}" for number in range(9)), "late.x/1")
    world.end("a.x")
    for _ in range(4):
        request = world.scheduler.next_request()
        line = world.gates.handed[request].line
        assert line is not None
        line.note_refused()
    assert len(world.pull()) == 2  # a second's worth


# Files.


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_jobdir_of_scrapys_queue_without_slots_is_read_by_the_strict_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"JOBDIR": str(tmp_path), "SCHEDULER_DISK_QUEUE": PickleLifoDiskQueue}
    first = World(monkeypatch, ScrapyPriorityQueue, **settings)
    for number in range(20):
        first.push(f"{'ab'[number % 2]}.x/{number}", priority=number % 3)
    first.scheduler.close("finished")
    World.opened.remove(first)  # Scrapy's cannot be closed twice
    with pytest.raises(ValueError, match="the same priority queue class can be resumed"):
        OriginPriorityQueue.from_crawler(first.crawler, PickleLifoDiskQueue, str(tmp_path), [0])
    pulled: list[str] = []
    for most in (7, 100):
        world = World(monkeypatch, StrictOriginPriorityQueue, **settings)
        pulled += islice(world.pull_with_answers(1), most)
        world.scheduler.close("finished")
    assert sorted(pulled) == sorted(f"{'ab'[number % 2]}.x/{number}" for number in range(20))
    assert (world.stat("waiting"), world.gates._gates) == (0, {})


@pytest.mark.parametrize("kind", [OriginPriorityQueue, StrictOriginPriorityQueue])
def test_many_origins_with_a_jobdir_keep_no_more_files_open_than_a_bound(
    kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, kind, JOBDIR=str(tmp_path))
    urls = [f"h{number}.x/{page}" for page in range(2) for number in range(450)]
    world.push(*urls)
    assert open_lines(world) == 400
    world.scheduler.close("finished")
    again = World(monkeypatch, kind, JOBDIR=str(tmp_path))
    assert len(again.scheduler) == 900
    pulled: list[str] = []
    for url in again.pull_with_answers():
        assert open_lines(again) <= 400
        pulled.append(url)
    assert sorted(pulled) == sorted(urls)


@needs_posix
@pytest.mark.parametrize("kind", [OriginPriorityQueue, StrictOriginPriorityQueue])
def test_files_that_cannot_be_opened_for_a_while_cost_no_request_and_stop_no_clock(
    kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    world = World(monkeypatch, kind, JOBDIR=str(tmp_path))
    urls = [f"h{number}.x/{page}" for page in range(2) for number in range(450)]
    world.push(*urls)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket() as newest:  # no number above this one
        resource.setrlimit(resource.RLIMIT_NOFILE, (newest.fileno(), limits[1]))
    try:
        for host in list(world.asked):
            world.end(host)
        with pytest.raises(OSError, match="open files"):
            world.pull()
        world.gates.nothing_to_hand_out()
        world.waits(1)
        assert world.asked
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert sorted(world.pull_with_answers()) == sorted(urls)


def open_lines(world: World) -> int:
    """How many lines of requests on disk have their files open."""
    lines = world.scheduler.dqs._lines.values()
    return len([line for line in lines if line.requests is not None])


@pytest.mark.parametrize("kind", [OriginPriorityQueue, StrictOriginPriorityQueue])
def test_jobdir_goes_from_scrapys_queue_to_ours_and_back(
    kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"JOBDIR": str(tmp_path), "SCHEDULER_DISK_QUEUE": PickleLifoDiskQueue}
    dice = random.Random(3)
    pushed = set()
    first = World(monkeypatch, DownloaderAwarePriorityQueue, **settings)
    for number in range(200):
        url = f"{dice.choice(('a', 'b'))}.x:{dice.choice((80, 81))}/{number}"
        first.push(url, priority=dice.randrange(3), meta={"is_start_request": dice.random() < 0.5})
        pushed.add(url.replace(":80/", "/"))
    first.scheduler.close("finished")

    def resumed(kind: type) -> World:
        world = World(monkeypatch, kind, **settings)
        assert world.scheduler.has_pending_requests()
        return world

    ours = resumed(kind)
    assert ours.pull() == []
    got = [*islice(ours.pull_with_answers(1), 60)]
    ours.push("a.x/new", "c.x/new")
    ours.scheduler.close("finished")
    again = resumed(kind)
    got += islice(again.pull_with_answers(1), 60)
    again.scheduler.close("finished")
    got += resumed(DownloaderAwarePriorityQueue).pull()
    assert sorted(url.replace(":80/", "/") for url in got) == sorted(
        {*pushed, "a.x/new", "c.x/new"}
    )


def test_host_whose_name_is_long_fits_into_the_name_of_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, JOBDIR=str(tmp_path))
    host = ".".join(["a" * 36] * 4)
    world.push(f"{host}/1", f"{host}/2")
    assert world.pull() == []
    world.end(host)
    assert sorted(world.pull()) == [f"{host}/1", f"{host}/2"]
    assert (len(world.scheduler), world.stat("waiting")) == (0, 0)


def test_line_that_is_empty_leaves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, JOBDIR=str(tmp_path))
    for number in range(3):
        world.push(f"a.x/{number}")
    queue = tmp_path / "requests.queue"
    assert [path.is_dir() for path in queue.iterdir()] == [True]
    world.end("a.x")
    assert len(world.pull()) == 3
    assert list(queue.iterdir()) == []
    assert len(world.scheduler.dqs._lines) == 0
    world.push("a.x/unserialisable", meta={"not to be pickled": lambda: None})
    assert len(world.scheduler.dqs._lines) == 0
    assert world.pull() == ["a.x/unserialisable"]
    assert list(queue.iterdir()) == []


def test_requests_that_no_disk_queue_can_keep_do_not_hide_those_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, JOBDIR=str(tmp_path))
    world.push("ill.x/1", meta={"not to be pickled": lambda: None})
    world.push("a.x/1")
    for host in ("a.x", "ill.x"):
        world.end(host)
        assert world.pull() == [f"{host}/1"]


def test_damaged_file_costs_its_request_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Damaged(PickleLifoDiskQueue):  # type: ignore[misc, valid-type]
        def pop(self) -> Request | None:
            request: Request | None = super().pop()
            if request is not None and request.url.endswith("/2"):
                raise EOFError
            return request

    world = World(monkeypatch, JOBDIR=str(tmp_path), SCHEDULER_DISK_QUEUE=Damaged)
    world.push("a.x/1", "a.x/2", "a.x/3")
    world.end("a.x")
    assert world.pull(1) == ["a.x/3"]
    with pytest.raises(EOFError):
        world.pull()
    assert (world.pull(), len(world.scheduler)) == (["a.x/1"], 0)


def test_scrapy_without_what_the_queue_needs_keeps_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(DownloaderAwarePriorityQueue, "pqfactory")
    monkeypatch.setattr(DownloaderAwarePriorityQueue, "__init__", lambda *args, **named: None)
    monkeypatch.setattr(DownloaderAwarePriorityQueue, "__len__", lambda queue: 0)
    with caplog.at_level(logging.WARNING):
        world = World(monkeypatch, JOBDIR=str(tmp_path))
    queues = [world.scheduler.mqs, world.scheduler.dqs]
    assert [type(each) for each in queues] == [DownloaderAwarePriorityQueue] * 2
    for each in queues:
        each.pqueues = {}
    assert len([record for record in caplog.records if "pqfactory" in record.getMessage()]) == 1


def test_crawl_that_obeys_no_robots_txt_only_gets_a_fast_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(monkeypatch, obeys=False)
    world.push("a.x/1", "b.x/1")
    assert sorted(world.pull()) == ["a.x/1", "b.x/1"]
    assert world.order == []


def pulled_with_a_delay(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give all slots a delay of half a second, and let the gates' engine pull; return what it gets."""
    monkeypatch.setattr(DownloadSlots, "delay", lambda slots, request: 0.5)
    pulled: list[str] = []
    monkeypatch.setattr(gates, "pull_soon", lambda crawler: pulled.extend(world.pull()))
    return pulled


def test_slot_with_a_delay_gets_little_ahead_while_requests_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled = pulled_with_a_delay(world, monkeypatch)
    world.push(*(f"a.x/{number}" for number in range(9)), "late.x/1")
    world.end("a.x")
    assert len(pulled) == 2  # a second's worth
    for number in (3, 4):
        world.waits(0.5)
        assert len(pulled) == number  # one has been sent, and the engine is told to ask again
    world.end("late.x")
    assert len(pulled) == 10  # nothing waits any more


def test_slot_with_a_delay_gets_little_ahead_though_its_requests_come_one_by_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled = pulled_with_a_delay(world, monkeypatch)
    world.push("a.x/0", "late.x/1")
    world.end("a.x")
    for number in range(1, 9):
        world.push(f"a.x/{number}")
        pulled += world.pull()
        pulled += world.pull()  # nothing is queued now but what waits
    assert len(pulled) == 2  # a second's worth
    world.waits(0.5)
    assert len(pulled) == 3


def test_slots_that_have_done_their_work_are_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DownloadSlots, "delay", lambda slots, request: 0.5)
    world.push("late.x/1")
    for number in range(100):
        host = f"h{number}.x"
        world.push(f"{host}/1")
        world.end(host)
        assert len(world.pull()) == 1
        world.waits(0.5)
    assert len(world.scheduler.mqs._ring._busy_until) < 3


def test_queued_host_takes_no_more_objects_than_in_scrapys_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def objects(kind: type, hosts: range) -> float:
        """How many objects a queued host adds, which the garbage collector visits."""
        world = World(monkeypatch, kind)
        world.push(*(f"h{number}.x/" for number in hosts[:100]))
        gc.collect()
        before = len(gc.get_objects())
        world.push(*(f"h{number}.x/" for number in hosts[100:]))
        gc.collect()
        return (len(gc.get_objects()) - before) / len(hosts[100:])

    ours = objects(OriginPriorityQueue, range(1100))
    assert ours <= objects(DownloaderAwarePriorityQueue, range(2000, 3100)) + 0.2
