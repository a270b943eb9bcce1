"""Entry <-> bytes: exact for what we wrote, a miss for all else."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.entry import Entry, Outage
from scrapy_gbot_robots.storage.codec import decode, encode, longest

from ..support.entries import BODY, DOWN, ENTRIES, GONE, MISSING, RULES, payload_of, rules, sealed

WHOLE = encode(Entry(RULES, DOWN))


def outage_payload(has_status: int, status: int) -> bytes:
    """An entry without a copy and with an outage, which says whether there is a status by any byte."""
    return b"\0\1" + struct.pack(">BiLdd", has_status, status, 1, 0.0, 0.0) + b"\0\0\0\0"


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(Entry(RULES), id="rules"),
        pytest.param(Entry(MISSING), id="missing"),
        pytest.param(Entry(RULES, DOWN), id="outage-over-copy"),
        pytest.param(Entry(None, GONE), id="outage"),
        pytest.param(Entry(), id="nothing"),
        pytest.param(rules(b""), id="empty-body"),
        pytest.param(rules(bytes(range(256))), id="any-bytes"),
        pytest.param(rules(b"x" * 512_000), id="largest-body"),
    ],
)
def test_entry_comes_back_as_it_was(entry: Entry) -> None:
    assert decode(encode(entry)) == entry


@given(ENTRIES)
def test_any_entry_comes_back_as_it_was(entry: Entry) -> None:
    assert decode(encode(entry)) == entry


def test_text_that_is_no_utf8_is_kept_as_well_as_can_be() -> None:
    outage = decode(encode(Entry(None, type(GONE)(0.0, 1, None, "a\ud800b", 0.0))))
    assert outage is not None
    assert outage.outage is not None
    assert outage.outage.why == "a?b"


def test_more_failures_than_there_is_room_for_are_kept_as_well_as_can_be() -> None:
    most = Outage(0.0, 2**32 - 1, None, "", 0.0)
    assert decode(encode(Entry(None, replace(most, failures=2**32)))) == Entry(None, most)


def test_compressed_where_it_pays() -> None:
    assert len(encode(rules(BODY * 50))) < len(BODY) * 5
    assert len(encode(Entry(None, GONE))) < 100


def test_longest_is_long_enough_and_bounded() -> None:
    assert max(len(encode(rules(body))) for body in (b"x" * 512_000, bytes(range(256)) * 2000)) <= longest()
    assert longest(100) < 200_000


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_cut_bytes_are_a_miss(length: int) -> None:
    assert decode(WHOLE[:length]) is None


@pytest.mark.parametrize("place", range(len(WHOLE)))
def test_any_changed_byte_is_a_miss(place: int) -> None:
    assert decode(WHOLE[:place] + bytes([WHOLE[place] ^ 0x20]) + WHOLE[place + 1 :]) is None


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(WHOLE + b"x", id="more"),
        pytest.param(sealed(payload_of(Entry(RULES)), version=b"GRB\x02"), id="next-version"),
        pytest.param(sealed(payload_of(Entry(RULES)), version=b"GRB\x00"), id="version-before"),
        pytest.param(sealed(payload_of(Entry(RULES)), packing=2), id="unknown-packing"),
        pytest.param(sealed(payload_of(Entry(RULES)), packing=1), id="not-compressed"),
        pytest.param(sealed(payload_of(Entry(RULES)) + b"\0"), id="left-over"),
        pytest.param(sealed(b""), id="empty"),
        pytest.param(sealed(b"\2\0"), id="neither-there-nor-not"),
        pytest.param(sealed(outage_payload(2, 503)), id="neither-a-status-nor-none"),
        pytest.param(sealed(outage_payload(0, 503)), id="status-that-is-none"),
        pytest.param(sealed(zlib.compress(b"\0\0") + b"x", packing=1, size=2), id="more-behind-the-compressed"),
        pytest.param(sealed(zlib.compress(b"\0\0")[:-1], packing=1, size=2), id="compressed-and-cut"),
        pytest.param(sealed(payload_of(Entry(RULES)).replace(b"\1\0", b"\1\7", 1)), id="unknown-kind"),
        pytest.param(sealed(payload_of(Entry(RULES)).replace(b"www", b"\xff\xff\xff")), id="text-no-utf8"),
        pytest.param(
            sealed(payload_of(Entry(RULES)).replace(b"\0\0\0\x22http", b"\xff\0\0\x22http")), id="length-too-large"
        ),
        pytest.param(sealed(payload_of(Entry(RULES)), size=2**32 - 1), id="size-too-large"),
        pytest.param(sealed(b"\0\1" + struct.pack(">?iLdd", False, 0, 1, float("nan"), 0.0) + b"\0\0\0\0"), id="nan"),
        pytest.param(
            sealed(b"\0\1" + struct.pack(">?iLdd", False, 0, 1, 0.0, float("inf")) + b"\0\0\0\0"), id="infinity"
        ),
        pytest.param(b"cos\nsystem\n(S'echo'\ntR.", id="pickle"),
        pytest.param(b"\x80\x04\x95\x1a\0\0\0\0\0\0\0\x8c\x02os", id="pickle-4"),
    ],
)
def test_other_bytes_are_a_miss(data: bytes) -> None:
    assert decode(data) is None


def test_the_tests_own_seal_is_right() -> None:
    assert decode(sealed(payload_of(Entry(RULES)))) == Entry(RULES)
    assert decode(sealed(outage_payload(1, 503))) == Entry(None, Outage(0.0, 1, 503, "", 0.0))
    assert decode(sealed(zlib.compress(payload_of(Entry(RULES))), packing=1, size=len(payload_of(Entry(RULES)))))


@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    assert decode(data) is None


@given(st.binary(max_size=200), st.booleans())
def test_no_sealed_bytes_raise(payload: bytes, packed: bool) -> None:
    data = sealed(zlib.compress(payload), packing=1, size=len(payload)) if packed else sealed(payload)
    entry = decode(data)
    assert entry is None or decode(encode(entry)) == entry


def test_body_over_the_limit_is_a_miss() -> None:
    assert decode(encode(rules(b"x" * 101)), max_body=100) is None
    assert decode(encode(rules(b"x" * 100)), max_body=100) is not None


@pytest.mark.parametrize("claimed", [pytest.param(500_000, id="small-claim"), pytest.param(2**32 - 1, id="true-claim")])
def test_bomb_is_not_inflated(claimed: int) -> None:
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(100)) + packer.flush()
    data = sealed(bomb, packing=1, size=claimed)
    tracemalloc.start()
    try:
        assert decode(data) is None
        assert tracemalloc.get_traced_memory()[1] < 2 * 1024 * 1024
    finally:
        tracemalloc.stop()
