"""Dates of last changes, in all the forms that sitemaps and feeds use."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from scrapy_gbot_robots.sitemaps.lastmod import latest, since


def utc(*numbers: int) -> datetime:
    return datetime(*numbers, tzinfo=timezone.utc)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31", utc(2026, 1, 31, 23, 59, 59)),
        ("2026-2-3", utc(2026, 2, 3, 23, 59, 59)),
        ("2024-02", utc(2024, 2, 29, 23, 59, 59)),
        ("2026-12", utc(2026, 12, 31, 23, 59, 59)),
        ("2024", utc(2024, 12, 31, 23, 59, 59)),
        ("2026", utc(2026, 12, 31, 23, 59, 59)),
        ("2026-01-31T10:20:30+02:00", utc(2026, 1, 31, 8, 20, 30)),
        ("2026-01-31T10:20:30.123-0130", utc(2026, 1, 31, 11, 50, 30)),
        ("2026-01-31T10:20Z", utc(2026, 1, 31, 10, 20)),
        ("2026-01-31 10:20:30", utc(2026, 1, 31, 10, 20, 30)),
        ("Sat, 31 Jan 2026 10:20:30 GMT", utc(2026, 1, 31, 10, 20, 30)),
        ("Sat, 31 Jan 2026 10:20:30 +0200", utc(2026, 1, 31, 8, 20, 30)),
        ("", None),
        ("yesterday", None),
        ("2026-13-01", None),
        ("2026-02-30", None),
        ("0000", None),
        ("9999-12-31", None),
        ("2026-01-31T99:99", None),
        ("2026-01-31" * 1000, None),
    ],
)
def test_date_means_its_last_moment(text: str, moment: datetime | None) -> None:
    assert latest(text) == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31", utc(2026, 1, 31)),
        ("2026", utc(2026, 1, 1)),
        (" 2026-01-31T12:00+02:00 ", utc(2026, 1, 31, 10)),
    ],
)
def test_since_means_its_first_moment(text: str, moment: datetime) -> None:
    assert since(text) == moment


@pytest.mark.parametrize("text", ["", "1d", "2026-13-01", "31.1.2026", "Sat, 31 Jan 2026"])
def test_since_that_is_no_date_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"^since must be a date such as 2026-01-31") as error:
        since(text)
    assert repr(text) in str(error.value)


def test_day_before_since_is_before_it() -> None:
    assert latest("2025-12-31") < since("2026-01-01") <= latest("2026-01-01")  # type: ignore[operator]
