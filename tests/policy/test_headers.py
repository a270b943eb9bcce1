"""What response headers say about time, and whose answer it is."""

import time
from email.utils import formatdate

import pytest

from scrapy_gbot_robots.policy.headers import max_age, proxy_fault, retry_after

from ..support.bounds import time_below
from ..support.rows import row, table
from ..support.systems import needs_posix

NOW = 1_700_000_000.0
FOREVER = 2.0**31
RFC_850 = time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(NOW + 90)).encode()


@table(
    "lines, seconds",
    row("S3.4-plain", [b"max-age=60"], 60),
    row("case-and-blanks", [b"Max-Age = 60"], 60),
    row("quoted", [b'max-age="60"'], 60),
    row("on-two-lines", [b"public", b"max-age=60"], 60),
    row("first-of-two", [b"max-age=60, max-age=30"], 60),
    row("first-that-is-a-number", [b"max-age=soon, max-age=30"], 30),
    row("negative", [b"max-age=-1"], 0),
    row("huge", [b"max-age=99999999999999999999"], FOREVER),
    row("endless", [b"max-age=" + b"9" * 100_000], FOREVER),
    row("no-cache", [b"no-cache"], 0),
    row("no-cache-beats-max-age", [b"max-age=60, NO-CACHE"], 0),
    row("no-cache-of-a-field", [b'no-cache="set-cookie, x", max-age=60'], 60),
    row("inside-quotes-is-no-directive", [b'ext="max-age=5, no-store", max-age=60'], 60),
    row("stray-quoted-string", [b'"max-age=5"'], None),
    row("s-maxage", [b"s-maxage=60"], None),
    row("no-value", [b"max-age"], None),
    row("empty-value", [b"max-age="], None),
    row("fraction", [b"max-age=1.5"], None),
    row("other-digits", ["max-age=٣".encode()], None),
    row("garbage", [b",,;==,"], None),
    row("beyond-what-is-read", [b"," * 4_096 + b"max-age=60"], None),
    row("empty", [b""], None),
    row("absent", [], None),
)
def test_cache_control_is_read(lines: list[bytes], seconds: float | None) -> None:
    assert max_age(lines) == seconds


@table("age, seconds", (b"10", 50), (b"100", 0), (b"-5", 60), (b"old", 60), (None, 60))
def test_age_is_taken_off(age: bytes | None, seconds: float) -> None:
    assert max_age([b"max-age=60"], age) == seconds
    assert max_age([], age) is None


@table(
    "value, seconds",
    row("seconds", b"120", 120),
    row("blanks", b" 120 ", 120),
    row("zero", b"0", 0),
    row("negative", b"-1", 0),
    row("endless", b"9" * 100_000, FOREVER),
    row("long", b"2000000000", 2_000_000_000),
    row("too-long", b"9000000000", FOREVER),
    row("imf-date", formatdate(NOW + 90, usegmt=True).encode(), 90),
    row("rfc850-date", RFC_850, 90),
    row("asctime-date", time.asctime(time.gmtime(NOW + 90)).encode(), 90),
    row("date-in-another-zone", b"Tue, 14 Nov 2023 23:14:50 +0100", 90),
    row("date-gone-by", formatdate(NOW - 90, usegmt=True).encode(), 0),
    row("date-far-away", b"Fri, 31 Dec 9999 23:59:59 GMT", FOREVER),
    row("no-such-date", b"Fri, 99 Dec 2024 99:99:99 GMT", None),
    row("no-such-zone", b"Fri, 31 Dec 2024 23:59:59 +9999999999", None),
    row("fraction", b"1.5", None),
    row("garbage", b"soon", None),
    row("bytes", b"\xff\x00", None),
    row("empty", b"", None),
    row("absent", None, None),
)
def test_retry_after_is_read(value: bytes | None, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


@needs_posix
def test_date_without_a_zone_is_in_gmt_on_any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert retry_after(b"Tue Nov 14 22:14:50 2023", NOW) == 90
    time.tzset()


@table(
    "hostile",
    row("quotes", b'"' * 1_000_000),
    row("blanks", b"a " * 500_000),
    row("one-long-blank", b"a" + b" " * 1_000_000),
)
def test_a_long_header_takes_no_time(hostile: bytes) -> None:
    with time_below(30):
        assert max_age([hostile]) is None
        assert retry_after(hostile, NOW) is None


@table(
    "fields, said",
    row("one", [b"proxy.example; error=connection_refused"], "proxy.example; error=connection_refused"),
    row("without-an-error", [b"ExampleCDN; received-status=403"], ""),
    row("none", [], ""),
    row("the-second-of-a-list", [b'FooProxy; received-status=200, "bar, baz"; error=http_request_denied;details="a; error=b"'],
        '"bar, baz"; error=http_request_denied'),
    row("on-two-lines", [b"a; next-hop=b.example", b"c;error=dns_timeout"], "c; error=dns_timeout"),
    row("in-a-text-only", [b'a; details="; error=x"'], ""),
    row("in-another-name", [b"a; last-error=x"], ""),
    row("without-a-value", [b"a; error"], "a; error=?1"),
    row("as-a-text", [b'a; error="tls_alert"'], 'a; error="tls_alert"'),
    row("first-value-is-replaced", [b"a; error=x; error=y"], "a; error=y"),
    row("escaped", [b'"a\\"b"; error=x'], '"a\\"b"; error=x'),
    row("after-a-long-text", [b'a; details="' + b"x" * 5_000 + b'"; error=x'], "a; error=x"),
    row("RFC9651-date", [b"a; received-at=@1659578233; error=x"], "a; error=x"),
    row("RFC9651-display-string", [b'a; error=x; details=%"f%c3%bc"'], "a; error=x"),
    row("no-list", [b"a; error=x, "], ""),
    row("not-closed", [b'"a; error=x'], ""),
    row("upper-case-is-no-key", [b"a; Error=x"], ""),
    row("no-space-before-a-semicolon", [b"a ; error=x"], ""),
)  # fmt: skip
def test_proxy_status_with_an_error_is_a_proxys_word(fields: list[bytes], said: str) -> None:
    expected = f"Proxy-Status: {said}" if said else ""
    assert proxy_fault(fields, {}) == expected
    assert proxy_fault(fields, {"X-Squid-Error": None, "Zyte-Error": b""}) == expected


def test_hostile_proxy_status_takes_no_time() -> None:
    for field in (
        b"a;" * 9_000,
        b'"' * 9_000,
        b"a, " * 9_000,
        b"a; " + b" " * 9_000,
        b"a=1;" * 9_000,
    ):
        assert proxy_fault([field], {}) == ""
    of_squid = {"X-Squid-Error": b"ERR_ACCESS_DENIED 0"}
    assert proxy_fault([], of_squid) == "X-Squid-Error: ERR_ACCESS_DENIED 0"
