"""What the tests of this room share."""

from collections.abc import Iterator
from functools import partial

import pytest

from ..support.clock import Clock
from ..support.rooms import NewWorld, World


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of day, which the test sets."""
    return Clock.of(monkeypatch)


@pytest.fixture
def new_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[NewWorld]:
    """Makes worlds of rooms, as `World` does, and closes them."""
    yield partial(World, monkeypatch)
    while World.opened:
        World.opened.pop().scheduler.close("finished")
