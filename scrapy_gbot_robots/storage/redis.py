"""Entries in a Redis (6 or newer) that a fleet of machines shares. Needs redis-py: the extra `redis`.

The Redis may be one server, a master that sentinels know, or a cluster. In a cluster the braces in a key name what it is
placed by: all that belongs to an origin lies on one node, where one script can reach it.

Others may write to that Redis too, so what comes back is read by the codec only, and never more of it than an entry can
have. Nothing is asked of the server before the first use: it may be away, and come back.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .base import KEEP_SECS, MAX_BODY, StorageError
from .batches import Found
from .codec import decode, encode, longest
from .redis_keys import PREFIX, new_id, new_token

try:
    from .redis_clients import client_for
except ImportError as error:
    raise ImportError("storing in Redis needs redis-py: pip install 'scrapy-gbot-robots[redis]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..policy.entry import Entry
    from .batches import Settled, Wanted

_TIMEOUT_SECS = 2.0  # for a connection, and for each answer
BEAT_LASTS_SECS = 30
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
# The entry, or else the lease. ARGV[3] says whether an entry that is there will do: only its reader can tell if it is good.
_FIND = """
    local value = redis.pcall("GETRANGE", KEYS[1], 0, ARGV[4])
    if type(value) == "table" then
        if string.sub(value.err, 1, 9) ~= "WRONGTYPE" then return value end
        value = ""
    end
    if value ~= "" then redis.pcall("EXPIRE", KEYS[1], ARGV[5]) end -- a replica cannot, yet it can be read
    if value ~= "" and ARGV[3] == "1" then return {value, 0} end
    if redis.call("SET", KEYS[2], ARGV[1], "NX", "PX", ARGV[2]) then return {value, 1} end
    local left = redis.call("PTTL", KEYS[2])
    if left < 0 or left > tonumber(ARGV[2]) then redis.call("PEXPIRE", KEYS[2], ARGV[2]) end
    return {value, 0}
