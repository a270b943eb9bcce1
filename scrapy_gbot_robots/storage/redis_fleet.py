"""What a Redis tells of the fleet that shares it: its processes, their leases, the origins known.

Each process says now and then that it lives (`RedisStorage.beat`); what it said ends by itself when it dies. The rest is
there in any case. Looking changes nothing: no entry is kept for longer because somebody looked at it.
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
    """How many origins are known, how many of them are unreachable, and whether there are more than were looked at."""

    known: int
    unreachable: int
    more: bool


class RedisFleet:
    """Looks at the Redis at `url`. Each method raises StorageError, and nothing else, when that fails."""

    def __init__(self, url: str, *, prefix: str = PREFIX, timeout: float = _TIMEOUT_SECS) -> None:
        self._prefix = prefix
        try:
            self._client = client_for(url, timeout=timeout)
        except ValueError as error:
            raise StorageError(f"not a Redis URL: {error}") from error

    @property
    def place(self) -> str:
        """Which server, without a password."""
        return self._client.server

    def processes(self) -> dict[str, dict[str, Any]]:
        """What each living process says of itself, by its id."""
        found = {}
        for key, value in self._values("process:", _MOST_FACTS_BYTES):
            try:
                facts = json.loads(value)
            except ValueError:
                continue
            if isinstance(facts, dict):
                found[key] = facts
        return found

    def leases(self) -> dict[str, str]:
        """The id of the process that holds the lease, by origin."""
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
        """What stands in each key of a kind, by what follows the kind in the key; what is no string is left out."""
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
        except Exception as error:  # redis-py stumbles in many ways over answers that are none of a Redis
            raise StorageError(f"cannot use Redis at {self._client.server}: {error}") from error
