"""What the crawl is told when robots.txt keeps a request back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from .core.urls import shown

if TYPE_CHECKING:
    from .core.origin import Origin
    from .core.rules import Verdict
    from .policy.ladder import State


class ForbiddenByRobotsTxt(IgnoreRequest):
    """A request that robots.txt does not let through; an errback finds it as `failure.value`.

    Attributes:
        verdict: why, and by which rule and line.
        origin: whose robots.txt decided; None when the URL has no origin to ask.
        state: what that robots.txt amounts to now; None when there is no origin to ask.
    """

    def __init__(self, verdict: Verdict, origin: Origin | None = None, state: State | None = None) -> None:
        super().__init__(f"Forbidden by robots.txt: {verdict}")
        self.verdict = verdict
        self.origin = origin
        self.state = state


class UnreachableRobotsTxt(IgnoreRequest):
    """A request for a robots.txt that no server answers; an errback finds it as `failure.value`.

    Attributes:
        origin: whose robots.txt.
        why: what happened instead of an answer.
    """

    def __init__(self, origin: Origin, why: str) -> None:
        super().__init__(f"{origin.robots_url}: {shown(why)}")
        self.origin = origin
        self.why = why