"""


def place_of(url: str) -> str:
    """Say which server and database a Redis URL names, without its password. "?" for one that cannot be read."""
    try:
        return client_for(url, timeout=_TIMEOUT_SECS).server
    except ValueError:
        return "?"


class RedisStorage:
    """A `Storage` in the Redis at `url`, whose schemes are `redis_clients.SCHEMES`, under keys that start with `prefix`.

    `timeout` bounds, in seconds, each wait for the server, `max_body` the bodies it hands out. Raises StorageError
    where `url` is no Redis URL.
    """

    def __init__(
        self, url: str, *, prefix: str = PREFIX, timeout: float = _TIMEOUT_SECS, max_body: int = MAX_BODY
    ) -> None:
        self._entries = f"{prefix}entry:"
        self._leases = f"{prefix}lease:"
        self._id = new_id()
        self._process = f"{prefix}process:{self._id}"
        self._max_body = max_body
        try:
            self._client = client_for(url, timeout=timeout)
        except ValueError as error:
            raise StorageError(f"not a Redis URL: {error}") from error
        self._redis = self._client.redis
        self._before, self._after = ("{", "}") if self._client.is_cluster else ("", "")

    def get(self, origin: str) -> Entry | None:
        """Return what is kept, which thereby is kept for as long again."""
        key = self._entry_key(origin)
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            pipe.getrange(key, 0, longest(self._max_body))
            pipe.expire(key, KEEP_SECS)
            data, _ = pipe.execute(raise_on_error=False)  # a replica cannot expire, yet it can be read
            if isinstance(data, Exception) and not str(data).startswith("WRONGTYPE"):
                raise data
        return decode(data, self._max_body) if isinstance(data, bytes) else None

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Return the entries of many origins, or else their leases.

        One round trip if all that is there is good, or nothing is there; a second one for entries that are not good.
        """
        found = self._find(wanted, secs, entry_will_do=True)
        lacking = [
            place for place, each in enumerate(found) if not each.leased and not wanted[place].is_good(each.entry)
        ]
        if lacking:
            again = self._find([wanted[place] for place in lacking], secs, entry_will_do=False)
            for place, each in zip(lacking, again, strict=True):
                found[place] = self._unless_good(wanted[place], each)
        return found

    def _find(self, wanted: Sequence[Wanted], secs: float, *, entry_will_do: bool) -> list[Found]:
        tokens = [new_token(self._id) for _ in wanted]
        will_do, most = int(entry_will_do), longest(self._max_body)
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            for (origin, _), token in zip(wanted, tokens, strict=True):
                keys = self._entry_key(origin), self._lease_key(origin)
                pipe.execute_command("EVAL", _FIND, len(keys), *keys, token, _millisecs(secs), will_do, most, KEEP_SECS)
            answers = [(value, leased) for value, leased in pipe.execute()]
        return [
            Found(decode(value, self._max_body), token if leased else None)
            for (value, leased), token in zip(answers, tokens, strict=True)
        ]

    def _unless_good(self, wanted: Wanted, found: Found) -> Found:
        """Give the lease back if the holder before has put something good between the two questions."""
        if found.token is None or not wanted.is_good(found.entry):
            return found
        self.release(wanted.origin, found.token)
        return Found(found.entry)

    def settle(self, settled: Sequence[Settled]) -> None:
        """Keep entries and end their leases, in one round trip."""
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            for origin, entry, token in settled:
                pipe.set(self._entry_key(origin), encode(entry), ex=KEEP_SECS)
                if token:
                    pipe.execute_command("EVAL", _RELEASE, 1, self._lease_key(origin), token)
            pipe.execute()

    def prolong_all(self, leases: Mapping[str, str], secs: float) -> None:
        """Set leases a new end, in one round trip."""
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            for origin, token in leases.items():
                pipe.execute_command("EVAL", _PROLONG, 1, self._lease_key(origin), token, _millisecs(secs))
            pipe.execute()

    def release_all(self, leases: Mapping[str, str]) -> None:
        """End leases, in one round trip."""
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            for origin, token in leases.items():
                pipe.execute_command("EVAL", _RELEASE, 1, self._lease_key(origin), token)
            pipe.execute()

    def put(self, origin: str, entry: Entry) -> None:
        """Keep an entry; the server forgets it when it is not used."""
        with self._asked():
            self._redis.set(self._entry_key(origin), encode(entry), ex=KEEP_SECS)

    def delete(self, origin: str) -> bool:
        """Forget an origin; tell whether it was there."""
        with self._asked():
            return bool(self._redis.delete(self._entry_key(origin)))

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield the origins as the server comes across them; it goes on serving others meanwhile."""
        before = f"{self._entries}{self._before}"
        pattern = f"{before}{prefix}".translate(_GLOB) + "*"
        seen: set[bytes] = set()  # a scan may meet a key twice
        with self._asked():
            for key in self._redis.scan_iter(match=pattern, count=_SCAN_KEYS):
                if key not in seen:
                    seen.add(key)
                    yield key.decode(errors="replace").removeprefix(before).removesuffix(self._after)

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease if there is none; the server ends it in time.

        One that would not end, or later than one taken now, was not taken by us: it is given an end.
        """
        token = new_token(self._id)
        with self._asked():
            taken = self._redis.eval(_TAKE, 1, self._lease_key(origin), token, _millisecs(secs))
        return token if taken else None

    def prolong(self, origin: str, token: str, secs: float) -> None:
        """Set the lease a new end if it is the token's."""
        with self._asked():
            self._redis.eval(_PROLONG, 1, self._lease_key(origin), token, _millisecs(secs))

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        with self._asked():
            self._redis.eval(_RELEASE, 1, self._lease_key(origin), token)

    def beat(self, facts: Mapping[str, object]) -> None:
        """Say of this process that it lives, and `facts` of it; that ends by itself soon after the last time."""
        with self._asked():
            self._redis.set(self._process, json.dumps(facts), ex=BEAT_LASTS_SECS)

    def close(self) -> None:
        """Close the connections."""
        with self._asked():
            for pool in self._client.pools():
                pool.disconnect()

    def interrupt(self) -> None:
        """End what other threads are waiting for, with a StorageError there: a server can trickle for ever."""
        with self._asked():
            for pool in self._client.pools():
                pool.disconnect(inuse_connections=True)

    def _entry_key(self, origin: str) -> str:
        return f"{self._entries}{self._before}{origin}{self._after}"

    def _lease_key(self, origin: str) -> str:
        return f"{self._leases}{self._before}{origin}{self._after}"

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Turn the driver's troubles into StorageError, which names the server and not the password."""
        try:
            yield
        except Exception as error:  # redis-py stumbles in many ways over answers that are none of a Redis
            raise StorageError(f"cannot use Redis at {self._client.server}: {error}") from error


def _millisecs(secs: float) -> int:
    return max(1, round(secs * 1000))
