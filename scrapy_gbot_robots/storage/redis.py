"""A storage in a Redis (version 6 or newer) that several machines can share.

It needs redis-py, which the extra `redis` installs.

The server may be far away, so a call needs as few round trips as possible. `find` is one script,
which returns the entry, or takes the lease if there is no entry. Only this process can decide
whether an entry is good. If it is not good, taking the lease needs a second round trip. Of all the
processes that share the Redis, only one gets the lease of an origin.

Other programs may write to the same Redis, so no value may harm this process. Values are decoded by
`codec` alone, and at most the length of the longest possible entry is read.

Times in stored entries are by the server's clock, and each process converts them to its own clock.
So the clocks of the machines may differ by years, and may be set while a crawl runs.

In a cluster, Redis chooses the node of a key by the text between braces in the key. The keys of an
origin contain the origin between braces, so they are on the same node, and one script can use them
all.

Warning: if a reply is lost, the server may have carried out the command. If that command has taken
a lease, the lease ends when its time is over.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import ceil
from typing import Any

from ..core.lines import MAX_BYTES
from ..policy.outages import KEEP_DAYS, Entry
from .advice import on_redis
from .base import Storage, StorageError
from .codec import decode, encode, most_bytes

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.connection import parse_url
    from redis.retry import Retry
except ImportError as error:
    raise ImportError(
        "GBOT_ROBOTS_STORAGE = 'redis' needs redis-py: pip install 'scrapy-gbot-robots[redis]'"
    ) from error

_KEEP_SECS = KEEP_DAYS * 86_400
# The time-out for the connection to GBOT_ROBOTS_REDIS_URL, and for each reply. A user's own client
# has its own time-outs.
_TIMEOUT_SECS = 2.0
_CLOCKS_AGREE_SECS = 3.0  # Smaller differences may come from the network and not from the clocks.
_SCAN_KEYS = 1000  # the number of keys that the server examines in one step of a scan

# Redis runs each script as one atomic step. The script `_STORE` stores the entry in ARGV[1], unless
# that is empty, and ends the lease that has the token in ARGV[3].
_STORE = """
    if ARGV[1] ~= "" then redis.call("SET", KEYS[1], ARGV[1], "EX", ARGV[2]) end
    if redis.pcall("GET", KEYS[2]) == ARGV[3] then redis.call("DEL", KEYS[2]) end
"""
# The script `_FIND` returns the entry, whether it has taken the lease, and the server's time. If
# ARGV[1], the token, is empty, the script does not take the lease. If there is an entry, the script
# takes the lease only if ARGV[3] is "1", because only the caller can decide whether the entry is
# good. A lease without an end, or with more than a day left, is not from this plugin, so the script
# replaces it.
_FIND = """
    local value = redis.pcall("GETRANGE", KEYS[1], 0, ARGV[4])
    if type(value) == "table" then
        if string.sub(value.err, 1, 9) ~= "WRONGTYPE" then return value end
        value = ""
    end
    local now = redis.call("TIME")[1]
    if ARGV[1] == "" or value ~= "" and ARGV[3] ~= "1" then return {value, 0, now} end
    local left = redis.call("PTTL", KEYS[2])
    if left >= 0 and left <= 86400000 then return {value, 0, now} end
    redis.call("SET", KEYS[2], ARGV[1], "PX", ARGV[2])
    return {value, 1, now}
