"""The exception that an errback gets when a request is refused."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from .core.urls import Origin
from .core.verdict import Verdict
from .policy.outages import State


class ForbiddenByRobotsTxt(IgnoreRequest):
    """The request is refused. An errback finds this exception as `failure.value`.

    Attributes:
        verdict: why, and by which rule and line.
        origin: the origin whose robots.txt decided; None if none did.
        state: what that robots.txt amounts to now; None if that is not known.
        cause: if the host does not resolve, refuses connections or does not answer in time, an
            exception such as Scrapy raises for a page of it, CannotResolveHostError for example;
            else None.
    """

    def __init__(
        self,
        verdict: Verdict,
        origin: Origin | None = None,
        state: State | None = None,
        cause: Exception | None = None,
    ) -> None:
        super().__init__(f"Forbidden by robots.txt: {verdict}")
        self.cause = self.__cause__ = cause
        self.verdict = verdict
        self.origin = origin
        self.state = state
