"""How a run of a sub-command ends: with which exit status, and which line if it failed.

Source: google/robotstxt for 0, 1 and 2; shells for the others.
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
INTERRUPTED = 130  # Ctrl-C, as shells say it
PIPE_CLOSED = 141  # the reader of the output has ended, as shells say it
TERMINATED = 143  # SIGTERM, as shells say it

_MOST_ERROR = 500  # characters
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class CommandError(ValueError):
    """The command cannot do its work. The message is one line for the user."""


def status_of(run: Callable[[Terminal, Terminal], int], name: str, *, as_json: bool) -> int:
    """Run a sub-command, and return the exit status. No fault of a user's raises an exception.

    The message of a ValueError, such as that of a setting, is for the user, and so is that of an
    ImportError, such as that of a driver. `name` is that of the command, for errors. Python has
    None for a stream that the caller has closed, as a shell does by `>&-`.
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
    except OSError as error:  # of a write; sub-commands handle errors of reads
        out.abandon()
        err.say((f"{name}: error: the output cannot be written: {error}", "bad"))
        return FAILED
    return status


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt meanwhile; its argument is the signal.

    So no half of a file is left behind, and no read goes on, even while Scrapy handles signals.
    """
    before = {number: signal.signal(number, _interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, _: object) -> None:
    raise KeyboardInterrupt(number)
