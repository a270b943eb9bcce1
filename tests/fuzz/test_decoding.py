"""Bodies in content codings, cut and joined at every boundary, read as Python's own modules read them."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import brotli
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.decoding import DecodeError, decoded

from ..support.zstd import zstd_module

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 512_000
BOUNDARIES = (8_192, 65_536, 131_072)  # of the pieces that a decoder is given and gives
TEXTS = st.binary(max_size=300) | st.builds(
    lambda part, times: part * times, st.binary(max_size=30), st.integers(0, 9_000)
)
CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda text: gzip.compress(text, mtime=0),
    "deflate": zlib.compress,
    "br": lambda text: brotli.compress(text, quality=1),
}
CODINGS = st.sampled_from(sorted(CODERS))


@given(st.lists(TEXTS, min_size=1, max_size=5), st.integers(0, 3))
def test_gzip_members_are_all_read(texts: list[bytes], zeros: int) -> None:
    body = bytes(zeros).join(gzip.compress(text, mtime=0) for text in texts)
    whole = gzip.decompress(body)
    assert decoded(body, "gzip", LIMIT) == (whole[:LIMIT], len(whole) > LIMIT)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("at", range(-12, 3))
def test_gzip_member_may_begin_at_any_byte_round_a_boundary(boundary: int, at: int) -> None:
    empty = len(gzip.compress(b"#" * (boundary - 500), 0)) - (boundary - 500)
    first = gzip.compress(b"#" * (boundary + at - empty), 0)
    assert len(first) == boundary + at
    last = b"user-agent: *\ndisallow: /"
    text, cut = decoded(first + gzip.compress(last), "gzip", LIMIT)
    assert text.endswith(b"#" + last)
    assert not cut


@given(TEXTS, CODINGS, st.integers(1, LIMIT))
@example(b"#" * 300_000, "br", LIMIT)
@example(bytes(range(256)) * 1_000, "br", 200_000)
def test_whole_body_is_read_as_far_as_the_limit(text: bytes, coding: str, limit: int) -> None:
    assert decoded(CODERS[coding](text), coding, limit) == (text[:limit], len(text) > limit)


@given(TEXTS, CODINGS, st.data())
def test_body_that_is_cut_anywhere_is_broken_or_a_beginning(text: bytes, coding: str, data: st.DataObject) -> None:
    body = CODERS[coding](text)
    assume(len(body) > 1)
    part = body[: data.draw(st.integers(1, len(body) - 1))]
    with pytest.raises(DecodeError):
        decoded(part, coding, LIMIT)
    beginning, cut = decoded(part, coding, LIMIT, whole=False)
    assert text.startswith(beginning)
    assert cut


@pytest.mark.parametrize("coding", sorted(CODERS))
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_body_that_is_cut_at_a_boundary_is_broken(coding: str, boundary: int) -> None:
    text = b"".join(zlib.crc32(number.to_bytes(4, "big")).to_bytes(4, "big") for number in range(60_000))
    body = CODERS[coding](text)
    assert decoded(body, coding, LIMIT) == (text, False)
    for end in range(boundary - 2, boundary + 3):
        with pytest.raises(DecodeError):
            decoded(body[:end], coding, LIMIT)
        assert text.startswith(decoded(body[:end], coding, LIMIT, whole=False)[0])


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_zstd_frames_are_all_read(texts: list[bytes]) -> None:
    zstd = zstd_module()
    body = b"".join(map(zstd.compress, texts))
    whole = b"".join(texts)
    assert decoded(body, "zstd", LIMIT) == (whole[:LIMIT], len(whole) > LIMIT)
    with pytest.raises(DecodeError):
        decoded(body[:-1], "zstd", LIMIT * 10)


@given(st.lists(CODINGS, min_size=1, max_size=4), TEXTS)
def test_layers_are_undone_in_turn(codings: list[str], text: bytes) -> None:
    body = text
    for coding in codings:
        body = CODERS[coding](body)
    assert decoded(body, ", ".join(codings), LIMIT) == (text[:LIMIT], len(text) > LIMIT)


@pytest.mark.parametrize("word", ["utf-8", "none", "aws-chunked", "UTF-8, identity", "text/plain"])
def test_word_that_is_no_coding_changes_nothing(word: str) -> None:
    assert decoded(b"user-agent: *", word, LIMIT) == (b"user-agent: *", False)
    with pytest.raises(DecodeError, match="not understood"):
        decoded(gzip.compress(b"user-agent: *"), word, LIMIT)


@pytest.mark.parametrize("coding", ["compress", "x-compress", "snappy", "bzip2", "lzma", "gzip, snappy", "gzip," * 5])
def test_coding_that_is_not_undone_is_an_error(coding: str) -> None:
    with pytest.raises(DecodeError, match="not understood"):
        decoded(b"user-agent: *", coding, LIMIT)


def test_many_empty_members_take_no_time() -> None:
    """A body of half a megabyte holds 25,000 of them; each is looked at once."""
    import time

    body = gzip.compress(b"", mtime=0) * 25_000
    began = time.process_time()
    assert decoded(body, "gzip", LIMIT) == (b"", False)
    assert time.process_time() - began < 5
