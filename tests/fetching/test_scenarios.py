"""All odd servers of `scenarios` in one real crawl, by the download handler that the tests use."""

from ..support.crawls import in_reactor
from .scenarios import SCENARIOS, run_all


@in_reactor
async def test_odd_server_gets_what_google_gives_it() -> None:
    assert await run_all(SCENARIOS) == {each.id: each.expected_here for each in SCENARIOS}
