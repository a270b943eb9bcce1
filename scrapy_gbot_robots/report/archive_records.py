"""The bytes of an archive's records: WARC 1.1, or lines of JSON.

A robots.txt that this crawl fetched is a "response" record, as it came over the wire, with its
"request". What decided otherwise has no HTTP answer to show: a robots.txt from the storage is a
"resource" record with its own date, and "metadata" says what was decided about an origin without a
robots.txt. `bulk.archive_reader` reads all of them.
Sources: WARC 1.1 (ISO 28500:2017), 6.2 to 6.6; https://jsonlines.org.
"""

from __future__ import annotations

import base64
import gzip
import json
from datetime import datetime, timezone
from hashlib import sha256
from http.client import responses
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

from scrapy import Request
from scrapy.http import Headers, Response

from ..core.urls import escape_text
from ..fetching.exchange import HTTP2
from ..obeying.answer import CachedAnswer
from ..obeying.provenance import hash_of
from ..policy.decoding import DecodeError, decoded
from ..policy.outages import Copy, date_of
from ..policy.outcome import Fetched, Unavailable

_SHA256, _SOURCE, _LOCATION = "X-Robots-SHA256", "X-Robots-Source", "X-Robots-Location"  # our own
# request headers that an archive must not contain
_SECRETS = {"authorization", "cookie", "proxy-authorization"}
_LENGTH = "content-length"
_OF_THE_WIRE = {"transfer-encoding", "connection"}  # headers about the transfer, not about the body
_MOST_ERROR_PAGE = 2**16  # bytes; what it means stands in its first 16 KiB
_STOPPED = "download_stopped"  # Scrapy's flag of a response whose body goes on


class Exchange(NamedTuple):
    """A fetch that has ended, as the signal `robotstxt_served` tells it."""

    outcome: Fetched | Unavailable
    request: Request
    response: Response
    headers: Headers

    def led_to(self, copy: Copy) -> bool:
        """Whether `copy` is what the fetch came to."""
        outcome = self.outcome
        if (outcome.url, outcome.status) != (copy.url, copy.status):
            return False
        return isinstance(outcome, Unavailable) or outcome.body == copy.body


class Served(NamedTuple):
    """A robots.txt, or what came in its place, as a server sent it to this crawl.

    The names are those of a line of JSON.
    """

    url: str
    fetched: str  # in UTC, ISO 8601
    robots: str  # the SHA-256 of the decoded body, as far as it is read
    status: int
    request_headers: list[tuple[str, str]]  # without secrets
    response_headers: list[tuple[str, str]]  # off the wire
    cut: bool  # only the beginning is read
    ip: str | None  # the server's, if known
    body: bytes  # decoded, as far as it is read
    response: Response

    @classmethod
    def of(cls, exchange: Exchange, fetched_at: float) -> Served:
        """Take from an exchange what an archive keeps; its time is in seconds since the epoch."""
        outcome, response, headers = exchange.outcome, exchange.response, exchange.headers
        is_cut = _STOPPED in response.flags
        if isinstance(outcome, Fetched):
            body, is_cut = outcome.body, outcome.cut
        else:
            body = _beginning(response, headers)
        sent = _texts(exchange.request.headers)
        ip = None
        if response.ip_address is not None:
            ip = str(response.ip_address)
        return cls(
            url=outcome.url,
            fetched=_date(fetched_at),
            robots=sha256(body).hexdigest(),
            status=response.status,
            request_headers=[field for field in sent if field[0].lower() not in _SECRETS],
            response_headers=_texts(headers),
            cut=is_cut,
            ip=ip,
            body=body,
            response=response,
        )


class Decided(NamedTuple):
    """What decided about an origin, where no HTTP answer of this crawl shows it.

    The names are those of a line of JSON.
    """

    url: str  # of the origin's robots.txt
    fetched: str  # when a server said so, else when the crawl decided it; in UTC, ISO 8601
    robots: str | None  # the SHA-256 of the body, None if there is no robots.txt
    status: int | None
    source: str  # where the answer came from
    state: str  # "rules", "full allow" or "full disallow"
    why: str
    unreachable: bool  # the state holds only because the robots.txt was unreachable
    location: str | None  # the URL of the body, if a redirect led there
    cut: bool  # `body` is only the beginning
    body: bytes  # decoded; empty if there is no robots.txt

    @classmethod
    def of(cls, answer: CachedAnswer, copy: Copy | None) -> Decided:
        """Take what an answer rests on: `copy`, or nothing definite."""
        status, decided_at, digest = answer.status, answer.given_at, None
        is_cut, body = False, b""
        if copy is not None:
            status, decided_at, digest = copy.status, copy.fetched_at, hash_of(copy)
            if digest is not None:
                is_cut, body = copy.cut, copy.body
        return cls(
            url=answer.origin.robots_url,
            fetched=_date(decided_at),
            robots=digest,
            status=status,
            source=answer.source.value,
            state=answer.state.value,
            why=answer.why,
            unreachable=answer.temporary and copy is None,
            location=answer.redirected_to or None,
            cut=is_cut,
            body=body,
        )


Record: TypeAlias = Served | Decided


