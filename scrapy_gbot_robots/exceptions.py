"""The exception that an errback gets when a request is forbidden."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from .core.urls import Origin
from .core.verdict import Verdict
from .policy.outages import State


class ForbiddenByRobotsTxt(IgnoreRequest):
    """Robots.txt forbids the request. An errback finds this exception as `failure.value`.

    Attributes:
        verdict: the `Verdict`, with its reason, and the rule and line if a rule decided.
        origin: the `Origin` whose robots.txt decided; None if no robots.txt did.
        state: whether that robots.txt means full allow or full disallow now, or its rules decide;
            None if that is not known.
        cause: the exception that Scrapy would raise for a page of the host, such as
            CannotResolveHostError, if the host does not resolve, refuses connections or does not
            answer in time; else None.
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
