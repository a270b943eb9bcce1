"""What is read from archives, whole and broken, and the answers that URLs get by them."""

import gzip
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from scrapy_gbot_robots import Crawler, Origin, Verdict
from scrapy_gbot_robots.bulk import arrow, audit
from scrapy_gbot_robots.bulk.archive_answers import Store
from scrapy_gbot_robots.bulk.archive_reader import Capture, Reading
from scrapy_gbot_robots.bulk.arrow import batches_of, parquet_file
from scrapy_gbot_robots.bulk.judging import BulkError, Judge, Served

from ..support.archives import DATE, record, response, warc
from ..support.systems import needs_posix

pytest.importorskip("duckdb", reason="duckdb is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

MAX_BYTES = 512_000
SECONDS = 1767323045.0  # of support.archives.DATE
A, B, C = (f"https://{name}.example/robots.txt" for name in "abc")


def read(path: Path, max_bytes: int = MAX_BYTES) -> tuple[list[Capture], Reading]:
    reading = Reading(str(path), max_bytes)
    return list(reading.captures()), reading


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


# WARC


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_responses_of_a_warc_are_read(tmp_path: Path, name: str) -> None:
    path = warc(
        tmp_path / name,
        [
            record(
                b"software: x\r\n", {"WARC-Type": "warcinfo", "WARC-Date": "2026-01-01T00:00:00Z"}
            ),
            response(A, b"disallow: /", kind="request"),
            response(A, b"user-agent: *"),
            response(B, b"", 301, headers={"Location": "/x"}),
            response("https://c.example/robots.txt", b"gone", 404, date="2026-01-02T03:04:06.5Z"),
        ],
    )
    captures, reading = read(path)
    assert captures == [
        Capture(A, SECONDS, 200, b"user-agent: *"),
        Capture(B, SECONDS, 301, b"", location="/x"),
        Capture("https://c.example/robots.txt", SECONDS + 1, 404, b"gone"),
    ]
    assert (reading.broken, reading.done) == (0, reading.size)


@pytest.mark.parametrize(
    ("headers", "served", "body"),
    [
        ({"Content-Encoding": "gzip"}, gzip.compress(b"hello"), b"hello"),
        (
            {"Content-Encoding": "gzip\r\nContent-Encoding: gzip"},
            gzip.compress(gzip.compress(b"hello")),
            b"hello",
        ),
        (
            {"Transfer-Encoding": "chunked"},
            b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n",
            b"hello world",
        ),
        ({"Transfer-Encoding": "Chunked"}, b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        ({"Transfer-Encoding": "chunked"}, b"user-agent: *", b"user-agent: *"),
        ({"Transfer-Encoding": "chunked"}, b"0\r\n\r\n", b""),
        ({"Transfer-Encoding": "chunked", "Content-Encoding": "gzip"}, b"0\r\n\r\n", b""),
        ({"Content-Length": "0", "Content-Encoding": "gzip"}, b"", b""),
        ({"Content-Length": "5"}, b"hello world", b"hello"),
        ({"Content-Length": "5, 5"}, b"hello", b"hello"),
        ({"X-Crawl-Content-Encoding": "gzip", "X-Crawl-Content-Length": "99"}, b"hello", b"hello"),
    ],
    ids=[
        "gzip",
        "two layers",
        "chunked",
        "in capitals",
        "said to be chunked",
        "no chunk",
        "no chunk of a coding",
        "empty",
        "more than its length",
        "its length twice",
        "decoded by the crawler",
    ],
)
def test_codings_are_undone(
    tmp_path: Path, headers: dict[str, str], served: bytes, body: bytes
) -> None:
    captures, _ = read(warc(tmp_path / "a.warc", [response(A, served, headers=headers)]))
    assert captures == [Capture(A, SECONDS, 200, body)]


@pytest.mark.parametrize("cut", ["", "length"])
@pytest.mark.parametrize(
    ("headers", "served", "why"),
    [
        ({"Content-Length": "14"}, b"user-agent: *", "the body ended early"),
        ({"Transfer-Encoding": "chunked"}, b"5\r\nhello\r\n", "the chunks have no end"),
        ({"Transfer-Encoding": "chunked"}, b"5\r\nhell", "the chunks have no end"),
        ({"Transfer-Encoding": "chunked"}, b"5\r\nhello\r\n0\r\n", "the chunks have no end"),
    ],
)
def test_half_of_a_body_is_no_answer_unless_the_archive_has_cut_it(
    tmp_path: Path, headers: dict[str, str], served: bytes, why: str, cut: str
) -> None:
    about = {"WARC-Truncated": cut} if cut else {}
    records = [
        response(url, served, status, headers=headers, warc_headers=about)
        for url, status in ((A, 200), (A, 299), (B, 300), (B, 404))
    ]
    *good, other, missing = read(warc(tmp_path / "a.warc", records))[0]
    assert (other.status, missing.status) == (300, 404)  # which says all
    for status, capture in zip((200, 299), good, strict=True):
        if cut:
            assert (capture.status, capture.cut) == (status, True)
            assert capture.body
        else:
            assert (capture.status, capture.why) == (None, why)


@pytest.mark.parametrize(
    ("headers", "served", "why"),
    [
        ({"Transfer-Encoding": "gzip, chunked"}, b"5\r\nhello\r\n0\r\n\r\n", "is not undone"),
        ({"Transfer-Encoding": "gzip"}, b"user-agent: *", "is not undone"),
        ({"Transfer-Encoding": "identity"}, b"user-agent: *", "is not undone"),
        ({"Transfer-Encoding": "chunked"}, b"", "the chunks have no end"),
        ({"Transfer-Encoding": "chunked"}, b"5 \r\nhello\r\n0\r\n\r\n", "the chunks have no end"),
        ({"Transfer-Encoding": "chunked"}, b"4\r\nhello\r\n0\r\n\r\n", "a chunk is broken"),
        ({"Content-Length": "+5"}, b"hello", "is no length"),
        ({"Content-Length": "5, 6"}, b"hello!", "two lengths"),
        ({"Content-Encoding": "gzip"}, b"", "ends too early"),
        ({"X-Test ": "1"}, b"hello", "no name of a header"),
    ],
)
def test_answer_that_a_crawl_does_not_accept_is_none(
    tmp_path: Path, headers: dict[str, str], served: bytes, why: str
) -> None:
    (capture,) = read(warc(tmp_path / "a.warc", [response(A, served, headers=headers)]))[0]
    assert (capture.status, capture.body) == (None, b"")
    assert why in capture.why


def answer(home: Path, wire: bytes) -> Capture:
    """What is read of an answer that an archive has as it came over the wire."""
    about = {"WARC-Type": "response", "WARC-Target-URI": A, "WARC-Date": DATE}
    (capture,) = read(warc(home / "a.warc", [record(wire, about)]))[0]
    return capture


@pytest.mark.parametrize(
    ("wire", "status", "told"),
    [
        *((f"{line}\r\n\r\nhello", 200, "hello") for line in ("h2 200 OK", "h3 200", "HTTP/2 200")),
        *((f"{line}\r\n\r\nhello", 200, "hello") for line in ("HTTP/2.0 200 OK", "HTTP/1.1 200")),
        ("HTTP/1.1 100 A\r\nX: y\r\n\r\nHTTP/1.1 199\r\n\r\nHTTP/1.1 404\r\n\r\n", 404, ""),
        ("HTTP/1.1 103 Early\r\n\r\n", None, "the answer itself is missing"),
        ("HTTP/1.1 304 Same\r\nTransfer-Encoding: gzip\r\n\r\n", 304, ""),
        ("HTTP/1.1 204 Empty\r\nContent-Length: 5\r\n\r\n", 204, ""),
        ("HTTP/2 204\r\nContent-Length: 5\r\n\r\n", None, "the body ended early"),
        ("HTTP/2 200\r\nContent-Length: 5, 5\r\n\r\nhello", None, "two lengths"),
        ("HTTP/2 200\r\nContent-Encoding: gzip\r\n\r\n", 200, ""),
        *(
            (f"{version} 200\r\nContent-Length: 4\r\n\r\nhello", None, "longer than its length")
            for version in ("HTTP/2", "HTTP/3", "h2", "h3")
        ),
        *(
            (f"HTTP/2 200\r\n{name}: chunked\r\n\r\nhello", None, f"no header '{name}'")
            for name in (
                "connection",
                "keep-alive",
                "proxy-connection",
                "transfer-encoding",
                "upgrade",
            )
        ),
        ("HTTP/1.1 200 OK\r\n X: y\r\n\r\nhello", None, "a header begins with a blank"),
    ],
)
def test_answer_is_read_as_a_client_reads_it(
    tmp_path: Path, wire: str, status: int | None, told: str
) -> None:
    capture = answer(tmp_path, wire.encode())
    assert capture.status == status
    if status is None:
        assert told in capture.why
    else:
        assert capture.body.decode() == told


@pytest.mark.parametrize(
    ("location", "read_as"),
    [
        (b"/first\r\nlocation: /second", "/second"),  # the last counts
        (b"\r\n /folded\r\n\tonce", "/folded\tonce"),
        ("/\u00e9".encode(), "/\u00e9"),
        (b"/\xe9", "/\u00e9"),
    ],
)
def test_location_is_read_as_scrapy_reads_it(tmp_path: Path, location: bytes, read_as: str) -> None:
    wire = b"HTTP/1.1 301 Go\r\nLocation: " + location + b"\r\n\r\n"
    assert answer(tmp_path, wire).location == read_as


def test_body_that_is_not_whole_is_no_answer_unless_the_status_says_all(tmp_path: Path) -> None:
    packed = {"Content-Encoding": "gzip"}
    records = [
        response(A, b"no gzip", headers=packed),
        response(A, b"no gzip", 299, headers=packed),
        response(A, b"no gzip", 300, headers=packed),
        response(A, b"no gzip", 404, headers=packed),
        response(A, b"user-agent: *", warc_headers={"WARC-Truncated": "disconnect"}),
        response(A, b"user-agent: *", warc_headers={"WARC-Truncated": "TIME"}),
    ]
    *undecoded, other, missing, lost, late = read(warc(tmp_path / "a.warc", records))[0]
    for capture in undecoded:
        assert capture.status is None
        assert "gzip" in capture.why
    assert [(each.status, each.body) for each in (other, missing)] == [(300, b""), (404, b"")]
    assert (lost.status, lost.why) == (None, "the body ended early (disconnect)")
    assert (late.status, late.why) == (None, "the body ended early (time)")


CHUNKED = {"Transfer-Encoding": "chunked"}


@pytest.mark.parametrize(
    ("headers", "served", "status", "is_cut"),
    [
        ({}, b"hello", 200, True),
        (CHUNKED, b"hello", 200, True),  # said to be
        (CHUNKED, b"5\r\nhello\r\n5;" + b"x" * 1_000, 200, True),
        (CHUNKED, b"5\r\nhello\r\n5" + b"x" * 2_000, None, False),  # no line of a chunk is as long
        (CHUNKED, b"5\r\nhello\r\n0\r\nX-End: ", 200, True),
        (CHUNKED, b"5\r\nhello\r\n0\r\n\r\n", 200, False),
        ({"Content-Length": "5"}, b"hello", 200, False),
        ({"Content-Length": "6"}, b"hello", 200, True),
    ],
)
def test_body_that_an_archive_has_cut_is_read_and_called_cut_unless_its_end_is_there(
    tmp_path: Path, headers: dict[str, str], served: bytes, status: int | None, is_cut: bool
) -> None:
    cut = response(A, served, headers=headers, warc_headers={"WARC-Truncated": "Length"})
    (capture,) = read(warc(tmp_path / "a.warc", [cut]))[0]
    assert (capture.status, capture.cut) == (status, is_cut)
    assert capture.body == (b"hello" if status else b"")


@pytest.mark.parametrize(
    ("headers", "served"),
    [({"Content-Length": "6"}, b"hello"), (CHUNKED, b"5\r\nhello\r\n")],
)
def test_half_of_a_body_is_no_answer_though_it_has_as_many_bytes_as_are_read(
    tmp_path: Path, headers: dict[str, str], served: bytes
) -> None:
    (capture,) = read(warc(tmp_path / "a.warc", [response(A, served, headers=headers)]), 5)[0]
    assert capture.status is None


def test_no_more_of_a_body_is_read_or_decoded_than_is_asked_for(tmp_path: Path) -> None:
    large = b"#" * 5_000_000
    records = [
        response(A, large),
        response(A, large, headers=CHUNKED),
        response(A, b"%x\r\n" % len(large) + large + b"\r\n0\r\n\r\n", headers=CHUNKED),
        response(B, gzip.compress(large, 1), headers={"Content-Encoding": "gzip"}),
        response(C, b"user-agent: *"),
    ]
    captures, reading = read(warc(tmp_path / "a.warc.gz", records))
    assert [(len(capture.body), capture.cut) for capture in captures] == [(MAX_BYTES, True)] * 4 + [
        (13, False)
    ]
    assert not reading.broken


def test_field_of_a_record_may_have_a_value_of_several_lines(tmp_path: Path) -> None:
    folded = response(A, b"user-agent: *", warc_headers={"WARC-Note": "one\r\n\ttwo\r\n three"})
    captures, reading = read(warc(tmp_path / "a.warc", [folded, response(B, b"user-agent: *")]))
    assert [(capture.url, capture.body) for capture in captures] == [
        (A, b"user-agent: *"),
        (B, b"user-agent: *"),
    ]
    assert not reading.broken


@pytest.mark.parametrize(
    ("about", "is_read", "broken"),
    [
        ({"Content-Type": "Application/HTTP"}, True, 0),
        ({"Content-Type": "text/dns"}, False, 0),
        ({"Content-Type": "-"}, True, 0),  # none
        ({"WARC-Target-URI": f"<{A}>"}, True, 0),
        ({"WARC-Target-URI": ""}, False, 1),
        ({"WARC-Type": "revisit"}, False, 0),
        ({"WARC-Type": "resource"}, False, 0),  # whose content is another
        ({"WARC-Type": "metadata"}, False, 0),
        ({"WARC-Type": "resource", "Content-Type": "text/plain"}, True, 0),
        ({"WARC-Type": "resource", "Content-Type": "-"}, True, 0),
        ({"WARC-Type": "resource", "Content-Type": "text/plain", "WARC-Date": ""}, False, 0),
        ({"WARC-Type": "metadata", "Content-Type": "application/warc-fields"}, False, 0),
    ],
)
def test_only_records_that_tell_of_a_robots_txt_are_read_and_damage_is_told_of_responses(
    tmp_path: Path, about: dict[str, str], is_read: bool, broken: int
) -> None:
    one = response(A, b"hello", warc_headers=about).replace(b"Content-Type: -\r\n", b"")
    captures, reading = read(warc(tmp_path / "a.warc", [one, response(B)]))
    assert [capture.url for capture in captures] == ([A, B] if is_read else [B])
    assert reading.broken == broken


def captured(path: Path, url: str, body: str) -> Path:
    """An archive of one robots.txt in the form that its name says."""
    row = {"url": url, "status": 200, "body": body, "cut": False, "fetched": DATE}
    if path.name == "stored.warc":
        about = {"Content-Type": "text/plain", "WARC-Target-URI": url, "WARC-Date": DATE}
        return warc(path, [record(body.encode(), {"WARC-Type": "resource", **about})])
    if path.suffix == ".warc":
        return warc(path, [response(url, body.encode())])
    if path.suffix.lower() == ".jsonl":
        path.write_text(json.dumps(row) + "\n")
    elif path.suffix.lower() == ".parquet":
        parquet(path, url=[url], status=[200], body=[body])
    else:
        path.write_text(body)
    return path


@pytest.mark.parametrize(
    "name",
    ["a.warc", "stored.warc", "a.jsonl", "A.JSONL", "a.parquet", "A.PARQUET", "robots.txt"],
)
def test_body_of_the_most_bytes_is_whole_and_one_byte_more_is_cut(
    tmp_path: Path, name: str
) -> None:
    home = tmp_path / "a.example"
    home.mkdir()
    for body, is_cut in (("#" * 99, False), ("#" * 100, False), ("#" * 101, True)):
        capture, *_ = read(captured(home / name, A, body), 100)[0]
        assert (capture.url, capture.body, capture.cut) == (A, body[:100].encode(), is_cut)


@pytest.mark.parametrize("name", ["a.warc", "a.jsonl", "a.parquet"])
def test_url_of_16384_bytes_is_read_and_a_longer_one_lost(tmp_path: Path, name: str) -> None:
    url = f"https://a.example/robots.txt?{'x' * 16_355}"
    assert [each.url for each in read(captured(tmp_path / name, url, ""))[0]] == [url]
    reading = Reading(str(captured(tmp_path / name, url + "x", "")), 100)
    with suppress(BulkError):  # nothing else is in it
        assert list(reading.captures()) == []
    assert reading.broken == 1


def test_line_of_json_that_no_crawl_writes_costs_no_other(tmp_path: Path) -> None:
    good = json.loads(captured(tmp_path / "a.jsonl", A, "").read_text())
    odd: list[Any] = [
        [],
        7,
        None,
        "x",
        {},
        *({**good, name: 7.5} for name in good if name != "cut"),
    ]
    odd += [{**good, "fetched": "yesterday"}, {**good, "status": 1000}, {**good, "status": []}]
    odd += [{**good, "url": ""}, {**good, "response_headers": 7}, {**good, "response_headers": [1]}]
    odd += [{**good, "state": "full allow"}, {**good, "state": []}]
    texts = ["", "{", "\xff", "[" * 5_000, *map(json.dumps, odd)]
    (tmp_path / "a.jsonl").write_text("\n".join([*texts, json.dumps(good)]))
    captures, reading = read(tmp_path / "a.jsonl")
    assert captures == [Capture(A, SECONDS, 200)]
    assert reading.broken == len(texts)
    assert reading.example.startswith("byte 1: JSONDecodeError: "), "the first of them"


def test_body_is_read_from_json_though_each_of_its_bytes_takes_six_there(tmp_path: Path) -> None:
    captures, reading = read(captured(tmp_path / "a.jsonl", A, "\0" * 512_000))
    assert [capture.body for capture in captures] == [b"\0" * 512_000]
    assert not reading.broken


@pytest.mark.parametrize("unreachable", [True, False, None])
def test_line_of_json_says_what_a_crawl_decided_about_an_origin(
    tmp_path: Path, unreachable: bool | None
) -> None:
    path = captured(tmp_path / "a.jsonl", A, "")
    decided = {"state": "full disallow", "why": "HTTP 503", "unreachable": unreachable}
    path.write_text(json.dumps({**json.loads(path.read_text()), **decided, "status": 503}))
    assert read(path)[0] == [
        Capture(
            A,
            SECONDS,
            503,
            why="HTTP 503",
            state="full disallow",
            temporary=unreachable is True,
        )
    ]


def test_line_of_json_says_neither_a_redirect_nor_what_no_file_can_hold(tmp_path: Path) -> None:
    path = captured(tmp_path / "a.jsonl", f"{A}?\ud800", "")
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "response_headers": [["Location", 7]]}))
    assert read(path)[0] == [Capture(f"{A}??", SECONDS, 200)]