"""


def place_of(url: str) -> str:
    """Return the server and the database of a Redis URL, without user and password, as a text.

    Return "?" if `url` is not a Redis URL.
    """
    try:
        where = parse_url(url)  # type: ignore[no-untyped-call]
    except ValueError:
        return "?"
    server = where.get("path")
    if not server:
        server = f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"
    return f"{server}, database {where.get('db', 0)}"


class RedisStorage(Storage):
    """A `Storage` in a Redis, under keys that start with "gbot_robots:".

    Args:
        server: a name for this Redis in log messages.
        make_client: returns a new redis-py client. It is called again after a failure, because a
            new client may find a new master.
        max_body: the greatest length in bytes of the body in an entry that is returned.

    Raises:
        StorageError: the client decodes responses to text, or cannot be made now.
    """

    def __init__(
        self, server: str, make_client: Callable[[], Any], *, max_body: int = MAX_BYTES
    ) -> None:
        self._max_body = max_body
        self.server = server
        self._make_client = make_client
        self._ahead = 0  # by how many seconds the server's clock is ahead of the clock here
        self._client: Any = self._new_client()  # None after a failure

    def _new_client(self) -> Any:
        """Return a new client.

        Raises:
            StorageError: the client decodes responses to text, or the server cannot be reached now.
        """
        try:
            client = self._make_client()
        except StorageError:
            raise
        except Exception as error:
            if not isinstance(error, OSError) and not _is_of_a_driver(error):
                raise  # This is a bug in the user's own code.
            what = f"{self.server} could not make a client: {_in_words(error)}"
            raise StorageError(what, on_redis(error)) from error
        if client.get_encoder().decode_responses:
            raise StorageError(
                f"the client of {self.server} must return bytes: "
                "make it with decode_responses=False"
            )
        return client

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Return a context that gives a client, and in which all exceptions become StorageError.

        After a failure, a new client is made for the next context. The text of the error contains
        the name of the server, without its password.
        """
        client = self._client
        if client is None:
            client = self._client = self._new_client()
        try:
            yield client
        except Exception as error:  # If the server is not a Redis, redis-py may raise anything.
            with suppress(Exception):
                client.close()
            self._client = None
            what = f"cannot use Redis at {self.server}: {_in_words(error)}"
            raise StorageError(what, on_redis(error)) from error

    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`, or None."""
        entry, _ = self._look(origin, "", 1)
        return entry

    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin`. The server deletes the entry after `KEEP_DAYS` days."""
        self.store_and_release(origin, entry, "")

    def delete(self, origin: str) -> bool:
        """Delete the entry of `origin`, and return whether an entry existed."""
        with self._connected() as client:
            return bool(client.delete(_key("entry", origin)))

    def origins(self) -> Iterator[str]:
        """Yield the origins in the server's order.

        The server scans its keys in small steps, so other clients need not wait.
        """
        listed: set[str] = set()  # A scan may return the same key twice.
        with self._connected() as client:
            pattern = _key("entry", "*")
            before = pattern.index("*")
            for key in client.scan_iter(match=pattern, count=_SCAN_KEYS):
                origin = key[before:-1].decode(errors="replace")
                if origin not in listed:
                    listed.add(origin)
                    yield origin

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin` if it is free or has run out."""
        _, token = self.find(origin, lambda _: False, secs)
        return token

    def release(self, origin: str, token: str) -> None:
        """End the lease of `origin` if `token` belongs to that lease."""
        self.store_and_release(origin, None, token)

    def find(
        self, origin: str, is_good: Callable[[Entry | None], bool], secs: float
    ) -> tuple[Entry | None, str | None]:
        """Return the entry of `origin`, and take the lease if the entry is not good.

        This needs one round trip if there is no entry or a good entry, and otherwise two.
        """
        token = secrets.token_hex(8)
        entry, is_leased = self._look(origin, token, secs)
        if not is_leased and not is_good(entry):
            entry, is_leased = self._look(origin, token, secs, beside=True)
        if not is_leased:
            return entry, None
        if is_good(entry):  # The last holder has stored this entry between the two round trips.
            self.release(origin, token)
            return entry, None
        return entry, token

    def _look(
        self, origin: str, token: str, secs: float, *, beside: bool = False
    ) -> tuple[Entry | None, bool]:
        """Run the script `_FIND`; return the entry or None, and whether the lease was taken.

        The times in the entry are converted to the clock of this machine.

        Args:
            origin: the origin.
            token: the token for the lease; "" if the lease should not be taken.
            secs: the duration of the lease in seconds.
            beside: whether the lease should be taken even if there is an entry.
        """
        keys = _key("entry", origin), _key("lease", origin)
        options = token, ceil(secs * 1000), int(beside), most_bytes(self._max_body)
        with self._connected() as client:
            # A server that is not a Redis may reply with anything.
            value, is_leased, now = client.execute_command("EVAL", _FIND, 2, *keys, *options)
            ahead = int(now) - time.time()
            entry = decode(value, self._max_body)
        # A small difference does not change `_ahead`, so that repeated reads of an entry give the
        # same times. Only a clock that was set makes a large difference.
        if abs(ahead - self._ahead) > _CLOCKS_AGREE_SECS:
            self._ahead = round(ahead)
        if entry is not None:
            entry = _shifted(entry, -self._ahead)
        return entry, bool(is_leased)

    def store_and_release(self, origin: str, entry: Entry | None, token: str) -> None:
        """Store `entry` and end the lease that has `token`, in one round trip.

        The times in the stored entry are converted to the server's clock.
        """
        value = b""
        if entry is not None:
            value = encode(_shifted(entry, self._ahead))
        keys = _key("entry", origin), _key("lease", origin)
        with self._connected() as client:
            client.execute_command("EVAL", _STORE, 2, *keys, value, _KEEP_SECS, token)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            with self._connected() as client:
                client.close()


def client_of(url: str) -> Any:
    """Return a client of the Redis at `url`, which begins with redis://, rediss:// or unix://.

    Raises:
        StorageError: `url` is not the URL of a Redis.
    """
    # Commands are not retried. The most common failure does not need it, because redis-py checks
    # whether the server has closed a connection before it uses that connection.
    options = {
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": _TIMEOUT_SECS,
        "socket_connect_timeout": _TIMEOUT_SECS,
    }
    try:
        # Protocol 3 would need one more round trip for each connection.
        return redis.Redis.from_url(url, protocol=2, **options)
    except ValueError as error:
        raise StorageError(f"not a Redis URL: {error}") from error


def _in_words(error: BaseException) -> str:
    """Return the class and the text of `error`, because the text alone lacks codes like MOVED."""
    return f"{type(error).__name__}: {error}"


def _is_of_a_driver(error: BaseException) -> bool:
    modules = {cls.__module__.partition(".")[0] for cls in type(error).__mro__}
    return not modules.isdisjoint({"redis", "valkey"})


def _key(kind: str, origin: str) -> str:
    return f"gbot_robots:{kind}:{{{origin}}}"


def _shifted(entry: Entry, secs: int) -> Entry:
    """Return a copy of `entry` in which all times are `secs` seconds later."""
    copy = entry.copy
    if copy is not None:
        copy = replace(copy, fetched_at=copy.fetched_at + secs, fresh_until=copy.fresh_until + secs)
    outage = entry.outage
    if outage is not None:
        outage = replace(
            outage,
            since=outage.since + secs,
            retry_at=outage.retry_at + secs,
            failed_at=outage.failed_at + secs,
        )
    return Entry(copy, outage)
