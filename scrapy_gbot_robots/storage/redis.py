"""Entries in a Redis (6 or newer) that a fleet of machines shares. Needs redis-py: the extra `redis`.

Operations wanted: a batch of calls costs one round trip, since the server may be far away. Of all processes, one gets the
lease of an origin. No value can harm this process, since other programs may write to that Redis, too.

Plan: a pipeline sends the commands of a batch together. Each origin of `find` costs one script, which returns the entry, or
else takes the lease. Only this process can tell whether an entry is good, so an entry that is not good costs the batch a
second round trip, for its lease. Only the codec reads values, and it never reads more bytes than an entry can have.

Example: `find` for a, which is stored and good, b, which is stored and too old, and c, which is unknown:

    find a, find b, find c    ->  entry of a, entry of b, lease of c
    lease b                   ->  entry of b, lease of b

The Redis may be one server, a master that sentinels know, or a cluster. The braces in a key say by which part a cluster
places it. So all keys of an origin are on one node, where one script can reach them.

Warning: a command may have been carried out though its reply was lost. A lease that is lost in this way ends by itself.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .base import KEEP_SECS, MAX_BODY, Found, Storage, StorageError
from .codec import decode, encode, longest
from .redis_keys import PREFIX, new_id, new_token

try:
    from .redis_clients import client_for
except ImportError as error:
    raise ImportError(
        "GBOT_ROBOTS_STORAGE = 'redis' needs redis-py: pip install 'scrapy-gbot-robots[redis]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..policy.outages import Entry
    from .base import FetchResult, Wanted

_TIMEOUT_SECS = 2.0  # for a connection, and for each answer
BEAT_LASTS_SECS = 30
_SCAN_KEYS = 1000  # looked at in one step
_GLOB = str.maketrans({char: f"\\{char}" for char in "*?[]^\\"})

# A script is one step for the server: no other client's command comes between the check and what follows.
_RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'
_TAKE = """
    if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
    local left = redis.call("PTTL", KEYS[1])
    if left < 0 or left > tonumber(ARGV[2]) then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
    return 0
"""
# The entry, or else the lease. Only the caller can tell whether an entry is good. ARGV[3] is "1" to take any entry that is
# there, and no lease beside it.
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
    """Return the server and database that a Redis URL names, without its password; "?" if it cannot be read."""
    try:
        return client_for(url, timeout=_TIMEOUT_SECS).server
    except StorageError:
        return "?"


class RedisStorage(Storage):
    """A `Storage` in the Redis at `url` (schemes: `redis_clients.SCHEMES`), under keys that start with `prefix`.

    `timeout` bounds each wait for the server, in seconds. `max_body` bounds the bodies that are returned, in bytes. Raises
    StorageError if `url` is no Redis URL.
    """

    def __init__(
        self, url: str, *, prefix: str = PREFIX, timeout: float = _TIMEOUT_SECS, max_body: int = MAX_BODY
    ) -> None:
        self._entries = f"{prefix}entry:"
        self._leases = f"{prefix}lease:"
        self._id = new_id()
        self._process = f"{prefix}process:{self._id}"
        self._max_body = max_body
        self._client = client_for(url, timeout=timeout)
        self._redis = self._client.redis
        self._before, self._after = ("{", "}") if self._client.is_cluster else ("", "")

    def get(self, origin: str) -> Entry | None:
        """Return the entry, and let the server keep it for the full time again."""
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

        This takes one round trip, and a second one if an entry is there that is not good.
        """
        found = self._find(wanted, secs, entry_will_do=True)
        lacking = [
            place for place, each in enumerate(found) if not each.lease_taken and not wanted[place].is_good(each.entry)
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
        """Give the lease back if its last holder has stored a good entry between the two round trips."""
        if found.token is None or not wanted.is_good(found.entry):
            return found
        self.release(wanted.origin, found.token)
        return Found(found.entry)

    def store_and_release(self, results: Sequence[FetchResult]) -> None:
        """Store entries and end their leases, in one round trip."""
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            for origin, entry, token in results:
                pipe.set(self._entry_key(origin), encode(entry), ex=KEEP_SECS)
                if token:
                    pipe.execute_command("EVAL", _RELEASE, 1, self._lease_key(origin), token)
            pipe.execute()

    def release_all(self, leases: Mapping[str, str]) -> None:
        """End leases, in one round trip."""
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            for origin, token in leases.items():
                pipe.execute_command("EVAL", _RELEASE, 1, self._lease_key(origin), token)
            pipe.execute()

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry. The server deletes it if it is not used for `KEEP_SECS`."""
        with self._asked():
            self._redis.set(self._entry_key(origin), encode(entry), ex=KEEP_SECS)

    def delete(self, origin: str) -> bool:
        """Forget an origin; return whether it had an entry."""
        with self._asked():
            return bool(self._redis.delete(self._entry_key(origin)))

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield the origins as the server comes across them. Other clients do not wait for that."""
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

        A lease without an end, or with a later end than a new one would have, was not written by this plugin. It gets an
        end, so that it cannot block its origin for ever.
        """
        token = new_token(self._id)
        with self._asked():
            taken = self._redis.eval(_TAKE, 1, self._lease_key(origin), token, _millisecs(secs))
        return token if taken else None

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        with self._asked():
            self._redis.eval(_RELEASE, 1, self._lease_key(origin), token)

    def beat(self, facts: Mapping[str, object]) -> None:
        """Report that this process is alive, and `facts` about it. The report ends by itself soon after the last beat."""
        with self._asked():
            self._redis.set(self._process, json.dumps(facts), ex=BEAT_LASTS_SECS)

    def close(self) -> None:
        """Close the connections."""
        with self._asked():
            for pool in self._client.pools():
                pool.disconnect()

    def interrupt(self) -> None:
        """End the waits of other threads with a StorageError: a server that sends byte by byte never times out."""
        with self._asked():
            for pool in self._client.pools():
                pool.disconnect(inuse_connections=True)

    def _entry_key(self, origin: str) -> str:
        return f"{self._entries}{self._before}{origin}{self._after}"

    def _lease_key(self, origin: str) -> str:
        return f"{self._leases}{self._before}{origin}{self._after}"

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Turn the driver's errors into StorageError, which names the server and not the password."""
        try:
            yield
        except Exception as error:  # redis-py raises many kinds of errors if the server is no Redis
            raise StorageError(f"cannot use Redis at {self._client.server}: {error}") from error


def _millisecs(secs: float) -> int:
    return max(1, round(secs * 1000))
