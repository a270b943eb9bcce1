"""A storage in a Redis database (version 6 or newer) that several machines can share.

It needs redis-py, which the extra `redis` of this plugin installs. It keeps an *entry* for each
origin. The entry contains a copy of the robots.txt. The *lease* of an origin is the right to fetch
its robots.txt. Only one of the processes that share the database can hold this lease at a time.

The server may be far away, so a call makes as few round trips as possible. The method `find` runs a
script on the server. If there is an entry, the script returns it. If there is none, the script
takes the lease. If the entry is too old, `find` needs a second round trip to take the lease.

Other programs may write any values to the same database. So only `codec.decode` reads the values.
If a value is longer than any entry can be, only its first bytes are fetched from the server.

The times in a stored entry are times of the server's clock. Each process converts them to the clock
of its own machine. So the clocks of the machines may differ.

A cluster of Redis servers chooses the server for a key by the text between braces in the key. Both
keys of an origin, such as "gbot_robots:entry:{https://example.com}", contain the origin between
braces. So they are on the same server, and one script can use both of them.

Warning: if the connection breaks before the reply arrives, the server may still have carried out
the command. If that command has taken a lease, the lease ends when its time is over.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from inspect import isawaitable, iscoroutine
from math import ceil
from typing import Any
from urllib.parse import urlsplit

from ..core.lines import MAX_BYTES
from ..policy.outages import KEEP_DAYS, Entry
from .advice import CLIENT, OPTIONS, URL, on_redis
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
# The time-out in seconds for opening a connection to GBOT_ROBOTS_REDIS_URL, and for each reply. If
# the project makes the client itself (GBOT_ROBOTS_REDIS_CLIENT), this time-out is not used.
_TIMEOUT_SECS = 2.0
_CLOCKS_AGREE_SECS = 3.0  # A smaller change in the difference between the clocks is ignored.
# A client that the project makes itself must have these methods.
_METHODS = ("execute_command", "get_encoder", "delete", "scan_iter", "close")
# A message of redis-py about an invalid URL contains no password if it begins with one of these.
_HARMLESS = ("Redis URL must ", "Invalid value for ")
_SCAN_KEYS = 1000  # the number of keys that the server examines in one step of a scan

# This script stores an entry and ends a lease, in one atomic step. Its arguments are:
# KEYS[1] and KEYS[2]: the key of the entry, and the key of the lease
# ARGV[1]: the entry; if it is empty, nothing is stored
# ARGV[2]: the number of seconds for which the entry is kept
# ARGV[3]: the token of the lease; a lease with another token is not ended
_STORE = """
    if ARGV[1] ~= "" then redis.call("SET", KEYS[1], ARGV[1], "EX", ARGV[2]) end
    if redis.pcall("GET", KEYS[2]) == ARGV[3] then redis.call("DEL", KEYS[2]) end
