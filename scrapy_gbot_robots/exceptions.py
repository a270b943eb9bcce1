"""The exception `ForbiddenByRobotsTxt`, which is passed to the errback of a forbidden request."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from .core.urls import Origin
from .core.verdict import Verdict
from .policy.outages import State


class ForbiddenByRobotsTxt(IgnoreRequest):
    """Raised for a request that is forbidden. In an errback, it is `failure.value`.

    Attributes:
        verdict: the `Verdict`. It contains the reason and, if a rule of the robots.txt decided, the
            rule and its line.
        origin: the `Origin` whose robots.txt decided; None if no robots.txt decided.
        state: the `State` of this origin: full allow (every URL is allowed), full disallow (no URL
            is allowed) or rules (the rules of its robots.txt decide); None if it is not known.
        cause: an exception such as CannotResolveHostError, if the host of the robots.txt does not
            resolve, refuses connections or does not answer in time; otherwise None. In such a case,
            Scrapy raises the same exception for a page.
        unreachable: True if the request is forbidden only because the robots.txt is unreachable. If
            so, the request might be allowed when the site answers again.
    """

    def __init__(
        self,
        verdict: Verdict,
        origin: Origin | None = None,
        state: State | None = None,
        cause: Exception | None = None,
        *,
        unreachable: bool = False,
    ) -> None:
        super().__init__(f"Forbidden by robots.txt: {verdict}")
        self.cause = self.__cause__ = cause
        self.verdict = verdict
        self.origin = origin
        self.state = state
        self.unreachable = unreachable
