"""The room between the engine and the scheduler, call by call: what each call hands out, takes in and gives back."""

from __future__ import annotations

import heapq
import logging
import time
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.core.crawlers import Crawler
from scrapy_gbot_robots.obeying import overflow
from scrapy_gbot_robots.obeying import room as module
from scrapy_gbot_robots.obeying.answer import Answer
from scrapy_gbot_robots.obeying.party import Awaited, Party
from scrapy_gbot_robots.obeying.room import WaitingRoom
from scrapy_gbot_robots.policy.outages import Decision, State

if TYPE_CHECKING:
    from collections.abc import Iterable

AGENT = Crawler.of("testbot")


class ByPriority(BaseScheduler):
    """A scheduler whose queue goes by priority; of equal ones, the first that came is the first to go."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._queue: list[tuple[int, int, Request]] = []
        self._numbers = count()
        self.is_away = False
        for name in names:
            self.enqueue_request(request(name))

    def __len__(self) -> int:
        return len(self._queue)

    def has_pending_requests(self) -> bool:
        return bool(self._queue)

    def enqueue_request(self, request: Request) -> bool:
        if self.is_away:
            raise ConnectionError
        heapq.heappush(self._queue, (-request.priority, next(self._numbers), request))
        return True

    def next_request(self) -> Request | None:
        return heapq.heappop(self._queue)[2] if self._queue else None


class LastFirst(ByPriority):
    """A scheduler that heeds no priority: the last that came is the first to go."""

    def next_request(self) -> Request | None:
        last = max(self._queue, key=lambda each: each[1], default=None)
        if last is None:
            return None
        self._queue.remove(last)
        return last[2]


def request(name: str, priority: int = 0) -> Request:
    """A request of the origin that the first letter of `name` stands for."""
    return Request(f"http://{name[0]}.example/{name[1:]}", priority=priority)


def name_of(request: Request | None) -> str | None:
    return None if request is None else f"{request.url[7]}{request.url.rpartition('/')[2]}"


class Tried:
    """A room before a scheduler, and what is asked of it."""

    def __init__(self, *names: str, kind: type[ByPriority] = ByPriority, scheduler: ByPriority | None = None) -> None:
        self.scheduler = scheduler or kind(names)
        self.parties: dict[str, Party] = {}
        crawler: Any = get_crawler()
        crawler.engine = object()  # one that lacks all parts
        self.crawler = crawler
        self.room = WaitingRoom(self.scheduler, self.crawler, self._awaited, lambda _: False, self._came)
        self.unreachable: set[str] = set()  # origins that are known to be, by their letters

    def _awaited(self, request: Request) -> Awaited:
        origin = Origin.of(request.url)
        return Awaited(origin, AGENT, origin.host[0] in self.unreachable)

    def _came(self, party: Party) -> None:
        assert party.origin.host[0] not in self.parties
        assert party.since  # without asyncio, a party without a request is over at once
        self.parties[party.origin.host[0]] = party

    def left(self, name: str, priority: int = 0) -> Request:
        """A request leaves the downloader, to wait here."""
        leaving = request(name, priority)
        self.room.expect(leaving, Origin.of(leaving.url), AGENT, time.monotonic())
        assert self.room.enqueue_request(leaving)
        return leaving

    def next(self) -> str | None:
        return name_of(self.room.next_request())

    def settle(self, name: str) -> None:
        party = self.parties.pop(name)
        now = time.time()
        decision = Decision(State.FULL_ALLOW, "", False, now + 86_400, now + 86_400)
        self.room.release(party, Answer(party.origin, decision, None, now))

    def rest(self) -> list[str | None]:
        """All that the room still hands out."""
        found = []
        while self.room.has_pending_requests():
            found.append(self.next())
            assert found.count(None) < 10
        return [name for name in found if name]

    def waiting(self) -> list[str | None]:
        return [name_of(each) for party in self.parties.values() for each in party.since]

    def stat(self, name: str) -> Any:
        return self.crawler.stats.get_value(f"gbot_robots/{name}")


def test_requests_of_an_origin_without_an_answer_wait_and_others_go_on() -> None:
    tried = Tried("a2", "b1", "a3", "b2")
    tried.left("a1")
    assert [tried.next() for _ in range(3)] == ["b1", "b2", None]
    assert tried.waiting() == ["a1", "a2", "a3"]
    assert len(tried.room) == 3
    assert tried.room.has_pending_requests()
    tried.settle("a")
    assert [tried.next() for _ in range(4)] == ["a1", "a2", "a3", None]
    assert len(tried.room) == 0
    assert not tried.room.has_pending_requests()


def test_same_request_object_may_wait_twice() -> None:
    tried = Tried()
    twice = tried.left("a1")
    tried.scheduler.enqueue_request(twice)
    assert tried.next() is None
    assert tried.waiting() == ["a1", "a1"]
    tried.settle("a")
    assert tried.rest() == ["a1", "a1"]
    assert len(tried.room) == 0


def test_requests_without_a_place_let_others_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_EACH", 2)
    tried = Tried("a2", "a3", "a4", "b1")
    tried.left("a1")
    assert [tried.next() for _ in range(3)] == ["b1", None, None]
    assert tried.waiting() == ["a1", "a2"]
    assert len(tried.room) == 4
    tried.scheduler.enqueue_request(request("b2"))
    assert [tried.next() for _ in range(2)] == ["b2", None]
    tried.settle("a")
    assert sorted(filter(None, tried.rest())) == ["a1", "a2", "a3", "a4"]


def test_request_without_a_place_does_not_hide_the_next_one_of_a_scheduler_without_priorities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_EACH", 1)
    tried = Tried("b1", "a2", kind=LastFirst)
    tried.left("a1")
    assert [tried.next(), tried.next(), tried.next()] == [None, "b1", None]
    assert len(tried.room) == 2
    tried.settle("a")
    assert sorted(filter(None, tried.rest())) == ["a1", "a2"]


def test_requests_without_a_place_come_after_lowered_ones_of_a_settled_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EACH", 1)
    tried = Tried("a2", "a3", "a4", "b1")
    tried.left("a1")
    assert [tried.next(), tried.next()] == ["b1", None]
    tried.left("c1")
    tried.settle("a")
    for name in ("c2", "c3"):
        tried.scheduler.enqueue_request(request(name))
    found = []
    while None not in found:
        found.append(tried.next())
    assert sorted(filter(None, found)) == ["a1", "a2", "a3", "a4"]
    assert tried.waiting() == ["c1"]


def test_requests_that_an_earlier_crawl_put_back_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EACH", 1)
    earlier = Tried("a2", "b2", "b3")
    for name in ("a1", "b1"):
        earlier.left(name)
    assert earlier.next() is None
    earlier.settle("a")
    earlier.left("b4")  # behind a2
    assert sorted(filter(None, [earlier.next() for _ in range(4)])) == ["a1", "a2"]
    earlier.room.close("finished")
    later = SimpleNamespace(monotonic=time.monotonic, time=lambda: time.time() + 60)
    monkeypatch.setattr(overflow, "time", later)
    tried = Tried(scheduler=earlier.scheduler)
    for number in range(5):
        tried.scheduler.enqueue_request(request(f"c{number}", priority=1))
    tried.left("c5")
    assert sorted(filter(None, [tried.next() for _ in range(5)])) == ["b1", "b2", "b3", "b4"]
    assert tried.waiting() == ["c5"]


def test_unreachable_origin_without_a_place_does_not_go_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    tried = Tried("c1", "d1", "e1")
    tried.unreachable = {"a", "b", "c", "d"}
    tried.left("a1")
    tried.left("b1")
    assert [tried.next() for _ in range(4)] == ["e1", None, None, None]
    tried.unreachable.remove("a")
    tried.settle("a")
    assert [tried.next(), tried.next()] == ["a1", None]
    assert sorted(filter(None, tried.waiting())) == ["b1", "c1"]
    tried.unreachable.clear()
    tried.settle("b")
    tried.settle("c")
    assert sorted(filter(None, tried.rest())) == ["b1", "c1", "d1"]


def test_requests_come_out_as_they_came_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EACH", 1)
    tried = Tried()
    for name, priority in (("a1", 7), ("a2", -3), ("a3", 0)):
        tried.left(name, priority)
    tried.settle("a")
    found = {name_of(each): each for each in iter(tried.room.next_request, None)}
    assert {name: each.priority for name, each in found.items()} == {"a1": 7, "a2": -3, "a3": 0}
    assert not any(each.dont_filter or each.meta for each in found.values())


def test_one_call_pulls_a_bounded_number_of_requests() -> None:
    tried = Tried(*(f"a{number}" for number in range(50)), "b1")
    tried.left("ax")
    assert tried.next() is None
    assert 2 < len(tried.waiting()) <= 1 + 32
    assert tried.next() == "b1"


def test_full_room_lets_the_largest_party_make_place_for_a_smaller_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 5)
    tried = Tried()
    for name, priority in (("a1", 5), ("a2", 1), ("a3", 9), ("a4", 1), ("a5", 9)):
        tried.left(name, priority)
    tried.left("b1")
    assert tried.waiting() == ["a1", "a2", "a3", "a5", "b1"]  # of those with the lowest priority, the last has gone
    tried.left("b2")
    assert tried.waiting() == ["a1", "a3", "a5", "b1", "b2"]
    tried.left("b3", priority=20)  # its origin already has as many as it would leave to the other
    assert tried.waiting() == ["a1", "a3", "a5", "b1", "b2"]
    tried.left("c1")
    tried.left("b4", priority=20)
    assert tried.waiting() == ["a3", "a5", "b1", "b2", "c1"]
    assert (tried.stat("waiting"), tried.stat("waiting_most")) == (5, 5)
    assert len(tried.room) == 10


def test_scheduler_that_is_away_loses_no_request_that_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    tried = Tried()
    tried.left("a1")
    tried.left("a2")
    tried.scheduler.is_away = True
    with pytest.raises(ConnectionError):
        tried.left("b1")
    tried.scheduler.is_away = False
    assert tried.waiting() == ["a1", "a2"]
    tried.left("b1")
    assert tried.waiting() == ["a1", "b1"]


def test_party_is_announced_once_however_many_join_it() -> None:
    tried = Tried("a2")
    tried.left("a1")  # `Tried` sees to it that no party comes twice
    tried.left("a3")
    assert tried.next() is None
    assert [*tried.parties] == ["a"]
    tried.settle("a")
    assert tried.rest() == ["a1", "a3", "a2"]
    tried.left("a1")  # the same origin may be without an answer again
    assert tried.waiting() == ["a1"]


def test_request_that_is_given_up_comes_at_once_though_its_origin_has_no_answer() -> None:
    tried = Tried("b1")
    first, second = tried.left("a1"), tried.left("a2")
    tried.room.refuse(tried.parties["a"], first)
    assert len(tried.room) == 3
    assert [tried.next(), tried.next(), tried.next()] == ["a1", "b1", None]
    assert (tried.waiting(), tried.stat("waiting")) == (["a2"], 1)
    tried.room.refuse(tried.parties["a"], second)
    assert tried.room.has_pending_requests()
    assert tried.next() == "a2"
    assert not tried.room.has_pending_requests()


def test_request_that_did_not_leave_the_downloader_does_not_wait() -> None:
    tried = Tried()
    assert tried.room.enqueue_request(request("a1"))
    assert tried.next() == "a1"
    lost = request("a2")
    tried.room.expect(lost, Origin.of(lost.url), AGENT, 0.0)
    assert tried.room.never_came(lost)
    assert not tried.room.never_came(lost)
    assert not tried.room.never_came(tried.left("a3"))


@pytest.mark.parametrize("most_each", [1, 64])
def test_closed_room_gives_all_requests_back(most_each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EACH", most_each)
    tried = Tried("a2", "a3")
    given_up = tried.left("a1")
    tried.left("b1")
    tried.left("b2")
    assert tried.next() is None
    tried.room.refuse(tried.parties["a"], given_up)
    tried.settle("b")
    tried.room.close("finished")
    tried.left("c1")  # it left the downloader too late to wait
    assert (len(tried.room), tried.stat("waiting")) == (6, 0)
    found = sorted(name_of(each) or "" for each in iter(tried.room.next_request, None))
    assert found == ["a1", "a2", "a3", "b1", "b2", "c1"]


def test_requests_that_are_given_back_have_their_own_priority_in_the_scheduler() -> None:
    tried = Tried()
    tried.left("a1", priority=3)
    for name, priority in (("b1", 2), ("b2", 4)):
        tried.scheduler.enqueue_request(request(name, priority))
    tried.room.close("finished")
    assert [name_of(each) for each in iter(tried.scheduler.next_request, None)] == ["b2", "a1", "b1"]


def test_scheduler_that_is_away_for_a_moment_loses_no_request() -> None:
    tried = Tried()
    for name in ("a1", "a2", "b1"):
        tried.left(name)
    tried.settle("a")
    tried.settle("b")
    tried.scheduler.is_away = True
    for _ in range(3):
        with pytest.raises(ConnectionError):
            tried.next()
    tried.scheduler.is_away = False
    assert sorted(filter(None, tried.rest())) == ["a1", "a2", "b1"]


def test_requests_that_a_scheduler_does_not_take_back_at_the_end_are_counted_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tried = Tried()
    for name in ("a1", "a2", "b1"):
        tried.left(name)
    tried.scheduler.is_away = True
    tried.room.close("finished")
    (line,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert line.startswith("Up to 3 requests are lost: ")


def test_requests_of_a_party_are_counted_once() -> None:
    first, second = request("a1"), request("a2", priority=3)
    party = Party(Origin.of(first.url), AGENT, first)
    party.since = {first: 1.0, second: 2.0}
    assert (party.newly_held(), party.newly_held()) == (2, 0)
    party.remove(second)
    party.remove(first)
    assert not party.since
    party.since[first] = 3.0
    assert party.newly_held() == 1
