"""What a storage that fails advises, by real servers, real files and the kind of the error."""

import errno
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.storage import advice
from scrapy_gbot_robots.storage.base import StorageError
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.documentation import text_of
from ..support.entries import ORIGIN, RULES
from ..support.redis_server import RedisServer, full, redis_server, storage_at
from ..support.redis_topologies import free_ports
from ..support.rows import row, table
from ..support.tls import certificate_and_key

pytest.importorskip("redis")
NewServer = Callable[..., AbstractContextManager[RedisServer]]


@contextmanager
def no_connection(new_server: NewServer) -> Iterator[str]:
    (port,) = free_ports(1)
    yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def not_resolving(new_server: NewServer) -> Iterator[str]:
    yield "redis://nowhere.invalid:6379/0"


@contextmanager
def with_password(new_server: NewServer) -> Iterator[RedisServer]:
    import redis

    (port,) = free_ports(1)
    with new_server(port=port) as server:
        with redis.Redis.from_url(server.url) as client:
            client.config_set("requirepass", "word")
        yield server


@contextmanager
def no_password(new_server: NewServer) -> Iterator[str]:
    with with_password(new_server) as server:
        yield server.url


@contextmanager
def wrong_password(new_server: NewServer) -> Iterator[str]:
    with with_password(new_server) as server:
        yield server.url.replace("//", "//:another@")


@contextmanager
def needless_password(new_server: NewServer) -> Iterator[str]:
    (port,) = free_ports(1)
    with new_server(port=port) as server:
        yield server.url.replace("//", "//:word@")


@contextmanager
def needless_user(new_server: NewServer) -> Iterator[str]:
    (port,) = free_ports(1)
    with new_server(port=port) as server:
        yield server.url.replace("//", "//me:word@")


@contextmanager
def too_many_clients(new_server: NewServer) -> Iterator[str]:
    import redis

    (port,) = free_ports(1)
    with new_server(port=port) as server, redis.Redis.from_url(server.url) as client:
        client.config_set("maxclients", "1")
        yield server.url


@contextmanager
def too_few_replicas(new_server: NewServer) -> Iterator[str]:
    import redis

    (port,) = free_ports(1)
    with new_server(port=port) as server:
        with redis.Redis.from_url(server.url) as client:
            client.config_set("min-replicas-to-write", "1")
        yield server.url


@contextmanager
def no_rights(new_server: NewServer) -> Iterator[str]:
    import redis

    (port,) = free_ports(1)
    with new_server(port=port) as server:
        with redis.Redis.from_url(server.url) as client:
            commands = ["+@all", "-eval"]
            client.acl_setuser("me", enabled=True, passwords=["+word"], keys="*", commands=commands)
        yield server.url.replace("//", "//me:word@")


@contextmanager
def full_server(new_server: NewServer) -> Iterator[str]:
    with new_server() as server, full(server):
        yield server.url


@contextmanager
def replica(new_server: NewServer) -> Iterator[str]:
    import redis

    first, second = free_ports(2)
    with new_server(port=first), new_server(port=second) as server:
        with redis.Redis.from_url(server.url) as client:
            client.slaveof("127.0.0.1", first)
        yield server.url


@contextmanager
def cluster_nodes(new_server: NewServer, *slots: str) -> Iterator[str]:
    """A node of a cluster that has some slots; another node of the port above has the others."""
    import redis

    (port,) = free_ports(1)
    with new_server("--cluster-enabled", "yes", port=port) as server:
        with redis.Redis.from_url(server.url) as client:
            for command in slots:
                cast("Any", client).execute_command(*command.split())
        yield server.url


@contextmanager
def node_of_no_slots(new_server: NewServer) -> Iterator[str]:
    with cluster_nodes(new_server) as url:
        yield url


@contextmanager
def no_such_database(new_server: NewServer) -> Iterator[str]:
    (port,) = free_ports(1)
    with new_server(port=port) as server:
        yield server.url.replace("/0", "/99")


@contextmanager
def sentinel(new_server: NewServer) -> Iterator[str]:
    master, port = free_ports(2)
    with TemporaryDirectory(prefix="sentinel-") as directory:
        config = Path(directory, "sentinel.conf")
        config.write_text(f"sentinel monitor mymaster 127.0.0.1 {master} 1\n")
        with new_server(port=port, config=config) as server:
            yield server.url


