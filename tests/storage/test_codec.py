"""Entry <-> bytes: exact for what we wrote, a miss for all else."""

import json
import tracemalloc
import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.storage.codec import decode, encode, most_bytes

from ..support.entries import (
    BODY,
    DOWN,
    ENTRIES,
    GONE,
    MISSING,
    RULES,
    rules,
    sealed,
    summed_of,
    with_body,
)

WHOLE = encode(Entry(RULES, DOWN))
FACTS, _, BODY_OF_WHOLE = summed_of(Entry(RULES, DOWN)).partition(b"\n")


def changed(old: bytes, new: bytes) -> bytes:
    """The bytes of an entry with other facts and a checksum that is right."""
    assert FACTS.count(old) == 1
    return sealed(FACTS.replace(old, new) + b"\n" + BODY_OF_WHOLE)


@given(ENTRIES)
def test_any_entry_comes_back_as_it_was(entry: Entry) -> None:
    assert decode(encode(entry)) == entry


@pytest.mark.parametrize(
    ("outage", "kept"),
    [
        pytest.param({"why": "a\ud800b"}, {"why": "a?b"}, id="text that is no UTF-8"),
        pytest.param(
            {"why": "x" * 40_000}, {"why": "x" * 32_768}, id="longer text than there is room for"
        ),
        pytest.param({"since": -1e308}, {"since": 0.0}, id="an earlier time than there is"),
        pytest.param(
            {"retry_at": float("inf")},
            {"retry_at": 253_402_214_400.0},
            id="a later time than there is",
        ),
        pytest.param({"redirected_to": "\ud800"}, {"redirected_to": "?"}, id="a URL, too"),
        pytest.param({"alike": 2**32}, {"alike": 2**32 - 1}, id="too many failures that are alike"),
        pytest.param(
            {"status": 2**31}, {"status": 2**31 - 1}, id="a larger status than there is room for"
        ),
        pytest.param(
            {"failures": 2**32}, {"failures": 2**32 - 1}, id="more failures than there is room for"
        ),
    ],
)
def test_what_cannot_be_written_is_kept_as_well_as_can_be(
    outage: dict[str, Any], kept: dict[str, Any]
) -> None:
    assert decode(encode(Entry(None, replace(GONE, **outage)))) == Entry(
        None, replace(GONE, **kept)
    )


def test_compressed_where_it_pays() -> None:
    assert len(encode(rules(BODY * 50))) < len(BODY) * 5
    assert len(encode(Entry(None, GONE))) < 320


def test_most_bytes_is_long_enough_and_bounded() -> None:
    assert (
        max(len(encode(rules(body))) for body in (b"x" * 512_000, bytes(range(256)) * 2000))
        <= most_bytes()
    )
    assert most_bytes(100) < 200_000


