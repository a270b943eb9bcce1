"""The contract of a storage, which keeps entries between runs and between processes: its methods, and its one error.

A storage is synchronous and may be called from any thread. It keeps the facts of `policy.outages`, by origin, and knows
nothing of their meaning. It may drop an entry that was not used for `KEEP_SECS`. An origin is passed in its text form, such
as "https://example.com:8181".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..policy.outages import Entry

# The ladders decide by outages of 30 days and more, and by the copy from before the outage. A crawl that runs once a month
# must still find both.
KEEP_DAYS = 100
KEEP_SECS = KEEP_DAYS * 86400
MAX_BODY = 512_000  # bytes of a body that a storage hands out unless told otherwise


class StorageError(Exception):
    """A storage cannot be used now, but perhaps later. The driver's own error is the `__cause__`."""


@runtime_checkable
class Beats(Protocol):
    """A storage in which the processes of a fleet report that they are alive."""

    def beat(self, facts: Mapping[str, object]) -> None:
        """Report that this process is alive, and `facts` about it. Raises StorageError."""


@runtime_checkable
class Storage(Protocol):
    """Entries by origin, and leases. Each method raises StorageError, and nothing else, when the storage fails."""

    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`; None if there is none, or none that can be read."""

    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin`, in place of its last one."""

    def delete(self, origin: str) -> bool:
        """Forget `origin`; return whether it had an entry."""

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield each stored origin whose text starts with `prefix`, once, in any order."""

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin`, the right to fetch it, for `secs` seconds: a token, or None while another has it.

        Only one of all that share the storage has the lease at a time. It ends by itself, since its holder may die.
        """

    def release(self, origin: str, token: str) -> None:
        """End the lease of `token`. Does nothing if the lease is not the token's."""

    def close(self) -> None:
        """Close files and connections. No other method is called afterwards."""
