"""One pace for many processes: Redis gives each request of a slot its turn.

A turn is the next free moment of a slot by the clock of the server, so the clocks of the processes do not matter. Taking a
turn is one atomic step. A process that dies wastes the turn that it has, and no other.

Example, with 2 seconds between turns: three processes ask at the server's time 100.0. They get 100.0, 102.0 and 104.0, and
so wait 0, 2 and 4 seconds.
"""

from __future__ import annotations

from typing import Final

from .base import StorageError
from .redis_clients import client_for
from .redis_keys import PREFIX

_TIMEOUT_SECS: Final = 2.0  # for a connection, and for each answer

# ARGV[1]: milliseconds between two turns. A key that says more than a day ahead was not written here.
_NEXT: Final = """
    local time = redis.call("TIME")
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local free = tonumber(redis.call("GET", KEYS[1])) or 0
    if free < now or free > now + 86400000 then free = now end
    local gap = tonumber(ARGV[1])
    redis.call("SET", KEYS[1], string.format("%.0f", free + gap), "PX", string.format("%.0f", free + gap - now + 1000))
    return string.format("%.0f", free - now)
"""


class RedisTurns:
    """Turns in the Redis at `url`; calls are synchronous and may be made from any thread."""

    def __init__(self, url: str, *, prefix: str = PREFIX, timeout: float = _TIMEOUT_SECS) -> None:
        self._prefix = prefix
        try:
            self._client = client_for(url, timeout=timeout)
        except ValueError as error:
            raise StorageError(f"not a Redis URL: {error}") from error

    def next_turn(self, slot: str, secs: float) -> float:
        """Take the next turn of `slot`, at least `secs` seconds after the one before; return how long to wait for it.

        Raises:
            StorageError: the server does not answer as a Redis does.
        """
        try:
            answer = self._client.redis.eval(_NEXT, 1, f"{self._prefix}turn:{slot}", max(1, round(secs * 1000)))
            return max(0.0, int(answer) / 1000)
        except Exception as error:  # redis-py raises many kinds of errors if the server is no Redis
            raise StorageError(f"cannot use Redis at {self._client.server}: {error}") from error

    def close(self) -> None:
        """Close the connections."""
        for pool in self._client.pools():
            pool.disconnect()