@pytest.fixture
def moved(emptied: Any, kind: str) -> str:
    """URL of the one node of a whole cluster that the keys of `ORIGIN` are not on."""
    servers = emptied("cluster", kind)
    for server in servers.masters:
        with closing(storage_at(server.url)) as storage, suppress(StorageError):
            storage.get(ORIGIN)
            continue
        return str(server.url)
    raise AssertionError("each node has the keys")


REFUSED = ("ConnectionError", advice.NO_CONNECTION)


@table(
    "setting, class_name, text",
    row("no-connection", no_connection, *REFUSED),
    row("no-address", not_resolving, *REFUSED),
    row("no-password", no_password, "AuthenticationError", advice.LOGIN),
    row("wrong-password", wrong_password, "AuthenticationError", advice.LOGIN),
    row("needless-user", needless_user, "AuthenticationError", advice.LOGIN),
    row("needless-password", needless_password, "AuthenticationError", advice.NO_PASSWORD),
    row("too-many-clients", too_many_clients, "(Max)?Connections?Error", advice.CLIENTS),
    row("too-few-replicas", too_few_replicas, ".*Error", advice.REPLICAS),
    row("no-rights", no_rights, "NoPermissionError", advice.RIGHTS),
    row("full", full_server, "(OutOfMemory|Response)Error", advice.MEMORY),
    row("replica", replica, "(ReadOnly|Response)Error", advice.REPLICA),
    row("cluster-of-no-slots", node_of_no_slots, "ClusterDownError", advice.CLUSTER_DOWN),
    row("sentinel", sentinel, "ResponseError", advice.COMMANDS),
    row("no-such-database", no_such_database, "ResponseError", advice.DATABASE),
)
def test_redis_that_fails_is_told_by_its_kind(
    setting: Any, class_name: str, text: str, new_server: NewServer
) -> None:
    with setting(new_server) as url, closing(storage_at(url)) as storage:
        for act in (
            lambda: storage.find(ORIGIN, bool, 5),
            lambda: storage.store_and_release(ORIGIN, Entry(RULES), ""),
        ):
            with pytest.raises(StorageError) as raised:
                act()
            assert raised.value.advice == text
            said = f"cannot use Redis at {re.escape(storage.server)}: {class_name}: "
            assert re.match(said, str(raised.value))
            assert "word" not in str(raised.value).replace("password", "")


