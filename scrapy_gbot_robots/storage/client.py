"""Choose the storage of a crawl by its settings, and call the storage without blocking the crawl.

A storage (class `Storage` in base.py) keeps an *entry* for each origin. The entry contains a copy
of the robots.txt. A slow disk or network must not block the reactor, so threads call the storage.
All calls for one origin are made in the same thread, one after another. A storage in memory is
called without a thread.

If a call fails, or takes longer than 10 seconds, the crawl logs a warning, and keeps new entries in
memory. It then tries the storage every 30 seconds. When the storage works again, the crawl uses it,
and drops the entries in memory. The crawl itself no longer needs these entries, because it also has
a cache of answers. Other processes have to fetch these robots.txt files again.

A *lease* is the right of this process to fetch one robots.txt. `StorageClient` records its leases,
and ends all of them when the crawl closes. If the process is killed or the storage fails, its
leases end when their time is over.

Warning: a thread cannot be stopped. If a call of a storage takes too long, or the coroutine that
awaits it is cancelled, the call may go on in its thread, and may even take a lease. `StorageClient`
records this lease, too.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from inspect import isabstract, isclass, iscoroutinefunction, signature
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
from ..settings import CLIENT_OF_SCRAPY_REDIS, STORAGES, GbotSettings, project_folder
from . import advice
from .base import Storage, StorageError
from .memory import MemoryStorage

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_T = TypeVar("_T")

# The duration of a lease is GBOT_ROBOTS_TIMEOUT_SECS times this number.
LEASE_SECS_PER_TIMEOUT = 2
TRY_AGAIN_SECS = 30.0
CALL_SECS = 10.0  # A call to the storage that takes longer is treated as a failure.
CLOSE_SECS = 5.0  # When a crawl closes, it waits at most this long for the storage to close.
# At most this number of calls to the storage run at the same time, each in its own thread. Several
# threads are used because each call takes long if the storage is a distant Redis.
THREADS = 8

# The advice that is logged if a storage fails and its exception contains no advice. The keys are
# the names of storages.
_ADVICE = {"sqlite": advice.FILE, "redis": advice.NO_ANSWER}
# The advice that is logged if a storage raises an exception other than StorageError and
# TimeoutError. Such an exception shows a bug. The keys are the names of storages.
_ADVICE_ON_BUG = {"sqlite": advice.FILE, "redis": advice.FUNCTION}
_OWN_CLASS = "Check the class that GBOT_ROBOTS_STORAGE names"
_NO_SCRAPY_REDIS = (
    "The project sets REDIS_HOST, REDIS_PORT, REDIS_DB or REDIS_PARAMS, which are settings of "
    "scrapy-redis. Install it, or set GBOT_ROBOTS_REDIS_URL"
)
logger = logging.getLogger(__name__)


SQLITE_FILE = "gbot_robots/robots.sqlite"  # The path is relative to the project's data directory.


class StorageChoice(NamedTuple):
    """The storage that the settings choose."""

    name: str  # "memory", "sqlite", "redis" or the dotted path of a class
    opens: Callable[[], Storage]  # a function that opens and returns the storage
    words: str  # a description for the log, such as "sqlite at /data/robots.sqlite"
    file: Path | None = None  # the path of the SQLite file; None for all other storages


def sqlite_of_project() -> Path | None:
    """Return the default path of the SQLite file, which is in the data directory of the project.

    Return None outside a project. If there were a default path there too, each crawl would leave a
    file in the directory in which the user happens to start it.
    """
    try:
        if not inside_project():
            return None
        return Path(data_path(SQLITE_FILE))
    except NotConfigured:
        return None
    except OSError:
        # The data directory cannot be created. When the storage is opened with the returned path,
        # it raises an error with advice for the user.
        return project_folder().resolve() / ".scrapy" / SQLITE_FILE


def choice_of(settings: GbotSettings, crawler: Crawler, *, creates: bool = True) -> StorageChoice:
    """Return the storage that the settings choose, without opening it.

    Args:
        settings: the plugin's settings.
        crawler: the crawl.
        creates: whether tables are created in an empty SQLite file when it is opened.

    Raises:
        ImportError: the storage's class or its driver is not installed.
        ValueError: a setting names an object that is not the class of a storage.
    """
    name = settings.storage
    if name == "redis":
        return redis_choice(settings, crawler.settings)
    if name == "memory":
        return StorageChoice(
            name, MemoryStorage, "memory, which only this process uses, until the crawl ends"
        )
    if name != "sqlite":
        rule = f"a subclass of {Storage.__module__}.Storage that has all its methods"
        storage_cls = _loaded("GBOT_ROBOTS_STORAGE", rule, name, _is_storage)
        return StorageChoice(name, partial(build_from_crawler, storage_cls, crawler), name)
    path = settings.sqlite_path or sqlite_of_project()
    if path is None:
        why = "there is no scrapy.cfg here and GBOT_ROBOTS_SQLITE_PATH names no file"
        return StorageChoice(
            "memory", MemoryStorage, f"memory, because {why}. Nothing is kept for the next run"
        )
    # SQLite is imported only if it is used.
    from .sqlite import SqliteStorage  # noqa: PLC0415

    opens = partial(SqliteStorage, path, max_body=settings.max_bytes, creates=creates)
    return StorageChoice(name, opens, f"sqlite at {path.absolute()}", path.absolute())


def opened_choice_of(settings: GbotSettings, crawler: Crawler) -> StorageChoice:
    """Return the storage that the settings choose. If it is SQLite, open and close its file once.

    This creates the file if it does not exist, and checks that it is a file of this plugin.

    Raises:
        ImportError: the storage's class or its driver is not installed.
        ValueError: a setting names an object that is not the class of a storage, or the SQLite file
            belongs to another program.
    """
    choice = choice_of(settings, crawler)
    if choice.file is not None:
        from .sqlite import ForeignFileError  # noqa: PLC0415

        try:
            choice.opens().close()
        except ForeignFileError as error:
            raise ValueError(str(error)) from error
        except StorageError:
            # The file cannot be opened now. If it still cannot be opened at the first look-up, a
            # warning is logged then.
            pass
    return choice


def redis_choice(settings: GbotSettings, scrapy_settings: BaseSettings | None) -> StorageChoice:
    """Return the `StorageChoice` for the Redis that the settings choose.

    If GBOT_ROBOTS_REDIS_CLIENT is set, it names a callable that makes the client. If it is not set,
    GBOT_ROBOTS_REDIS_URL is the URL of the server.

    Args:
        settings: the plugin's settings.
        scrapy_settings: all settings of the crawl, which are passed to the callable.

    Raises:
        ImportError: redis-py is not installed, or GBOT_ROBOTS_REDIS_CLIENT cannot be imported.
        ValueError: GBOT_ROBOTS_REDIS_CLIENT does not name a callable that takes the settings.
    """
    # This import is here because redis-py is an optional dependency.
    from .redis import RedisStorage, client_of, place_of  # noqa: PLC0415

    path = settings.redis_client
    if path is None:
        server = place_of(settings.redis_url)
        make_client = partial(client_of, settings.redis_url)
    else:
        server = path
        try:
            makes = _loaded("GBOT_ROBOTS_REDIS_CLIENT", "a callable", path, callable)
        except ImportError as error:
            if path != CLIENT_OF_SCRAPY_REDIS:
                raise
            raise ImportError(f"{error}. {_NO_SCRAPY_REDIS}") from error
        _check_call(path, makes)
        make_client = partial(makes, scrapy_settings)
    opens = partial(RedisStorage, server, make_client, max_body=settings.max_bytes)
    return StorageChoice("redis", opens, f"redis at {server}")


def _check_call(path: str, makes: Callable[..., Any]) -> None:
    """Check that the callable `makes`, whose dotted path is `path`, takes the settings of a crawl.

    Raises:
        ValueError: `makes` cannot be called in this way, is a coroutine function, or belongs to the
            package redis or valkey.
    """
    name = "GBOT_ROBOTS_REDIS_CLIENT"
    if iscoroutinefunction(makes):
        raise ValueError(f"{name} must not name a coroutine function, got {path!r}")
    package = str(getattr(makes, "__module__", "")).partition(".")[0]
    # A class of these packages, such as redis.Redis, does not take the settings of a crawl.
    if package in {"redis", "valkey"}:
        must = f"{name} must name a function of your own that takes the settings of the crawl"
        raise ValueError(f"{must} and returns a client, got {path!r}, which belongs to {package}")
    try:
        parameters = signature(makes)
    except ValueError:  # Some callables that are written in C have no signature.
        return
    try:
        parameters.bind(None)
    except TypeError as error:
        must = f"{name} must name a callable with one argument, the settings of the crawl"
        raise ValueError(f"{must}, got {path!r}: {error}") from error


def _is_storage(value: object) -> bool:
    if not isclass(value) or isabstract(value):
        return False
    return issubclass(value, Storage)


def _loaded(setting: str, rule: str, path: str, fits: Callable[[object], bool]) -> Any:
    """Import and return the object at the dotted `path`.

    Args:
        setting: the name of the setting that contains the path. It is used in error messages.
        rule: a description of a suitable object, such as "a callable". It is used in error
            messages.
        path: the path.
        fits: returns whether an object is suitable.

    Raises:
        ImportError: there is no object at `path`.
        ValueError: the object is not suitable.
    """
    try:
        value = load_object(path)
    except (ImportError, NameError) as error:
        raise ImportError(f"{setting} must name {rule}, got {path!r}: {error}") from error
    if not fits(value):
        raise ValueError(f"{setting} must name {rule}, got {path!r}, which is {value!r}")
    return value


class StorageClient:
    """Calls the storage of a crawl without blocking the crawl.

    The coroutines of this class do the same as the methods of `Storage`. But if the storage fails,
    they raise no exception, and use memory instead.

    Args:
        choice: the storage. It is opened at the first call, in a thread.
        crawler: the crawl. Its stats count the calls that failed.
        lease_secs: the duration of a lease in seconds.
    """

    def __init__(self, choice: StorageChoice, crawler: Crawler, lease_secs: float) -> None:
        self._choice = choice
        self._stats = crawler.stats
        self._lease_secs = lease_secs
        self._closed = False
        # True if the settings choose memory. Also True while the storage does not work.
        self._uses_memory = choice.opens is MemoryStorage
        self._memory = MemoryStorage()
        self._storage: Storage | None = None  # None until a thread has opened the storage
        self._opening = Lock()
        self._threads: defaultdict[int, OneThread] = defaultdict(OneThread)
        self._background = Background()
        # The leases that this process holds. A key is an origin, and its value is the token with
        # which the lease is ended. The threads that call the storage add the items.
        self._leases: dict[str, str] = {}

    @classmethod
    def of(cls, settings: GbotSettings, crawler: Crawler) -> StorageClient:
        """Return the client for the storage that the settings of a crawl choose.

        Raises:
            ImportError: the storage's class or its driver is not installed.
            ValueError: a setting names an object that is not the class of a storage, or the SQLite
                file belongs to another program.
        """
        choice = opened_choice_of(settings, crawler)
        return cls(choice, crawler, LEASE_SECS_PER_TIMEOUT * settings.timeout_secs)

    def report(self) -> None:
        """Log which storage the crawl uses, and set the stats that describe it."""
        kind = "other"
        if self._choice.name in STORAGES:
            kind = self._choice.name
        self._stats.set_value(f"gbot_robots/storage/{kind}", 1)
        self._stats.set_value("gbot_robots/storage/fallback", 0)
        logger.info("This crawl stores robots.txt files in %s", self._choice.words)

    async def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`; None if there is no entry, or if it cannot be decoded."""
        return await self._ask(origin, lambda storage: storage.get(origin))

    async def find(
        self, origin: str, is_good: Callable[[Entry | None], bool]
    ) -> tuple[Entry | None, bool]:
        """Return the entry of `origin`. Take the lease if a fetch is needed.

        Args:
            origin: the origin as a string.
            is_good: a function that takes the entry, or None if there is no entry, and returns
                whether the crawl can go on without a fetch. It is called in a thread.

        Returns:
            The entry or None, and whether the lease was taken. If it was taken, the caller must
            fetch the robots.txt and then call `store_and_release`.
        """

        def find(storage: Storage) -> tuple[Entry | None, bool]:
            entry, token = storage.find(origin, is_good, self._lease_secs)
            if token is not None:
                self._leases[origin] = token
            return entry, token is not None

        return await self._ask(origin, find)

    async def store_and_release(self, origin: str, entry: Entry | None) -> None:
        """Store `entry` for `origin`, and end the lease of `origin` that `find` has taken.

        If `entry` is None, nothing is stored.
        """
        token = self._leases.pop(origin, "")
        await self._ask(origin, lambda storage: storage.store_and_release(origin, entry, token))

    async def close(self) -> None:
        """End all leases of this process, and close the storage."""
        self._closed = True
        self._background.cancel()
        try:
            if self._storage is not None:
                await within(CLOSE_SECS, self._close(self._storage), _no_answer(CLOSE_SECS))
        except Exception as error:  # A user's own storage may raise any exception.
            if not self._uses_memory:
                logger.warning(
                    "The robots.txt storage could not be closed properly: %s",
                    _in_words(error),
                )
        for thread in self._threads.values():
            thread.end()

    async def _close(self, storage: Storage) -> None:
        for thread in list(self._threads.values()):
            # Wait until the thread has made all earlier calls. `int` itself has no effect.
            await thread.run(int)

        def end() -> None:
            try:
                if not self._uses_memory:
                    for origin, token in list(self._leases.items()):
                        storage.release(origin, token)
            finally:
                storage.close()

        await self._threads[0].run(end)

    async def _ask(self, origin: str, act: Callable[[Storage], _T]) -> _T:
        """Call `act` with the storage, in the thread for `origin`, and return the result of `act`.

        If the storage fails, call `act` with the storage in memory instead.
        """
        if not self._uses_memory:
            try:
                work = self._thread_of(origin).run(self._do, act)
                return await within(CALL_SECS, work, _no_answer(CALL_SECS))
            # Twisted's CancelledError is a subclass of Exception, but it does not mean that the
            # storage has failed.
            except CancelledError:
                raise
            except Exception as error:
                self._stats.inc_value("gbot_robots/storage/errors")
                self._fall_back(error, origin)
        return act(self._memory)

    def _thread_of(self, origin: str) -> OneThread:
        return self._threads[hash(origin) % THREADS]

    def _do(self, act: Callable[[Storage], _T]) -> _T:
        """Call `act` with the storage, and return its result. This method runs in a thread.

        Raises:
            StorageError: the crawl no longer uses the storage, because an earlier call has failed.
        """
        if self._uses_memory:
            raise StorageError("it has just failed")
        return act(self._opened())

    def _opened(self) -> Storage:
        """Return the storage. The first call opens the storage. This method runs in a thread."""
        with self._opening:
            if self._storage is None:
                self._storage = self._choice.opens()
            return self._storage

    def _fall_back(self, error: Exception, origin: str) -> None:
        """Use memory instead of the storage, until the storage works again.

        Args:
            error: the exception of the call that has failed.
            origin: the origin for which the storage was called.
        """
        if self._uses_memory or self._closed:
            return
        is_expected = isinstance(error, (StorageError, TimeoutError))
        advices = _ADVICE
        why = _in_words(error)
        if not is_expected:
            advices = _ADVICE_ON_BUG
            if str(error):
                why = f"{type(error).__name__}: {why}"
        self._uses_memory = True
        self._memory = MemoryStorage()
        self._stats.set_value("gbot_robots/storage/fallback", 1)
        self._background.start(self._recover(origin))
        logger.warning(
            "The robots.txt storage failed: %s. Until it works again, "
            "this process keeps robots.txt files in its own memory. %s",
            why,
            getattr(error, "advice", "") or advices.get(self._choice.name, _OWN_CLASS),
            exc_info=None if is_expected else error,
        )

    async def _recover(self, origin: str) -> None:
        """Try the storage every 30 seconds, and use it again when it works.

        A trial takes a lease and ends it. A lease of `origin` itself would delay other processes.
        So the trial takes the lease of a string that is not an origin: `origin` followed by "}".
        In a cluster of Redis servers, this lease is on the same server as the lease of `origin`.
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
            except CancelledError:  # The crawl is closing.
                raise
            except Exception:  # The first failure was logged. Further failures are only counted.
                self._stats.inc_value("gbot_robots/storage/errors")
        self._stats.set_value("gbot_robots/storage/fallback", 0)
        logger.info("The robots.txt storage works again, so the crawl uses it again")


def _no_answer(secs: float) -> str:
    return f"no answer within {secs:g} s"


def _in_words(error: Exception) -> str:
    """Return the text of `error`, or the name of its class if it has no text."""
    return shown(str(error) or type(error).__name__, limit=500).rstrip(".")
