"""Run a sub-command, write an error message if it fails, and return its exit status.

The exit statuses 0, 1 and 2 have the same meanings as in google/robotstxt. The other exit statuses
have the same meanings as in shells.
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

FINE = 0  # For example, all URLs are allowed, or a file has no mistakes.
FOUND = 1  # For example, a URL is disallowed, or a mistake or a change was found.
FAILED = 2  # The arguments are wrong, or something could not be read or fetched.

# As in a shell, each of the following exit statuses is 128 plus the number of a signal.
INTERRUPTED = 130  # The user has pressed Ctrl-C.
PIPE_CLOSED = 141  # The program that reads the output has ended.
TERMINATED = 143  # The process got SIGTERM.

_MOST_ERROR = 500  # The maximum length of an error message, in characters.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class CommandError(ValueError):
    """Raised if a sub-command cannot do its work. The message is one line for the user."""


def status_of(run: Callable[[Terminal, Terminal], int], name: str, *, as_json: bool) -> int:
    """Run a sub-command, and return its exit status.

    The sub-command may raise ValueError, for example because of a setting, or ImportError, for
    example because a driver is missing. The message of the exception is then written for the user.

    Args:
        run: a function that runs the sub-command. Its arguments are standard output and standard
            error, and it returns the exit status.
        name: the name of the command. Each error message begins with this name.
        as_json: whether the output is JSON for programs.
    """
    # A stream is None if the caller has closed it, as a shell does with `>&-`.
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
    except OSError as error:  # A write has failed. Sub-commands handle read errors themselves.
        out.abandon()
        err.say((f"{name}: error: the output cannot be written: {error}", "bad"))
        return FAILED
    return status


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt in a `with` block when Ctrl-C is pressed or SIGTERM arrives.

    The argument of the exception is the number of the signal. The exception ends a long read at
    once, and open files are closed. If Scrapy has installed its own handlers for these signals,
    they do not run in the block.
    """
    before = {number: signal.signal(number, _interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, _: object) -> None:
    raise KeyboardInterrupt(number)
