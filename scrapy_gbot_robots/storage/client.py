"""The storage as a crawl uses it: which one it is, and calls that are never in the crawl's way.

Operations wanted: no call of a storage blocks the reactor, whatever the disk or the network does.
Calls that come together cost one transaction or one round trip. A storage that fails costs one
warning and no page.

Plan: one thread makes all calls. While it works on a batch, calls wait in a queue; all of them are
the next batch, which the storage does in few steps. Each batch has a deadline. If the storage fails
or is late, memory takes its place, and a timer tries it again. When it answers, it is used again,
and what memory has learnt meanwhile is forgotten: the cache of answers still has it, and other
processes fetch those few files once more. Memory needs no thread, nor does a crawl that chose it.

A trial writes where the failed batch did. So a cluster is used again when the nodes of that batch
answer, and not while the others do and the next call for that batch's origins would fail again.

Leases: the client remembers the leases of this process, and gives them back at the end of the crawl
at the latest. The leases of a process that dies, or whose storage fails, end by themselves.

Example: the thread is idle, and `get(a)` comes: the batch is [a]. While the thread works, `find(b)`
and `find(c)` come: the next batch is [b, c]. Redis stops answering: the batch fails after at most
`CALL_SECS`. The log warns once, and memory answers its calls and all later ones. 30 s later Redis
answers the timer's trial, and is in use again.

Warning: a thread cannot be ended. A call in it may end when no coroutine waits for it any more,
because the caller was cancelled or the deadline is over. A lease taken by such a late call is still
recorded in `_leases`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import isabstract, isclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from ..concurrency import OneThread, within
from ..core.urls import shown
from ..policy.outages import Entry
from ..settings import STORAGES, GbotSettings
from .base import Found, Storage, StorageError
from .memory import MemoryStorage

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .redis import RedisStorage


LEASE_SECS_PER_TIMEOUT = 2  # how long a lease lasts
TRY_AGAIN_SECS = 30.0
CALL_SECS = 10.0  # the longest wait for a batch
CLOSE_SECS = 5.0  # how long a storage may delay the end of a crawl
# calls in a batch: in a larger one, the first call would wait too long for the last
MOST_TOGETHER = 32

_REMEDIES = {
    "sqlite": "Free or repair the disk, or set GBOT_ROBOTS_SQLITE_PATH to a file "
    "that this process can write",
    "redis": "Check that this Redis runs; "
    "GBOT_ROBOTS_REDIS_URL or GBOT_ROBOTS_REDIS_CLIENT names it",
}
logger = logging.getLogger(__name__)


class StorageChoice(NamedTuple):
    """The storage that settings choose."""

    name: str  # "memory", "sqlite", "redis" or the path of a class
    opens: Callable[[], Storage]  # this may wait for a disk or a network
    words: str  # for people: which it is, where it is, and why


def choice_of(
    settings: GbotSettings, crawler: Crawler, *, read_only: bool = False
) -> StorageChoice:
    """Return the storage that the settings name, without opening it.

    If `read_only`, it never creates or renames a file.

    Raises:
        ImportError: the storage's class or its driver is not installed.
        ValueError: the setting names an object that is no storage's class.
    """
    name = settings.storage
    path = settings.sqlite_path
    if name == "sqlite" and path is not None:
        from .sqlite import SqliteStorage  # noqa: PLC0415  only the module in use is imported

        opens = partial(
            SqliteStorage,
            path,
            max_body=settings.max_bytes,
            read_only=read_only,
        )
        return StorageChoice(name, opens, f"sqlite at {path.absolute()}")
    if name == "sqlite":
        why = "there is no scrapy.cfg here and GBOT_ROBOTS_SQLITE_PATH names no file"
        return StorageChoice(
            "memory", MemoryStorage, f"memory: {why}, so nothing is kept for the next run"
        )
    if name == "memory":
        return StorageChoice(
            name, MemoryStorage, "memory: kept until the crawl ends, for this process"
        )
    if name == "redis":
        from .redis import place_of  # noqa: PLC0415  redis-py is an extra

        where = settings.redis_client or place_of(settings.redis_url)
        return StorageChoice(name, redis_opener(settings, crawler.settings), f"redis at {where}")
    rule = f"a subclass of {Storage.__module__}.Storage that has all its methods"
    storage_cls = _loaded("GBOT_ROBOTS_STORAGE", rule, name, _is_storage)
    return StorageChoice(name, partial(build_from_crawler, storage_cls, crawler), name)


def redis_opener(
    settings: GbotSettings, scrapy_settings: BaseSettings | None
) -> Callable[[], RedisStorage]:
    """Return what opens the Redis of the settings, by its URL or by the user's client.

    Raises:
        ImportError: redis-py, or what makes the client, is not installed.
        ValueError: what makes the client cannot be called.
    """
    from .redis import RedisStorage  # noqa: PLC0415  redis-py is an extra

    path = settings.redis_client
    if path is None:
        return partial(RedisStorage, settings.redis_url, max_body=settings.max_bytes)
    makes = _loaded("GBOT_ROBOTS_REDIS_CLIENT", "a callable", path, callable)
    make_client = partial(makes, scrapy_settings)
    return partial(RedisStorage, path, make_client=make_client, max_body=settings.max_bytes)


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
        self._reports = self._closed = False
        # if memory was chosen, or while the storage fails
        self._uses_memory = choice.opens is MemoryStorage
        self._memory = MemoryStorage()
        self._storage: Storage | None = None  # the thread opens it
        self._thread = OneThread()
        self._leases: dict[str, str] = {}  # origin -> token; the thread adds to it, too
        self._waiting: list[_Call] = []
        self._batch: list[_Call] | None = None  # that the thread works on
        self._timer: Any = None  # the deadline of the batch, or the time of the next trial

    @classmethod
    def of(cls, settings: GbotSettings, crawler: Crawler) -> StorageClient:
        """The storage of a crawl. Raises what `choice_of` raises."""
        return cls(
            choice_of(settings, crawler), crawler, LEASE_SECS_PER_TIMEOUT * settings.timeout_secs
        )

    def report(self) -> None:
        """Count the storage in the stats; once it has answered, the log names it."""
        kind = "other"
        if self._choice.name in STORAGES:
            kind = self._choice.name
        self._stats.set_value(f"gbot_robots/storage/{kind}", 1)
        self._stats.set_value("gbot_robots/storage/fallback", 0)
        self._reports = True
        if self._uses_memory:
            self._note_use()

    def _note_use(self) -> None:
        if self._reports:
            self._reports = False
            logger.info("This crawl stores robots.txt files in %s", self._choice.words)

    async def get(self, origin: str) -> Entry | None:
        """The entry of `origin`, or None."""
        entry, _ = await self.find(origin, lambda _: True)
        return entry

    async def find(
        self, origin: str, is_good: Callable[[Entry | None], bool]
    ) -> tuple[Entry | None, bool]:
        """Return the entry of `origin`.

        If it is not good, take the lease, unless another process has that.

        A caller that has the lease (the second result) must fetch, and then call
        `store_and_release`. `is_good` is called in the thread.
        """
        entry, token = await self._ask(_Find(origin, is_good))
        return entry, token is not None

    async def store_and_release(self, origin: str, entry: Entry | None) -> None:
        """Store an entry, if there is one, and give the lease back that `find` may have taken."""
        await self._ask(_Store(origin, entry, self._leases.pop(origin, "")))

    async def close(self) -> None:
        """Give back all leases, and close the storage."""
        self._closed = True
        try:
            if self._storage is not None:
                await within(CLOSE_SECS, self._thread.run(self._close, self._storage))
        except Exception as error:  # a storage of the user's may raise anything
            if not self._uses_memory:
                logger.warning(
                    "The robots.txt storage could not be closed properly: %s",
                    _in_words(error, CLOSE_SECS),
                )
        if self._timer is not None:
            self._timer.cancel()
        self._thread.end()

    async def _ask(self, act: _Find | _Store) -> Found:
        """Let the storage do `act`, or memory while the storage fails."""
        if not self._uses_memory:
            over: Deferred[Found | None] = Deferred()
            self._waiting.append(_Call(act, over))
            if self._batch is None:
                self._begin_batch()
            result = await maybe_deferred_to_future(over)
            if result is not None:
                self._note_use()
                return result
            self._stats.inc_value("gbot_robots/storage/errors")
        return self._do(self._memory, [act])[0]

    def _begin_batch(self) -> None:
        """Hand the calls that wait to the thread, as one batch."""
        self._batch = self._waiting[:MOST_TOGETHER]
        self._waiting = self._waiting[MOST_TOGETHER:]
        end = partial(self._end_batch, self._batch)
        self._timer = call_later(CALL_SECS, end, None, TimeoutError())
        acts = [act for act, _ in self._batch]
        self._thread.call(lambda: self._do(self._opened(), acts), end)

    def _end_batch(
        self, batch: list[_Call], results: list[Found] | None, error: Exception | None
    ) -> None:
        """Let the calls of a batch return, and begin the next one."""
        if batch is not self._batch:  # it was late
            return
        self._batch = None
        self._timer.cancel()
        if error is not None:  # the calls behind it do not ask a storage that has just failed
            if not self._closed:
                self._fall_back(error, {act.origin for act, _ in batch})
            batch = batch + self._waiting
            self._waiting = []
        elif self._waiting:
            self._begin_batch()
        for (_, over), result in zip_longest(batch, results or ()):
            over.callback(result)  # nothing happens if the caller was cancelled

    def _opened(self) -> Storage:
        """In the thread: the storage."""
        if self._storage is None:
            self._storage = self._choice.opens()
        return self._storage

    def _do(self, storage: Storage, acts: Sequence[_Find | _Store]) -> list[Found]:
        """Let `storage` do acts of both kinds together; return their results in order."""
        stores = [act for act in acts if isinstance(act, _Store)]
        finds = [act for act in acts if isinstance(act, _Find)]
        if stores:
            storage.store_and_release(stores)
        answers = iter(storage.find(finds, self._lease_secs))
        results: list[Found] = []
        for act in acts:
            result: Found = (None, None)
            if isinstance(act, _Find):
                result = next(answers)
                if result[1]:
                    self._leases[act.origin] = result[1]
            results.append(result)
        return results

    def _fall_back(self, error: Exception, origins: Iterable[str]) -> None:
        """Let memory take the place of the storage, which has failed for these origins."""
        says_it_all = isinstance(error, (StorageError, TimeoutError))
        self._uses_memory = True
        self._memory = MemoryStorage()
        self._stats.set_value("gbot_robots/storage/fallback", 1)
        self._timer = call_later(TRY_AGAIN_SECS, self._try_again, origins)
        logger.warning(
            "The robots.txt storage failed: %s. Until it answers again, "
            "this process keeps robots.txt files in memory, for itself. %s",
            _in_words(error, CALL_SECS),
            _REMEDIES.get(self._choice.name, "Look into the class that GBOT_ROBOTS_STORAGE names"),
            exc_info=None if says_it_all else error,
        )

    def _try_again(self, origins: Iterable[str]) -> None:
        """Write to the storage where it has failed: for these origins. Use it if that works."""
        self._thread.call(
            lambda: self._try_out(origins), lambda _, error: self._end_trial(origins, error)
        )

    def _end_trial(self, origins: Iterable[str], error: Exception | None) -> None:
        if self._closed:
            return
        if error is not None:  # the log has said so already
            self._stats.inc_value("gbot_robots/storage/errors")
            self._timer = call_later(TRY_AGAIN_SECS, self._try_again, origins)
            return
        self._uses_memory = False
        self._stats.set_value("gbot_robots/storage/fallback", 0)
        logger.info("The robots.txt storage answers again and is used again")

    def _try_out(self, origins: Iterable[str]) -> None:
        """In the thread: raise an error unless the storage can write for these origins.

        No origin has a brace, so no other process waits for these leases. A cluster, whose keys
        have the origin in braces, places it by what is before the brace: where the origin's own
        keys are.
        """
        storage = self._opened()
        names = [f"{origin}}}" for origin in origins]
        answers = storage.find([(name, lambda _: False) for name in names], 1)
        storage.store_and_release(
            [(name, None, token or "") for name, (_, token) in zip(names, answers, strict=True)]
        )

    def _close(self, storage: Storage) -> None:
        """In the thread, after all earlier calls: close the storage."""
        try:
            if self._leases and not self._uses_memory:
                storage.store_and_release(
                    [(origin, None, token) for origin, token in self._leases.items()]
                )
        finally:
            storage.close()


class _Find(NamedTuple):
    origin: str
    is_good: Callable[[Entry | None], bool]


class _Store(NamedTuple):
    origin: str
    entry: Entry | None
    token: str = ""


class _Call(NamedTuple):
    """One act of the storage, for which a coroutine waits."""

    act: _Find | _Store
    over: Deferred[Found | None]  # None if the storage failed


def _in_words(error: Exception, secs: float) -> str:
    return shown(str(error) or f"no answer within {secs:g} s", limit=500).rstrip(".")
