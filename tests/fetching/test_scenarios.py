"""All odd servers of `scenarios` in one real crawl, by each download handler."""

from __future__ import annotations

from importlib import import_module

import pytest
from scrapy import version_info
from twisted import __version__ as twisted

from ..support.crawls import handler_in_use, in_reactor
from .scenarios import SCENARIOS, Scenario, run_all

# Of the table, what HTTP/2 does in its own way; `pytest --download-handler=h2` on this module runs all of it.
HTTP2 = """
    S2.3-200 S2.5-301 S2.11-404 S2.14-503 S2.20-closed-at-once S2.20-reset S2.20-reset-in-the-body S2.20-no-answer-in-time
    S2.20-reset-in-a-body-of-unsaid-length S2.21-body-too-short S2.20-not-http S2.20-tls-on-a-plain-port S4.7-endless
    S4.8-gzip S2.11-404-reset S2.11-404-hanging
""".split()


def can_run(scenario: Scenario, handler: str) -> bool:
    """Whether what a scenario needs is there; those of HTTP/1's peculiarities need HTTP/1."""
    try:
        import_module(scenario.needs or "sys")
    except ImportError:
        return False
    return handler != "h2" or not scenario.id.startswith("odd-")


async def assert_outcomes(scenarios: list[Scenario], handler: str) -> None:
    if handler == "h2" and version_info < (2, 15):
        pytest.skip("the HTTP/2 handler of Scrapy 2.14 does not work with today's pyOpenSSL")
    if handler == "h2" and twisted.startswith("25."):
        pytest.skip("HTTP/2 of Twisted 25.5 does not work with today's pyOpenSSL")
    found: dict[str, str] = {}
    for settings in ({}, {"GBOT_ROBOTS_SOFT_404": False}):
        alike = [each for each in scenarios if each.settings == settings and can_run(each, handler)]
        found |= await run_all(alike, handler, **settings)
    assert found == {each.id: each.expected_with(handler) for each in scenarios if can_run(each, handler)}


@in_reactor
async def test_odd_server_gets_what_google_gives_it() -> None:
    await assert_outcomes(SCENARIOS, handler_in_use())


@in_reactor
async def test_odd_server_that_speaks_http2_gets_the_same() -> None:
    await assert_outcomes([each for each in SCENARIOS if each.id in HTTP2], "h2")
