"""A room before Scrapy's scheduler, without a crawl: what is handed out, in which order, and what is looked up."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from pydispatch.dispatcher import getReceivers
from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin, RobotsTxt
from scrapy_gbot_robots.answers.answer import CachedAnswer
from scrapy_gbot_robots.core.crawlers import UserAgent
from scrapy_gbot_robots.engine import DownloadSlots
from scrapy_gbot_robots.meta import PROBE
from scrapy_gbot_robots.obeying.lines import Standing
from scrapy_gbot_robots.obeying.subject import returned
from scrapy_gbot_robots.policy.outages import Decision, State
from scrapy_gbot_robots.policy.outcome import Failure, failed

from ..support.crawls import as_scrapy_runs_it, together, under_way
from ..support.rooms import AGENT, SLOT, STARTS, NewWorld, World, path_of, slot
from ..support.rows import row, table
from ..support.until import until

ALLOWED = Decision(State.FULL_ALLOW, "", False, 9e9, 9e9)


@pytest.fixture
def world(new_world: NewWorld) -> World:
    return new_world()


@pytest.fixture(params=[DownloaderAwarePriorityQueue, ScrapyPriorityQueue])
def either(request: pytest.FixtureRequest, new_world: NewWorld) -> World:
    """A world in which priorities count in each slot for itself, or in all."""
    return new_world(request.param)


@pytest.fixture
def narrow(new_world: NewWorld) -> World:
    """A world in which one look-up runs at a time, and priorities count across hosts."""
    return new_world(ScrapyPriorityQueue, look_ups=1, CONCURRENT_REQUESTS=1)


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
    assert (len(either.scheduler), either.stat("waiting"), either.stat("waiting/max")) == (0, 0, 5)
    assert either.order == ["a.x", "b.x"]


def test_requests_without_a_robots_txt_do_not_wait_for_that_of_others(either: World) -> None:
    either.push("a.x/1", "a.x/2")
    either.push("a.x/free", meta={"dont_obey_robotstxt": True})
    assert either.pull() == ["a.x/free"]
    assert either.scheduler.enqueue_request(Request("data:,x"))
    assert [request.url for request in either.take()] == ["data:,x"]
    assert (either.pull(), len(either.scheduler)) == ([], 2)


@pytest.mark.parametrize("queue", [DownloaderAwarePriorityQueue, ScrapyPriorityQueue])
@pytest.mark.parametrize("memory", [LifoMemoryQueue, FifoMemoryQueue])
def test_order_in_an_origin_is_scrapys(queue: type, memory: type, new_world: NewWorld) -> None:
    dice = random.Random(7)
    ours = new_world(queue, SCHEDULER_MEMORY_QUEUE=memory)
    settings = {"SCHEDULER_PRIORITY_QUEUE": queue, "SCHEDULER_MEMORY_QUEUE": memory, **STARTS}
    alone = get_crawler(settings_dict=settings)
    alone.engine = ours.crawler.engine
    scrapys: Any = Scheduler.from_crawler(alone)
    scrapys.open(alone._create_spider("any"))
    for number in range(500):
        more: dict[str, Any] = {
            "priority": dice.randrange(-2, 3),
            "meta": {"is_start_request": dice.random() < 0.3},
        }
        ours.push(f"a.x/{number}", **more)
        scrapys.enqueue_request(Request(f"http://a.x/{number}", **more))
        if number == 100:
            ours.end("a.x")
        if number >= 100 and dice.random() < 0.5:
            pulled = dice.randrange(4)
            assert ours.pull(pulled) == [path_of(scrapys.next_request()) for _ in range(pulled)]
    assert ours.pull() == [path_of(scrapys.next_request()) for _ in range(len(scrapys))]


def test_slots_with_the_fewest_requests_come_first_and_others_take_turns(world: World) -> None:
    world.push(*(f"{host}.x/{number}" for host in "abc" for number in range(3)))
    for host in "abc":
        world.end(f"{host}.x")
    assert [url[0] for url in world.pull(3)] == ["a", "b", "c"]
    world.slots.update({"a.x": slot("1"), "b.x": slot("12"), "c.x": slot("1")})
    assert [url[0] for url in world.pull(3)] == ["a", "c", "a"]
    world.slots["b.x"].active = ""
    assert [url[0] for url in world.pull(2)] == ["b", "b"]


def test_no_slot_is_looked_at_all_the_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Counter[str]()

    def looked_at(slots: DownloadSlots, key: str) -> Any:
        looks[key] += 1
        return slot()

    hosts = [f"h{number}.x" for number in range(300)]
    for host in hosts:
        origin = Origin.of(f"http://{host}/")
        world.known[origin] = CachedAnswer(origin, ALLOWED, 200)
    world.push(*(f"{host}/{number}" for number in range(4) for host in hosts))
    monkeypatch.setattr(DownloadSlots, "of", looked_at)
    pulled = world.pull()
    assert len(pulled) == 1200
    assert looks.total() == 1200
    assert all(one.partition("/")[0] != other.partition("/")[0] for one, other in pairwise(pulled))


@table("queue", LifoMemoryQueue, FifoMemoryQueue)
def test_line_has_one_turn_however_many_requests_come(queue: type, new_world: NewWorld) -> None:
    world = new_world(SCHEDULER_MEMORY_QUEUE=queue)
    origin = Origin.of("http://a.x/")
    world.known[origin] = CachedAnswer(origin, ALLOWED, 200)
    world.push(*(f"a.x/{number}" for number in range(100)))
    assert [len(heap) for heap in world.room.ready._heaps.values()] == [1]
    assert len(world.pull()) == 100


def test_responses_are_listened_to_from_the_first_outage_on(world: World) -> None:
    def listeners() -> int:
        return len(getReceivers(world.crawler.signals.sender, signals.response_received))

    before = listeners()
    world.push("good.x/1", "ill.x/1", "ill.x/2")
    world.end("good.x")
    assert listeners() == before
    world.fails("ill.x")
    world.waits(7.0)
    world.fails("ill.x")
    assert listeners() == before + 1


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


def test_urgent_request_has_its_turn_first_and_gives_its_line_no_second_one(either: World) -> None:
    either.push(*(f"{host}.x/{number}" for host in "ab" for number in range(3)), meta=SLOT)
    either.end("a.x")
    either.end("b.x")
    either.push("a.x/urgent", priority=5, meta=SLOT)
    urgent, *others = either.pull()
    assert urgent == "a.x/urgent"
    assert [url[0] for url in others] == [*"bababa"]


def test_strict_queue_knows_priorities_across_hosts_and_asks_the_urgent_first(
    narrow: World,
) -> None:
    for number in range(5):
        narrow.push(f"h{number}.x/1", f"h{number}.x/2", priority=number)
    for number in (0, 4, 3, 2, 1):
        narrow.end(f"h{number}.x")
        narrow.room._unused_answers.clear()  # as if their pages had been taken
        narrow.room._begin_look_ups()
    assert [url[1] for url in narrow.pull()] == [*"4433221100"]


# Look-ups.


def test_as_many_look_ups_run_as_requests_may_and_not_ahead_of_pages(world: World) -> None:
    hosts = [f"h{number}.x" for number in range(60)]
    world.push(*(f"{host}/" for host in hosts))
    assert world.order == hosts[:16]
    for host in hosts[:16]:
        world.end(host)
    assert world.order == hosts[:16]  # none of their pages has been taken
    assert len(world.pull(5)) == 5
    assert world.order == hosts[: 16 + 5]


def test_answers_whose_pages_their_slots_keep_back_do_not_keep_back_look_ups(world: World) -> None:
    hosts = [f"h{number}.x" for number in range(60)]
    world.slots.update({host: slot("12345678") for host in hosts})
    world.push(*(f"{host}/" for host in hosts))
    for host in hosts[:16]:
        world.end(host)
    assert world.order == hosts[:16]
    assert world.pull() == []
    assert world.order == hosts[:32]


def test_late_look_ups_that_end_together_let_none_run_ahead_of_pages(world: World) -> None:
    hosts = [f"h{number}.x" for number in range(100)]
    world.push(*(f"{host}/" for host in hosts))
    world.waits(0.9)
    assert world.order == hosts[:16]
    world.waits(0.2)
    assert world.order == hosts[:32]  # those that take longer than a second do not count
    for host in hosts[:32]:
        world.end(host)
    assert world.order == hosts[:32]
    assert len(world.pull(16)) == 16
    assert world.order == hosts[:32]  # of 16 answers no page has been taken
    assert len(world.pull(1)) == 1
    assert world.order == hosts[:33]


@pytest.mark.parametrize("queue", [ScrapyPriorityQueue, DownloaderAwarePriorityQueue])
def test_look_up_is_made_like_the_next_request(queue: type, new_world: NewWorld) -> None:
    world = new_world(queue, look_ups=1, CONCURRENT_REQUESTS=1)
    world.push("first.x/", "a.x/low")
    world.push("a.x/high", priority=1, meta={"proxy": "http://p.x", "download_slot": "s"})
    world.end("first.x")
    world.pull()
    assert [request.url for request in world.requests] == ["http://first.x/", "http://a.x/high"]
    assert world.requests[1].meta["proxy"] == "http://p.x"


def by(proxy: str) -> dict[str, Any]:
    return {"meta": {"proxy": proxy}}


def proxies_tried(world: World, tries: int, status: int | None = None) -> list[str]:
    """The proxies of the look-ups of a.x, of which the first is under way and all others fail before the next."""
    for _ in range(tries):
        world.fails("a.x", 1, status)
        world.waits(1)
    return [request.meta["proxy"] for request in world.requests]


@pytest.mark.parametrize("slots", ["one-slot", "a-slot-each"])
def test_retry_goes_the_way_of_another_request_that_waits(slots: str, either: World) -> None:
    for number in range(4):
        for proxy in ("dead", "bad", "good"):
            meta = {"proxy": proxy} | ({"download_slot": proxy} if slots == "a-slot-each" else {})
            priority = 1 if proxy == "dead" else 0
            either.push(f"a.x/{proxy}{number}", priority=priority, meta=meta)
    assert proxies_tried(either, 5) == ["dead", "good", "bad"] * 2  # the newest request goes first


def test_retry_goes_the_same_way_if_no_other_waits_until_one_comes(either: World) -> None:
    either.push(*(f"a.x/{number}" for number in range(200)), **by("dead"), priority=1)
    assert proxies_tried(either, 2) == ["dead"] * 3
    either.push("a.x/new", **by("good"))
    assert proxies_tried(either, 1)[-1] == "good"


def test_way_with_an_answer_is_kept_and_429_is_not_gone_around(world: World) -> None:
    world.push("a.x/1", **by("first"), priority=1)
    world.push("a.x/2", **by("second"))
    assert proxies_tried(world, 2, status=429) == ["first"] * 3
    assert proxies_tried(world, 1)[-1] == "second"
    assert (
        proxies_tried(world, 3, status=503)[3:] == ["second"] * 4
    )  # never back to where nothing answers


def test_ways_are_tried_afresh_after_an_answer(world: World) -> None:
    world.push("a.x/1", **by("first"), priority=1)
    world.push("a.x/2", **by("second"))
    assert proxies_tried(world, 1) == ["first", "second"]
    world.end("a.x", secs=5)
    world.waits(5)
    world.push("a.x/3", **by("first"), priority=2)
    assert world.pull() == []
    assert proxies_tried(world, 0) == ["first", "second", "first"]


@as_scrapy_runs_it
async def test_retry_for_requests_in_the_downloader_goes_another_way_too(world: World) -> None:
    origin = Origin.of("http://a.x/")
    wait = [
        under_way(world.room.answer_in_place(origin, AGENT, request, keeps_place=False))
        for request in (Request(f"{origin}/{proxy}", **by(proxy)) for proxy in ("dead", "good"))
    ]
    await until(lambda: len(world.room.in_place) == 2)
    assert proxies_tried(world, 1) == ["dead", "good"]
    world.end("a.x")
    await together(*wait)


def test_start_request_that_is_left_has_its_own_look_up(either: World) -> None:
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


def test_urgent_request_moves_the_look_up_of_its_origin_forward(narrow: World) -> None:
    hosts = [f"h{number}.x" for number in range(5)]
    narrow.push(*(f"{host}/1" for host in hosts))
    narrow.push("h4.x/urgent", priority=100)
    narrow.end("h0.x")
    assert narrow.pull() == ["h0.x/1"]
    assert narrow.order == ["h0.x", "h4.x"]


@table(
    "secs, serves_secs",
    row("as-long-as-it-is-good", 3600, 3600),
    row("at-least-ten-minutes", 0, 600),
)
def test_answer_serves_for_a_time_and_is_asked_for_again(
    secs: float, serves_secs: float, either: World
) -> None:
    either.push("a.x/1", "a.x/2")
    either.end("a.x", secs=secs)
    either.waits(serves_secs - 1)
    assert either.pull(1) == ["a.x/2"]
    either.waits(2)
    assert (either.pull(), either.order) == ([], ["a.x", "a.x"])
    either.end("a.x")
    assert either.pull() == ["a.x/1"]


def test_answer_that_has_expired_holds_no_place_of_a_look_up(narrow: World) -> None:
    narrow.push("a.x/1", "b.x/1")
    narrow.end("a.x", secs=0)
    narrow.waits(601)  # for so long it has served
    assert narrow.order == ["a.x"]  # its page has not been taken
    assert narrow.pull() == []
    assert narrow.order == ["a.x", "b.x"]


def test_answer_that_expires_at_once_serves_the_requests_that_waited(either: World) -> None:
    either.push("a.x/1", "a.x/2", "a.x/3")
    either.end("a.x", secs=0)
    (known,) = either.known.values()
    for _ in range(3):
        request = either.next()
        assert request is not None
        assert either.arrived(request).answer is known
    either.push("a.x/4")
    assert (either.pull(), either.order) == ([], ["a.x", "a.x"])
    either.end("a.x", secs=0)
    assert either.pull() == ["a.x/4"]


def test_answer_that_another_way_has_brought_is_taken_without_a_look_up(narrow: World) -> None:
    narrow.push("a.x/1", "b.x/1")
    origin = Origin.of("http://b.x/")
    narrow.known[origin] = CachedAnswer(origin, ALLOWED, 200)
    narrow.end("a.x")
    assert narrow.pull() == ["a.x/1", "b.x/1"]
    assert narrow.order == ["a.x"]


@as_scrapy_runs_it
async def test_request_in_the_downloader_gets_the_answer_of_the_look_up_that_it_waited_for(
    world: World,
) -> None:
    request = Request("http://a.x/image")
    origin = Origin.of(request.url)
    waiting = under_way(world.room.answer_in_place(origin, AGENT, request, keeps_place=True))
    await until(lambda: world.asked)
    world.end("a.x", secs=0)  # the answer is out of date at once
    assert world.order == ["a.x"]
    assert await together(waiting) == [world.known[origin]]
    assert not world.room._sites


@as_scrapy_runs_it
async def test_answer_without_the_rules_of_a_request_in_the_downloader_is_not_the_last(
    world: World,
) -> None:
    origin = Origin.of("http://a.x/")
    other = UserAgent.of("otherbot")
    works = [
        under_way(world.room.answer_in_place(origin, agent, Request(url), keeps_place=True))
        for agent, url in ((AGENT, "http://a.x/1"), (other, "http://a.x/2"))
    ]
    await until(lambda: len(world.room.in_place) == 2)
    world.fails("a.x", secs=7)
    known = CachedAnswer(origin, Decision(State.RULES, "", False, 9e9, 9e9), 200)
    known.add_rules(RobotsTxt.parse(b""), [AGENT])
    world.known[origin] = known  # another way has brought it
    world.waits(7)
    assert world.order == ["a.x", "a.x"]
    assert await together(works[0]) == [known]
    known.add_rules(RobotsTxt.parse(b""), [other])
    world.asked.pop("a.x")(known)
    assert await together(works[1]) == [known]


@as_scrapy_runs_it
async def test_answer_that_comes_while_the_room_closes_begins_no_look_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = Origin.of("http://a.x/")
    other = UserAgent.of("otherbot")
    request = Request("http://a.x/1")
    waiting = under_way(world.room.answer_in_place(origin, other, request, keeps_place=True))
    await until(lambda: world.asked)
    known = CachedAnswer(origin, Decision(State.RULES, "", False, 9e9, 9e9), 200)
    known.add_rules(RobotsTxt.parse(b""), [AGENT])  # and not those of `other`
    monkeypatch.setattr(world, "abandon", lambda: world.asked.pop("a.x")(known))
    world.room.close()
    assert world.order == ["a.x"]
    assert await together(waiting) == [None]


def test_answer_that_expires_while_it_is_taken_from_memory_leaves_no_request_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.push("a.x/1")
    world.end("a.x", secs=0)
    world.waits(601)  # longer than the answer serves
    world.push("a.x/2")
    origin = Origin.of("http://a.x/")
    soon = 1e9 + world.now + 1
    world.known[origin] = CachedAnswer(
        origin, Decision(State.FULL_ALLOW, "", False, soon, soon), 200
    )

    def cached_slowly(*which: Any) -> CachedAnswer | None:
        answer = World.good_answer(world, *which)
        world.now += 2
        return answer

    monkeypatch.setattr(world, "good_answer", cached_slowly)
    assert world.pull() == []
    assert world.order == ["a.x", "a.x"]
    world.end("a.x")
    assert world.pull() == ["a.x/2", "a.x/1"]


def test_pages_ahead_are_counted_without_sitemaps(world: World) -> None:
    world.push("a.x/1", "a.x/2", "b.x/1")
    world.push("a.x/s.xml", meta={"gbot_robots_sitemap": {"robotstxt": "x"}})
    ahead = world.scheduler.pages_ahead_of
    assert ahead(Request("http://a.x/any")) == 2
    world.end("a.x")
    world.pull()
    assert ahead(Request("http://a.x/any")) == 0
    assert ahead(Request("http://b.x/any")) == 1


# Outages.


def test_requests_are_given_up_in_portions_and_all_when_an_origin_is_dead(either: World) -> None:
    either.push(*(f"a.x/{number}" for number in range(400)))
    given_up = []
    while len(either.scheduler):
        either.fails("a.x", secs=10)
        given_up.append(len(either.pull()))
        either.waits(10)
        while not either.asked and len(either.scheduler):
            either.waits(1)
    assert [number for number in given_up if number] == [64, 64, 64, 64, 400 - 4 * 64]
    assert given_up.index(64) == 6  # a minute
    assert len(given_up) == 31  # five
    assert (either.stat("requests/held"), either.stat("waiting"), len(either.scheduler)) == (
        400,
        0,
        0,
    )


def test_outage_that_ends_lets_all_go_on_and_the_next_one_begins_anew(world: World) -> None:
    world.push(*(f"a.x/{number}" for number in range(70)))
    for _ in range(7):
        world.fails("a.x", secs=10)
        assert len(world.pull()) in {0, 64}
        world.waits(10)
    world.end("a.x", secs=10)
    assert (len(world.pull()), world.stat("waiting")) == (6, 0)
    world.waits(11)
    world.push("a.x/later")
    world.fails("a.x", secs=10)
    world.waits(10)
    assert world.pull() == []


def test_probe_does_not_wait_for_a_server_that_does_not_answer(world: World) -> None:
    world.push("a.x/robots.txt", meta={PROBE: True})
    world.push("b.x/robots.txt", meta={PROBE: True})
    world.fails("a.x", status=None)
    world.fails("b.x")
    assert world.pull() == ["a.x/robots.txt"]


def test_later_requests_for_a_host_that_is_gone_do_not_wait(world: World) -> None:
    world.push("a.x/1")
    for secs in (1.0, 1.0, 600.0):
        world.fails("a.x", secs, outcome=failed(Failure.DNS))
        world.waits(1.1)
    assert world.pull() == ["a.x/1"]
    world.push("a.x/2")
    assert (world.pull(), world.asked, world.stat("requests/held")) == (["a.x/2"], {}, 1)


def test_unreachable_origin_without_requests_keeps_its_date(either: World) -> None:
    either.push("a.x/1")
    for _ in range(6):
        either.fails("a.x", secs=10)
        either.waits(10)
    either.fails("a.x", secs=10)
    assert either.pull() == ["a.x/1"]  # given up
    either.push(*(f"a.x/later/{number}" for number in range(64)))
    assert (len(either.pull()), either.asked) == (63, {})  # the rest of the portion
    assert either.stat("waiting") == 1
    either.waits(11)
    either.end("a.x")
    assert (len(either.pull()), either.stat("waiting")) == (1, 0)
    assert either.room._sites == {}


# Requests that go and see.


def go_and_see(world: World) -> list[str]:
    """Let requests go until none goes; each comes back, as from the middleware."""
    urls: list[str] = []
    while len(urls) < 20 and (request := world.next()) is not None:
        handed = world.arrived(request)
        assert (handed.answer, handed.has_returned) == (None, False)
        assert world.scheduler.enqueue_request(returned(request))
        urls.append(path_of(request))
    return urls


@pytest.mark.parametrize("memory", [FifoMemoryQueue, LifoMemoryQueue])
@pytest.mark.parametrize("queue", [DownloaderAwarePriorityQueue, ScrapyPriorityQueue])
def test_each_request_goes_and_sees_once_and_those_that_come_back_keep_their_order(
    queue: type, memory: type, new_world: NewWorld
) -> None:
    world = new_world(queue, SCHEDULER_MEMORY_QUEUE=memory)
    world.room.project_may_exempt = True
    urls = [f"a.x/{number}" for number in range(6)]
    world.push(*urls[:5])
    if memory is LifoMemoryQueue:
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


def test_request_that_has_come_back_is_urgent_as_before(world: World) -> None:
    world.push("a.x/sitemap", priority=10, meta={"gbot_robots_sitemap": {"robotstxt": "x"}})
    assert go_and_see(world) == ["a.x/sitemap"]
    world.push("a.x/1")
    world.end("a.x")
    assert world.pull() == ["a.x/sitemap", "a.x/1"]


# Slots.


def test_slot_is_handed_no_more_than_its_places(world: World) -> None:
    world.slots["a.x"] = slot("1", concurrency=3)
    world.push(*(f"a.x/{number}" for number in range(9)), "b.x/1")
    world.end("a.x")
    assert world.next() is not None
    assert world.next() is not None
    assert world.next() is None  # one is in the slot, and two are on their way
    world.slots["a.x"].active = ""
    assert world.next() is not None
    assert world.next() is None


def test_requests_that_another_middleware_has_dropped_take_no_places(world: World) -> None:
    world.slots["a.x"] = slot(concurrency=2)
    world.push(*(f"a.x/{number}" for number in range(9)))
    world.end("a.x")
    handed_out = 0
    while world.next() is not None:
        handed_out += 1
        world.in_progress.clear()
    assert handed_out == 9


def test_slot_with_a_delay_gets_little_ahead(world: World) -> None:
    pulled: list[Request] = []
    world.slots["a.x"] = slot(delay=0.5)

    def pull() -> None:
        """What the engine does when it is told."""
        while sent := world.take(1):
            pulled.extend(sent)
            world.slots["a.x"].queue.extend(sent)

    world.crawler.engine._slot.nextcall.schedule = pull
    world.push(*(f"a.x/{number}" for number in range(9)))
    world.end("a.x")
    assert len(pulled) == 2  # a second's worth
    for number in (3, 4):
        world.slots["a.x"].queue.pop()  # one has been sent
        world.waits(0.5)
        assert len(pulled) == number


def rest_of_turn(world: World) -> int:
    """Take requests until the scheduler returns none. Return their number."""
    return len([*iter(world.scheduler.next_request, None)])


@table("secs, most", row("short turn", 0.001, 1), row("long turn", 0.1, 5))
def test_requests_that_waited_leave_in_several_turns(world: World, secs: float, most: int) -> None:
    world.push(*(f"a.x/{number}" for number in range(9)))
    world.end("a.x")
    assert rest_of_turn(world) == 1
    told: list[bool] = []
    world.crawler.engine._slot.nextcall.schedule = lambda: told.append(True)
    world.now += secs
    world.end_pauses()
    assert told  # Otherwise the engine would ask again only after a while.
    assert rest_of_turn(world) == most
    world.end_pauses()
    assert rest_of_turn(world) == 1


def test_requests_that_need_not_wait_leave_in_one_turn(world: World) -> None:
    world.push("a.x/0")
    world.end("a.x")
    assert world.pull() == ["a.x/0"]
    world.push(*(f"a.x/{number}" for number in range(1, 9)))
    assert rest_of_turn(world) == 8
    assert not world.pauses


def test_slots_that_have_done_their_work_are_forgotten(world: World) -> None:
    world.push("late.x/1")
    for number in range(100):
        world.push(f"h{number}.x/1")
        world.end(f"h{number}.x")
        assert len(world.pull()) == 1
    assert len(world.room._sites) == 1
    assert not world.room._unused_answers
    assert len(world.room.ready._heaps) <= 1
    assert not world.room.ready.on_the_way
    assert set(world.room.occupancy.by_slot) == {"late.x"}


# Whatever happens.


# Of `Site`: its standing, and where the room has it.
STATES = {
    ("OPEN", "nowhere"),
    ("ASKED", "queued"),
    ("ASKED", "young"),
    ("LATE", "late"),
    ("UNREACHABLE", "due"),
    ("UNREACHABLE", "queued"),
    ("UNREACHABLE", "young"),
    ("UNREACHABLE", "late"),
}


class Wild:
    """Random things happen to a room; it notes what becomes of each request."""

    HOSTS = ("a.x", "b.x", "c.x")

    def __init__(self, world: World, dice: random.Random) -> None:
        self.world = world
        self.dice = dice
        self.under_way: list[Request] = []
        self.number = 0
        self.outcomes = Counter[str]()
        self.returned = Counter[str]()
        self.sitemap = {"gbot_robots_sitemap": {"robotstxt": "x"}}

    def push(self) -> None:
        self.number += 1
        meta: dict[str, Any] = self.dice.choice(
            [{}, {"proxy": "p"}, {"download_slot": "s"}, self.sitemap]
        )
        host = self.dice.choice(self.HOSTS)
        self.world.push(f"{host}/{self.number}", priority=self.dice.randrange(3), meta=dict(meta))

    def pull(self) -> None:
        request = self.world.next()
        if request is not None:
            self.under_way.append(request)

    def arrive(self) -> None:
        """As in the middleware: judged by the answer with which it was handed out, or sent back, once."""
        if not self.under_way:
            return
        request = self.under_way.pop(self.dice.randrange(len(self.under_way)))
        handed = self.world.arrived(request)
        if handed.answer is not None or self.dice.random() < 0.2:
            self.outcomes[request.url] += 1
            return
        assert not handed.has_returned
        self.returned[request.url] += 1
        assert self.world.scheduler.enqueue_request(returned(request))

    def drop(self) -> None:
        """Another middleware drops a request before it arrives."""
        if self.under_way:
            request = self.under_way.pop()
            self.world.in_progress.discard(request)
            self.outcomes[request.url] += 1

    def answer(self) -> None:
        for host in [*self.world.asked]:
            if self.dice.random() < 0.5:
                continue
            if self.dice.random() < 0.6:
                self.world.fails(host, secs=self.dice.choice((1, 10, 100)))
            else:
                self.world.end(host, secs=self.dice.choice((0, 5, 1000)))

    def wait(self) -> None:
        self.world.waits(self.dice.choice((0.1, 0.6, 5, 70)))

    def check(self) -> None:
        """The counters are those of what is in the room; a shut site waits for something."""
        room = self.world.room
        sites = room._sites.values()
        entries = [len(line) for site in sites for line in site.values()]
        assert sum(entries) == room.occupancy.size == sum(room.occupancy.by_slot.values())
        assert 0 not in entries
        shut = [site for site in sites if site.standing is not Standing.OPEN]
        assert room.occupancy.waiting == sum(site.size for site in shut)
        assert room.occupancy.waiting == self.world.stat("waiting")
        due = {site for _, _, site in room._due}
        for site in sites:
            is_asked = str(site.origin).removeprefix("http://") in self.world.asked
            assert is_asked == (site in room._young or site in room._late)
            places = is_asked + (site in due) + (site.queued_rank is not None)
            assert places == site.is_sought == (site in shut)
        for site in sites:
            place = "nowhere"
            if site in room._young:
                place = "young"
            elif site in room._late:
                place = "late"
            elif site.queued_rank is not None:
                place = "queued"
            elif site in shut:
                place = "due"
            assert (site.standing.name, place) in STATES
        handed = set(self.under_way)
        assert handed <= set(room.ready._handed)


@pytest.mark.parametrize("see", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_each_request_has_one_outcome_and_goes_back_at_most_once_whatever_happens(
    seed: int, see: bool, new_world: NewWorld
) -> None:
    dice = random.Random(seed)
    queue = dice.choice((DownloaderAwarePriorityQueue, ScrapyPriorityQueue))
    world = new_world(
        queue, look_ups=dice.choice((1, 16)), CONCURRENT_REQUESTS=dice.choice((1, 16))
    )
    if see:
        world.room.project_may_exempt = True
    wild = Wild(world, dice)
    things = [wild.push] * 5 + [wild.pull, wild.arrive, wild.answer] * 4 + [wild.drop, wild.wait]
    for _ in range(600):
        dice.choice(things)()
        wild.check()
    while world.room.occupancy.size or wild.under_way:
        for host in [*world.asked]:
            world.end(host)
        wild.pull()
        wild.arrive()
        wild.check()
        world.waits(3)
    assert set(wild.outcomes.values()) <= {1}
    assert len(wild.outcomes) == wild.number
    assert set(wild.returned.values()) <= {1}
    assert not world.room.ready.on_the_way
