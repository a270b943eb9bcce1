"""`Request-rate`, in a table."""

from __future__ import annotations

import pytest

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core.request_rate import seconds_between


@pytest.mark.parametrize(
    ("value", "secs"),
    [
        ("1/10", 10),
        ("1/10s", 10),
        ("2/1m", 30),
        ("60/1H", 60),
        ("1 / 5", 5),
        ("1/5 0600-0845", 5),
        ("3/0", 0),
        ("0/10", None),
        ("1/", None),
        ("/5", None),
        ("1", None),
        ("-1/5", None),
        ("1/5x", None),
        ("1/5seconds", None),
        ("1/9999999999", None),
        ("", None),
    ],
)
def test_rate_means_so_many_seconds(value: str, secs: float | None) -> None:
    assert seconds_between(value) == secs


@pytest.mark.parametrize(("agent", "secs"), [("a", 20.0), ("b", 5.0), ("c", None), ("other", None)])
def test_rate_is_that_of_the_group_and_the_slowest_counts(agent: str, secs: float | None) -> None:
    body = (
        b"request-rate: 1/99\nuser-agent: a\nrequest-rate: 1/10\nRequest-Rate: 1/20 # slow\nuser-agent: x\ndisallow:\n"
    )
    body += b"user-agent: b\ndisallow: /\nrequest-rate: 1/5\n\nuser-agent: c\ndisallow: /\n"
    assert RobotsTxt.parse(body).request_rate(agent) == secs


def test_crawl_delay_is_told_without_it() -> None:
    assert RobotsTxt.parse(b"user-agent: *\nrequest-rate: 1/10\n").crawl_delay("a") is None