@pytest.mark.parametrize(("max_bytes", "length"), [(100, 70_000), (MAX_BYTES, 3_200_000)])
def test_line_of_json_that_is_far_longer_than_its_body_may_be_is_lost(
    tmp_path: Path, max_bytes: int, length: int
) -> None:
    path = captured(tmp_path / "a.jsonl", A, "")
    line = path.read_text()
    path.write_text(line.replace("{", '{"more": "' + "x" * length + '",') + line)
    captures, reading = read(path, max_bytes)
    assert ([each.url for each in captures], reading.broken > 0) == ([A], True)


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "a.jsonl.gz", "a.parquet"])
def test_progress_goes_up_to_the_size_of_the_file(tmp_path: Path, name: str) -> None:
    chance = random.Random(1)
    bodies = [chance.randbytes(500).hex() for _ in range(2_000)]
    path = tmp_path / name
    if "warc" in name:
        warc(path, [response(A, body.encode()) for body in bodies])
    elif name.endswith(".gz"):
        one = captured(tmp_path / "a.jsonl", A, bodies[0]).read_text()
        path.write_bytes(
            gzip.compress("".join(one.replace(bodies[0], each) for each in bodies).encode())
        )
    else:
        parquet(path, url=[A] * 2_000, status=[200] * 2_000, body=bodies)
    reading = Reading(str(path), MAX_BYTES)
    done = [reading.done for _ in reading.captures()]
    assert done == sorted(done)
    assert 0.4 < done[len(done) // 2] / reading.size < 0.6
    assert len({*done}) > 5
    assert done[-1] <= reading.done == reading.size


THREE = [response(A, b"a" * 2_000), response(B, b"b" * 2_000), response(C, b"c" * 2_000)]


def test_any_blank_lines_may_part_records(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(THREE[0] + b"\n\r\n" + THREE[1] + THREE[2][:-1])
    captures, reading = read(path)
    assert ([capture.url for capture in captures], reading.broken) == ([A, B, C], 0)


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_record_that_is_cut_off_costs_no_other(tmp_path: Path, name: str) -> None:
    path = warc(tmp_path / name, THREE)
    path.write_bytes(path.read_bytes()[: -30 if name.endswith("z") else -500])
    captures, reading = read(path)
    assert [capture.url for capture in captures] == [A, B]
    assert reading.broken == 1
    assert "byte" in reading.example


def renamed(old: bytes, new: bytes) -> bytes:
    return THREE[1].replace(old, new, 1)


@pytest.mark.parametrize(
    ("broken", "has_an_end"),
    [
        pytest.param(renamed(b"WARC/1.0", b"XXXX/1.0"), False, id="no record"),
        pytest.param(
            renamed(b"-Length: ", b"-Length: 99999999"), False, id="a length past the end"
        ),
        pytest.param(
            renamed(b"-Length: ", b"-Length: 9"), False, id="a length into the next record"
        ),
        pytest.param(renamed(b"-Length: ", b"-Length: +"), False, id="a length with a sign"),
        pytest.param(
            renamed(b"Content-Length: ", b"Content-Length: 9\r\nContent-Length: "),
            False,
            id="two lengths",
        ),
        pytest.param(renamed(b"HTTP/1.1", b"SPDY/1.1"), True, id="no HTTP answer"),
        pytest.param(renamed(b"WARC-Date: 2", b"WARC-Date: x"), True, id="no date"),
        pytest.param(renamed(b"WARC-Target-URI", b"WARC-Target-URL"), True, id="no URL"),
        pytest.param(
            renamed(b"WARC-Date", b"X-Long: " + b"x" * 66_000 + b"\r\nWARC-Date"),
            False,
            id="a header that is too long",
        ),
        pytest.param(b"\xff" * 5_000, False, id="bytes"),
    ],
)
@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_record_that_is_broken_costs_no_other_if_its_end_is_known(
    tmp_path: Path, name: str, broken: bytes, has_an_end: bool
) -> None:
    captures, reading = read(warc(tmp_path / name, [THREE[0], broken, THREE[2], THREE[0]]))
    urls = [capture.url for capture in captures if capture.url != B]
    assert urls == ([A, C, A] if has_an_end or name == "a.warc.gz" else [A])
    assert reading.broken == 1


@needs_posix
def test_date_of_a_record_is_in_utc_in_whatever_time_zone_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        (capture,) = read(warc(tmp_path / "a.warc", [response(A)]))[0]
    time.tzset()
    assert capture.at == SECONDS


def test_member_that_is_damaged_ends_the_reading_as_none_after_it_can_be_told_from_its_body(
    tmp_path: Path,
) -> None:
    chance = random.Random(1)
    members = [gzip.compress(response(url, chance.randbytes(2_000))) for url in (A, B, C)]
    members[1] = members[1][:1_000] + bytes(50) + members[1][1_050:]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(members))
    captures, reading = read(path)
    assert C not in [capture.url for capture in captures]
    assert reading.broken == 1


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"X-Long": "x" * 70_000}, id="headers that are too long"),
        pytest.param({"": "\0" * 40_000}, id="headers that are none"),
        pytest.param({"Content-Encoding": "gzip"}, id="a body that is none"),
    ],
)
def test_record_that_a_site_forges_in_its_own_body_is_never_read(
    tmp_path: Path, name: str, headers: dict[str, str]
) -> None:
    forged = response(A, b"user-agent: *\nallow: /", date="2030-01-01T00:00:00Z")
    forged = b"\r\n\r\n" + forged + gzip.compress(forged) + random.Random(1).randbytes(5_000)
    for evil in (
        response(B, forged, headers=headers),
        response(B, forged, headers=headers).replace(b"HTTP", b"SPDY", 1),
    ):
        captures, _ = read(
            warc(tmp_path / name, [evil, response(A, b"user-agent: *\ndisallow: /"), evil])
        )
        assert [(each.at, each.body) for each in captures if each.url == A] == [
            (SECONDS, b"user-agent: *\ndisallow: /")
        ]