def test_cut_and_changed_bytes_are_a_miss() -> None:
    for place, byte in enumerate(WHOLE):
        assert decode(WHOLE[:place]) is None
        assert decode(WHOLE[:place] + bytes([byte ^ 0x20]) + WHOLE[place + 1 :]) is None


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(WHOLE + b"x", id="more"),
        pytest.param(sealed(summed_of(Entry(RULES)), version=b"GRB4"), id="next-version"),
        pytest.param(sealed(b"\n"), id="no-facts"),
        pytest.param(sealed(FACTS), id="no-body"),
        pytest.param(sealed(b"[]\n"), id="list"),
        pytest.param(sealed(b"[" * 100_000 + b"\n"), id="nested-without-end"),
        pytest.param(sealed(b"9" * 100_000 + b"\n"), id="number-without-end"),
        pytest.param(sealed(FACTS + b" \n" + BODY_OF_WHOLE), id="blank-behind-the-facts"),
        pytest.param(sealed(FACTS + b"\n" + BODY_OF_WHOLE + b"x"), id="longer-body"),
        pytest.param(changed(b'"cut": false', b'"cut": 0'), id="flag-that-is-none"),
        pytest.param(changed(b'"zlib": false', b'"zlib": 0'), id="compression-that-is-none"),
        pytest.param(changed(b'"failures": 3', b'"failures": true'), id="number-that-is-none"),
        pytest.param(changed(b'"failures": 3', b'"failures": -3'), id="failures-below-none"),
        pytest.param(
            changed(b'"failures": 3', b'"failures": 4294967296'), id="more-failures-than-there-are"
        ),
        pytest.param(changed(b'"status": 503', b'"status": 503.0'), id="status-that-is-none"),
        pytest.param(changed(b"https://www", b"https://" + b"w" * 40_000), id="text-too-long"),
        pytest.param(
            changed(b'"failure": null', b'"failure": "MELTED"'), id="failure-that-is-not-known"
        ),
        pytest.param(changed(b'"failure": null', b'"failure": []'), id="failure-that-is-no-name"),
        pytest.param(changed(b'"kind": "rules"', b'"kind": "other"'), id="unknown-kind"),
        pytest.param(changed(b'"cut": false, ', b""), id="fact-that-is-missing"),
        pytest.param(
            changed(b'"cut": false', b'"cut": false, "dut": false'), id="fact-of-a-later-version"
        ),
        pytest.param(changed(b'"since": 1700000000.25', b'"since": NaN'), id="nan"),
        pytest.param(changed(b'"since": 1700000000.25', b'"since": 1e999'), id="never"),
        pytest.param(changed(b'"since": 1700000000.25', b'"since": 1e+300'), id="after-all-time"),
        pytest.param(changed(b'"since": 1700000000.25', b'"since": -1.0'), id="before-all-time"),
        pytest.param(
            changed(b'"since": 1700000000.25', b'"since": 1700000000'), id="whole-number-for-a-time"
        ),
        pytest.param(changed(b"https://www", b"https://\\u0077ww"), id="escaped-without-need"),
        pytest.param(with_body(BODY, len(BODY)), id="not-compressed"),
        pytest.param(
            with_body(zlib.compress(BODY) + b"x", len(BODY)), id="more-behind-the-compressed"
        ),
        pytest.param(with_body(zlib.compress(BODY)[:-1], len(BODY)), id="compressed-and-cut"),
        pytest.param(with_body(zlib.compress(BODY), len(BODY) - 1), id="body-longer-than-it-says"),
        pytest.param(with_body(zlib.compress(BODY), -1), id="size-below-none"),
        pytest.param(sealed(summed_of(Entry(None, GONE)) + b"x"), id="body-of-nothing"),
        pytest.param(b"cos\nsystem\n(S'echo'\ntR.", id="pickle"),
    ],
)
def test_other_bytes_are_a_miss(data: bytes) -> None:
    assert decode(data) is None


def test_the_tests_own_seal_is_right() -> None:
    assert decode(sealed(summed_of(Entry(RULES)))) == Entry(RULES)
    assert decode(changed(b'"failures": 3', b'"failures": 4')) == Entry(
        RULES, replace(DOWN, failures=4)
    )
    assert decode(with_body(zlib.compress(BODY), len(BODY))) == Entry(RULES)


def test_what_is_known_can_be_read_by_people() -> None:
    line, _, body = encode(Entry(MISSING, DOWN)).partition(b"\n")
    version, _, facts = line.decode("ascii").split(" ", 2)
    assert version == "GRB3"
    assert json.loads(facts)["copy"]["status"] == 404
    assert json.loads(facts)["outage"]["why"] == "HTTP 503"
    assert body == b""
    assert BODY in encode(Entry(RULES))


@given(st.binary(max_size=200), st.booleans())
def test_no_sealed_bytes_raise(payload: bytes, packed: bool) -> None:
    data = with_body(payload, len(payload)) if packed else sealed(payload)
    entry = decode(data)
    assert entry is None or decode(encode(entry)) == entry


def test_body_over_the_limit_is_a_miss() -> None:
    assert decode(encode(rules(b"x" * 101)), max_body=100) is None
    assert decode(encode(rules(b"x" * 100)), max_body=100) is not None


def test_bomb_is_not_inflated() -> None:
    packer = zlib.compressobj(1)
    bomb = b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(100)) + packer.flush()
    for claimed in (500_000, 100_000_000, 2**32 - 1):
        data = with_body(bomb, claimed)
        tracemalloc.start()
        try:
            assert decode(data) is None
            assert tracemalloc.get_traced_memory()[1] < 2 * 1024 * 1024
        finally:
            tracemalloc.stop()
