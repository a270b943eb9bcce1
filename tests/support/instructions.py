"""Measure the work of a call in bytecode instructions, which do not depend on the machine."""

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

_TOOL = 4  # an identifier for sys.monitoring that Python does not use itself


def instructions(action: Callable[[], object]) -> int:
    """Return the number of bytecode instructions that Python executes for `action`."""
    # Before Python 3.12 there is no sys.monitoring. From Python 3.13 on, a trace misses
    # instructions.
    if sys.version_info < (3, 12):
        return _traced(action)
    count = 0

    def seen(code: CodeType, _: int) -> None:
        nonlocal count
        count += code is not instructions.__code__

    events = sys.monitoring.events
    sys.monitoring.use_tool_id(_TOOL, "instructions")
    sys.monitoring.register_callback(_TOOL, events.INSTRUCTION, seen)
    sys.monitoring.set_events(_TOOL, events.INSTRUCTION)
    try:
        action()
    finally:
        sys.monitoring.set_events(_TOOL, events.NO_EVENTS)
        sys.monitoring.free_tool_id(_TOOL)
    return count


def _traced(action: Callable[[], object]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
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
