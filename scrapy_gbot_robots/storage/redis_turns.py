"""One pace for many processes: Redis gives each request of a slot its turn.

Operations wanted: two requests to a slot are at least the delay apart, whichever processes send them.

Plan: Redis keeps the time from which each slot is free, by its own clock, so the clocks of the processes do not matter. One
atomic step checks that the slot is free and takes it. Then the process sends its request at once. If the slot is not free,
the process learns how long to wait, and tries again.

Why no turn is given ahead of time: a busy process would use it late, close to the turn of the next one. A process that dies
with a turn wastes that turn alone.
"""

from __future__ import annotations

from typing import Final

from .base import StorageError
from .redis_clients import client_for
from .redis_keys import PREFIX

_TIMEOUT_SECS: Final = 2.0  # for a connection, and for each answer

# ARGV[1]: milliseconds between two turns. A key that says more than a day ahead was not written here.
_TAKE: Final = """
    local time = redis.call("TIME")
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local free = tonumber(redis.call("GET", KEYS[1])) or 0
    if free > now and free <= now + 86400000 then return string.format("%.0f", free - now) end
    local gap = tonumber(ARGV[1])
    redis.call("SET", KEYS[1], string.format("%.0f", now + gap), "PX", string.format("%.0f", gap + 1000))
    return "0"
"""


class RedisTurns:
    """Turns in the Redis at `url`; calls are synchronous and may be made from any thread."""

    def __init__(self, url: str, *, prefix: str = PREFIX, timeout: float = _TIMEOUT_SECS) -> None:
        self._prefix = prefix
        self._client = client_for(url, timeout=timeout)

    def take(self, slot: str, secs: float) -> float:
        """Take the turn of `slot` if it is free, and let the next one be free `secs` seconds later.

        Returns 0 if the turn was taken; else for how many seconds it is not free yet.

        Raises:
            StorageError: the server does not answer as a Redis does.
        """
        try:
            answer = self._client.redis.eval(_TAKE, 1, f"{self._prefix}turn:{slot}", max(1, round(secs * 1000)))
            return max(0.0, int(answer) / 1000)
        except Exception as error:  # redis-py raises many kinds of errors if the server is no Redis
            raise StorageError(f"cannot use Redis at {self._client.server}: {error}") from error

    def close(self) -> None:
        """Close the connections."""
        for pool in self._client.pools():
            pool.disconnect()
