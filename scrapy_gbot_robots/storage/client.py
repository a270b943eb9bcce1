"""The storage as a crawl uses it: which one it is, and calls that are never in the crawl's way.

Operations wanted: no call of a storage blocks the reactor, whatever the disk or the network does. A
storage that fails costs one warning and no page.

Plan: a few threads make the calls, those of one origin one after another. Each call has a deadline.
If the storage fails or is late, memory takes its place, and the storage is tried again every 30
seconds. When it answers, it is used again, and what memory has learnt meanwhile is forgotten: the
cache of answers still has it, and other processes fetch those few files once more. Memory needs no
thread, nor does a crawl that chose it.

A trial writes where the call failed. So a cluster is used again when the node of that call answers,
and not while the others do and the next call for that origin would fail again.

Leases: the client remembers the leases of this process, and gives them back at the end of the crawl
at the latest. The leases of a process that dies, or whose storage fails, end by themselves.

Warning: a thread cannot be ended. A call in it may end when no coroutine waits for it any more,
because the caller was cancelled or the deadline is over. A lease taken by such a late call is still
recorded in `_leases`.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from inspect import isabstract, isclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.project import data_path, inside_project
from twisted.internet.defer import CancelledError

from ..concurrency import Background, OneThread, pause, within
from ..core.urls import shown
from ..policy.outages import Entry
from ..settings import STORAGES, GbotSettings, project_folder
from . import advice
from .base import Storage, StorageError
from .memory import MemoryStorage

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_T = TypeVar("_T")

LEASE_SECS_PER_TIMEOUT = 2  # how long a lease lasts
TRY_AGAIN_SECS = 30.0
CALL_SECS = 10.0  # the longest wait for a call
CLOSE_SECS = 5.0  # how long a storage may delay the end of a crawl
THREADS = 8  # that make calls: a server far away serves so many origins at a time

_ADVICE = {"sqlite": advice.FILE, "redis": advice.NO_CONNECTION}  # if nothing more is known
_OWN_CLASS = "Look into the class that GBOT_ROBOTS_STORAGE names"
logger = logging.getLogger(__name__)


SQLITE_FILE = "gbot_robots/robots.sqlite"  # below the project's data directory


class StorageChoice(NamedTuple):
    """The storage that settings choose."""

    name: str  # "memory", "sqlite", "redis" or the path of a class
    opens: Callable[[], Storage]  # this may wait for a disk or a network
    words: str  # for people: which it is, where it is, and why
    file: Path | None = None  # of SQLite


def sqlite_of_project() -> Path | None:
    """Return the default file; None outside a project, so that a crawl leaves no stray file."""
    try:
        if not inside_project():
            return None
        return Path(data_path(SQLITE_FILE))
    except NotConfigured:
        return None
    except OSError:  # the data directory cannot be made: opening the storage will say so
        return project_folder().resolve() / ".scrapy" / SQLITE_FILE


def choice_of(settings: GbotSettings, crawler: Crawler) -> StorageChoice:
    """Return the storage that the settings name. Nothing is opened yet.

    Raises:
        ImportError: the storage's class or its driver is not installed.
        ValueError: a setting names an object that is no storage's class.
    """
    name = settings.storage
    if name == "redis":
        return redis_choice(settings, crawler.settings)
    if name == "memory":
        return StorageChoice(
            name, MemoryStorage, "memory: kept until the crawl ends, for this process"
        )
    if name != "sqlite":
        rule = f"a subclass of {Storage.__module__}.Storage that has all its methods"
        storage_cls = _loaded("GBOT_ROBOTS_STORAGE", rule, name, _is_storage)
        return StorageChoice(name, partial(build_from_crawler, storage_cls, crawler), name)
    path = settings.sqlite_path or sqlite_of_project()
    if path is None:
        why = "there is no scrapy.cfg here and GBOT_ROBOTS_SQLITE_PATH names no file"
        return StorageChoice(
            "memory", MemoryStorage, f"memory: {why}, so nothing is kept for the next run"
        )
    # only the module in use is imported
    from .sqlite import SqliteStorage  # noqa: PLC0415

    opens = partial(SqliteStorage, path, max_body=settings.max_bytes)
    return StorageChoice(name, opens, f"sqlite at {path.absolute()}", path.absolute())


def opened_choice_of(settings: GbotSettings, crawler: Crawler) -> StorageChoice:
    """Return the storage that the settings name; of SQLite, the file is made if there is none.

    Raises:
        ImportError: as `choice_of`.
        ValueError: as `choice_of`, or the file is another program's.
    """
    choice = choice_of(settings, crawler)
    if choice.file is not None:
        from .sqlite import ForeignFileError  # noqa: PLC0415  as above

        try:
            choice.opens().close()
        except ForeignFileError as error:
            raise ValueError(str(error)) from error
        except StorageError:  # if it lasts, the log says so when a look-up needs the storage
            pass
    return choice


def redis_choice(settings: GbotSettings, scrapy_settings: BaseSettings | None) -> StorageChoice:
    """Return the Redis of the settings, by its URL or by the user's client.

    Raises:
        ImportError: redis-py, or what makes the client, is not installed.
        ValueError: what makes the client cannot be called.
    """
    # redis-py is an extra
    from .redis import RedisStorage, client_of, place_of  # noqa: PLC0415

    path = settings.redis_client
    if path is None:
        server = place_of(settings.redis_url)
        make_client = partial(client_of, settings.redis_url)
    else:
        server = path
        makes = _loaded("GBOT_ROBOTS_REDIS_CLIENT", "a callable", path, callable)
        make_client = partial(makes, scrapy_settings)
    opens = partial(RedisStorage, server, make_client, max_body=settings.max_bytes)
    return StorageChoice("redis", opens, f"redis at {server}")


def _is_storage(value: object) -> bool:
    if not isclass(value) or isabstract(value):
        return False
    return issubclass(value, Storage)


def _loaded(setting: str, rule: str, path: str, fits: Callable[[object], bool]) -> Any:
    """Return what the dotted `path` names.

    Raises ImportError or ValueError, which name the setting.
    """
    try:
        value = load_object(path)
    except (ImportError, NameError) as error:
        raise ImportError(f"{setting} must name {rule}, got {path!r}: {error}") from error
    if not fits(value):
        raise ValueError(f"{setting} must name {rule}, got {path!r}, which is {value!r}")
    return value


class StorageClient:
    """Entries by origin, for the coroutines of one crawl.

    No method raises because the storage fails.

    Args:
        choice: the storage; the thread opens it at the first call.
        crawler: its stats count failed calls.
        lease_secs: how long a lease lasts.
    """

    def __init__(self, choice: StorageChoice, crawler: Crawler, lease_secs: float) -> None:
        self._choice = choice
        self._stats = crawler.stats
        self._lease_secs = lease_secs
        self._closed = False
        # if memory was chosen, or while the storage fails
        self._uses_memory = choice.opens is MemoryStorage
        self._memory = MemoryStorage()
        self._storage: Storage | None = None  # a thread opens it
        self._opening = Lock()
        self._threads: defaultdict[int, OneThread] = defaultdict(OneThread)
        self._background = Background()
        self._leases: dict[str, str] = {}  # origin -> token; the threads add to it, too

    @classmethod
    def of(cls, settings: GbotSettings, crawler: Crawler) -> StorageClient:
        """The storage of a crawl. Raises what `opened_choice_of` raises."""
        choice = opened_choice_of(settings, crawler)
        return cls(choice, crawler, LEASE_SECS_PER_TIMEOUT * settings.timeout_secs)

    def report(self) -> None:
        """Name the storage in the log, and count it in the stats."""
        kind = "other"
        if self._choice.name in STORAGES:
            kind = self._choice.name
        self._stats.set_value(f"gbot_robots/storage/{kind}", 1)
        self._stats.set_value("gbot_robots/storage/fallback", 0)
        logger.info("This crawl stores robots.txt files in %s", self._choice.words)

    async def get(self, origin: str) -> Entry | None:
        """The entry of `origin`, or None."""
        return await self._ask(origin, lambda storage: storage.get(origin))

    async def find(
        self, origin: str, is_good: Callable[[Entry | None], bool]
    ) -> tuple[Entry | None, bool]:
        """Return the entry of `origin`.

        If it is not good, take the lease, unless another process has that.

        A caller that has the lease (the second result) must fetch, and then call
        `store_and_release`. `is_good` is called in a thread.
        """

        def find(storage: Storage) -> tuple[Entry | None, bool]:
            entry, token = storage.find(origin, is_good, self._lease_secs)
            if token is not None:
                self._leases[origin] = token
            return entry, token is not None

        return await self._ask(origin, find)

    async def store_and_release(self, origin: str, entry: Entry | None) -> None:
        """Store an entry, if there is one, and give the lease back that `find` may have taken."""
        token = self._leases.pop(origin, "")
        await self._ask(origin, lambda storage: storage.store_and_release(origin, entry, token))

    async def close(self) -> None:
        """Give back all leases, and close the storage."""
        self._closed = True
        self._background.cancel()
        try:
            if self._storage is not None:
                await within(CLOSE_SECS, self._close(self._storage))
        except Exception as error:  # a storage of the user's may raise anything
            if not self._uses_memory:
                logger.warning(
                    "The robots.txt storage could not be closed properly: %s",
                    _in_words(error, CLOSE_SECS),
                )
        for thread in self._threads.values():
            thread.end()

    async def _close(self, storage: Storage) -> None:
        for thread in list(self._threads.values()):
            await thread.run(int)  # all earlier calls have ended

        def end() -> None:
            try:
                if not self._uses_memory:
                    for origin, token in list(self._leases.items()):
                        storage.release(origin, token)
            finally:
                storage.close()

        await self._threads[0].run(end)

    async def _ask(self, origin: str, act: Callable[[Storage], _T]) -> _T:
        """Let the storage act on an origin, or memory while the storage fails."""
        if not self._uses_memory:
            try:
                return await within(CALL_SECS, self._thread_of(origin).run(self._do, act))
            except CancelledError:  # Twisted's: the caller was cancelled
                raise
            except Exception as error:
                self._stats.inc_value("gbot_robots/storage/errors")
                self._fall_back(error, origin)
        return act(self._memory)

    def _thread_of(self, origin: str) -> OneThread:
        return self._threads[hash(origin) % THREADS]

    def _do(self, act: Callable[[Storage], _T]) -> _T:
        """In a thread: let the storage act, unless it has failed while the call waited."""
        if self._uses_memory:
            raise StorageError("it has just failed")
        return act(self._opened())

    def _opened(self) -> Storage:
        """In a thread: the storage."""
        with self._opening:
            if self._storage is None:
                self._storage = self._choice.opens()
            return self._storage

    def _fall_back(self, error: Exception, origin: str) -> None:
        """Let memory take the place of the storage, which has failed for `origin`."""
        if self._uses_memory or self._closed:
            return
        says_it_all = isinstance(error, (StorageError, TimeoutError))
        self._uses_memory = True
        self._memory = MemoryStorage()
        self._stats.set_value("gbot_robots/storage/fallback", 1)
        self._background.start(self._recover(origin))
        logger.warning(
            "The robots.txt storage failed: %s. Until it answers again, "
            "this process keeps robots.txt files in memory, for itself. %s",
            _in_words(error, CALL_SECS),
            getattr(error, "advice", "") or _ADVICE.get(self._choice.name, _OWN_CLASS),
            exc_info=None if says_it_all else error,
        )

    async def _recover(self, origin: str) -> None:
        """Write to the storage where it has failed: for `origin`. Use it again once that works.

        No origin has a brace, so no other process waits for this lease. A cluster, whose keys have
        the origin in braces, places it by what is before the brace: where the origin's own keys
        are.
        """

        def write() -> None:
            storage = self._opened()
            token = storage.lease(f"{origin}}}", 1)
            storage.release(f"{origin}}}", token or "")

        while self._uses_memory:
            await pause(TRY_AGAIN_SECS)
            try:
                await self._thread_of(origin).run(write)
                self._uses_memory = False
            except CancelledError:  # Twisted's: the crawl closes
                raise
            except Exception:  # the log has said so already
                self._stats.inc_value("gbot_robots/storage/errors")
        self._stats.set_value("gbot_robots/storage/fallback", 0)
        logger.info("The robots.txt storage answers again and is used again")


def _in_words(error: Exception, secs: float) -> str:
    return shown(str(error) or f"no answer within {secs:g} s", limit=500).rstrip(".")