def test_file_that_was_compressed_as_a_whole_is_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    records = (
        response(f"https://{n}.example/robots.txt", b"user-agent: *\n" * 20) for n in range(1_000)
    )
    path.write_bytes(gzip.compress(b"".join(records)) + bytes(512))
    captures, reading = read(path)
    assert (len(captures), reading.broken) == (1_000, 0)


def test_damage_is_passed_over_at_once(tmp_path: Path) -> None:
    path = warc(tmp_path / "a.warc", [THREE[0], b"\r\nWARC/1." * 300_000])
    began = time.process_time()
    captures, reading = read(path)
    assert ([capture.url for capture in captures], reading.broken) == ([A], 1)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"User-agent: *\nDisallow: /\n",
        b"\x1f\x8b\x08",
        gzip.compress(b"hello"),
        b"\0" * 3_000_000,
    ],
    ids=["empty", "robots.txt", "begins-like-gzip", "gzip", "zeros"],
)
@pytest.mark.parametrize(
    ("name", "what"), [("a.warc.gz", "WARC"), ("a.jsonl", "archive of a crawl")]
)
def test_file_that_is_no_archive_is_refused_in_one_line(
    tmp_path: Path, name: str, what: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BulkError, match=f"this is no {what}: ."):
        read(path)


# Parquet


