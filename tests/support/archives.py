"""Archives of robots.txt files: WARC records, built by hand so that tests can break them in any way."""

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path

DATE = "2026-01-02T03:04:05Z"


def response(
    url: str,
    body: bytes = b"",
    status: int = 200,
    *,
    date: str = DATE,
    headers: Mapping[str, str] | None = None,
    warc_headers: Mapping[str, str] | None = None,
    kind: str = "response",
) -> bytes:
    """A record of one response."""
    http = [
        f"HTTP/1.1 {status} Whatever",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
        "",
        "",
    ]
    block = "\r\n".join(http).encode() + body
    return record(
        block,
        {"WARC-Type": kind, "WARC-Target-URI": url, "WARC-Date": date, **(warc_headers or {})},
    )


def record(block: bytes, headers: Mapping[str, str]) -> bytes:
    head = {
        "Content-Type": "application/http; msgtype=response",
        "Content-Length": str(len(block)),
        **headers,
    }
    lines = ["WARC/1.0", *(f"{name}: {value}" for name, value in head.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + block + b"\r\n\r\n"


def warc(path: Path, records: Iterable[bytes]) -> Path:
    """Write records. If the name ends in .gz, each record is compressed by itself, as in any WARC."""
    is_gzip = path.suffix == ".gz"
    path.write_bytes(b"".join(gzip.compress(each, 1) if is_gzip else each for each in records))
    return path
