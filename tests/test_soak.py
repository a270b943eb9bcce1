"""The soak crawl, whose oracle shares no code with the plugin, on a small world."""

import sys

import pytest

from .support.documentation import HOME
from .support.processes import run
from .support.systems import needs_posix

pytestmark = [pytest.mark.slow, needs_posix]

SMALL = "--requests 2000 --origins 60 --wait 10 --timeout 3".split()


@pytest.mark.parametrize("seed", [3, 4])
def test_each_page_that_may_be_crawled_is_crawled_once_and_no_other(seed: int) -> None:
    command = [sys.executable, "-m", "tests.support.soak", "--seed", str(seed), *SMALL]
    ended = run(command, HOME)
    assert ended.returncode == 0, ended.stdout
    assert "0 pages were crawled or refused wrongly, 0 errors were logged" in ended.stdout
