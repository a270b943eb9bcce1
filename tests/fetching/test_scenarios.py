"""All odd servers of `scenarios` in one real crawl, by the download handler that the tests use."""

from __future__ import annotations

from ..support.crawls import in_reactor
from .scenarios import SCENARIOS, run_all


@in_reactor
async def test_odd_server_gets_what_google_gives_it() -> None:
    found: dict[str, str] = {}
    for settings in ({}, {"GBOT_ROBOTS_SOFT_404": False}):
        found |= await run_all([each for each in SCENARIOS if each.settings == settings], **settings)
    assert found == {each.id: each.expected_here for each in SCENARIOS}
