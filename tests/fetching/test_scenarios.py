"""Each odd server of `scenarios` through a real crawl."""

from __future__ import annotations

import pytest
from scrapy import version_info

from ..support.crawls import handler_in_use, in_reactor
from .scenarios import SCENARIOS, Scenario, run

# Of the table, what HTTP/2 does in its own way; `pytest --download-handler=h2` on this module runs all of it.
HTTP2 = """
    S2.3-200 S2.5-301 S2.11-404 S2.14-503 S2.20-closed-at-once S2.20-reset S2.20-reset-in-the-body S2.20-no-answer-in-time
    S2.20-reset-in-a-body-of-unsaid-length S2.21-body-too-short S2.20-not-http S2.20-tls-on-a-plain-port S4.7-endless
    S4.8-gzip S2.11-404-reset S2.11-404-hanging
""".split()


async def assert_outcome(scenario: Scenario, handler: str) -> None:
    if scenario.needs:
        pytest.importorskip(scenario.needs)
    if handler == "h2" and version_info < (2, 15):
        pytest.skip("the HTTP/2 handler of Scrapy 2.14 does not work with today's pyOpenSSL")
    if handler == "h2" and scenario.id.startswith("odd-"):
        pytest.skip("it is a peculiarity of HTTP/1")
    got, _, _ = await run(scenario, handler=handler)
    assert got == scenario.expected_with(handler)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
@in_reactor
async def test_odd_server_gets_what_google_gives_it(scenario: Scenario) -> None:
    await assert_outcome(scenario, handler_in_use())


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each.id in HTTP2], ids=lambda scenario: scenario.id)
@in_reactor
async def test_odd_server_that_speaks_http2_gets_the_same(scenario: Scenario) -> None:
    await assert_outcome(scenario, "h2")
