"""Entries in a Redis (6 or newer) that a fleet of machines shares. Needs redis-py: the extra `redis`.

Operations wanted: a batch of calls costs one round trip, since the server may be far away. Of all processes, one gets the
lease of an origin. No value can harm this process, since other programs may write to that Redis, too.

Plan: a pipeline sends the commands of a batch together. Each origin of `find` costs one script, which returns the entry, or
else takes the lease. Only this process can tell whether an entry is good, so an entry that is not good costs the batch a
second round trip, for its lease. Only the codec reads values, and it never reads more bytes than an entry can have.

Times in entries are by the server's clock: each process turns them into its own. So the clocks of machines may differ by
years, or be set while a crawl runs.

Example: `find` for a, which is stored and good, b, which is stored and too old, and c, which is unknown:

    find a, find b, find c    ->  entry of a, entry of b, lease of c
    lease b                   ->  entry of b, lease of b

The Redis may be a cluster. The braces in a key say by which part a cluster places it. So all keys of an origin are on one
node, where one script can reach them.

Besides, the processes of a fleet report here that they are alive, and take turns. Redis keeps the time from which each
download slot is free, by its own clock, so the clocks of the processes do not matter. One step checks that the slot is free
and takes it. No turn is given ahead of time: a busy process would use it late, close to the turn of the next one.

Warning: a command may have been carried out though its reply was lost. A lease that is lost in this way ends by itself.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .base import KEEP_SECS, MAX_BODY, Found, Storage, StorageError
from .codec import decode, encode, longest

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.cluster import RedisCluster
    from redis.retry import Retry
except ImportError as error:
    raise ImportError(
        "GBOT_ROBOTS_STORAGE = 'redis' needs redis-py: pip install 'scrapy-gbot-robots[redis]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..policy.outages import Entry
    from .base import FetchResult, Wanted

_E = TypeVar("_E", "Entry", "Entry | None")

PREFIX = "gbot_robots:"  # of all keys
BEAT_LASTS_SECS = 30
_TIMEOUT_SECS = 2.0  # for a connection, and for each answer
_CLOCKS_AGREE_SECS = 3.0  # a smaller difference may come from the network
_ALWAYS, _NO_ENTRY, _NEVER = range(3)  # when `_FIND` takes the lease
_SCAN_KEYS = 1000  # looked at in one step
_TOGETHER = 500  # values asked for in one round trip
_MOST_FACTS_BYTES = 4096  # of a process
_ID_DIGITS = 8  # of a process; the token of each lease begins with its holder's
_GLOB = str.maketrans({char: f"\\{char}" for char in "*?[]^\\"})

# By default redis-py agrees on a protocol and introduces itself before the first command: up to four round trips, which is
# much for a Redis that is far away. The options in a URL count for more.
_SHORT_HANDSHAKE: dict[str, Any] = {
    "protocol": 2,
    **(
        {"driver_info": None}
        if "driver_info" in signature(redis.Redis).parameters
        else {"lib_name": None, "lib_version": None}  # before redis-py 7.2
    ),
}

# A script is one step for the server: no other client's command comes between the check and what follows.
_RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'
_TAKE = """
    if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
    local left = redis.call("PTTL", KEYS[1])
    if left < 0 or left > tonumber(ARGV[2]) then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
    return 0
"""
# The entry, or else the lease, and the server's time. Only the caller can tell whether an entry is good. ARGV[3]: "0": the
# lease in any case; "1": no lease beside an entry; "2": no lease.
_FIND = """
    local value = redis.pcall("GETRANGE", KEYS[1], 0, ARGV[4])
    if type(value) == "table" then
        if string.sub(value.err, 1, 9) ~= "WRONGTYPE" then return value end
        value = ""
    end
    local now = redis.call("TIME")[1]
    if value ~= "" then redis.pcall("EXPIRE", KEYS[1], ARGV[5]) end -- a replica cannot, yet it can be read
    if ARGV[3] == "2" or value ~= "" and ARGV[3] == "1" then return {value, 0, now} end
    if redis.call("SET", KEYS[2], ARGV[1], "NX", "PX", ARGV[2]) then return {value, 1, now} end
    local left = redis.call("PTTL", KEYS[2])
    if left < 0 or left > tonumber(ARGV[2]) then redis.call("PEXPIRE", KEYS[2], ARGV[2]) end
    return {value, 0, now}
