"""How a run of `scrapy robots` ends: its exit statuses, and the error that a user sees as one line."""

from __future__ import annotations

FINE = 0  # allowed, clean, unchanged
FOUND = 1  # something is disallowed, found, changed, or not as expected
FAILED = 2  # wrong usage, or something could not be read or fetched
INTERRUPTED = 130  # Ctrl-C, as shells say it
PIPE_CLOSED = 141  # the reader of the output has ended, as shells say it


class CommandError(Exception):
    """The command cannot do its work. The message is one line for the user."""
