"""Choose the advice that is logged for the user when a Redis server or an SQLite file fails.

An error of a Redis client is recognised by the name of its class, or by its text. The name is not
always enough, because an error inside a script usually has the general class `ResponseError`. The
text is not always enough, because redis-py removes codes such as MOVED from the text.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_SETTINGS = "GBOT_ROBOTS_REDIS_URL or GBOT_ROBOTS_REDIS_CLIENT"
_PAGE = "https://scrapy-gbot-robots.readthedocs.io/fleets/"
_SCHEME = "the URL begins with rediss:// if this Redis uses TLS, and only then"

NO_CONNECTION = f"Check that this Redis runs and can be reached. Its address is in {_SETTINGS}"
# If only the client or only the server uses TLS, the server closes the connection, or waits for
# more bytes.
NO_ANSWER = (
    f"Check that this Redis runs and can be reached, and that {_SCHEME}. Its address is in "
    f"{_SETTINGS}"
)
URL = (
    "Correct the URL in GBOT_ROBOTS_REDIS_URL, or in REDIS_URL. In user and password, write "
    "%2F for a slash, %3F for ?, %23 for # and %25 for a percent sign"
)
OPTIONS = f"Correct the options in {_SETTINGS}"
CLIENT = (
    "Let the function in GBOT_ROBOTS_REDIS_CLIENT return a client such as redis.Redis(...), not a "
    f"pipeline, and not a client of redis.asyncio: {_PAGE}#sentinels-and-clusters"
)
FUNCTION = "Correct the function in GBOT_ROBOTS_REDIS_CLIENT. The traceback shows where it failed"
LOGIN = f"Put the right user and password into {_SETTINGS}: redis://USER:PASSWORD@HOST:PORT/DB"
RIGHTS = f"Give this user of Redis the rights that the plugin needs: {_PAGE}#redis"
MEMORY = (
    "Increase maxmemory of this Redis, or set its maxmemory-policy to volatile-lru. Then it evicts "
    "keys with a time to live, as all keys of the plugin have"
)
REPLICA = f"This Redis is a read-only replica. Put the address of its master into {_SETTINGS}"
CLUSTER = (
    "This Redis is a node of a cluster. Use GBOT_ROBOTS_REDIS_CLIENT to make a client of the whole "
    f"cluster, see {_PAGE}#sentinels-and-clusters"
)
CLUSTER_DOWN = (
    "Check that all nodes of the cluster run, and that the plugin's user of Redis has the rights "
    "for a cluster. If GBOT_ROBOTS_REDIS_URL names one of the nodes, use GBOT_ROBOTS_REDIS_CLIENT "
    f"instead: {_PAGE}#sentinels-and-clusters"
)
DATABASE = (
    f"Put the number of a database that this Redis has into {_SETTINGS}. If it is a node of a "
    f"cluster, see {_PAGE}#sentinels-and-clusters"
)
DISK = "This Redis cannot write to its disk. Free some space, or repair the disk"
LOADING = "This Redis has just started and is still loading its data. You need not do anything"
TLS = f"Check the certificates, and that {_SCHEME}"

NO_PASSWORD = f"This Redis has no password. Remove user and password from {_SETTINGS}"
CLIENTS = (
    "This Redis, or the client of this process, has too many connections. Increase maxclients of "
    "this Redis, or run fewer processes"
)
PROTECTED = (
    "This Redis accepts connections from its own machine only. Give it a password, and put the "
    f"password into {_SETTINGS}: redis://:PASSWORD@HOST:PORT/DB"
)
COMMANDS = (
    f"This Redis lacks commands that the plugin needs: {_PAGE}#redis. If it is a Sentinel, which "
    f"stores no data, use GBOT_ROBOTS_REDIS_CLIENT, see {_PAGE}#sentinels-and-clusters"
)
REPLICAS = (
    "This Redis does not write while it has fewer replicas than its min-replicas-to-write. Check "
    "its replicas"
)
OTHER_KEYS = (
    "Another program uses keys of the same names for other data. Put the number of another "
    f"database into {_SETTINGS}"
)
BUSY = "A script of some program keeps this Redis busy. End it if that lasts"
ANSWERED = (
    "This Redis runs, but refuses a command of the plugin. The reason is in the error. What the "
    f"plugin needs is listed on {_PAGE}#redis"
)


class _Kind(NamedTuple):
    """A group of errors that have the same remedy.

    An error belongs to the group if its class is in `classes`, or if its text contains one of the
    texts in `words`.
    """

    classes: frozenset[str]  # names of classes of exceptions
    words: tuple[str, ...]  # parts of error messages, in lower case
    advice: str  # the advice for the user, a sentence without a full stop


def _kind(classes: str, advice: str, *words: str) -> _Kind:
    return _Kind(frozenset(classes.split()), words, advice)


# The kinds of errors of a Redis client. If several kinds match an error, the advice of the first
# one is logged. So the more specific kinds come first, and the last kind matches every error reply
# of a server.
_KINDS = (
    _kind("", NO_PASSWORD, "without any password configured", "no password is set"),
    _kind(
        "AuthenticationError AuthenticationWrongNumberOfArgsError AuthorizationError",
        LOGIN,
        "noauth",
        "wrongpass",
        "authentication required",
    ),
    _kind(
        "NoPermissionError",
        RIGHTS,
        "noperm",
        "has no permissions",
        "can't access at least",
        "can't run this command",
    ),
    _kind("OutOfMemoryError", MEMORY, "maxmemory", "oom command"),
    _kind("ReadOnlyError", REPLICA, "read only replica", "readonly "),
    _kind("MasterDownError", REPLICA, "masterdown"),
    _kind(
        "ClusterDownError SlotNotCoveredError RedisClusterException",
        CLUSTER_DOWN,
        "clusterdown",
        "cluster mode is not enabled",
    ),
    _kind("MovedError AskError TryAgainError", CLUSTER, "moved ", "cluster mode"),
    _kind("ClusterCrossSlotError", CLUSTER, "crossslot", "hash to the same slot"),
    _kind("", DATABASE, "db index"),
    _kind("", DISK, "misconf"),
    _kind("BusyLoadingError", LOADING, "loading the dataset"),
    _kind("SSLError", TLS, "[ssl", "certificate"),
    _kind("MaxConnectionsError", CLIENTS, "max number of clients", "too many connections"),
    _kind("", PROTECTED, "protected mode"),
    _kind("", COMMANDS, "unknown command"),
    _kind("", REPLICAS, "noreplicas", "not enough good "),
    _kind("", OTHER_KEYS, "wrongtype", "wrong kind of value"),
    _kind("", BUSY, "busy running a script", "busy redis is busy"),
    _kind(
        "TimeoutError ConnectionResetError",
        NO_ANSWER,
        "reset by peer",
        "forcibly closed",
        "closed by server",
    ),
    # If the URL contains an option that does not exist, the client raises a TypeError.
    _kind("", OPTIONS, "unexpected keyword argument"),
    _kind("ResponseError", ANSWERED),
)


def on_redis(error: BaseException) -> str:
    """Return the advice for an error of a Redis client, as a sentence without a full stop."""
    classes = {cls.__name__ for cls in type(error).__mro__}
    text = str(error).lower()
    for kind in _KINDS:
        if not kind.classes.isdisjoint(classes) or any(word in text for word in kind.words):
            return kind.advice
    return NO_CONNECTION


FULL = "Free some space on the disk, or set GBOT_ROBOTS_SQLITE_PATH to a file on another disk"
LOCKED = (
    "Another process has kept this file locked for too long. End that process, or set "
    "GBOT_ROBOTS_SQLITE_PATH to a file for this crawl alone. Network shares are not supported"
)
NOT_WRITABLE = (
    "Set GBOT_ROBOTS_SQLITE_PATH to a file that this process can write, for example on a volume"
)
FILE = (
    "Free or repair the disk, or set GBOT_ROBOTS_SQLITE_PATH to a file that this process can write"
)

# The endings of the paths of an SQLite file ("") and of the files beside it.
_FILES = ("", ".lock", "-wal", "-shm")


def on_sqlite(error: BaseException, path: Path) -> tuple[str, str]:
    """Return the reason why the SQLite file at `path` cannot be used, and advice for the user.

    Both are sentences without a full stop. The reason is "" if nothing is known except the text of
    `error`.
    """
    text = str(error).lower()
    if "full" in text:
        return "", FULL
    if "locked" in text:
        return "", LOCKED
    why = _why_not_writable(path)
    return why, NOT_WRITABLE if why else FILE


def _why_not_writable(path: Path) -> str:
    """Return the reason why this process cannot write the file at `path`, or "".

    The process must also be able to write the files beside `path`, and to create them. If the
    directory does not exist, the nearest directory above it is examined.
    """
    directory = next((parent for parent in path.parents if parent.is_dir()), path.parent)
    try:
        if os.statvfs(directory).f_flag & os.ST_RDONLY:
            return f"{directory} is on a read-only file system"
    except (AttributeError, OSError):  # Windows has no `statvfs`.
        return ""
    if not os.access(directory, os.W_OK):
        return f"this process may not write in {directory}"
    for end in _FILES:
        file = f"{path}{end}"
        if os.path.exists(file) and not os.access(file, os.W_OK):  # noqa: PTH110 Path.exists may raise.
            return f"this process may not write to {file}"
    return ""
