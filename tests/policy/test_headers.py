"""What two response headers say about time."""

import time
from email.utils import formatdate

import pytest

from scrapy_gbot_robots.policy.headers import max_age, retry_after

from ..support.systems import needs_posix

NOW = 1_700_000_000.0
FOREVER = 2.0**31


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        pytest.param([b"max-age=60"], 60, id="S3.4-plain"),
        pytest.param([b"Max-Age = 60"], 60, id="case-and-blanks"),
        pytest.param([b'max-age="60"'], 60, id="quoted"),
        pytest.param([b"public", b"max-age=60"], 60, id="on-two-lines"),
        pytest.param([b"max-age=60, max-age=30"], 60, id="first-of-two"),
        pytest.param([b"max-age=soon, max-age=30"], 30, id="first-that-is-a-number"),
        pytest.param([b"max-age=-1"], 0, id="negative"),
        pytest.param([b"max-age=99999999999999999999"], FOREVER, id="huge"),
        pytest.param([b"max-age=" + b"9" * 100_000], FOREVER, id="endless"),
        pytest.param([b"no-cache"], 0, id="no-cache"),
        pytest.param([b"max-age=60, NO-CACHE"], 0, id="no-cache-beats-max-age"),
        pytest.param([b'no-cache="set-cookie, x", max-age=60'], 60, id="no-cache-of-a-field"),
        pytest.param(
            [b'ext="max-age=5, no-store", max-age=60'], 60, id="inside-quotes-is-no-directive"
        ),
        pytest.param([b'"max-age=5"'], None, id="stray-quoted-string"),
        pytest.param([b"s-maxage=60"], None, id="s-maxage"),
        pytest.param([b"max-age"], None, id="no-value"),
        pytest.param([b"max-age="], None, id="empty-value"),
        pytest.param([b"max-age=1.5"], None, id="fraction"),
        pytest.param(["max-age=٣".encode()], None, id="other-digits"),
        pytest.param([b",,;==,"], None, id="garbage"),
        pytest.param([b"," * 4_096 + b"max-age=60"], None, id="beyond-what-is-read"),
        pytest.param([b""], None, id="empty"),
        pytest.param([], None, id="absent"),
    ],
)
def test_cache_control_is_read(lines: list[bytes], seconds: float | None) -> None:
    assert max_age(lines) == seconds


@pytest.mark.parametrize(
    ("age", "seconds"), [(b"10", 50), (b"100", 0), (b"-5", 60), (b"old", 60), (None, 60)], ids=repr
)
def test_age_is_taken_off(age: bytes | None, seconds: float) -> None:
    assert max_age([b"max-age=60"], age) == seconds
    assert max_age([], age) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param(b"120", 120, id="seconds"),
        pytest.param(b" 120 ", 120, id="blanks"),
        pytest.param(b"0", 0, id="zero"),
        pytest.param(b"-1", 0, id="negative"),
        pytest.param(b"9" * 100_000, FOREVER, id="endless"),
        pytest.param(b"2000000000", 2_000_000_000, id="long"),
        pytest.param(b"9000000000", FOREVER, id="too-long"),
        pytest.param(formatdate(NOW + 90, usegmt=True).encode(), 90, id="imf-date"),
        pytest.param(
            time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(NOW + 90)).encode(),
            90,
            id="rfc850-date",
        ),
        pytest.param(time.asctime(time.gmtime(NOW + 90)).encode(), 90, id="asctime-date"),
        pytest.param(b"Tue, 14 Nov 2023 23:14:50 +0100", 90, id="date-in-another-zone"),
        pytest.param(formatdate(NOW - 90, usegmt=True).encode(), 0, id="date-gone-by"),
        pytest.param(b"Fri, 31 Dec 9999 23:59:59 GMT", FOREVER, id="date-far-away"),
        pytest.param(b"Fri, 99 Dec 2024 99:99:99 GMT", None, id="no-such-date"),
        pytest.param(b"Fri, 31 Dec 2024 23:59:59 +9999999999", None, id="no-such-zone"),
        pytest.param(b"1.5", None, id="fraction"),
        pytest.param(b"soon", None, id="garbage"),
        pytest.param(b"\xff\x00", None, id="bytes"),
        pytest.param(b"", None, id="empty"),
        pytest.param(None, None, id="absent"),
    ],
)
def test_retry_after_is_read(value: bytes | None, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


@needs_posix
def test_date_without_a_zone_is_in_gmt_wherever_the_machine_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert retry_after(b"Tue Nov 14 22:14:50 2023", NOW) == 90
    time.tzset()


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(b'"' * 1_000_000, id="quotes"),
        pytest.param(b"a " * 500_000, id="blanks"),
        pytest.param(b"a" + b" " * 1_000_000, id="one-long-blank"),
    ],
)
def test_a_long_header_takes_no_time(hostile: bytes) -> None:
    started = time.process_time()
    assert max_age([hostile]) is None
    assert retry_after(hostile, NOW) is None
    assert time.process_time() - started < 30
