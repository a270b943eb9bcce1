"""Entries for tests of storages, and strategies with which Hypothesis makes entries."""

import zlib

import pytest
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind, Outage
from scrapy_gbot_robots.policy.outcome import Failure
from scrapy_gbot_robots.storage.base import Storage
from scrapy_gbot_robots.storage.codec import VERSION, encode
from scrapy_gbot_robots.storage.memory import MemoryStorage

from .bounds import memory_below
from .rows import row

NOW = 1_700_000_000.25
URL = "https://www.example.com/robots.txt"
BODY = b"User-agent: *\nDisallow: /private\nSitemap: https://example.com/sitemap.xml\n"
ORIGIN = "https://example.com:443"

RULES = Copy(Kind.RULES, 200, URL, BODY, False, "HTTP 200", NOW, NOW + 86400)
MISSING = Copy(Kind.NONE, 404, URL, b"", False, "HTTP 404", NOW, NOW + 60)
DOWN = Outage(NOW, 3, 503, "HTTP 503", NOW + 8)
WHY = "the host name does not resolve"
GONE = Outage(NOW, 1, None, WHY, NOW + 1, failure=Failure.DNS, failed_at=NOW)


def rules(body: bytes) -> Entry:
    """Return an entry whose robots.txt has the bytes `body`."""
    return Entry(Copy(Kind.RULES, 200, URL, body, False, "HTTP 200", NOW, NOW + 86400))


# Parameters for a test: an entry of each kind.
EACH_KIND = [
    row("rules", Entry(RULES)),
    row("missing", Entry(MISSING)),
    row("outage-over-copy", Entry(RULES, DOWN)),
    row("outage", Entry(None, GONE)),
    row("empty-body", rules(b"")),
    row("largest-body", rules(bytes(range(256)) * 2_000)),
]

# Seconds since the epoch, up to the last day of the year 9999.
TIMES = st.floats(0, 253_402_214_400)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
STATUSES = st.integers(-(2**31) + 1, 2**31 - 1)
KINDS, FAILURES = st.sampled_from(Kind), st.sampled_from(Failure)
COUNTS = st.integers(0, 2**32 - 1)
BODIES = st.binary(max_size=2000)
COPIES = st.builds(Copy, KINDS, STATUSES, TEXTS, BODIES, st.booleans(), TEXTS, TIMES, TIMES)
_STATUS = st.none() | STATUSES
_FAILED = (st.none() | FAILURES, COUNTS, TIMES, TEXTS)
OUTAGES = st.builds(Outage, TIMES, COUNTS, _STATUS, TEXTS, TIMES, *_FAILED)
ENTRIES = st.builds(Entry, st.one_of(st.none(), COPIES), st.one_of(st.none(), OUTAGES))


def sealed(text: bytes, *, version: bytes = VERSION) -> bytes:
    """Return the bytes of an encoded entry, in which `text` is the line of facts and the body.

    `text` need not be valid.
    """
    return version + zlib.compress(text)


def text_of(entry: Entry) -> bytes:
    """Return the bytes that encode `entry`, from the line of facts on."""
    return zlib.decompress(encode(entry)[len(VERSION) :])


def with_body(body: bytes) -> bytes:
    """Return the bytes of an encoded entry with this body."""
    return sealed(text_of(Entry(MISSING)) + body)


def assert_miss_that_takes_little_memory(storage: Storage) -> None:
    """Fail if the storage returns an entry for `ORIGIN`, or takes more than 2 MiB to find none."""
    with memory_below(2 * 2**20):
        assert storage.get(ORIGIN) is None


class Leasing(MemoryStorage):
    """A storage in memory with leases, as in the storages that several processes share."""

    def __init__(self) -> None:
        super().__init__()
        self.leases: dict[str, str] = {}

    def lease(self, origin: str, secs: float) -> str | None:
        if origin in self.leases:
            return None
        return self.leases.setdefault(origin, f"token of {origin}")

    def release(self, origin: str, token: str) -> None:
        if self.leases.get(origin) == token:
            del self.leases[origin]


# The beginnings of the two lines in the log: when a storage fails, and when it works again.
FAILED, WORKS = "The robots.txt storage failed:", "The robots.txt storage works"


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the first four words of each line in the plugin's log.

    The line that names the storage is left out.
    """
    names = "scrapy_gbot_robots", " stores robots.txt files in "
    logged = [record.getMessage() for record in caplog.records if record.name.startswith(names[0])]
    return [" ".join(line.split()[:4]) for line in logged if names[1] not in line]
