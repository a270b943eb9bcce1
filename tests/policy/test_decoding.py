"""Content codings, undone as far as asked: each coding beside the library that makes it, at every kind of end."""

import gzip
import random
import sys
import zlib
from collections.abc import Callable
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import brotli
import pytest

from scrapy_gbot_robots.policy.decoding import DecodeError, as_served, decoded, is_decoded

from ..support.bounds import memory_below, time_below
from ..support.rows import row, table

TEXT = b"user-agent: *\ndisallow: /private\n"
# hard to compress, so that there are many pieces
LARGE = random.Random(1).randbytes(300_000).hex().encode()
EVERYTHING = 10**9


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def in_two_members(data: bytes) -> bytes:
    return gzip.compress(data[:9]) + bytes(5) + gzip.compress(data[9:])


def zstd_module() -> Any:
    """The module of Python 3.14, or its backport; skips the test if there is none."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return pytest.importorskip(name, reason="backports.zstd comes with Scrapy 2.18 and newer")


CODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "none": ("", lambda data: data),
    "identity": ("identity", lambda data: data),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": (" X-GZIP ", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw-deflate": ("deflate", raw_deflate),
    "brotli": ("br", lambda data: brotli.compress(data, quality=1)),
    "gzip-members": ("gzip", in_two_members),
    "gzip-padding": ("gzip", lambda data: gzip.compress(data) + b"padding"),
    "zlib-padding": ("deflate", lambda data: zlib.compress(data) + b"\x1f\x8bpadding"),
    "no-coding-at-all": ("utf-8", lambda data: data),
    "zstd": ("zstd", lambda data: zstd_module().compress(data)),
    "word-and-coding": ("aws-chunked, gzip", gzip.compress),
}


@pytest.mark.parametrize(
    "data", [b"", TEXT, LARGE, bytes([10]) * 3_000_000], ids=["empty", "small", "large", "bomb"]
)
@pytest.mark.parametrize(("coding", "encode"), CODINGS.values(), ids=CODINGS)
def test_coding_is_undone(coding: str, encode: Callable[[bytes], bytes], data: bytes) -> None:
    assert decoded(encode(data), coding, EVERYTHING) == (data, False)
    assert decoded(encode(data), coding, 70_000) == (data[:70_000], len(data) > 70_000)


@table("boundary", 8_192, 65_536, 131_072)  # of the pieces that a decoder is given and gives
@pytest.mark.parametrize("at", range(-12, 3))
def test_gzip_member_may_begin_at_any_byte_round_a_boundary(boundary: int, at: int) -> None:
    empty = len(gzip.compress(b"#" * (boundary - 500), 0)) - (boundary - 500)
    first = gzip.compress(b"#" * (boundary + at - empty), 0)
    assert len(first) == boundary + at
    zeros = gzip.compress(b"") + bytes(boundary + at - len(gzip.compress(b"")))
    for begun in (first, zeros):
        text, cut = decoded(begun + gzip.compress(TEXT), "gzip", EVERYTHING)
        assert text.endswith(TEXT)
        assert not cut


@table(
    "coding, encode", *(CODINGS[name] for name in ("gzip", "zlib", "raw-deflate", "brotli", "zstd"))
)
def test_cut_body_ends_early_or_begins(coding: str, encode: Callable[[bytes], bytes]) -> None:
    cuts = [(TEXT, encode(TEXT)[:size]) for size in range(1, len(encode(TEXT)))]
    for text, part in [*cuts, (LARGE, encode(LARGE)[:-1000])]:
        with pytest.raises(DecodeError, match="ends too early"):
            decoded(part, coding, EVERYTHING)
        beginning, more = decoded(part, coding, EVERYTHING, whole=False)
        assert text.startswith(beginning)
        assert more


@pytest.mark.parametrize("data", [b"", TEXT, LARGE], ids=["empty", "text", "large"])
@table(
    "inner, outer",
    *permutations(("gzip", "zlib", "raw-deflate", "brotli", "zstd"), 2),
    ("gzip", "gzip"),
)
def test_two_codings_are_undone_the_last_first(inner: str, outer: str, data: bytes) -> None:
    """RFC 9110 8.4: the header names them in the order in which they were applied."""
    (first, pack), (second, pack_again) = CODINGS[inner], CODINGS[outer]
    body = pack_again(pack(data))
    header = f"{first}, identity, {second}"
    assert decoded(body, header, EVERYTHING) == (data, False)
    assert decoded(body, header, 1_000) == (data[:1_000], len(data) > 1_000)
    with pytest.raises(DecodeError):
        decoded(body[:-1], header, EVERYTHING)


def test_outer_coding_of_which_the_inner_makes_nothing_has_an_end() -> None:
    empty_members = gzip.compress(b"", mtime=0) * 200_000
    for inside in (bytes(100_000_000), empty_members * 5):
        body = zlib.compress(gzip.compress(b"", mtime=0) + inside)
        with time_below(10), pytest.raises(DecodeError, match="has no end"):
            decoded(body, "gzip, deflate", 500_000)


def test_many_empty_members_take_no_time() -> None:
    """A body of half a megabyte holds 25,000 of them; each is looked at once."""
    body = gzip.compress(b"", mtime=0) * 25_000
    with time_below(30):
        assert decoded(body, "gzip", EVERYTHING) == (b"", False)


@pytest.mark.parametrize("pad", [0, 9_000], ids=["in-one-piece", "in-the-next-piece"])
def test_zstd_of_several_frames_is_not_taken_for_its_first(pad: int) -> None:
    compress = zstd_module().compress
    first = compress(LARGE[:pad])
    assert decoded(first, "zstd", EVERYTHING) == (LARGE[:pad], False)
    with pytest.raises(DecodeError, match="broken: more than one frame"):
        decoded(first + compress(TEXT), "zstd", EVERYTHING)


def test_output_that_a_decoder_keeps_back_is_not_lost() -> None:
    noise = random.Random(1).randbytes(8_192)
    # the last bytes of the first piece mean much output, here and there just too much
    for length in range(7_060, 7_200):
        data = noise[:length] + bytes(1_500_000)
        assert decoded(gzip.compress(data), "gzip", EVERYTHING) == (data, False)


PACKED = gzip.compress(TEXT, mtime=0)


@table(
    "coding, body, why",
    ("compress", b"\x1f\x9d\x90u\xe6\x94)s", "is not understood"),
    ("snappy", b"\xff\x06\x00\x00sNaPpY", "is not understood"),
    ("gzip, gzip, gzip", PACKED, "is not understood"),
    ("gzip, br", TEXT, "is broken"),
    ("deflate, gzip", zlib.compress(PACKED), "is broken"),  # in the other order
    ("gzip, gzip", PACKED, "is broken"),  # once only
    ("utf-8", PACKED, "is not understood"),
    ("own-coding", PACKED, "is not understood"),
    ("UTF-8, identity", PACKED, "is not understood"),
    ("gzip", PACKED + b"\x1f", "ends too early"),  # half a member
    ("gzip", b"\xff\xfe\xfd" * 100, "is broken"),
    ("br", b"\xff\xfe\xfd" * 100, "is broken"),
    ("deflate", b"\xff\xfe\xfd" * 100, "is broken"),
)
def test_coding_that_is_not_undone_is_an_error(coding: str, body: bytes, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        decoded(body, coding, EVERYTHING)


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate"])
def test_body_of_no_bytes_is_an_empty_file_or_an_early_end(coding: str) -> None:
    assert decoded(b"", coding, EVERYTHING) == (b"", False)
    assert decoded(b"", coding, EVERYTHING, whole=False) == (b"", True)
    with pytest.raises(DecodeError):
        decoded(b"", coding, EVERYTHING, may_be_empty=False)


def test_raw_deflate_whose_checksum_is_that_of_zlib_by_chance_is_read() -> None:
    texts = (LARGE[start : start + 200] for start in range(5_000))
    found = [text for text in texts if int.from_bytes(raw_deflate(text)[:2], "big") % 31 == 0]
    assert found
    assert all(decoded(raw_deflate(text), "deflate", EVERYTHING) == (text, False) for text in found)


@pytest.mark.parametrize(("window_log", "fits"), [(23, True), (24, False)])
def test_zstd_takes_no_more_memory_than_its_content_coding_may(window_log: int, fits: bool) -> None:
    zstd = zstd_module()
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: window_log})
    packed = packer.compress(TEXT) + packer.flush()
    if fits:
        assert decoded(packed, "zstd", EVERYTHING) == (TEXT, False)
    else:
        with pytest.raises(DecodeError):
            decoded(packed, "zstd", EVERYTHING)


class OldDecompressor:
    """Stands for the decoders of brotli 1.1 and brotlicffi 1.1, which cannot limit their output."""

    def process(self, data: bytes) -> bytes:
        plain: bytes = brotli.decompress(data)
        return plain


OLD = SimpleNamespace(Decompressor=OldDecompressor)
INSTALL_BROTLI = "brotli or brotlicffi, version 1.2 or newer"
INSTALL_ZSTD = "backports.zstd, or Python 3.14 or newer"


@table(
    "coding, modules, present, install",
    row("no-zstd", "zstd", "compression.zstd backports.zstd", None, INSTALL_ZSTD),
    row("no-brotli", "br", "brotli brotlicffi", None, INSTALL_BROTLI),
    row("old-brotli", "br", "brotli brotlicffi", OLD, INSTALL_BROTLI),
    row("empty-module", "br", "brotli brotlicffi", SimpleNamespace(), INSTALL_BROTLI),
    row("outer-coding", "gzip, br", "brotli brotlicffi", OLD, INSTALL_BROTLI),
)
def test_absent_or_old_module_is_named(
    coding: str, modules: str, present: Any, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in modules.split():
        monkeypatch.setitem(sys.modules, name, present)
    with pytest.raises(DecodeError) as caught:
        decoded(brotli.compress(TEXT), coding, EVERYTHING)
    name = coding.removeprefix("gzip, ")
    assert str(caught.value) == f"to read the coding {name}, install {install}"


@table("other", None, OLD)
def test_either_module_for_brotli_will_do(other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotlicffi", brotli)
    monkeypatch.setitem(sys.modules, "brotli", other)
    assert decoded(brotli.compress(TEXT), "br", EVERYTHING) == (TEXT, False)


SHOWN = b'<html><head><meta name="color-scheme" content="light dark"></head><body><pre style="x">a: &lt;&amp;\xff\n</pre></body></html>'


RULES = "user-agent: *\ndisallow: /caf\u00e9\n".encode()


def test_body_is_text_only_if_it_certainly_has_no_coding() -> None:
    assert is_decoded(RULES)
    assert is_decoded(b"user-agent:*\ndisallow:/")
    assert is_decoded(b"#" * 65_535 + "\u00e9".encode())  # a character at the end of the first part
    for encode in (gzip.compress, zlib.compress, brotli.compress):
        assert not is_decoded(encode(RULES * 9))
    assert not is_decoded(b"user-agent:*\n")  # too short to be told from a coding
    assert not is_decoded(RULES.decode().encode("latin-1"))
    assert not is_decoded(RULES + b"\0")


def test_text_that_a_browser_shows_is_read_as_served() -> None:
    assert as_served(SHOWN, ["playwright"]) == b"a: <&\xff\n"
    assert as_served(SHOWN.replace(b"a: &lt;&amp;\xff\n", b""), ["playwright"]) == b""
    assert as_served(SHOWN, []) == SHOWN
    for page in (TEXT, b"<html>a", SHOWN.replace(b"&lt;", b"<b>")):
        assert as_served(page, ["playwright"]) == page


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_bomb_is_decoded_up_to_the_limit_alone(coding: str) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if coding == "gzip" else 15)
    bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(20)) + packer.flush()
    with memory_below(4 * 2**20):
        text, more = decoded(bomb, coding, 500_000)
    assert (len(text), more) == (500_000, True)
