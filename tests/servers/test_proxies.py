"""What a proxy answers by itself, once the crawl no longer goes through it: the site's own robots.txt counts."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from ..support.crawls import in_sqlite
from ..support.rows import row, table
from ..support.systems import needs_posix
from .conftest import begin, end, handlers_here, settings_of
from .lane import Lane

pytestmark = [pytest.mark.servers, needs_posix]

HANDLERS = ("default", "aiohttp", "httpx")
# For a 404 of a proxy the crawl cannot know who has spoken, so it has no row.
DENIALS = {
    "S2.20-squid-denies": ("squid-that-denies", "site-a", "forbidden"),
    "S2.11-tinyproxy-filters": ("tinyproxy", "site-d", "fetched"),
}


@pytest.fixture(scope="module")
def runs() -> Iterator[tuple[Lane, list[dict[str, Any]]]]:
    """What became of the pages of all of `DENIALS` in two runs that share a file, the second without proxies."""
    with ExitStack() as stack:
        lane = Lane(stack)
        lane.start_all({}, only={"squid", "tinyproxy"})
        folder = lane.folder("storage")
        ran = []
        for through_proxies in (True, False):
            begun = {}
            for handler in handlers_here(HANDLERS):
                targets = []
                for name, (proxy, site, _) in DENIALS.items():
                    base = lane.filled_in(f"http://@app:{site}@")
                    meta = (
                        {"proxy": f"http://127.0.0.1:{lane.port(proxy)}"} if through_proxies else {}
                    )
                    targets.append({"id": name, "base": base, "meta": meta})
                more: dict[str, Any] = in_sqlite(folder / f"{handler}.sqlite")
                if not through_proxies:
                    # The first run has stored that Squid's answer is a failure, and the next fetch
                    # is due a second later. As with the default, the requests wait for it.
                    more["GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"] = 20
                begun[handler] = begin(lane, handler, targets, **more)
            ran.append(end(begun)[0])
        yield lane, ran


@table(
    "handler, name",
    *(row(f"{handler}:{name}", handler, name) for handler in HANDLERS for name in DENIALS),
)
def test_denial_of_a_proxy_is_forgotten_with_the_proxy(handler: str, name: str, runs: Any) -> None:
    lane, (first, second) = runs
    assert not lane.broken
    for why in lane.missing.values():
        pytest.skip(why)
    settings_of(handler)  # skips, if there is none
    _, _, public = DENIALS[name]
    assert first[handler][name]["public"] == public  # where it is fetched, the proxy denies it, too
    then = second[handler][name]
    assert (then["public"], then["private"]) == ("fetched", "forbidden")
    assert then["state"] == "rules"
