"""`GBOT_ROBOTS_PROVENANCE`: which robots.txt let a request go on, written into the request's meta.

All that is ever in it is written here. `report.provenance` copies it into items. Source: our own.
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
    """Return the SHA-256 of a robots.txt, in hexadecimal; None if the server has none."""
    return sha256(copy.body).hexdigest() if copy.kind is Kind.RULES else None


def write(request: Request, own: CachedAnswer | None, verdict: Verdict) -> None:
    """Say by which `verdict` the request goes on; `own` is the site's own answer, if known."""
    proof: dict[str, Any] = {
        "robots": None,
        "fetched": None,
        "status": None,
        "line": None,
        "group": verdict.group,
        "override": verdict.override,
    }
    if own is not None:
        proof["robots"], proof["status"] = own.robots_sha256, own.status
        date = None if own.fetched_at is None else date_of(own.fetched_at)
        if date is not None:
            proof["fetched"] = date.isoformat(timespec="seconds")
    if verdict.rule is not None:
        proof["line"] = verdict.rule.line
    request.meta[PROVENANCE] = proof


def add_preferences(request: Request) -> None:
    """Add what the site says about the use of the page, if that is known."""
    proof = request.meta.get(PROVENANCE)
    if isinstance(proof, dict) and PREFERENCES in request.meta:
        proof["preferences"] = request.meta[PREFERENCES]


def remove(request: Request) -> None:
    """Remove what is another page's, if the request was made from that page's meta."""
    request.meta.pop(PROVENANCE, None)
    request.meta.pop(PREFERENCES, None)
