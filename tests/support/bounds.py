"""Bounds that hold on any machine: of the memory of a block, and of its time, where without a bound it would be hours."""

import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def memory_below(most: int) -> Iterator[None]:
    """The block never takes so many bytes at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@contextmanager
def time_below(seconds: float) -> Iterator[None]:
    """The block takes less time of the processor."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds
