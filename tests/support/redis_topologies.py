"""Sentinels with a master and a replica, and a cluster of three masters: real server processes on loopback."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from .documentation import HOME, blocks
from .redis_server import RedisServer, executable, redis_server
from .until import block_until

MASTER = "mymaster"  # as the documentation calls it
_SLOTS = 16384

# The callables of the documentation, as a user would copy them: `of_sentinels` and `of_cluster`.
_blocks = blocks(HOME / "docs/fleets.md", "python")
(_clients,) = (each for each in _blocks if each.text.startswith("# myproject/robots_redis.py\n"))
exec(_clients.text)  # noqa: S102


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


class Topology(NamedTuple):
    """The servers that take writes, the settings of a crawl that uses them, and what waits until another has taken over."""

    masters: list[RedisServer]
    settings: dict[str, Any]
    fail_over: Callable[[], None]


@contextmanager
def sentinels(kind: str = "redis") -> Iterator[Topology]:
    """Three sentinels that watch a master with one replica."""
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
    """Three masters that share the slots; none has a replica."""
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
    """The settings of a crawl that uses these servers."""
    return {
        "GBOT_ROBOTS_STORAGE": "redis",
        "GBOT_ROBOTS_REDIS_CLIENT": f"{__name__}.of_{kind}",
        f"REDIS_{kind.upper()}": [f"127.0.0.1:{port}" for port in ports],
    }
