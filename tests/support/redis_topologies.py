"""Sentinels with a master and a replica, and a cluster of three masters: real server processes on loopback."""

from __future__ import annotations

import re
import socket
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from .redis_server import RedisServer, executable
from .until import block_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MASTER = "mymaster"  # as the documentation calls it
_SLOTS = 16384

# The callables of the documentation, as a user would copy them: `of_sentinels` and `of_cluster`.
(_clients,) = re.findall(
    r"```python\n(# myproject/robots_redis\.py\n.*?)```",
    (Path(__file__).parents[2] / "docs/fleets.md").read_text(encoding="utf-8"),
    re.DOTALL,
)
exec(_clients)  # noqa: S102


def free_ports(number: int) -> list[int]:
    """Ports of loopback that nobody listens on, nor on the port 10,000 above, which a cluster's nodes use."""
    with ExitStack() as stack:
        ports: list[int] = []
        while len(ports) < number:
            probe, bus = (stack.enter_context(socket.socket()) for _ in range(2))
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            with suppress(OSError, OverflowError):
                bus.bind(("127.0.0.1", port + 10_000))
                ports.append(port)
        return ports


def _agree(is_so: Callable[[], object]) -> None:
    """Wait until the servers say that `is_so`. Until they know each other they raise."""
    import redis

    block_until(is_so, despite=(redis.exceptions.RedisError, IndexError))


class Sentinels:
    """Three sentinels that watch a master with one replica."""

    def __init__(self, stack: ExitStack, kind: str) -> None:
        import redis

        directory = Path(stack.enter_context(TemporaryDirectory(prefix="sentinels-")))
        master, replica, *watchers = free_ports(5)
        self.master = _started(stack, RedisServer(port=master, kind=kind))
        self.replica = _started(stack, RedisServer("--replicaof", "127.0.0.1", str(master), port=replica, kind=kind))
        self.ports = watchers
        for port in watchers:
            config = directory / f"{port}.conf"
            config.write_text(
                f"sentinel monitor {MASTER} 127.0.0.1 {master} 2\nsentinel down-after-milliseconds {MASTER} 500\n"
                f"sentinel failover-timeout {MASTER} 3000\n"
            )
            _started(stack, RedisServer(port=port, config=config, kind=kind))
        clients = [stack.enter_context(redis.Redis(port=port)) for port in watchers]
        _agree(lambda: all(self._is_ready(client.sentinel_master(MASTER)) for client in clients))
        self._clients = clients

    @property
    def settings(self) -> dict[str, Any]:
        return _settings("sentinels", self.ports)

    @staticmethod
    def _is_ready(known: dict[str, Any]) -> bool:
        return (known["num-slaves"], known["num-other-sentinels"]) == (1, 2)

    def until_replica_is_master(self) -> None:
        port = self.replica.port
        _agree(lambda: all(client.sentinel_get_master_addr_by_name(MASTER)[1] == port for client in self._clients))


class Cluster:
    """Three masters that share the slots; none has a replica."""

    def __init__(self, stack: ExitStack, kind: str) -> None:
        import redis

        ports = free_ports(3)
        options = (
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            "1000",
            "--cluster-require-full-coverage",
            "no",
        )
        self.masters = [_started(stack, RedisServer(*options, port=port, kind=kind)) for port in ports]
        clients = [stack.enter_context(redis.Redis(port=port)) for port in ports]
        for number, client in enumerate(clients):
            first, last = number * _SLOTS // 3, (number + 1) * _SLOTS // 3
            client.execute_command("CLUSTER ADDSLOTS", *range(first, last))
            client.execute_command("CLUSTER MEET", "127.0.0.1", ports[0])
        _agree(lambda: all(client.execute_command("CLUSTER INFO")["cluster_known_nodes"] == "3" for client in clients))
        _agree(lambda: all(client.execute_command("CLUSTER INFO")["cluster_state"] == "ok" for client in clients))

    @property
    def settings(self) -> dict[str, Any]:
        return _settings("cluster", [master.port for master in self.masters])


def _settings(kind: str, ports: list[int]) -> dict[str, Any]:
    """The settings of a crawl that uses these servers."""
    return {
        "GBOT_ROBOTS_STORAGE": "redis",
        "GBOT_ROBOTS_REDIS_CLIENT": f"{__name__}.of_{kind}",
        f"REDIS_{kind.upper()}": [f"127.0.0.1:{port}" for port in ports],
    }


def _started(stack: ExitStack, server: RedisServer) -> RedisServer:
    stack.callback(server.close)
    return server


@contextmanager
def sentinels(kind: str = "redis") -> Iterator[Sentinels]:
    executable(kind)
    with ExitStack() as stack:
        yield Sentinels(stack, kind)


@contextmanager
def cluster(kind: str = "redis") -> Iterator[Cluster]:
    executable(kind)
    with ExitStack() as stack:
        yield Cluster(stack, kind)