def test_rows_of_a_parquet_file_are_read(tmp_path: Path) -> None:
    time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    path = parquet(
        tmp_path / "a.parquet",
        url=[A, B, C, None, ""],
        status=[200, 301, None, 200, 200],
        body=[b"user-agent: *", None, None, b"", b""],
        fetched_at=[time, time, None, time, time],
        location=[None, b"/x\xff" + b"y" * 200, None, None, None],
        other=[1, 2, 3, 4, 5],
    )
    captures, reading = read(path)
    assert captures == [
        Capture(A, SECONDS, 200, b"user-agent: *", why="no answer"),
        Capture(B, SECONDS, 301, b"", location=f"/x%FF{'y' * 200}", why="no answer"),
        Capture(C, 0.0, None, b"", why="no answer"),
    ]
    assert (reading.broken, reading.example) == (2, "a row without a URL")


@pytest.mark.parametrize("name", ["status", "fetched_at", "url"])
def test_column_of_lists_is_refused_before_it_is_read(tmp_path: Path, name: str) -> None:
    columns = {"url": [A], "status": [200], "body": [b"x"], "fetched_at": [5], name: [["5"]]}
    path = parquet(tmp_path / "a.parquet", **columns)
    with pytest.raises(BulkError, match=f"the column '{name}' holds list<.*, not one value a row"):
        read(path)


