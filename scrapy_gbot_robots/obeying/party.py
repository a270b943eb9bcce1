"""A party: the requests of one origin that wait together for its robots.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

    from ..core.agents import RobotsAgent
    from ..core.origin import Origin
    from .answer import Answer


class Party:
    """The requests of one origin that wait in the room, in the order in which they came.

    Attributes:
        agent, request: the crawler and the request for which the crawl looks up the robots.txt.
        lowered: whether some of its requests are in the scheduler with a lowered priority.
        since: since when each request waits, on the monotonic clock.
        answer: the answer that settled the origin; None before, and if the crawl closed.
    """

    __slots__ = ("_counted", "_held", "agent", "answer", "lowered", "origin", "request", "since")

    def __init__(self, origin: Origin, agent: RobotsAgent, request: Request) -> None:
        self.origin = origin
        self.agent = agent
        self.request = request
        self.lowered = False
        self.since: dict[Request, float] = {}
        self.answer: Answer | None = None
        self._counted: dict[Request, set[Request]] = {}
        self._held: set[Request] = set()

    def add(self, request: Request, since: float, active: set[Request] | None) -> None:
        """Take `request` in, and count it among the `active` ones of its download slot."""
        self.since[request] = since
        if active is not None:
            active.add(request)
            self._counted[request] = active

    def remove(self, request: Request) -> None:
        """Let `request` go."""
        del self.since[request]
        active = self._counted.pop(request, None)
        if active is not None:
            active.discard(request)
        self._held.discard(request)

    def newly_held(self) -> int:
        """How many requests have come since the last call."""
        number = len(self.since) - len(self._held)
        self._held.update(self.since)
        return number

    def least(self) -> Request:
        """The request that can wait longest: of all with the lowest priority, the last."""
        return min(reversed(self.since), key=lambda request: request.priority)
