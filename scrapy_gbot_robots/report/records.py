"""The records of an archive: one robots.txt as WARC records, or as a line of JSON.

It needs warcio, which an extra brings. A WARC record has the body as it came over the wire; a line of JSON has
the decoded body. The SHA-256 is that of the decoded body, as far as it is read, as in `GBOT_ROBOTS_PROVENANCE`.
Sources: WARC 1.1 (ISO 28500:2017); https://jsonlines.org.
"""

from __future__ import annotations

import base64
import gzip
import json
from datetime import datetime, timezone
from hashlib import sha256
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Headers, Response
    from typing_extensions import Self

    from ..policy.outcome import Fetched

_DIGEST = "X-Robots-SHA256"  # our own field in WARC records, which the format allows
_SECRETS = {"authorization", "cookie", "proxy-authorization"}  # request headers that an archive must not contain
_OF_THE_WIRE = {"transfer-encoding", "connection"}  # headers about the transfer, not about the body


class Served(NamedTuple):
    """A robots.txt as it was served.

    Attributes:
        url: where it was served.
        at: when.
        method: the method of the request.
        request: the headers of the request, without secrets.
        status: the status code.
        protocol: such as "HTTP/1.1".
        headers: those of the response.
        body: the body as it came over the wire.
        robots: the body decoded, as far as it is read.
        cut: whether `robots` is only the beginning.
        ip: the address of the server, if known.
    """

    url: str
    at: datetime
    method: str
    request: list[tuple[str, str]]
    status: int
    protocol: str
    headers: list[tuple[str, str]]
    body: bytes
    robots: bytes
    cut: bool
    ip: str | None

    @classmethod
    def of(cls, outcome: Fetched, request: Request, response: Response, headers: Headers) -> Self:
        """Take the facts from a fetch."""
        ip = response.ip_address
        return cls(
            url=outcome.url,
            at=datetime.now(timezone.utc),
            method=request.method,
            request=[each for each in _texts(request.headers) if each[0].lower() not in _SECRETS],
            status=response.status,
            protocol=response.protocol or "HTTP/1.1",
            headers=_texts(headers),
            body=response.body,
            robots=outcome.body,
            cut=outcome.cut,
            ip=None if ip is None else str(ip),
        )


class RecordMaker(Protocol):
    """Returns the bytes that one robots.txt adds to a file. The first bytes of a WARC file also name this program."""

    def __call__(self, served: Served, *, is_first: bool) -> bytes: ...  # noqa: D102


def record_maker(name: str) -> RecordMaker:
    """Return the function that makes the records of a file with this name.

    Raises:
        ValueError: it is a WARC file, and warcio is not installed.
    """
    if name.endswith((".jsonl", ".jsonl.gz")):
        return lambda served, *, is_first: _json(served, is_gzip=name.endswith(".gz"))
    try:
        import warcio  # noqa: F401, PLC0415  an extra
    except ImportError:
        raise ValueError(
            "GBOT_ROBOTS_ARCHIVE must end in .jsonl.gz or .jsonl, unless warcio is installed (pip install "
            f"'scrapy-gbot-robots[archive]'), got {name!r}"
        ) from None
    return lambda served, *, is_first: _warc(served, name, is_first=is_first)


def _texts(headers: Headers) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name in headers for value in headers.getlist(name)]


def _json(served: Served, *, is_gzip: bool) -> bytes:
    fields: dict[str, Any] = {
        "url": served.url,
        "fetched": _iso(served.at),
        "robots": sha256(served.robots).hexdigest(),
        "status": served.status,
        "request_headers": served.request,
        "response_headers": served.headers,
        "cut": served.cut,
        "ip": served.ip,
    }
    try:
        fields["body"] = served.robots.decode("utf-8")
    except UnicodeDecodeError:
        fields["body_base64"] = base64.b64encode(served.robots).decode("ascii")
    line = json.dumps(fields).encode("ascii") + b"\n"
    return gzip.compress(line) if is_gzip else line


def _warc(served: Served, name: str, *, is_first: bool) -> bytes:
    from warcio.warcwriter import WARCWriter  # noqa: PLC0415  an extra

    buffer = BytesIO()
    writer = WARCWriter(buffer, gzip=name.endswith(".gz"), warc_version="1.1")
    if is_first:
        said = {"software": "scrapy-gbot-robots", "format": "WARC File Format 1.1"}
        writer.write_record(writer.create_warcinfo_record(name, said))
    about = {"WARC-Date": _iso(served.at), _DIGEST: sha256(served.robots).hexdigest()}
    about |= {"WARC-Truncated": "length"} if served.cut else {}
    about |= {"WARC-IP-Address": served.ip} if served.ip is not None else {}
    for record in (_http_records if served.url.lower().startswith("http") else _resources)(served, writer, about):
        writer.write_record(record)
        record.raw_stream.close()  # a temporary file
    return buffer.getvalue()


def _http_records(served: Served, writer: Any, about: dict[str, str]) -> list[Any]:
    from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415  an extra

    path = served.url.split("/", 3)[3]
    asked = StatusAndHeaders(f"{served.method} /{path} {served.protocol}", served.request, is_http_request=True)
    kept = [(field, value) for field, value in served.headers if field.lower() not in _OF_THE_WIRE]
    answer = StatusAndHeaders(f"{served.status} {_phrase(served.status)}", kept, protocol=served.protocol)
    body = BytesIO(served.body)
    response = writer.create_warc_record(served.url, "response", body, http_headers=answer, warc_headers_dict=about)
    belongs = {"WARC-Date": about["WARC-Date"], "WARC-Concurrent-To": response.rec_headers["WARC-Record-ID"]}
    request = writer.create_warc_record(served.url, "request", http_headers=asked, warc_headers_dict=belongs)
    return [response, request]


def _resources(served: Served, writer: Any, about: dict[str, str]) -> list[Any]:
    body = BytesIO(served.body)
    return [
        writer.create_warc_record(served.url, "resource", body, warc_content_type="text/plain", warc_headers_dict=about)
    ]


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"


def _iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
