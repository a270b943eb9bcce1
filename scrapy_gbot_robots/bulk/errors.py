"""The error about archives and lists of URLs: one line for the user."""

from __future__ import annotations


class BulkError(ValueError):
    """An archive, a list of URLs or a batch cannot be used; the message says which, and why."""
