"""What the FTP client keeps of a file."""

from __future__ import annotations

import pytest
from twisted.python.failure import Failure

from ..support.crawls import in_reactor


@pytest.mark.parametrize("sizes", [(11,), (4, 6, 1), (4, 6, 5_000, 9), (1_000_000, 1)], ids=str)
@in_reactor
async def test_no_more_than_one_byte_beyond_the_bound_is_kept(sizes: tuple[int, ...]) -> None:
    from scrapy_gbot_robots.fetching.ftp_client import Received

    received, sent = Received(10), b""
    for size in sizes:
        piece = bytes(ord("a") + (len(sent) + at) % 26 for at in range(size))
        sent += piece
        received.dataReceived(piece)
        assert received.body == sent[:11]
    received.fail(Failure(ConnectionError()))  # type: ignore[no-untyped-call]  # as hanging up does
    assert await received.over is True


@pytest.mark.parametrize("size", [0, 9, 10])
@in_reactor
async def test_file_within_the_bound_is_whole_at_its_end_alone(size: int) -> None:
    from scrapy_gbot_robots.fetching.ftp_client import Received

    received = Received(10)
    received.dataReceived(b"x" * size)
    assert not received.over.called
    received.end(None)
    assert await received.over is False
    assert received.body == b"x" * size


@in_reactor
async def test_transfer_that_fails_is_an_error() -> None:
    from scrapy_gbot_robots.fetching.ftp_client import Received

    received = Received(10)
    received.dataReceived(b"some")
    received.fail(Failure(ConnectionError()))  # type: ignore[no-untyped-call]
    with pytest.raises(ConnectionError):
        await received.over