"""
# This script returns an entry, and takes the lease if there is no entry. Its arguments are:
# KEYS[1] and KEYS[2]: the key of the entry, and the key of the lease
# ARGV[1]: the token for the lease; if it is empty, the lease is not taken
# ARGV[2]: the duration of the lease in milliseconds
# ARGV[3]: if it is "1", the lease is taken even if there is an entry
# ARGV[4]: the maximum length of the entry in bytes
# The script returns three values: the entry; 1 if it has taken the lease, otherwise 0; and the
# server's time. If a lease has more than a day left, it is not from this plugin, so the script
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


def _fault_in(url: str) -> str:
    """Return the reason why `url` is not a valid Redis URL; "" if it is valid.

    The reason contains no part of `url`, because any part of an invalid URL may be a password. For
    example, if a password contains "#", the part before it looks like a port or a host.
    """
    try:
        parse_url(url)  # type: ignore[no-untyped-call]
        parts = urlsplit(url)
    except ValueError as error:
        reason = str(error)
        return reason if reason.startswith(_HARMLESS) else "its host or its port cannot be read"
    # After the host, "@" is allowed only in the values of options and in the path of a unix:// URL.
    after_host = [parts.fragment, *(each.partition("=")[0] for each in parts.query.split("&"))]
    if parts.scheme != "unix":
        after_host.append(parts.path)
    if any("@" in each for each in after_host):
        return 'its user or its password contains "/", "?" or "#"'
    return ""


def place_of(url: str) -> str:
    """Return the server and the database of a Redis URL, such as "localhost:6379, database 0".

    The user name and the password are left out. Return "?" if `url` is not a Redis URL.
    """
    if _fault_in(url):
        return "?"
    where = parse_url(url)  # type: ignore[no-untyped-call]
    server = where.get("path")
    if not server:
        server = f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"
    return f"{server}, database {where.get('db', 0)}"


class RedisStorage(Storage):
    """A `Storage` in a Redis database, under keys that start with "gbot_robots:".

    Args:
        server: the name of this Redis in log messages.
        make_client: a function that returns a new redis-py client. After a failure, it is called
            again, because the address of the server may have changed.
        max_body: if the robots.txt in an entry has more bytes than this, the entry is not returned.

    Raises:
        StorageError: the client cannot be made now, or it is not suitable, for example because it
            decodes replies to text, although entries are bytes.
    """

    def __init__(
        self, server: str, make_client: Callable[[], Any], *, max_body: int = MAX_BYTES
    ) -> None:
        self._max_body = max_body
        self.server = server
        self._make_client = make_client
        # The time of the server's clock minus the time of this machine's clock, in seconds.
        self._ahead = 0
        self._client: Any = self._new_client()  # None after a call has failed

    def _new_client(self) -> Any:
        """Return a new client.

        Raises:
            StorageError: the server cannot be reached now, or the client is not suitable.
        """
        try:
            client = self._make_client()
        except StorageError:
            raise
        except Exception as error:
            if not isinstance(error, OSError) and not _is_of_a_driver(error):
                raise  # The exception shows a bug in the user's own code.
            what = f"{self.server} could not make a client: {_in_words(error)}"
            raise StorageError(what, on_redis(error)) from error
        fault = _fault_of(client)
        if fault:
            raise StorageError(f"{self.server} returned {fault}", CLIENT)
        if client.get_encoder().decode_responses:
            raise StorageError(
                f"the client of {self.server} must return bytes: "
                "make it with decode_responses=False",
                OPTIONS,
            )
        return client

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Return a context manager whose value is a client of the Redis server.

        If the `with` block raises an exception, the context manager closes the client, and raises a
        StorageError instead. Then the next call of this method makes a new client.
        """
        client = self._client
        if client is None:
            client = self._client = self._new_client()
        try:
            yield client
        # If the server is not a Redis server, redis-py may raise any exception.
        except Exception as error:
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
        """Delete the entry of `origin`. Return whether there was an entry."""
        with self._connected() as client:
            return bool(client.delete(_key("entry", origin)))

    def origins(self) -> Iterator[str]:
        """Yield each origin that has an entry, in no particular order.

        The server scans its keys in small steps, so that other clients do not have to wait.
        """
        listed: set[str] = set()  # the origins so far; needed because a scan may return a key twice
        with self._connected() as client:
            pattern = _key("entry", "*")
            before = pattern.index("*")
            for key in client.scan_iter(match=pattern, count=_SCAN_KEYS):
                origin = key[before:-1].decode(errors="replace")
                if origin not in listed:
                    listed.add(origin)
                    yield origin

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin`, unless another process holds it. Return its token or None."""
        _, token = self.find(origin, lambda _: False, secs)
        return token

    def release(self, origin: str, token: str) -> None:
        """End the lease of `origin` if its token is `token`."""
        self.store_and_release(origin, None, token)

    def find(
        self, origin: str, is_good: Callable[[Entry | None], bool], secs: float
    ) -> tuple[Entry | None, str | None]:
        """Return the entry of `origin`. Take the lease if a fetch is needed (`Storage.find`).

        This method usually needs one round trip to the server. It needs two round trips if
        `is_good` returns False for the entry, for example because its robots.txt is too old.
        """
        token = secrets.token_hex(8)
        entry, is_leased = self._look(origin, token, secs)
        if not is_leased and not is_good(entry):
            entry, is_leased = self._look(origin, token, secs, beside=True)
        if not is_leased:
            return entry, None
        # Before this process took the lease, another process may have stored a new entry.
        if is_good(entry):
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
            token: the token for the lease; "" if the lease must not be taken.
            secs: the duration of the lease in seconds.
            beside: whether to take the lease even if there is an entry.
        """
        keys = _key("entry", origin), _key("lease", origin)
        options = token, ceil(secs * 1000), int(beside), most_bytes(self._max_body)
        with self._connected() as client:
            # The reply is converted inside the `with` block, because the conversion fails if the
            # server is not a Redis server. Any exception in this block becomes a StorageError.
            value, is_leased, now = client.execute_command("EVAL", _FIND, 2, *keys, *options)
            ahead = int(now) - time.time()
            entry = decode(value, self._max_body)
        # `ahead` changes a little at each call, because the delay of the network varies. If these
        # small changes were not ignored, an entry would have different times at each call. A larger
        # change means that a clock was set.
        if abs(ahead - self._ahead) > _CLOCKS_AGREE_SECS:
            self._ahead = round(ahead)
        if entry is not None:
            entry = _shifted(entry, -self._ahead)
        return entry, bool(is_leased)

    def store_and_release(self, origin: str, entry: Entry | None, token: str) -> None:
        """Store `entry`, and end the lease whose token is `token`, in one round trip.

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
    # Commands are not retried. The usual reason for a retry is a connection that the server has
    # closed, but redis-py notices a closed connection before it sends a command.
    options = {
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": _TIMEOUT_SECS,
        "socket_connect_timeout": _TIMEOUT_SECS,
    }
    fault = _fault_in(url)
    if fault:
        raise StorageError(f"not a Redis URL: {fault}", URL)
    try:
        # Version 3 of the Redis protocol would need one more round trip for each connection.
        return redis.Redis.from_url(url, protocol=2, **options)
    except ValueError as error:
        raise StorageError(f"not a Redis URL: {error}", URL) from error


def _fault_of(client: Any) -> str:
    """Return a description of `client` if it is not a client of redis-py; otherwise ""."""
    if client is None:
        return "None"
    if isinstance(client, type):
        return f"the class {client.__name__} itself, and not a client"
    kind = f"a {type(client).__name__}"
    if iscoroutine(client):
        client.close()  # Without this call, Python warns of a coroutine that was never awaited.
    if isawaitable(client):  # Clients of redis.asyncio are awaitable, too.
        return f"{kind} for asyncio"
    for name in _METHODS:
        if not callable(getattr(client, name, None)):
            return f"{kind}, which is not a client, because it has no method {name}"
    # A pipeline has all methods of a client, but only collects commands until `execute` is called.
    if callable(getattr(client, "execute", None)):
        return f"{kind}, which is not a client, because it sends no command before `execute`"
    return ""


def _in_words(error: BaseException) -> str:
    """Return the class and the text of `error`. The text alone lacks codes such as MOVED."""
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
