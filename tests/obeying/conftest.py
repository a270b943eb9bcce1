"""What the tests of this room share."""

from collections.abc import Iterator
from functools import partial

import pytest

from ..support.clock import clock
from ..support.rooms import NewWorld, World

__all__ = ["clock"]


@pytest.fixture
def new_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[NewWorld]:
    """Makes worlds of rooms, as `World` does, and closes them."""
    yield partial(World, monkeypatch)
    while World.opened:
        World.opened.pop().scheduler.close("finished")
