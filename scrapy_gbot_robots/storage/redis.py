"""Entries in a Redis (6 or newer) that a fleet of machines shares. Needs redis-py: the extra `redis`.

Others may write to that Redis too, so what comes back is read by the codec only, and never more of it than an entry can
have. Nothing is asked of the server before the first use: it may be away, and come back.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .base import KEEP_SECS, MAX_BODY, StorageError
from .codec import decode, encode, longest

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.exceptions import RedisError
    from redis.retry import Retry
except ImportError as error:
    raise ImportError("storing in Redis needs redis-py: pip install 'scrapy-gbot-robots[redis]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..policy.entry import Entry

_PREFIX = "gbot_robots:"
_TIMEOUT_SECS = 2.0  # for a connection, and for each answer
_SCAN_KEYS = 1000  # looked at in one go
_GLOB = str.maketrans({char: f"\\{char}" for char in "*?[]^\\"})

# One step for the server, so that nothing can come between the question and what follows.
_IF_IT_IS_THE_TOKENS = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call({}) end return 0'
_PROLONG = _IF_IT_IS_THE_TOKENS.format('"PEXPIRE", KEYS[1], ARGV[2]')
_RELEASE = _IF_IT_IS_THE_TOKENS.format('"DEL", KEYS[1]')
_TAKE = """
    if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
    local left = redis.call("PTTL", KEYS[1])
    if left < 0 or left > tonumber(ARGV[2]) then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
    return 0
"""


class RedisStorage:
    """A `Storage` in the Redis at `url` (redis://, rediss:// or unix://), under keys that start with `prefix`.

    `timeout` bounds, in seconds, each wait for the server, `max_body` the bodies it hands out. Raises StorageError
    where `url` is no Redis URL.
    """

    def __init__(
        self, url: str, *, prefix: str = _PREFIX, timeout: float = _TIMEOUT_SECS, max_body: int = MAX_BODY
    ) -> None:
        self._entries = f"{prefix}entry:"
        self._leases = f"{prefix}lease:"
        self._max_body = max_body
        try:
            pool = redis.ConnectionPool.from_url(
                url,
                socket_timeout=timeout,
                socket_connect_timeout=timeout,
                retry=Retry(NoBackoff(), 1),  # for a connection that the server has dropped since
            )
        except ValueError as error:
            raise StorageError(f"not a Redis URL: {error}") from error
        pool.connection_kwargs["decode_responses"] = False  # whatever the URL says: entries are bytes
        where = pool.connection_kwargs
        self._server = where.get("path") or f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"
        self._redis: Any = redis.Redis(connection_pool=pool)

    def get(self, origin: str) -> Entry | None:
        """Return what is kept, which thereby is kept for as long again."""
        key = self._entries + origin
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            pipe.getrange(key, 0, longest(self._max_body))
            pipe.expire(key, KEEP_SECS)
            data, _ = pipe.execute(raise_on_error=False)  # a replica cannot expire, yet it can be read
            if isinstance(data, Exception) and not str(data).startswith("WRONGTYPE"):
                raise data
        return decode(data, self._max_body) if isinstance(data, bytes) else None

    def put(self, origin: str, entry: Entry) -> None:
        """Keep an entry; the server forgets it when it is not used."""
        with self._asked():
            self._redis.set(self._entries + origin, encode(entry), ex=KEEP_SECS)

    def delete(self, origin: str) -> bool:
        """Forget an origin; tell whether it was there."""
        with self._asked():
            return bool(self._redis.delete(self._entries + origin))

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield the origins as the server comes across them; it goes on serving others meanwhile."""
        pattern = f"{self._entries}{prefix}".translate(_GLOB) + "*"
        seen: set[bytes] = set()  # a scan may meet a key twice
        with self._asked():
            for key in self._redis.scan_iter(match=pattern, count=_SCAN_KEYS):
                if key not in seen:
                    seen.add(key)
                    yield key.decode(errors="replace").removeprefix(self._entries)

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease if there is none; the server ends it in time.

        One that would not end, or later than one taken now, was not taken by us: it is given an end.
        """
        token = secrets.token_hex(8)
        with self._asked():
            taken = self._redis.eval(_TAKE, 1, self._leases + origin, token, _millisecs(secs))
        return token if taken else None

    def prolong(self, origin: str, token: str, secs: float) -> None:
        """Set the lease a new end if it is the token's."""
        with self._asked():
            self._redis.eval(_PROLONG, 1, self._leases + origin, token, _millisecs(secs))

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        with self._asked():
            self._redis.eval(_RELEASE, 1, self._leases + origin, token)

    def close(self) -> None:
        """Close the connections."""
        with self._asked():
            self._redis.connection_pool.disconnect()

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Turn the driver's troubles into StorageError, which names the server and not the password."""
        try:
            yield
        except (RedisError, OSError) as error:
            raise StorageError(f"cannot use Redis at {self._server}: {error}") from error


def _millisecs(secs: float) -> int:
    return max(1, round(secs * 1000))