@pytest.mark.parametrize("unit", [None, "s", "ms", "us", "ns"])
def test_times_may_be_numbers_or_of_any_unit_and_bodies_text(
    tmp_path: Path, unit: str | None
) -> None:
    times = pa.array([5])
    if unit is not None:
        times = pa.array([datetime(1970, 1, 1, 0, 0, 5)], pa.timestamp(unit))
    path = parquet(tmp_path / "a.parquet", url=[A], status=[200], body=["ü" * 10], fetched_at=times)
    (capture,) = read(path, 8)[0]
    assert (capture.at, capture.body, capture.cut) == (5.0, "üüüü".encode(), True)


BOMB = """
import sys, pyarrow as pa, pyarrow.parquet as pq
robots = "https://a.example/robots.txt"
with pq.ParquetWriter(sys.argv[1], pa.schema({"url": "string", "status": "int32", "body": "binary"}), "zstd") as file:
    for body in (bytes(25_000_000), b"user-agent: *"):
        file.write_table(pa.table({"url": [robots] * 12, "status": [200] * 12, "body": [body] * 12}, file.schema))
"""
READ = """
import sys, pyarrow.parquet, pyarrow.compute
from scrapy_gbot_robots.bulk.archive_reader import Reading
peak = lambda: int(next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1])
before = peak()
reading = Reading(sys.argv[1], 512_000)
print(len(list(reading.captures())), reading.broken, (peak() - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("shared", "rows"), [("True", 40), ("False", 12)])
def test_memory_is_bounded_whatever_rows_of_a_parquet_file_decompress_to(
    tmp_path: Path, shared: str, rows: int
) -> None:
    bomb = str(tmp_path / "bomb.parquet")
    writer = BOMB.replace('"zstd"', f'compression="zstd", use_dictionary={shared}').replace(
        "12", str(rows)
    )
    subprocess.run([sys.executable, "-c", writer, bomb], check=True)
    done = subprocess.run(
        [sys.executable, "-c", READ, bomb], check=True, capture_output=True, text=True
    )
    count, broken, megabytes = map(int, done.stdout.split())
    assert (count, broken) == ((80, 0) if shared == "True" else (12, 1))
    assert megabytes < 250  # of 1,000 and of 300, which pyarrow would have twice


PAGES = """
import random, sys, pyarrow as pa, pyarrow.parquet as pq
chance = random.Random(1)
bodies = [b"".join(chance.randbytes(1_000) + bytes(98_000) for _ in range(253)) for _ in range(20)]
rows = {"url": ["https://a.example/robots.txt"] * 20, "status": [200] * 20, "body": bodies}
pq.write_table(pa.table(rows), sys.argv[1], compression="zstd", use_dictionary=False, write_batch_size=int(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("rows_of_a_page", "read"), [(1, "20 0"), (20, "0 1")])
def test_memory_is_bounded_whatever_is_just_under_a_hundred_times_its_size(
    tmp_path: Path, rows_of_a_page: int, read: str
) -> None:
    bomb = str(tmp_path / "bomb.parquet")
    subprocess.run([sys.executable, "-c", PAGES, bomb, str(rows_of_a_page)], check=True)
    assert Path(bomb).stat().st_size > 5_000_000  # of 500 MB
    ended = subprocess.run(
        [sys.executable, "-c", READ, bomb], check=True, capture_output=True, text=True
    )
    *counts, megabytes = ended.stdout.split()
    assert (" ".join(counts), int(megabytes) < 400) == (read, True), megabytes


def test_row_group_that_is_compressed_more_than_a_hundredfold_is_left_out(tmp_path: Path) -> None:
    """Each of its pages is small: it is no memory that it would take, but time and disk."""
    path = str(tmp_path / "a.parquet")
    rows = {"url": [A] * 70, "status": [200] * 70, "body": [bytes(1_000_000)] * 70}
    forms: dict[str, Any] = {"compression": "zstd", "use_dictionary": False}
    pq.write_table(pa.table(rows), path, write_batch_size=1, **forms)
    reading = Reading(path, 512_000)
    assert (list(reading.captures()), reading.broken) == ([], 1)


@pytest.mark.parametrize("has_dictionary", [True, False])
def test_row_group_with_too_large_a_page_is_left_out_wherever_the_column_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_dictionary: bool
) -> None:
    assert arrow._MOST_PAGE == 268_435_456
    monkeypatch.setattr(arrow, "_MOST_PAGE", 100_000)
    path = str(tmp_path / "a.parquet")
    for size, found in ((90_000, [A, B, C]), (110_000, [C])):
        bodies = [b"", bytes(size), b""]
        rows = {"other": [1, 2, 3], "url": [A, B, C], "status": [200] * 3, "body": bodies}
        forms: dict[str, Any] = {"compression": "zstd", "use_dictionary": has_dictionary}
        forms |= {"write_batch_size": 1, "data_page_size": 1}
        pq.write_table(pa.table(rows), path, row_group_size=2, **forms)
        reading = Reading(path, MAX_BYTES)
        assert [capture.url for capture in reading.captures()] == found
        assert reading.broken == (found == [C])


