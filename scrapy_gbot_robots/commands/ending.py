"""How a run of a sub-command ends: with which exit status, and which line if it failed.

Source: google/robotstxt for 0, 1 and 2; shells for the others.
"""

from __future__ import annotations

import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

from scrapy.settings import Settings

from ..settings import mistakes
from .output import Terminal

FINE = 0  # allowed, clean, unchanged
FOUND = 1  # something is disallowed, found, changed, or not as expected
FAILED = 2  # wrong usage, or something could not be read or fetched
INTERRUPTED = 130  # Ctrl-C, as shells say it
PIPE_CLOSED = 141  # the reader of the output has ended, as shells say it
TERMINATED = 143  # SIGTERM, as shells say it

SubCommand: TypeAlias = "Callable[[Namespace, Settings, Terminal, Terminal], int]"


class CommandError(Exception):
    """The command cannot do its work. The message is one line for the user."""


def status_of(run: SubCommand, options: Namespace, settings: Settings, name: str) -> int:
    """Run a sub-command, and return the exit status. No fault of a user's raises an exception.

    `name` is that of the command, for errors.
    """
    out, err = Terminal(sys.stdout, as_json=getattr(options, "json", False)), Terminal(sys.stderr)
    try:
        try:
            with handling(signal.SIGTERM, on_sigterm):
                with wrong_values_in_a_line():
                    notes = list(mistakes(settings))
                for text in notes:
                    err.say((f"note: {text}", "warning"))
                status = run(options, settings, out, err)
                out.flush()
        except CommandError as error:
            err.say((f"{name}: error: {error}", "bad"))
            status = FAILED
        except KeyboardInterrupt as error:
            status = INTERRUPTED
            if error.args:
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
def wrong_values_in_a_line() -> Iterator[None]:
    """Raise a ValueError, whose message is for the user, as a CommandError."""
    try:
        yield
    except ValueError as error:
        raise CommandError(str(error)) from None


@contextmanager
def handling(number: int, handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Handle a signal by `handler` meanwhile."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def on_sigterm(*_: object) -> None:
    """Raise what Ctrl-C raises, so that no half of a file is left behind."""
    raise KeyboardInterrupt("SIGTERM")
