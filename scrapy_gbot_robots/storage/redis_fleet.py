"""What a Redis knows about the fleet that shares it: its processes, their leases, the stored origins.

Each process reports now and then that it is alive (`RedisStorage.beat`); the report ends by itself after the process dies.
Leases and entries are there anyway. Reading changes nothing, and keeps no entry for longer.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from .base import MAX_BODY, StorageError
from .codec import decode, longest
from .redis_clients import client_for
from .redis_keys import ID_DIGITS, PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIMEOUT_SECS = 5.0
_TOGETHER = 500  # keys asked for in one round trip
_MOST_FACTS_BYTES = 4096


class Origins(NamedTuple):
    """How many origins are stored, how many of them are unreachable, and whether there are more than were counted."""

    known: int
    unreachable: int
    more: bool


class RedisFleet:
    """Reads the Redis at `url`. Each method raises StorageError, and nothing else, if that fails."""

    def __init__(self, url: str, *, prefix: str = PREFIX, timeout: float = _TIMEOUT_SECS) -> None:
        self._prefix = prefix
        self._client = client_for(url, timeout=timeout)

    @property
    def place(self) -> str:
        """The name of the server, without a password."""
        return self._client.server

    def processes(self) -> dict[str, dict[str, Any]]:
        """The last report of each living process, by its id."""
        found = {}
        for key, value in self._values("process:", _MOST_FACTS_BYTES):
            try:
                facts = json.loads(value)
            except (ValueError, RecursionError):  # another program wrote it
                continue
            if isinstance(facts, dict):
                found[key] = facts
        return found

    def leases(self) -> dict[str, str]:
        """The id of the process that has the lease, by origin."""
        return {origin: token[:ID_DIGITS].decode("ascii", "replace") for origin, token in self._values("lease:", 64)}

    def origins(self, most: int) -> Origins:
        """Count the origins, up to `most`."""
        known = unreachable = 0
        for _, value in islice(self._values("entry:", longest(MAX_BODY)), most + 1):
            entry = decode(value)
            if entry is not None and known < most:
                known += 1
                unreachable += entry.outage is not None
            elif entry is not None:
                return Origins(known, unreachable, more=True)
        return Origins(known, unreachable, more=False)

    def close(self) -> None:
        """Close the connections."""
        for pool in self._client.pools():
            pool.disconnect()

    def _values(self, kind: str, most_bytes: int) -> Iterator[tuple[str, bytes]]:
        """Yield the rest of each key of a kind, after the kind, and its value. Values that are no strings are left out."""
        start = f"{self._prefix}{kind}"
        try:
            keys = self._client.redis.scan_iter(match=f"{start}*", count=_TOGETHER)
            while some := list(islice(keys, _TOGETHER)):
                with self._client.redis.pipeline(transaction=False) as pipe:
                    for key in some:
                        pipe.getrange(key, 0, most_bytes - 1)
                    values = pipe.execute(raise_on_error=False)
                for key, value in zip(some, values, strict=True):
                    if isinstance(value, bytes) and value:
                        yield key.decode(errors="replace").removeprefix(start).strip("{}"), value
        except Exception as error:  # redis-py raises many kinds of errors if the server is no Redis
            raise StorageError(f"cannot use Redis at {self._client.server}: {error}") from error
