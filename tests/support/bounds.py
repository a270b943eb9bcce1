"""Limits on the memory and on the processor time of a block of a test, which hold on any machine.

The code under test has a bound. Without this bound, the block would take gigabytes or hours.
"""

import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def memory_below(most: int) -> Iterator[None]:
    """Fail if the block ever holds `most` bytes of memory, or more, that Python has allocated."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@contextmanager
def time_below(seconds: float) -> Iterator[None]:
    """Fail if the block takes `seconds` of processor time or more."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds
