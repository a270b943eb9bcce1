"""How a run of a sub-command ends: its exit status, and the error message if it failed.

Source: google/robotstxt for the statuses 0, 1 and 2; shells for the others.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from typing import Any

from ..core.urls import shown
from .output import Terminal

FINE = 0  # allowed, clean, unchanged
FOUND = 1  # something is disallowed, found, changed, or not as expected
FAILED = 2  # wrong usage, or something could not be read or fetched
# The exit statuses of shells.
INTERRUPTED = 130  # Ctrl-C
PIPE_CLOSED = 141  # the reader of the output has ended
TERMINATED = 143  # SIGTERM

_MOST_ERROR = 500  # The greatest length of an error message, in characters.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class CommandError(ValueError):
    """Raised if a sub-command cannot do its work. The message is one line for the user."""


def status_of(run: Callable[[Terminal, Terminal], int], name: str, *, as_json: bool) -> int:
    """Run a sub-command, and return the exit status. A user's mistake raises no exception.

    The messages of ValueError, for example about a setting, and of ImportError, for example about a
    missing driver, are for the user. They begin with the `name` of the command. `sys.stdout` or
    `sys.stderr` is None if the caller has closed it, as a shell does with `>&-`.
    """
    stdout: Any = sys.stdout
    stderr: Any = sys.stderr
    err = Terminal(stderr or TextIOWrapper(BytesIO()))
    if stdout is None:
        err.say((f"{name}: error: the output cannot be written: it is closed", "bad"))
        return FAILED
    out = Terminal(stdout, as_json=as_json)
    try:
        try:
            with interruptible():
                status = run(out, err)
                out.flush()
        except (ValueError, ImportError) as error:
            text = shown(str(error), _MOST_ERROR)
            if advice := getattr(error, "advice", ""):
                text = f"{text}. {advice}"
            err.say((f"{name}: error: {text}", "bad"))
            status = FAILED
        except KeyboardInterrupt as error:
            status = INTERRUPTED
            if signal.SIGTERM in error.args:
                status = TERMINATED
        out.flush()
    except BrokenPipeError:
        out.abandon()
        return PIPE_CLOSED
    except OSError as error:  # A write has failed. Sub-commands handle errors of reads.
        out.abandon()
        err.say((f"{name}: error: the output cannot be written: {error}", "bad"))
        return FAILED
    return status


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt when Ctrl-C is pressed or SIGTERM arrives in this context.

    The argument of the exception is the number of the signal. The exception ends reading at once,
    and lets files be closed, even if Scrapy has installed its own signal handlers.
    """
    before = {number: signal.signal(number, _interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, _: object) -> None:
    raise KeyboardInterrupt(number)
