"""What the tests of this room share."""

from collections.abc import Iterator

import pytest

from ..support.clock import Clock
from ..support.rooms import World
from ..support.web import Site


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of day, which the test sets."""
    return Clock.of(monkeypatch)


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A site whose robots.txt is the `RULES` of the test's module. If there are none, it allows everything."""
    with Site({"/robots.txt": getattr(request.module, "RULES", b""), "*": b"ok"}) as site:
        yield site


@pytest.fixture(autouse=True)
def _close_worlds() -> Iterator[None]:
    yield
    while World.opened:
        World.opened.pop().scheduler.close("finished")
