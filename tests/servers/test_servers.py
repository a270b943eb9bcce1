"""Real servers and proxies: what arrives from each configuration, and what a crawl makes of it, by each of Scrapy's handlers."""

import re

import pytest

from ..support.rows import row, table
from ..support.systems import needs_posix
from .configurations import Row, every_row
from .conftest import HANDLERS, Seen, address, is_for, is_on_the_wire, settings_of, software_of

pytestmark = [pytest.mark.servers, needs_posix]

ROWS = [*every_row()]
ON_THE_WIRE = [(name, each) for name, each in ROWS if is_on_the_wire(each)]


def need(seen: Seen, name: str, each: Row) -> None:
    """Skip a row whose software is missing; fail if it does not start."""
    for software in software_of(name, each):
        if software in seen.lane.missing:
            pytest.skip(seen.lane.missing[software])
        if software in seen.lane.broken:
            pytest.fail(seen.lane.broken[software])


@table("name, each", *(row(name, name, each) for name, each in ON_THE_WIRE))
def test_what_arrives(name: str, each: Row, seen: Seen) -> None:
    need(seen, name, each)
    arrived = seen.arrived[name]
    assert (arrived.status, arrived.whole, arrived.interim) == (
        each.status,
        each.whole,
        each.interim,
    )
    for header, part in each.headers.items():
        if part is None:
            assert header not in arrived.headers
        else:
            assert part in arrived.headers[header]


@table(
    "handler, name, each",
    *(
        row(f"{handler}:{name}", handler, name, each)
        for handler in HANDLERS
        for name, each in ROWS
        if is_for(handler, each)
    ),
)
def test_what_the_origin_becomes(handler: str, name: str, each: Row, seen: Seen) -> None:
    need(seen, name, each)
    settings_of(handler)  # skips, if there is none
    state, why = each.by.get(handler, (each.state, each.why))
    got = seen.crawled[handler][name]
    assert got["state"] == state
    assert got["public"] == ("forbidden" if state == "full disallow" else "fetched")
    assert got["private"] == each.private
    line = rf"{re.escape(address(seen.lane, name, each))}/robots\.txt: {state}, (.*) \(fetched\)"
    (said,) = re.findall(line, seen.logs[handler])
    assert why in said
    assert got.get("retry_after") == each.retry_after
    if each.max_age is None:
        assert got.get("max_age") is None
    else:
        least, most = each.max_age
        assert least <= got["max_age"] <= most
