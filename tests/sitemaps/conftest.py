"""What the tests of this room share."""

from collections.abc import Iterator

import pytest

from ..support.sitemap_web import listing
from ..support.web import Site


@pytest.fixture
def site() -> Iterator[Site]:
    """A host whose robots.txt lists /s.xml."""
    with Site({"*": b"<title>page</title>"}) as one:
        listing(one)
        yield one


@pytest.fixture
def other() -> Iterator[Site]:
    """A host without sitemaps."""
    with Site({"*": b"ok"}, host="127.0.0.2") as one:
        yield one
