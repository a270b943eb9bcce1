"""A gate: where the requests of one origin wait until their robots.txt is known.

It is a machine of states. What becomes of most gates: the first request comes (*new*) and asks
whether it may go on. It may not, so it waits until the look-up of its robots.txt has its turn
(*queued*) and has ended (*asking*). Then the gate is *open*: its requests go on, and the middleware
judges each by the answer. When the last one has gone, the gate is *over* and forgotten. If
robots.txt is unreachable, the gate is *held*, and its requests wait for the next look-up.

    new ------> queued ---> asking ---> open ------> new: the answer is too old
      |            ^           |
      +-> open     |           v
                   +--------- held: robots.txt is unreachable
             its time comes

A gate that is not open may let so many requests *pass*:

* given up: robots.txt is unreachable and their wait is over. The bad answer refuses them;
* served: they waited for an answer that expires soon, with `GBOT_ROBOTS_MAX_AGE_SECS = 0` at once.
  If each of them asked anew, a robots.txt that fails every other time would hold them up again and
  again;
* a *scout*: a request of a gate that is held goes without an answer, if a middleware of the
  project's stands before ours. Only that middleware knows whether the request is subject to
  robots.txt. If it is, it comes back at once, is no scout again, and another one goes. If it is
  not, more requests pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from scrapy import Request

from ..core.urls import Origin
from .answer import CachedAnswer


class State(Enum):
    """What a gate does with the requests of its origin."""

    NEW = "new"  # nothing good is known, and none of them has asked yet
    QUEUED = "queued"  # they wait until its look-up has its turn
    ASKING = "asking"  # they wait for its look-up, which runs
    OPEN = "open"  # they go on
    HELD = "held"  # robots.txt is unreachable: they wait for the next look-up
    OVER = "over"  # there are none


TRANSITIONS = {
    State.NEW: {State.OPEN, State.QUEUED, State.OVER},
    State.QUEUED: {State.ASKING, State.OPEN, State.HELD},
    State.ASKING: {State.OPEN, State.HELD},
    State.OPEN: {State.NEW, State.OVER},
    State.HELD: {State.QUEUED, State.NEW, State.OVER},
    State.OVER: set(),
}


class Line(Protocol):
    """Requests of one origin in a queue, as the gates see them."""

    gate: Gate | None  # where the line waits if it has to
    is_returned: bool  # its requests have come back, so that none of them is a scout

    @property
    def urgency(self) -> int:
        """By what number the look-up of its origin comes before others, the smaller the earlier."""

    def next_request(self) -> Request | None:
        """Return the request that comes next; None if the queue cannot tell."""

    def make_ready(self) -> None:
        """Let the queue ask again whether a request of this line may go on."""

    def note_refused(self) -> None:
        """Note that a request of this line was refused, and so costs its slot no delay."""


class Passes(NamedTuple):
    """So many requests pass a gate until a time on the monotonic clock. None: without an answer."""

    number: int
    until: float
    answer: CachedAnswer | None


class Handed(NamedTuple):
    """What is known of a request that a queue has handed out."""

    url: str  # of the request; a middleware may change it later
    origin: Origin
    answer: CachedAnswer | None = None  # with which it has passed its gate
    is_scout: bool = False
    line: Line | None = None


@dataclass(slots=True, eq=False)
class Gate:
    """The gate of one origin. Times are on the monotonic clock."""

    origin: Origin
    state: State = State.NEW
    lines: tuple[Line, ...] = ()  # that wait here
    size: int = 0  # requests in all lines of the origin, whether they wait here or not
    urgency: int = 0  # with which it is queued
    open_until: float = 0.0
    is_unreachable: bool = False  # so the last look-up has found
    shut_since: float = 0.0  # since when the next requests wait that are to be given up
    passes: Passes | None = None

    @property
    def is_shut(self) -> bool:
        """Whether its requests count as waiting."""
        return self.state is not State.OPEN

    def lets_pass(self, line: Line, now: float) -> bool:
        """Whether one more request of `line` may go on."""
        if self.state is State.OPEN and now < self.open_until:
            return True
        if self.passes is None or now >= self.passes.until:
            return False
        return self.passes.answer is not None or not line.is_returned

    def go(self, state: State) -> None:
        """Change the state, and let none pass any more. Only `Gates` calls this."""
        assert state in TRANSITIONS[self.state], f"{self.state} to {state}"  # noqa: S101
        self.state = state
        self.passes = None

    def hand_out(self, line: Line | None, request: Request) -> Handed:
        """Let `request` of `line` pass, and return what is known of it."""
        passes = self.passes
        if passes is None:
            return Handed(request.url, self.origin, line=line)
        self.passes = None
        if passes.number > 1:
            self.passes = passes._replace(number=passes.number - 1)
        return Handed(request.url, self.origin, passes.answer, passes.answer is None, line)
