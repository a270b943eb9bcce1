"""A party: the requests of one origin that wait together for its robots.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy import Request

    from ..core.crawlers import RobotsAgent
    from ..core.urls import Origin
    from .answer import Answer


class Awaited(NamedTuple):
    """What a request has to wait for.

    Attributes:
        origin, agent: the robots.txt that is awaited, and the crawler whose rules are read in it.
        is_unreachable: whether it is known to be unreachable.
    """

    origin: Origin
    agent: RobotsAgent
    is_unreachable: bool


class Lowered:
    """The requests of a party that have gone back to the scheduler.

    Attributes:
        level: by how many steps the priority of those is lowered that are in a shared queue; 0: none has gone back.
        queues: the queues in which they are.
    """

    __slots__ = ("level", "queues")

    def __init__(self) -> None:
        self.level = 0
        self.queues: set[str] = set()


class Party:
    """The requests of one origin that wait in the room, in the order in which they came.

    Attributes:
        agent, request: the crawler and the request for which the crawl looks up the robots.txt.
        lowered: its requests that have gone back to the scheduler for want of a place.
        shares_host: whether other origins of its host are known; None if nobody has asked.
        since: since when each request waits, on the monotonic clock.
        answer: the answer that settled the origin; None before, and if the crawl closed.
    """

    __slots__ = ("_held", "agent", "answer", "lowered", "origin", "request", "shares_host", "since")

    def __init__(self, origin: Origin, agent: RobotsAgent, request: Request) -> None:
        self.origin = origin
        self.agent = agent
        self.request = request
        self.lowered = Lowered()
        self.shares_host: bool | None = None
        self.since: dict[Request, float] = {}
        self.answer: Answer | None = None
        self._held: set[Request] = set()

    def remove(self, request: Request) -> None:
        """Let `request` go."""
        del self.since[request]
        self._held.discard(request)

    def newly_held(self) -> int:
        """How many requests have come since the last call."""
        number = len(self.since) - len(self._held)
        self._held.update(self.since)
        return number

    def least(self) -> Request:
        """The request that can wait longest: of all with the lowest priority, the last."""
        return min(reversed(self.since), key=lambda request: request.priority)
