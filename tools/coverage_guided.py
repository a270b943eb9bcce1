"""Coverage-guided fuzzing of the code that reads hostile bytes: the parser and the storage codec.

`python -m tools.coverage_guided parser -runs=1000000`, or `codec` instead of `parser`. After the name come options of
libFuzzer. The run stops at the first input that breaks a promise, and writes that input to a file in `.fuzz`. It keeps its corpus
there, too. A file that is named on the command line is the only input tried. The test requirements do not have atheris:
`pip install atheris`.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["scrapy_gbot_robots"]):
    from scrapy_gbot_robots.core import (
        lines,
        rule_index,  # noqa: F401 - which is imported late
    )
    from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind, Outage
    from scrapy_gbot_robots.storage.codec import decode, encode
    from tests.fuzz import promises

from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.entries import DOWN, GONE, MISSING, RULES, sealed, text_of, with_body
from tests.support.reference import DATA, body_of, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEPT = Path(__file__).parents[1] / ".fuzz"  # the corpus, and inputs that broke a promise
LATEST = 253_402_214_400.0  # seconds since the epoch: the codec keeps no later time
MAX_LEN = 300  # bytes of an input: enough for two groups, and short enough for thousands of inputs a second

AS_BYTES = 2  # a bit of the first byte of an input for the parser
RAW, PLAIN, PACKED, PARTS = range(4)  # kinds of input for the codec, by its first byte


def parser(data: bytes) -> None:
    """An input is a byte of options, a line with the user agent, one with the URL, and then the robots.txt."""
    options = data[0] if data else 0
    user_agent, _, rest = data[1:].partition(b"\n")
    where, _, body = rest.partition(b"\n")
    if options & AS_BYTES:
        promises.assert_one_meaning(body, where, user_agent)
        promises.assert_origin_is_stable(where)
    else:
        url = where.decode("utf-8", "surrogateescape")
        promises.assert_one_meaning(body, url, user_agent.decode("utf-8", "surrogateescape"))
        promises.assert_origin_is_stable(url)
    promises.assert_told_in_full(body)
    promises.assert_all_are_read_as_one(body)


def codec(data: bytes) -> None:
    """An input is a byte that names its kind. The rest is stored bytes, bytes to be sealed, a body, or the parts of an entry."""
    way, rest = data[0] % 4 if data else RAW, data[1:]
    if way == PARTS:
        entry = _entry(atheris.FuzzedDataProvider(rest))
        assert decode(encode(entry)) == entry
        return
    stored = {RAW: rest, PLAIN: sealed(rest), PACKED: with_body(rest)}[way]
    read = decode(stored)
    assert read is None or decode(encode(read)) == read
    assert way != PACKED or (read is not None and read.copy is not None and read.copy.body == rest)


def _entry(parts: atheris.FuzzedDataProvider) -> Entry:
    def time() -> float:
        return float(parts.ConsumeFloatInRange(0.0, LATEST))

    def text() -> str:
        return str(parts.ConsumeUnicodeNoSurrogates(20))

    def status() -> int:
        return int(parts.ConsumeIntInRange(1 - 2**31, 2**31 - 1))

    copy = outage = None
    if parts.ConsumeBool():
        kind, body = (
            parts.PickValueInList(list(Kind)),
            parts.ConsumeBytes(parts.ConsumeIntInRange(0, 200)),
        )
        copy = Copy(kind, status(), text(), body, parts.ConsumeBool(), text(), time(), time())
    if parts.ConsumeBool():
        failures = parts.ConsumeIntInRange(0, 2**32 - 1)
        outage = Outage(time(), failures, status() if parts.ConsumeBool() else None, text(), time())
    return Entry(copy, outage)


def parser_seeds() -> Iterator[bytes]:
    for case in read(DATA / "synthetic-cases.jsonl.gz"):
        for query in case["queries"][:2]:
            head = f"\0{query['agents'][0]}\n{query['url']}\n".encode()
            yield head + body_of(case)


def codec_seeds() -> Iterator[bytes]:
    for entry in (Entry(RULES), Entry(MISSING), Entry(None, GONE), Entry(RULES, DOWN), Entry()):
        yield bytes([RAW]) + encode(entry)
        yield bytes([PLAIN]) + text_of(entry)
        yield bytes([PACKED]) + (entry.copy.body if entry.copy else b"")


TARGETS: dict[str, tuple[Callable[[bytes], None], Callable[[], Iterator[bytes]]]] = {
    "parser": (parser, parser_seeds),
    "codec": (codec, codec_seeds),
}
WORDS = (
    *(name + b":" for _, written, typos in lines.FIELDS for name in (written, *typos)),
    *(name + b":" for name in lines.UNUSED_FIELDS),
    lines.INDEX_PAGE.encode(),
    b"googlebot",
    b"http://",
    b"%c3%a9",
    lines.BOM,
)


def corpus_of(name: str) -> Path:
    """The directory of the corpus. A new one gets some inputs to begin with."""
    corpus = KEPT / name
    if not corpus.is_dir():
        corpus.mkdir(parents=True)
        for number, seed in enumerate(TARGETS[name][1]()):
            (corpus / f"seed-{number}").write_bytes(seed)
    return corpus


def dictionary() -> Path:
    """A dictionary file for libFuzzer: words that are worth trying."""
    KEPT.mkdir(exist_ok=True)
    file = KEPT / "words"
    file.write_text(
        "".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in WORDS)
    )
    return file


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(__doc__)
    name, given = sys.argv[1], sys.argv[2:]
    options = [f"-dict={dictionary()}", f"-artifact_prefix={KEPT}/", f"-max_len={MAX_LEN}", *given]
    if all(option.startswith("-") for option in given):
        options.append(str(corpus_of(name)))
    atheris.Setup([sys.argv[0], *options], TARGETS[name][0])
    with promises.small_limits():
        atheris.Fuzz()


if __name__ == "__main__":
    main()
