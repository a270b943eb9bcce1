"""What helps when a Redis or a SQLite file fails, by the kind of the error.

Errors of redis-py are told apart by the names of their classes, since those of valkey-py have the
same names. redis-py takes the code, such as MOVED, out of the text of an error. An error that a
script ends with has the class `ResponseError` as a rule, so its text counts, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_SETTINGS = "GBOT_ROBOTS_REDIS_URL or GBOT_ROBOTS_REDIS_CLIENT"
_PAGE = "https://scrapy-gbot-robots.readthedocs.io/fleets/"

NO_CONNECTION = f"Check that this Redis runs and can be reached; {_SETTINGS} names it"
LOGIN = f"Put the right user and password into {_SETTINGS}: redis://USER:PASSWORD@HOST:PORT/DB"
RIGHTS = f"Give this user of Redis the rights that the plugin needs: {_PAGE}#redis"
MEMORY = (
    "Raise maxmemory of this Redis, or let it evict keys by maxmemory-policy volatile-ttl: all "
    "keys of the plugin have a time to live"
)
REPLICA = f"This Redis is a read-only replica: let {_SETTINGS} name its master"
CLUSTER = (
    "This Redis is a node of a cluster: let GBOT_ROBOTS_REDIS_CLIENT make a client of the whole "
    f"cluster, see {_PAGE}#sentinels-and-clusters"
)
CLUSTER_DOWN = f"Check that all nodes of the cluster run. {CLUSTER}"
DATABASE = (
    f"Let {_SETTINGS} name a database that this Redis has. If it is a node of a cluster, see "
    f"{_PAGE}#sentinels-and-clusters"
)
DISK = "Free or repair the disk of this Redis, which refuses to write"
LOADING = "This Redis has just started and reads its data; nothing has to be done"
TLS = "Check the certificates, and that the URL begins with rediss:// if this Redis uses TLS"


class _Kind(NamedTuple):
    """Errors against which the same helps."""

    classes: frozenset[str]  # their names
    words: tuple[str, ...]  # in the texts of others, in lower case
    advice: str


def _kind(classes: str, advice: str, *words: str) -> _Kind:
    return _Kind(frozenset(classes.split()), words, advice)


# The first kind that fits counts: a wrong password is a `ConnectionError`, too.
_KINDS = (
    _kind(
        "AuthenticationError AuthenticationWrongNumberOfArgsError AuthorizationError",
        LOGIN,
        "noauth",
        "wrongpass",
        "authentication required",
    ),
    _kind("NoPermissionError", RIGHTS, "noperm", "has no permissions", "can't access at least"),
    _kind("OutOfMemoryError", MEMORY, "maxmemory", "oom command"),
    _kind("ReadOnlyError", REPLICA, "read only replica", "readonly "),
    _kind("MasterDownError", REPLICA, "masterdown"),
    _kind("MovedError AskError TryAgainError", CLUSTER, "moved ", "cluster mode"),
    _kind("ClusterCrossSlotError", CLUSTER, "crossslot", "hash to the same slot"),
    _kind(
        "ClusterDownError SlotNotCoveredError RedisClusterException", CLUSTER_DOWN, "clusterdown"
    ),
    _kind("", DATABASE, "db index"),
    _kind("", DISK, "misconf"),
    _kind("BusyLoadingError", LOADING, "loading the dataset"),
    _kind("SSLError", TLS, "[ssl", "certificate"),
)


def on_redis(error: BaseException) -> str:
    """Return what helps against an error of a client of Redis."""
    classes = {cls.__name__ for cls in type(error).__mro__}
    text = str(error).lower()
    for kind in _KINDS:
        if not kind.classes.isdisjoint(classes) or any(word in text for word in kind.words):
            return kind.advice
    return NO_CONNECTION


FULL = "Free the disk, or set GBOT_ROBOTS_SQLITE_PATH to a file on another one"
LOCKED = (
    "Another process locks this file for long: end it, or set GBOT_ROBOTS_SQLITE_PATH to a file "
    "of this crawl's own. A network share is not supported"
)
NOT_WRITABLE = (
    "Set GBOT_ROBOTS_SQLITE_PATH to a file that this process can write, on a volume for example"
)
FILE = (
    "Free or repair the disk, or set GBOT_ROBOTS_SQLITE_PATH to a file that this process can write"
)


def on_sqlite(error: BaseException, path: Path) -> tuple[str, str]:
    """Return what is wrong with the file at `path`, if that can be seen, and what helps.

    The first is "" if the text of the error contains all that is known.
    """
    text = str(error).lower()
    if "full" in text:
        return "", FULL
    if "locked" in text:
        return "", LOCKED
    why = _why_not_writable(path)
    return why, NOT_WRITABLE if why else FILE


def _why_not_writable(path: Path) -> str:
    """Return why nothing can be written beside `path`; "" if nothing speaks against it."""
    directory = next((each for each in path.parents if each.is_dir()), path.parent)
    try:
        if os.statvfs(directory).f_flag & os.ST_RDONLY:
            return f"{directory} is on a read-only file system"
    except (AttributeError, OSError):  # Windows has no such call
        return ""
    if not os.access(directory, os.W_OK):
        return f"this process may not write in {directory}"
    return ""
