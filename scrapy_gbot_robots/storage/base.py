"""The drawer that entries live in between runs and between processes: its verbs, and its one error.

A storage is synchronous and may be called from any thread. It keeps facts as `policy.entry` has them, by origin, and
knows nothing of their meaning; what was not used for `KEEP_SECS` may be gone. An origin is its text form, such as
"https://example.com:8181".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..policy.entry import Entry

# An outage and the copy under it count from their 30th day on (`policy.ladder`): a crawl that comes once a month must still
# find them then, and the copy from before the outage, too.
KEEP_DAYS = 100
KEEP_SECS = KEEP_DAYS * 86400
MAX_BODY = 512_000  # bytes of a body that a storage hands out unless told otherwise


class StorageError(Exception):
    """A storage cannot do what was asked now; the driver's own error is its cause. It may be able to later."""


@runtime_checkable
class Beats(Protocol):
    """A storage in which the processes of a fleet say that they live."""

    def beat(self, facts: Mapping[str, object]) -> None:
        """Say of this process that it lives, and `facts` of it. Raises StorageError."""


@runtime_checkable
class Storage(Protocol):
    """Entries by origin, and leases. Each method raises StorageError, and nothing else, when the storage fails."""

    def get(self, origin: str) -> Entry | None:
        """Return what is kept for `origin`; None where that is nothing, or nothing that can be read."""

    def put(self, origin: str, entry: Entry) -> None:
        """Keep `entry` for `origin` in place of what was kept."""

    def delete(self, origin: str) -> bool:
        """Forget `origin`; tell whether it was there."""

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield each origin kept whose text starts with `prefix`, once, in any order."""

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the right to fetch `origin` for `secs` seconds: a token, or None while another holds it.

        One holder at a time among all that share the storage. It ends by itself, for its holder may die.
        """

    def prolong(self, origin: str, token: str, secs: float) -> None:
        """Let the lease of `token` end in `secs` seconds from now; any other, or none, stays as it is."""

    def release(self, origin: str, token: str) -> None:
        """End the lease that `token` was given for; any other, or none, stays as it is."""

    def close(self) -> None:
        """Let go of files and connections; to be called once nothing else is."""
