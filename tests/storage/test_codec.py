"""Entry <-> bytes: exact for what we wrote, a miss for all else."""

import pickle
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.storage.codec import decode, encode, most_bytes

from ..support.entries import BODY, DOWN, ENTRIES, GONE, RULES, rules, sealed, text_of, with_body
from ..support.rows import row, table

WHOLE = encode(Entry(RULES, DOWN))
TEXT = text_of(Entry(RULES, DOWN))


def changed(old: bytes, new: bytes) -> bytes:
    """The bytes of an entry with other facts."""
    assert TEXT.count(old) == 1
    return sealed(TEXT.replace(old, new))


@given(ENTRIES, st.booleans())
def test_any_entry_comes_back_as_it_was(entry: Entry, packs: bool) -> None:
    assert decode(encode(entry) if packs else encode(entry, level=0)) == entry


def test_text_that_is_no_utf8_comes_back() -> None:
    entry = Entry(None, replace(GONE, why="a\ud800b", redirected_to="\ud800"))
    assert decode(encode(entry)) == entry


def test_it_is_compressed_and_bounded() -> None:
    assert len(encode(rules(BODY * 50))) < len(BODY) * 5
    for body in (b"x" * 512_000, bytes(range(256)) * 2000):
        assert len(encode(rules(body), level=0)) <= most_bytes()
    assert most_bytes(100) < 200_000


def test_cut_and_changed_bytes_are_a_miss() -> None:
    for place, byte in enumerate(WHOLE):
        assert decode(WHOLE[:place]) is None
        assert decode(WHOLE[:place] + bytes([byte ^ 0x20]) + WHOLE[place + 1 :]) is None


SINCE = b'"since": 1700000000.25'


@table(
    "data",
    row("nothing", b""),
    row("more", WHOLE + b"x"),
    row("next-version", sealed(TEXT, version=b"GRB5")),
    row("no-line", sealed(b"")),
    row("no-facts", sealed(b"\n")),
    row("list", sealed(b"[]\n")),
    row("number-for-a-copy", sealed(b'{"copy": 1, "outage": null}\n')),
    row("list-for-an-outage", sealed(b'{"copy": null, "outage": []}\n')),
    row("nested-without-end", sealed(b"[" * 100_000 + b"\n")),
    row("number-without-end", sealed(b"9" * 100_000 + b"\n")),
    row("flag-that-is-none", changed(b'"cut": false', b'"cut": 0')),
    row("number-that-is-none", changed(b'"failures": 3', b'"failures": true')),
    row("status-that-is-none", changed(b'"status": 503', b'"status": 503.0')),
    row("text-too-long", changed(b"https://www", b"https://" + b"w" * 140_000)),
    row("unknown-failure", changed(b'"failure": null', b'"failure": "MELTED"')),
    row("failure-that-is-no-name", changed(b'"failure": null', b'"failure": []')),
    row("unknown-kind", changed(b'"kind": "RULES"', b'"kind": "MELTED"')),
    row("fact-that-is-missing", changed(b'"cut": false, ', b"")),
    row("later-fact", changed(b'"cut": false', b'"cut": false, "dut": false')),
    row("nan", changed(SINCE, b'"since": NaN')),
    row("never", changed(SINCE, b'"since": 1e999')),
    row("whole-number-for-a-time", changed(SINCE, b'"since": 1700000000')),
    row("pickle", pickle.dumps(Entry(RULES))),
)
def test_other_bytes_are_a_miss(data: bytes) -> None:
    assert decode(data) is None


def test_the_tests_own_seal_is_right() -> None:
    assert decode(sealed(text_of(Entry(RULES)))) == Entry(RULES)
    later = Entry(RULES, replace(DOWN, failures=4))
    assert decode(changed(b'"failures": 3', b'"failures": 4')) == later


@given(st.binary(max_size=200), st.sampled_from([sealed, with_body]))
def test_no_sealed_bytes_raise(payload: bytes, seal: Callable[[bytes], bytes]) -> None:
    entry = decode(seal(payload))
    assert entry is None or decode(encode(entry)) == entry


def test_body_over_the_limit_is_a_miss() -> None:
    assert decode(encode(rules(b"x" * 101)), max_body=100) is None
    assert decode(encode(rules(b"x" * 100)), max_body=100) is not None


def test_bomb_is_not_inflated() -> None:
    data = with_body(bytes(20_000_000))
    tracemalloc.start()
    try:
        assert decode(data) is None
        assert tracemalloc.get_traced_memory()[1] < 2 * 1024 * 1024
    finally:
        tracemalloc.stop()