"""
# ARGV[1]: milliseconds between two turns. A key that says more than a day ahead was not written here.
_TURN = """
    local time = redis.call("TIME")
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local free = tonumber(redis.call("GET", KEYS[1])) or 0
    if free > now and free <= now + 86400000 then return string.format("%.0f", free - now) end
    local gap = tonumber(ARGV[1])
    redis.call("SET", KEYS[1], string.format("%.0f", now + gap), "PX", string.format("%.0f", gap + 1000))
    return "0"
"""


class Fleet(NamedTuple):
    """What a Redis knows about the processes that share it.

    Attributes:
        processes: the last report of each living process, by its id.
        leases: how many leases a process has, by its id.
        known: how many origins are stored; counted up to a bound.
        unreachable: how many of these are unreachable.
        more: whether there are more origins than were counted.
    """

    processes: dict[str, dict[str, Any]]
    leases: Counter[str]
    known: int
    unreachable: int
    more: bool


def place_of(url: str) -> str:
    """Return the server and database that a Redis URL names, without its password; "?" if it cannot be read."""
    try:
        return _place(_pool_of(url, _TIMEOUT_SECS))
    except StorageError:
        return "?"


class RedisStorage(Storage):
    """A `Storage` in a Redis, under keys that start with `prefix`.

    Args:
        server: the URL of the Redis (redis://, rediss:// or unix://); with a `client`, what to call it in the log.
        client: a redis-py client to use in place of the URL, for sentinels or a cluster.
        prefix: how all keys begin.
        timeout: bounds each wait for the server of the URL, in seconds. A client brings its own.
        max_body: bounds the bodies that are returned, in bytes.

    Raises:
        StorageError: `server` is no Redis URL, or `client` decodes responses.
    """

    def __init__(
        self,
        server: str,
        *,
        client: Any = None,
        prefix: str = PREFIX,
        timeout: float = _TIMEOUT_SECS,
        max_body: int = MAX_BODY,
    ) -> None:
        self._prefix = prefix
        self._id = secrets.token_hex(_ID_DIGITS // 2)
        self._max_body = max_body
        self.server = server
        self._redis = client
        if client is None:
            pool = _pool_of(server, timeout)
            self.server = _place(pool)
            self._redis = redis.Redis(connection_pool=pool)
        elif client.get_encoder().decode_responses:
            raise StorageError(f"the client of {server} must return bytes: make it with decode_responses=False")
        self._is_cluster = isinstance(client, RedisCluster)
        self._lead: float | None = None  # of the server's clock over our monotonic one
        self._last_ahead = 0

    def get(self, origin: str) -> Entry | None:
        """Return the entry, and let the server keep it for the full time again."""
        (found,) = self._find([origin], 1, lease_if=_NEVER)
        return found.entry

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Return the entries of many origins, or else their leases.

        This takes one round trip, and a second one if an entry is there that is not good.
        """
        found = self._find([each.origin for each in wanted], secs, lease_if=_NO_ENTRY)
        lacking = [
            place for place, each in enumerate(found) if not each.lease_taken and not wanted[place].is_good(each.entry)
        ]
        if lacking:
            again = self._find([wanted[place].origin for place in lacking], secs, lease_if=_ALWAYS)
            for place, each in zip(lacking, again, strict=True):
                found[place] = self._unless_good(wanted[place], each)
        return found

    def _find(self, origins: Sequence[str], secs: float, *, lease_if: int) -> list[Found]:
        tokens = [self._new_token() for _ in origins]
        most = longest(self._max_body)
        with self._pipeline() as pipe:
            for origin, token in zip(origins, tokens, strict=True):
                keys = self._key("entry", origin), self._key("lease", origin)
                pipe.execute_command(
                    "EVAL", _FIND, len(keys), *keys, token, _millisecs(secs), lease_if, most, KEEP_SECS
                )
            answers = [(value, taken, int(now)) for value, taken, now in pipe.execute()]
        if answers:
            self._lead = answers[-1][2] - time.monotonic()
        ahead = self._ahead()
        return [
            Found(_shifted(decode(value, self._max_body), -ahead), token if taken else None)
            for (value, taken, _), token in zip(answers, tokens, strict=True)
        ]

    def _ahead(self) -> int:
        """By how many seconds the server's clock is ahead of this machine's now. 0 if they hardly differ.

        It stays the same as long as the clocks do, so that an entry has the same times whenever it is read.
        """
        ahead = 0.0 if self._lead is None else self._lead + time.monotonic() - time.time()
        if abs(ahead - self._last_ahead) > _CLOCKS_AGREE_SECS:
            self._last_ahead = round(ahead)
        return self._last_ahead

    def _stored(self, origin: str, entry: Entry) -> bytes:
        """The bytes of an entry, with its times by the server's clock."""
        if self._lead is None:
            self.get(origin)  # which also asks for the time
        return encode(_shifted(entry, self._ahead()))

    def _unless_good(self, wanted: Wanted, found: Found) -> Found:
        """Give the lease back if its last holder has stored a good entry between the two round trips."""
        if found.token is None or not wanted.is_good(found.entry):
            return found
        self.release(wanted.origin, found.token)
        return Found(found.entry)

    def store_and_release(self, results: Sequence[FetchResult]) -> None:
        """Store entries and end their leases, in one round trip."""
        stored = [self._stored(origin, entry) for origin, entry, _ in results]
        with self._pipeline() as pipe:
            for (origin, _, token), value in zip(results, stored, strict=True):
                pipe.set(self._key("entry", origin), value, ex=KEEP_SECS)
                if token:
                    pipe.execute_command("EVAL", _RELEASE, 1, self._key("lease", origin), token)
            pipe.execute()

    def release_all(self, leases: Mapping[str, str]) -> None:
        """End leases, in one round trip."""
        with self._pipeline() as pipe:
            for origin, token in leases.items():
                pipe.execute_command("EVAL", _RELEASE, 1, self._key("lease", origin), token)
            pipe.execute()

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry. The server deletes it if it is not used for `KEEP_SECS`."""
        value = self._stored(origin, entry)
        with self._asked():
            self._redis.set(self._key("entry", origin), value, ex=KEEP_SECS)

    def delete(self, origin: str) -> bool:
        """Forget an origin; return whether it had an entry."""
        with self._asked():
            return bool(self._redis.delete(self._key("entry", origin)))

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield the origins as the server comes across them. Other clients do not wait for that."""
        seen: set[str] = set()  # a scan may meet a key twice
        for origin, _ in self._keys("entry", prefix):
            if origin not in seen:
                seen.add(origin)
                yield origin

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease if there is none; the server ends it in time.

        A lease without an end, or with a later end than a new one would have, was not written by this plugin. It gets an
        end, so that it cannot block its origin for ever.
        """
        token = self._new_token()
        with self._asked():
            taken = self._redis.eval(_TAKE, 1, self._key("lease", origin), token, _millisecs(secs))
        return token if taken else None

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        with self._asked():
            self._redis.eval(_RELEASE, 1, self._key("lease", origin), token)

    def beat(self, facts: Mapping[str, object]) -> None:
        """Report that this process is alive, and `facts` about it. The report ends by itself soon after the last beat."""
        with self._asked():
            self._redis.set(f"{self._prefix}process:{self._id}", json.dumps(facts), ex=BEAT_LASTS_SECS)

    def take_turn(self, slot: str, secs: float) -> float:
        """Take the turn of `slot` if it is free, and let the next one be free `secs` seconds later.

        Returns 0 if the turn was taken; else for how many seconds it is not free yet.
        """
        with self._asked():
            answer = self._redis.eval(_TURN, 1, f"{self._prefix}turn:{slot}", _millisecs(secs))
            return max(0.0, int(answer) / 1000)

    def fleet(self, most_origins: int) -> Fleet:
        """Return what is known about the processes, and count origins up to a bound. No entry is kept for longer by this."""
        processes = {}
        for process, value in self._values("process", _MOST_FACTS_BYTES):
            try:
                facts = json.loads(value)
            except (ValueError, RecursionError):  # another program wrote it
                continue
            if isinstance(facts, dict):
                processes[process] = facts
        leases = Counter(token[:_ID_DIGITS].decode("ascii", "replace") for _, token in self._values("lease", 64))
        read = (decode(value, self._max_body) for _, value in self._values("entry", longest(self._max_body)))
        entries = list(islice((entry for entry in read if entry is not None), most_origins + 1))
        known = entries[:most_origins]
        unreachable = sum(entry.outage is not None for entry in known)
        return Fleet(processes, leases, len(known), unreachable, more=len(entries) > len(known))

    def close(self) -> None:
        """Close the connections."""
        with self._asked():
            for pool in self._pools():
                pool.disconnect()

    def interrupt(self) -> None:
        """End the waits of other threads with a StorageError: a server that sends byte by byte never times out."""
        with self._asked():
            for pool in self._pools():
                pool.disconnect(inuse_connections=True)

    def _pools(self) -> list[Any]:
        if not self._is_cluster:
            return [self._redis.connection_pool]
        nodes = [node.redis_connection for node in self._redis.get_nodes()]
        return [node.connection_pool for node in nodes if node is not None]

    def _key(self, kind: str, origin: str) -> str:
        return f"{self._prefix}{kind}:{{{origin}}}" if self._is_cluster else f"{self._prefix}{kind}:{origin}"

    def _new_token(self) -> str:
        return self._id + secrets.token_hex(6)

    def _keys(self, kind: str, start: str = "") -> Iterator[tuple[str, bytes]]:
        """Yield what each key of a kind is for, if that begins with `start`, and the key."""
        before = f"{self._prefix}{kind}:"
        first = "{" if self._is_cluster and kind != "process" else ""
        pattern = f"{before}{first}{start}".translate(_GLOB) + "*"
        with self._asked():
            for key in self._redis.scan_iter(match=pattern, count=_SCAN_KEYS):
                name = key.decode(errors="replace").removeprefix(before)
                yield (name[1:-1] if first else name), key

    def _values(self, kind: str, most_bytes: int) -> Iterator[tuple[str, bytes]]:
        """Yield what each key of a kind is for, and its value. Values that are no strings are left out."""
        keys = self._keys(kind)
        while some := list(islice(keys, _TOGETHER)):
            with self._pipeline() as pipe:
                for _, key in some:
                    pipe.getrange(key, 0, most_bytes - 1)
                values = pipe.execute(raise_on_error=False)
            for (name, _), value in zip(some, values, strict=True):
                if isinstance(value, bytes) and value:
                    yield name, value

    @contextmanager
    def _pipeline(self) -> Iterator[Any]:
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            yield pipe

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Turn the driver's errors into StorageError, which names the server and not the password."""
        try:
            yield
        except Exception as error:  # redis-py raises many kinds of errors if the server is no Redis
            raise StorageError(f"cannot use Redis at {self.server}: {error}") from error


def _pool_of(url: str, timeout: float) -> Any:
    """The connections to the Redis that `url` names. None is made yet. Raises StorageError if it is no Redis URL."""
    limits: dict[str, Any] = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "retry": Retry(NoBackoff(), 0),  # a connection that the server has dropped is noticed before it is used
    }
    try:
        pool = redis.ConnectionPool.from_url(url, **_SHORT_HANDSHAKE, **limits)
    except ValueError as error:
        raise StorageError(f"not a Redis URL: {error}") from error
    pool.connection_kwargs["decode_responses"] = False  # whatever the URL says: entries are bytes
    return pool


def _place(pool: Any) -> str:
    where = pool.connection_kwargs
    server = where.get("path") or f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"
    return f"{server}, database {where.get('db', 0)}"


def _shifted(entry: _E, secs: int) -> _E:
    """Return an entry whose times are `secs` seconds later: by another clock."""
    if entry is None or not secs:
        return entry
    copy, outage = entry.copy, entry.outage
    if copy is not None:
        copy = replace(copy, fetched_at=copy.fetched_at + secs, fresh_until=copy.fresh_until + secs)
    if outage is not None:
        outage = replace(outage, since=outage.since + secs, retry_at=outage.retry_at + secs)
    return replace(entry, copy=copy, outage=outage)


def _millisecs(secs: float) -> int:
    return max(1, round(secs * 1000))
