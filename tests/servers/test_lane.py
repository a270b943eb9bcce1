"""The lane itself: a server ends with it, whatever happens, and one that is missing or ill is named."""

import sys
from contextlib import ExitStack

import pytest

from ..support.systems import needs_posix
from ..support.until import block_until
from . import lane as lane_module
from .lane import Lane, MissingError, account_for_python, program

pytestmark = needs_posix

SERVES = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1"]
# A server whose child listens, and that does not end when it is asked to.
STUBBORN = "trap '' TERM; \"$@\" & wait; wait"


class AnyError(Exception):
    pass


@pytest.mark.parametrize("command", [[], ["sh", "-c", STUBBORN, "sh"]], ids=["one", "stubborn"])
def test_server_and_its_children_end_when_a_test_fails(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_module, "ENDS_SECS", 1)
    seen = []

    def fails() -> None:
        with ExitStack() as stack:
            lane = Lane(stack)
            port = lane.port("any")
            assert not lane_module._is_open(port)
            who = account_for_python()
            process = lane.start([*command, *SERVES, str(port)], [port], who=who)
            seen.append((lane, port, process))
            raise AnyError

    with pytest.raises(AnyError):
        fails()
    ((lane, port, process),) = seen
    assert process.poll() is not None
    block_until(lambda: not lane_module._is_open(port))
    assert not lane.place.exists()


def test_server_that_does_not_start_says_why() -> None:
    with ExitStack() as stack:
        lane = Lane(stack)
        port = lane.port("any")
        with pytest.raises(AssertionError, match="unrecognized arguments: --nonsense"):
            lane.start([*SERVES, "--nonsense"], [port], who=account_for_python())


def test_program_that_is_missing_is_named() -> None:
    with pytest.raises(MissingError, match="no-such-server is not installed"):
        program("no-such-server")