@pytest.mark.parametrize(
    ("encoding", "most_rows", "least"),
    [("PLAIN", 1_000, 3), ("DELTA_BYTE_ARRAY", 1_000, 3), (None, 1_000, 3), ("PLAIN", 3_000, 2)],
)
def test_rows_of_large_pages_come_few_at_a_time_and_in_order(
    tmp_path: Path, encoding: str | None, most_rows: int, least: int
) -> None:
    urls = [f"https://{number}.example/robots.txt" for number in range(3_000)]
    bodies = [b"#" * (number % 7 * 10_000) for number in range(3_000)]
    path = str(tmp_path / "a.parquet")
    forms: dict[str, Any] = {"use_dictionary": True}
    if encoding:
        forms = {
            "use_dictionary": False,
            "column_encoding": dict.fromkeys(("url", "body"), encoding),
        }
    rows = {"url": urls, "status": [200] * 3_000, "body": bodies}
    pq.write_table(pa.table(rows), path, compression=None, **forms)
    with parquet_file(path) as file:
        batches = list(batches_of(file, path, ["url", "body"], most_rows))
    assert [url for batch in batches for url in batch["url"].to_pylist()] == urls
    assert [body for batch in batches for body in batch["body"].to_pylist()] == bodies
    assert least <= len(batches) < 10  # together again
    assert max(len(batch) for batch in batches) <= most_rows
    assert max(batch.nbytes for batch in batches) <= 67_108_864


