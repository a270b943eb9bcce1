"""What the tests of this room share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..support.web import Site

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def site() -> Iterator[Site]:
    """A host whose robots.txt lists /s.xml. Each test says what /s.xml is."""
    with Site({"*": b"<title>page</title>"}) as one:
        one.pages["/robots.txt"] = f"User-agent: *\nDisallow: /no\nSitemap: {one.url('/s.xml')}".encode()
        yield one
