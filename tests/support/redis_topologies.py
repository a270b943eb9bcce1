"""Run sentinels with a master and a replica, or a cluster of three masters.

All of them are real server processes on loopback.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from .documentation import HOME, blocks
from .redis_server import RedisServer, executable, redis_server
from .until import block_until

MASTER = "mymaster"  # the name of the master in the documentation
_SLOTS = 16384

# This code is in the documentation, for users to copy. It defines `of_sentinels` and `of_cluster`.
_blocks = blocks(HOME / "docs/fleets.md", "python")
(_clients,) = (each for each in _blocks if each.text.startswith("# myproject/robots_redis.py\n"))
exec(_clients.text)  # noqa: S102


def free_ports(number: int) -> list[int]:
    """Return free ports of loopback, such that the ports 10,000 above them are also free.

    The nodes of a cluster use the ports 10,000 above.
    """
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
    """Wait until `is_so`, which asks the servers, returns true.

    The servers raise errors until they know one another.
    """
    import redis

    block_until(is_so, despite=(redis.exceptions.RedisError, IndexError))


class Topology(NamedTuple):
    """Redis servers that work together.

    Attributes:
        masters: the servers that accept writes.
        settings: the settings of a crawl that uses the servers.
        fail_over: waits until another server has become the master.
    """

    masters: list[RedisServer]
    settings: dict[str, Any]
    fail_over: Callable[[], None]


@contextmanager
def sentinels(kind: str = "redis") -> Iterator[Topology]:
    """Run three sentinels that watch a master with one replica."""
    import redis

    executable(kind)
    master, replica, *watchers = free_ports(5)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="sentinels-")))
        first = stack.enter_context(redis_server(port=master, kind=kind))
        follows = ("--replicaof", "127.0.0.1", str(master))
        stack.enter_context(redis_server(*follows, port=replica, kind=kind))
        for port in watchers:
            config = directory / f"{port}.conf"
            config.write_text(
                f"sentinel monitor {MASTER} 127.0.0.1 {master} 2\nsentinel down-after-milliseconds {MASTER} 500\n"
                f"sentinel failover-timeout {MASTER} 3000\n"
            )
            stack.enter_context(redis_server(port=port, config=config, kind=kind))
        clients = [stack.enter_context(redis.Redis(port=port)) for port in watchers]

        def all_know(**facts: int) -> bool:
            known = (client.sentinel_master(MASTER) for client in clients)
            return all(facts.items() <= each.items() for each in known)

        _agree(lambda: all_know(**{"num-slaves": 1, "num-other-sentinels": 2}))
        settings = _settings("sentinels", watchers)
        yield Topology([first], settings, lambda: _agree(lambda: all_know(port=replica)))


@contextmanager
def cluster(kind: str = "redis") -> Iterator[Topology]:
    """Run a cluster of three masters that share the hash slots. No master has a replica."""
    import redis

    executable(kind)
    ports = free_ports(3)
    options = "--cluster-enabled yes --cluster-node-timeout 1000 --cluster-require-full-coverage no".split()
    with ExitStack() as stack:
        servers = [redis_server(*options, port=port, kind=kind) for port in ports]
        masters = [stack.enter_context(server) for server in servers]
        clients = [stack.enter_context(redis.Redis(port=port)) for port in ports]
        for number, client in enumerate(clients):
            first, last = number * _SLOTS // 3, (number + 1) * _SLOTS // 3
            client.execute_command("CLUSTER ADDSLOTS", *range(first, last))
            client.execute_command("CLUSTER MEET", "127.0.0.1", ports[0])

        def all_say(fact: str, value: str) -> bool:
            facts = [client.execute_command("CLUSTER INFO") for client in clients]
            return {each[fact] for each in facts} == {value}

        _agree(lambda: all_say("cluster_known_nodes", "3"))
        _agree(lambda: all_say("cluster_state", "ok"))
        yield Topology(masters, _settings("cluster", ports), lambda: None)


def _settings(kind: str, ports: list[int]) -> dict[str, Any]:
    """Return the settings of a crawl that uses the servers on `ports`."""
    return {
        "GBOT_ROBOTS_STORAGE": "redis",
        "GBOT_ROBOTS_REDIS_CLIENT": f"{__name__}.of_{kind}",
        f"REDIS_{kind.upper()}": [f"127.0.0.1:{port}" for port in ports],
    }
