"""`GBOT_ROBOTS_PROVENANCE`: which robots.txt let a request go on, in the request's meta.

The downloader middleware writes it when it lets the request go on. Source: our own.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from scrapy import Request

from ..core.verdict import Verdict
from ..meta import PREFERENCES, PROVENANCE
from ..policy.outages import Copy, Kind, date_of
from .answer import CachedAnswer


def hash_of(copy: Copy) -> str | None:
    """Return the SHA-256 of a robots.txt, or of a web page in its place; None if there is none."""
    if copy.kind not in {Kind.RULES, Kind.WEB_PAGE}:
        return None
    return sha256(copy.body).hexdigest()


def write(request: Request, answer: CachedAnswer, verdict: Verdict) -> None:
    """Say by which `answer` and `verdict` the request goes on."""
    proof: dict[str, Any] = {
        "robots": answer.robots_sha256,
        "fetched": None,
        "status": answer.status,
        "line": None,
        "group": verdict.group,
        "override": verdict.override,
    }
    if answer.fetched_at is not None:
        date = date_of(answer.fetched_at)
        if date is not None:
            proof["fetched"] = date.isoformat(timespec="seconds")
    if verdict.rule is not None:
        proof["line"] = verdict.rule.line
    request.meta[PROVENANCE] = proof


def remove(request: Request) -> None:
    """Remove what is another page's, if the request was made from that page's meta."""
    request.meta.pop(PROVENANCE, None)
    request.meta.pop(PREFERENCES, None)