def bytes_of(record: Record, name: str, *, is_first: bool) -> bytes:
    """Return what a record adds to a file of this name.

    The first one of a WARC file also names this program.
    """
    if name.endswith((".jsonl", ".jsonl.gz")):
        parts = [_json(record)]
    else:
        parts = [_warcinfo(name)] if is_first else []
        if isinstance(record, Served):
            parts += _exchange(record)
        else:
            parts.append(_decision(record))
    if name.endswith(".gz"):
        parts = [gzip.compress(part) for part in parts]
    return b"".join(parts)


def _beginning(response: Response, headers: Headers) -> bytes:
    """Return the first bytes of an error page or wall, decoded; as they came if they cannot be."""
    coding = b",".join(headers.getlist("Content-Encoding")).decode("latin-1")
    try:
        return decoded(response.body, coding, _MOST_ERROR_PAGE, whole=False)[0]
    except DecodeError:
        return response.body[:_MOST_ERROR_PAGE]


def _date(seconds: float) -> str:
    """Return a time as WARC writes it.

    A time that has no date, from a storage to which others write, counts as the present.
    """
    date = date_of(seconds)
    if date is None:
        date = datetime.now(timezone.utc)
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")


def _texts(headers: Headers) -> list[tuple[str, str]]:
    fields: list[tuple[str, str]] = []
    for name in headers:
        for value in headers.getlist(name):
            fields.append((name.decode("latin-1"), value.decode("latin-1")))  # noqa: PERF401
    return fields


def _json(record: Record) -> bytes:
    fields: dict[str, Any] = record._asdict()
    fields.pop("response", None)
    try:
        fields["body"] = record.body.decode("utf-8")
    except UnicodeDecodeError:
        fields["body_base64"] = base64.b64encode(fields.pop("body")).decode("ascii")
    return json.dumps(fields).encode("ascii") + b"\n"


def _warcinfo(name: str) -> bytes:
    about = b"software: scrapy-gbot-robots\r\nformat: WARC File Format 1.1\r\n"
    now = _date(datetime.now(timezone.utc).timestamp())
    return _warc("warcinfo", now, about, "application/warc-fields", {"WARC-Filename": name})


def _exchange(served: Served) -> list[bytes]:
    """Return the records of a response and of its request."""
    response = served.response
    url = escape_text(served.url)  # Latin-1 would not hold each URL that a redirect may name
    about = {"WARC-Target-URI": url, "WARC-Record-ID": _new_id(), _SHA256: served.robots}
    if served.cut:
        about["WARC-Truncated"] = "length"
    if served.ip is not None:
        about["WARC-IP-Address"] = served.ip
    protocol = response.protocol or "HTTP/1.1"
    if protocol in HTTP2:
        protocol = "HTTP/2.0"  # which readers of archives take for a version of HTTP
    fields = _fields_of(served)
    reason = responses.get(served.status, "Unknown")
    answer = _head(f"{protocol} {served.status} {reason}", fields) + response.body
    asked = _head(f"GET /{url.split('/', 3)[3]} {protocol}", served.request_headers)
    belongs = {"WARC-Target-URI": url, "WARC-Concurrent-To": about["WARC-Record-ID"]}
    date = served.fetched
    return [
        _warc("response", date, answer, "application/http; msgtype=response", about),
        _warc("request", date, asked, "application/http; msgtype=request", belongs),
    ]


def _fields_of(served: Served) -> list[tuple[str, str]]:
    """Return the response's headers as they fit its body, which has no transfer coding here."""
    names = {name.lower() for name, _ in served.response_headers}
    left_out = set(_OF_THE_WIRE)
    has_end = not served.cut and "partial" not in served.response.flags
    if has_end or "transfer-encoding" in names:  # which overrides any length (RFC 9112 6.3)
        left_out.add(_LENGTH)
    fields = [field for field in served.response_headers if field[0].lower() not in left_out]
    if has_end:
        fields.append(("Content-Length", str(len(served.response.body))))
    return fields


def _decision(decided: Decided) -> bytes:
    """Return the record of a robots.txt without its HTTP answer, or of a decision without one."""
    about = {"WARC-Target-URI": decided.url, _SOURCE: decided.source}
    if decided.location is not None:
        about[_LOCATION] = escape_text(decided.location)
    if decided.robots is not None:
        about[_SHA256] = decided.robots
        if decided.cut:
            about["WARC-Truncated"] = "length"
        return _warc("resource", decided.fetched, decided.body, "text/plain", about)
    facts = {"robots-state": decided.state, "robots-why": " ".join(decided.why.split())}
    if decided.status is not None:
        facts["robots-status"] = f"{decided.status:03}"
    if decided.unreachable:
        facts["robots-unreachable"] = "true"
    lines = [f"{name}: {fact}\r\n" for name, fact in facts.items()]
    text = "".join(lines).encode("utf-8", "replace")
    return _warc("metadata", decided.fetched, text, "application/warc-fields", about)


def _new_id() -> str:
    return f"<urn:uuid:{uuid4()}>"


def _warc(kind: str, date: str, block: bytes, content: str, fields: dict[str, str]) -> bytes:
    named = {"WARC-Type": kind, "WARC-Record-ID": _new_id(), "WARC-Date": date, **fields}
    named |= {"Content-Type": content, "Content-Length": str(len(block))}
    return _head("WARC/1.1", list(named.items())) + block + b"\r\n\r\n"


def _head(first: str, fields: list[tuple[str, str]]) -> bytes:
    lines = [first]
    for name, value in fields:
        lines.append(f"{name}: {' '.join(value.splitlines())}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "backslashreplace")