def test_pages_of_any_size_are_read(tmp_path: Path) -> None:
    bodies = [
        bytes(size) for size in (*range(300), *range(8_000, 8_300))
    ]  # a size takes 1 to 3 bytes
    path = str(tmp_path / "a.parquet")
    rows = {"url": [A] * 600, "status": [200] * 600, "body": bodies}
    forms: dict[str, Any] = {"compression": None, "use_dictionary": False}
    pq.write_table(pa.table(rows), path, write_batch_size=1, data_page_size=1, **forms)
    assert [capture.body for capture in read(Path(path))[0]] == bodies


@pytest.mark.parametrize("damage", [b"", b"\xff" * 200, bytes(200), b"\x1c" * 200])
def test_page_without_a_header_ends_in_one_line(tmp_path: Path, damage: bytes) -> None:
    path = parquet(tmp_path / "a.parquet", url=[A] * 300, status=[200] * 300, body=[b"x"] * 300)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + damage + whole[4 + len(damage) :])
    if damage:
        with pytest.raises(BulkError, match=r"a\.parquet: "):
            read(path)
    else:
        assert len(read(path)[0]) == 300


def test_directories_named_for_hosts_are_an_archive(tmp_path: Path) -> None:
    for host in ("a.example", "no host"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "robots.txt").write_bytes(b"user-agent: *\n")
        os.utime(tmp_path / host / "robots.txt", (SECONDS, SECONDS))
    captures, reading = read(tmp_path / "a.example" / "robots.txt")
    assert captures == [
        Capture(f"{scheme}://a.example/robots.txt", SECONDS, 200, b"user-agent: *\n")
        for scheme in ("https", "http")
    ]
    assert (reading.broken, reading.done) == (0, reading.size)
    captures, reading = read(tmp_path / "no host" / "robots.txt")
    assert (captures, reading.broken) == ([], 1)


# What follows for URLs