@table(
    "has_tls, scheme, advised",
    row("server-alone", True, "redis", "Check that this Redis runs and can be reached, and that "),
    row(
        "client-alone", False, "rediss", "Check that this Redis runs and can be reached, and that "
    ),
    row("unknown-certificate", True, "rediss", "Check the certificates, and that "),
)
def test_tls_that_does_not_fit_is_told(
    has_tls: bool, scheme: str, advised: str, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    kind, pem = "redis", None
    if has_tls:
        kind, pem = "system", tmp_path / "tls.pem"
        pem.write_bytes(certificate_and_key())
    with redis_server(port=port, kind=kind, tls=pem):
        url = f"{scheme}://127.0.0.1:{port}/0"
        with closing(storage_at(url)) as storage, pytest.raises(StorageError) as raised:
            storage.get(ORIGIN)
    advised += "the URL begins with rediss:// if this Redis uses TLS, and only then"
    assert raised.value.advice.startswith(advised)


def test_advice_for_a_sentinel_names_the_setting_and_the_chapter() -> None:
    (about,) = re.findall("If it is a Sentinel, .*", advice.COMMANDS)
    assert "GBOT_ROBOTS_REDIS_CLIENT" in about
    assert "fleets/#sentinels-and-clusters" in about


def test_node_of_a_cluster_is_told_though_redis_py_drops_the_word(moved: str) -> None:
    with closing(storage_at(moved)) as storage, pytest.raises(StorageError) as raised:
        storage.get(ORIGIN)
    assert "MovedError: " in str(raised.value)
    assert raised.value.advice == advice.CLUSTER
    assert "GBOT_ROBOTS_REDIS_CLIENT" in advice.CLUSTER
    assert "fleets/#sentinels-and-clusters" in advice.CLUSTER


class ClusterCrossSlotError(Exception):
    """As valkey-py has it, too."""


class ResponseError(Exception):
    """As valkey-py has it, too."""


class AskError(Exception):
    """As valkey-py has it, too."""


@table(
    "error, text",
    (AskError("11216 127.0.0.1:7001"), advice.CLUSTER),
    (ClusterCrossSlotError("Keys in request don't hash to the same slot"), advice.CLUSTER),
    (ValueError("CROSSSLOT Keys in request don't hash to the same slot"), advice.CLUSTER),
    (ValueError("SELECT is not allowed in cluster mode"), advice.CLUSTER),
    (ValueError("MOVED 11216 127.0.0.1:7001"), advice.CLUSTER),
    (ValueError("Cluster mode is not enabled on this node"), advice.CLUSTER_DOWN),
    (ValueError("Error running script: The user can't run this command or"), advice.RIGHTS),
    (ValueError("MISCONF Redis is configured to save RDB snapshots, but"), advice.DISK),
    (ValueError("Error 1 connecting to a: [SSL: WRONG_VERSION_NUMBER] wrong"), advice.TLS),
    (ValueError("Redis is loading the dataset in memory"), advice.LOADING),
    (ValueError("DENIED Redis is running in protected mode because"), advice.PROTECTED),
    (ValueError("ERR unknown command 'PTTL', with args"), advice.COMMANDS),
    (ValueError("WRONGTYPE Operation against a key holding the wrong kind"), advice.OTHER_KEYS),
    (ValueError("BUSY Redis is busy running a script. You can only"), advice.BUSY),
    (ValueError("Too many connections"), advice.CLIENTS),
    (ResponseError("a reply that nobody knows"), advice.ANSWERED),
    (ValueError("Error running script: @user_script: -READONLY You can't"), advice.REPLICA),
    (ValueError("a room that was removed, and downloading ssl"), advice.NO_CONNECTION),
    (OSError(errno.ECONNREFUSED, "Connection refused"), advice.NO_CONNECTION),
    (
        ValueError("Error while reading from a:1 : (104, 'Connection reset by peer')"),
        advice.NO_ANSWER,
    ),
    (ValueError("Connection closed by server."), advice.NO_ANSWER),
    (ValueError("Error 10054: existing connection was forcibly closed"), advice.NO_ANSWER),
    (TimeoutError("Timeout connecting to server"), advice.NO_ANSWER),
)
def test_error_of_another_client_is_told_by_its_class_or_its_text(
    error: Exception, text: str
) -> None:
    assert advice.on_redis(error) == text


# SQLite


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that looks like one of a read-only mount; a real one needs rights."""
    real = os.statvfs

    def statvfs(path: Any) -> Any:
        found = real(path)
        if Path(path) != tmp_path:
            return found
        values: list[int] = list(found)
        values[8] |= os.ST_RDONLY
        return os.statvfs_result(values)

    monkeypatch.setattr(os, "statvfs", statvfs)
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="this system has no statvfs")
def test_read_only_mount_is_told(read_only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", connect)
    path = read_only / "robots.sqlite"
    with pytest.raises(StorageError) as raised:
        SqliteStorage(path)
    ends = f"unable to open database file; {read_only} is on a read-only file system"
    assert str(raised.value) == f"cannot use {path}: {ends}"
    assert raised.value.advice == advice.NOT_WRITABLE


@table(
    "error, text",
    (sqlite3.OperationalError("database or disk is full"), advice.FULL),
    (sqlite3.OperationalError("database is locked"), advice.LOCKED),
    (sqlite3.OperationalError("disk I/O error"), advice.FILE),
)
def test_sqlite_that_fails_is_told_by_its_kind(error: Exception, text: str, tmp_path: Path) -> None:
    assert advice.on_sqlite(error, tmp_path / "robots.sqlite") == ("", text)


@pytest.mark.parametrize("end", ["", ".lock", "-wal", "-shm"])
def test_file_of_another_user_is_told(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "robots.sqlite"
    theirs = tmp_path / f"robots.sqlite{end}"
    theirs.touch()
    # Root, as whom tests may run, may write to each file. No process may write to a missing file.
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda file, mode: Path(file) != theirs and access(file, mode)
    )
    error = sqlite3.OperationalError("attempt to write a readonly database")
    told = f"this process may not write to {theirs}"
    assert advice.on_sqlite(error, path) == (told, advice.NOT_WRITABLE)


def test_texts_that_the_page_of_fleets_tells_to_look_for_are_in_the_warnings() -> None:
    rows = text_of("docs/fleets.md").partition("| in the WARNING |")[2].partition("\n\n")[0]
    quoted = re.findall(r"\| `([^`]+)` \|$", rows, re.MULTILINE)
    told = [advice.LOGIN, advice.RIGHTS, advice.MEMORY, advice.REPLICA, advice.CLUSTER]
    told += [advice.COMMANDS, advice.NO_ANSWER, advice.NO_CONNECTION]
    assert len(quoted) == len(told)
    assert [text for quote, text in zip(quoted, told, strict=True) if quote not in text] == []
