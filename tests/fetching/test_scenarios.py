"""Each odd server of `scenarios` through a real crawl."""

from __future__ import annotations

import pytest

from ..support.crawls import in_reactor
from .scenarios import SCENARIOS, Scenario, run


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
@in_reactor
async def test_odd_server_gets_what_google_gives_it(scenario: Scenario) -> None:
    if scenario.needs:
        pytest.importorskip(scenario.needs)
    got, _, _ = await run(scenario)
    assert got == scenario.expected
