"""From the response of a download handler to an outcome: whether its body is whole, and what is in it.

Boundary: `policy.outcome` decides what a status means, `policy.decoding` decodes the body.
Source: Google's page, "Handling of errors and HTTP status codes"; Scrapy's flags of responses.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..policy import headers
from ..policy.decoding import DecodeError, as_served, decoded
from ..policy.outcome import Failure, Fetched, Outcome, failed, outcome_of

if TYPE_CHECKING:
    from scrapy.http import Headers, Response

    from ..settings import GbotSettings
    from .exchange import Exchange


def outcome_of_response(response: Response, url: str, exchange: Exchange, settings: GbotSettings) -> Outcome:
    """Return the outcome of a response. The status decides unless it is a 2xx, whatever happened to the body."""
    lost = _lost(response, exchange)
    body, cut, broken = b"", False, ""
    if lost is None:
        try:
            body, cut = decoded(
                as_served(response.body, response.flags),
                content_encoding(response, exchange),
                settings.max_bytes,
                whole=not _is_stopped(response),
                # A partial body may be empty because the connection ended.
                may_be_empty="partial" not in response.flags,
            )
        except DecodeError as error:
            broken = str(error)
    outcome = outcome_of(
        response.status,
        url,
        body,
        cut=cut,
        max_age=_max_age(response.headers),
        retry_after=headers.retry_after(response.headers.get("Retry-After"), time.time()),
        soft_404=settings.soft_404,
    )
    if isinstance(outcome, Fetched) and (lost or broken):
        return failed(lost or Failure.BAD_CONTENT, broken)
    return outcome


def _lost(response: Response, exchange: Exchange) -> Failure | None:
    """Why the body is incomplete; None if it is whole, or long enough because this plugin stopped the download."""
    if "dataloss" in response.flags:
        return Failure.TRUNCATED
    if _is_stopped(response) and not exchange.stopped:
        return Failure.STOPPED
    return None


def _is_stopped(response: Response) -> bool:
    return "download_stopped" in response.flags


def content_encoding(response: Response, exchange: Exchange) -> str:
    """The response's Content-Encoding, even if `Exchange` has taken it out; empty if it has none."""
    return b",".join((exchange.headers or response.headers).getlist("Content-Encoding")).decode("latin-1")


def _max_age(found: Headers) -> float | None:
    return headers.max_age(found.getlist("Cache-Control"), found.get("Age"))
