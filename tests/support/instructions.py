"""How much work a call is: a measure that does not depend on the machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from _typeshed import TraceFunction


def instructions(action: Callable[[], object]) -> int:
    """The number of bytecode instructions that an action takes."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> TraceFunction:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count
