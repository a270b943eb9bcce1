"""What the tests of this room share."""

from collections.abc import Iterator

import pytest

from ..support.clock import Clock
from ..support.web import Site


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of day, which the test sets."""
    return Clock.of(monkeypatch)


@pytest.fixture
def site() -> Iterator[Site]:
    """A site that allows everything until the test changes its robots.txt."""
    with Site({"/robots.txt": b"", "*": b"ok"}) as site:
        yield site
