"""The client for each kind of Redis: one server, a master that sentinels know, or a cluster.

The URL decides which. No connection is made here: redis-py asks a sentinel, or a node of a cluster, when the first
command is sent, and again whenever the master has changed.
Source: redis-py's URLs, with the schemes that other clients use for sentinels and clusters.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from .base import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMES: Final = ("redis", "rediss", "unix")  # the last one for one server only
KINDS: Final = ("sentinel", "cluster")  # redis+sentinel://, rediss+cluster:// and so on

_SENTINEL: Any = Sentinel  # redis-py has no types for it
_NODE: Any = ClusterNode
# By default redis-py agrees on a protocol and introduces itself before the first command: up to four round trips, which is
# much for a Redis that is far away. The options in a URL count for more.
_SHORT_HANDSHAKE: Final[dict[str, Any]] = {
    "protocol": 2,
    **(
        {"driver_info": None}
        if "driver_info" in signature(redis.Redis).parameters
        else {"lib_name": None, "lib_version": None}  # before redis-py 7.2
    ),
}
_SENTINEL_PORT: Final = 26379
_PORT: Final = 6379


class Client(NamedTuple):
    """How to use a Redis.

    Attributes:
        redis: sends commands.
        server: what to call the server in the log; without a password.
        pools: returns the connection pools that are in use now.
        is_cluster: whether keys lie on several nodes.
    """

    redis: Any
    server: str
    pools: Callable[[], list[Any]]
    is_cluster: bool = False


def client_for(url: str, *, timeout: float) -> Client:
    """Return a client for the Redis that `url` names; `timeout` bounds each wait for a server, in seconds.

    Raises:
        StorageError: `url` is no Redis URL; the message says what it lacks, without its password.
    """
    try:
        return _client_for(url, timeout)
    except ValueError as error:
        raise StorageError(f"not a Redis URL: {error}") from error


def _client_for(url: str, timeout: float) -> Client:
    limits: dict[str, Any] = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "retry": Retry(NoBackoff(), 0),  # a connection that the server has dropped is noticed before it is used
        "decode_responses": False,  # entries are bytes
    }
    scheme, _, rest = url.partition("://")
    plain, _, kind = scheme.partition("+")
    if not kind:
        return _of_one(url, limits)
    if plain not in SCHEMES[:2] or kind not in KINDS:
        raise ValueError(f"{scheme}:// is no scheme of Redis")
    where = _Servers.of(plain, rest, _SENTINEL_PORT if kind == "sentinel" else _PORT)
    return {"sentinel": _of_sentinels, "cluster": _of_cluster}[kind](where, limits)


def _of_one(url: str, limits: dict[str, Any]) -> Client:
    pool = redis.ConnectionPool.from_url(url, **_SHORT_HANDSHAKE, **limits)
    pool.connection_kwargs["decode_responses"] = False  # whatever the URL says
    where = pool.connection_kwargs
    server = where.get("path") or f"{where.get('host', 'localhost')}:{where.get('port', _PORT)}"
    return Client(redis.Redis(connection_pool=pool), f"{server}, database {where.get('db', 0)}", lambda: [pool])


class _Servers(NamedTuple):
    """What a URL says of several servers: where they are, the path, and the options of connections."""

    hosts: list[tuple[str, int]]
    path: list[str]
    options: dict[str, Any]

    @classmethod
    def of(cls, plain: str, rest: str, port: int) -> _Servers:
        authority, _, path_and_query = rest.partition("/")
        path, _, query = path_and_query.partition("?")
        login, at, names = authority.rpartition("@")
        if not at:
            names = authority.partition("?")[0]
        # redis-py reads the other parts of the URL, as for one server
        first = f"{plain}://{login}{at}localhost/0?{query or authority.partition('?')[2]}"
        options = dict(redis.ConnectionPool.from_url(first, **_SHORT_HANDSHAKE).connection_kwargs)
        if plain == "rediss":
            options["ssl"] = True
        for name in ("host", "port", "db"):
            options.pop(name, None)
        hosts = [_host(name, port) for name in names.split(",") if name]
        if not hosts:
            raise ValueError("it names no server")
        return cls(hosts, [unquote(part) for part in path.split("/") if part], options)

    def __str__(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.hosts)


def _host(name: str, port: int) -> tuple[str, int]:
    split = urlsplit(f"//{name}")
    if not split.hostname:
        raise ValueError(f"{name!r} is no server")
    return split.hostname, split.port or port


def _of_sentinels(where: _Servers, limits: dict[str, Any]) -> Client:
    """A client for the master that the sentinels know by the name in the path: redis+sentinel://h1,h2/name/0."""
    if not where.path:
        raise ValueError("it does not name the master: redis+sentinel://host1,host2/NAME/0")
    name, database = where.path[0], int(where.path[1]) if len(where.path) > 1 else 0
    options = {**where.options, **limits, "db": database}
    of_sentinels = _SHORT_HANDSHAKE | {key: value for key, value in limits.items() if key != "decode_responses"}
    of_sentinels |= {key: value for key, value in where.options.items() if key.startswith("ssl")}
    sentinel: Any = _SENTINEL(where.hosts, sentinel_kwargs=of_sentinels, **options)
    client = sentinel.master_for(name)
    pools = lambda: [client.connection_pool, *(each.connection_pool for each in sentinel.sentinels)]  # noqa: E731
    return Client(client, f"{name} of sentinels {where}, database {database}", pools)


class _Cluster:
    """A client for a cluster. redis-py's own asks the nodes as soon as it is made; this one makes it on first use."""

    def __init__(self, where: _Servers, limits: dict[str, Any]) -> None:
        self._where = where
        self._limits = limits
        self._client: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._client is None:
            self._client = RedisCluster(
                startup_nodes=[_NODE(host, port) for host, port in self._where.hosts],
                require_full_coverage=False,  # a node that is away costs its own keys only
                **{**self._where.options, **self._limits, "retry": Retry(NoBackoff(), 1)},  # a slot may have moved
            )
        return getattr(self._client, name)

    def pools(self) -> list[Any]:
        nodes = [] if self._client is None else self._client.get_nodes()
        return [node.redis_connection.connection_pool for node in nodes if node.redis_connection is not None]


def _of_cluster(where: _Servers, limits: dict[str, Any]) -> Client:
    cluster = _Cluster(where, limits)
    return Client(cluster, f"cluster {where}", cluster.pools, is_cluster=True)