def pieces(
    tmp_path: Path, captures: Iterable[Capture], lists: Iterable[list[str]]
) -> list[audit.Piece]:
    """The answers to one crawler, piece by piece."""
    with Store(tmp_path, "200MB") as store:
        store.take(captures)
        store.settle()
        audit.take_urls(store, ([urls] for urls in lists), {})
        return list(
            audit.judged(audit.by_archive(store), Judge([Crawler.of("a")], max_bytes=MAX_BYTES))
        )


def judged(tmp_path: Path, captures: Iterable[Capture], urls: list[str]) -> dict[str, int]:
    """The answer for each URL; 3 stands for no URL."""
    found = pieces(tmp_path, captures, [urls])
    answers = {
        url: answer
        for each in found
        for url, answer in zip(each.columns[0], each.answers[0], strict=True)
    }
    assert answers.keys() == set(urls)
    return answers


class TellsItsProcess(Judge):
    """Gives the number of its process as the reason."""

    def judged(self, urls: object, robots: object, *, gives_reasons: bool = False) -> Any:
        return [bytearray(1)], [[Verdict(True, None, str(os.getpid()))]]


@pytest.mark.parametrize("workers", [1, 2])
def test_several_workers_are_processes_of_their_own(workers: int) -> None:
    todo = [audit.Piece([["https://a.example/"]], [Served(200)])] * 9
    judges = TellsItsProcess([Crawler.of("a")])
    done = list(audit.judged(todo, judges, gives_reasons=True, workers=workers))
    places = [int(piece.verdicts[0][0].reason) for piece in done]
    assert len(places) == 9
    assert (os.getpid() in places) == (workers == 1)


NOTHING = b"user-agent: *\ndisallow: /"


@pytest.mark.parametrize(
    ("times", "answer"),
    [((2.0, 1.0), 1), ((1.0, 2.0), 0), ((1.0, 1.0), 0)],
    ids=["first", "last", "same time: the last"],
)
def test_latest_capture_of_an_origin_counts(
    tmp_path: Path, times: tuple[float, float], answer: int
) -> None:
    urls, bodies = (A, "https://A.example:443/robots.txt"), (b"x", NOTHING)
    captures = [
        Capture(url, at, 200, body) for url, at, body in zip(urls, times, bodies, strict=True)
    ]
    assert judged(tmp_path, captures, ["https://a.example/x"]) == {"https://a.example/x": answer}


def test_redirects_are_followed_inside_the_archive(tmp_path: Path) -> None:
    def redirect(url: str, location: str | None, status: int = 301) -> Capture:
        return Capture(url, 1.0, status, b"", location=location)

    trails: dict[str, tuple[list[Any], int]] = {
        "one": (["https://b.example/robots.txt"], 0),
        "capital": (["HTTPS://B.Example:443/robots.txt"], 0),
        "relative": (["/other.txt", "https://b.example/robots.txt"], 0),
        "five": ([*(f"/{n}" for n in range(4)), "https://b.example/robots.txt"], 0),
        "six": ([*(f"/{n}" for n in range(5)), "https://b.example/robots.txt"], 1),
        "loop": (["/1", "/robots.txt"], 1),
        "away": (["https://nowhere.example/robots.txt"], 2),
        "nothing": ([None], 1),
        "missing": (["https://c.example/robots.txt"], 1),
        "broken": (["https://d.example/robots.txt"], 2),
    }
    captures = [
        Capture(B, 1.0, 200, NOTHING),
        Capture(C, 1.0, 404),
        Capture("https://d.example/robots.txt", 1.0, 503),
    ]
    for name, (hops, _) in trails.items():
        here = f"https://{name}.example/robots.txt"
        for hop in hops:
            captures.append(redirect(here, hop))
            here = f"https://{name}.example{hop}" if hop and hop.startswith("/") else hop or ""
    expected = {f"https://{name}.example/x": answer for name, (_, answer) in trails.items()}
    assert judged(tmp_path, captures, list(expected)) == expected


def test_archive_may_be_empty(tmp_path: Path) -> None:
    assert judged(tmp_path, [], ["https://a.example/x"]) == {"https://a.example/x": 2}


def test_one_origin_with_very_many_urls_is_judged_piece_by_piece(tmp_path: Path) -> None:
    lists = ([f"https://a.example/{n}-{m}" for n in range(10_000)] for m in range(12))
    found = pieces(tmp_path, [Capture(A, 1.0, 200, b"user-agent: *\ndisallow: /1")], lists)
    assert sum(len(each.columns[0]) for each in found) == 120_000
    assert sum(each.answers[0].count(0) for each in found) == 12 * 1_111
    assert max(len(each.columns[0]) for each in found) <= 50_000


def test_very_many_origins_with_one_url_each_come_in_pieces_of_bounded_size(tmp_path: Path) -> None:
    body = b"user-agent: *\ndisallow: /\n" + b"#" * 100_000
    origins = [Origin("https", f"{n}.example", 443) for n in range(1_000)]
    captures = (Capture(origin.robots_url, 1.0, 200, body) for origin in origins)
    found = pieces(tmp_path, captures, [[f"{origin}/x" for origin in origins]])
    assert sum(each.answers[0].count(0) for each in found) == 1_000
    assert max(len(each.columns[0]) for each in found) < 100  # of 8 MiB
    assert len(found) < 20  # and no smaller than they need be
