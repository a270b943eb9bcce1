"""Access to the parts of Scrapy's engine that are private or may change.

A *part* is an attribute or a method of Scrapy, for example `engine._slot`. `PARTS` lists the parts
that this plugin uses. For each part, it describes what happens to a crawl if the part is missing.
`Request._headers` is not in `PARTS`: without it, only `user_agent_of` becomes slower.
If a new version of Scrapy changes a part, usually only this module has to change. There are two
exceptions: obeying/front.py replaces the `mqs` of a scheduler and counts its requests, and
obeying/crawl_delay.py sets the `delay` and the `jitter` of a download slot.

A user's own downloader or a mocked engine may lack a part. A function of this module that needs the
part then does nothing, or returns None, False or an empty collection, unless its docstring
describes a different behaviour. If one of Scrapy's own classes lacks a part, a warning is logged
(`warn_of_missing_parts`).

A *slot* is a download slot of Scrapy. Usually there is one for each host.

While a crawl runs, this module replaces three methods on the objects of that crawl:

* `downloader.middleware.download_async` (`at_end_of_way`)
* `signals.send_catch_log`, while a robots.txt is being fetched (`Overhearing`)
* `downloader.handlers.download_request_async` (`around_sending`)

If the scheduler has a queue on disk, `count_held` also replaces a method of this queue,
`_downloader_interface._active_downloads`.

From `scrapy.utils`, the plugin also imports names that Scrapy's documentation does not list. They
have not changed for years.

* from asyncio: AsyncioLoopingCall, call_later, is_asyncio_available
* from conf: build_component_list, closest_scrapy_cfg
* from datatypes: LocalCache
* from defer: deferred_from_coro, maybe_deferred_to_future
* from httpobj: urlparse_cached
* from log: logformatter_adapter
* from misc: build_from_crawler, load_object
* from project: data_path, get_project_settings, inside_project
* from python: global_object_name, without_none_values
* from reactor: is_asyncio_reactor_installed, is_reactor_installed
* from response: get_base_url
* from url: url_is_from_any_domain

Source: Scrapy's own code, 2.14 to 2.19.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Container, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

from scrapy import Request, signals
from scrapy import __version__ as scrapy_version
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, Response
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.spiders import SitemapSpider
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.python import global_object_name
from twisted.python.failure import Failure

from .concurrency import TimeLimit

Send = Callable[[Request], Coroutine[Any, Any, Response]]

_T = TypeVar("_T")

logger = logging.getLogger(__name__)

# The crawls whose LOG_FORMATTER has raised an exception.
_with_faulty_formatter: WeakSet[Crawler] = WeakSet()

# The modules of Scrapy's commands that fetch only a few pages. `scrapy view` is not in this list
# because its class is derived from the class of `scrapy fetch`.
_FETCH_FEW_PAGES = ("scrapy.commands.check", "scrapy.commands.fetch", "scrapy.commands.parse")

# A key in the meta of a request for a robots.txt. The value is the number of its `Exchange`
# (fetching/exchange.py), and not the exchange itself, because middlewares of the project may copy
# the meta deeply or write it to a file.
LISTENER = "gbot_robots_listener"

# The download handlers of Scrapy that open at most CONCURRENT_REQUESTS connections. Their responses
# differ in two ways from the responses of Scrapy's default handler. They keep the headers that mark
# the end of a body, such as Content-Length. If there is no such header, they do not have the flag
# "partial".
_BOUNDED = {"AiohttpDownloadHandler", "HttpxDownloadHandler"}

_NO_PART = object()
_USER_AGENT = b"User-Agent"

# The slot key of all requests if this plugin cannot find out their slots. No real slot has this
# key, because "*" is not a valid host.
_ONLY_SLOT = "*"


class _IdleSlot(NamedTuple):
    """Stands for a download slot that does not exist yet. It is idle and has no limits."""

    active: tuple[()] = ()
    queue: tuple[()] = ()
    delay: float = 0.0
    concurrency: int = 2**31


_IDLE_SLOT: Any = _IdleSlot()
_NO_SLOTS: dict[str, Any] = {}
# The attributes of a download slot that `Room` (obeying/room.py) reads, to find out whether the
# slot can take one more request.
_OF_A_SLOT = ("active", "queue", "delay", "concurrency")

# The classes of queues that `Room` (obeying/room.py) can replace. A `Room` returns requests in the
# same order as a queue of these classes.
_PRIORITY_QUEUES = (DownloaderAwarePriorityQueue, ScrapyPriorityQueue)
_MEMORY_QUEUES = (FifoMemoryQueue, LifoMemoryQueue)

# A robots.txt request is sent at most this many times. The requests with which downloader
# middlewares retry or replace it are included.
_MOST_SENT = 25

_RECEIVED = (signals.headers_received, signals.bytes_received)
# Scrapy stops a download if a handler of `headers_received` or `bytes_received` returns this value.
_STOP: Any = Failure(StopDownload(fail=False))  # type: ignore[no-untyped-call]


class Part(NamedTuple):
    """An attribute or a method of Scrapy that is undocumented or may change.

    Attributes:
        owner: the path from the crawler to the object that has the part, for example
            "engine.downloader". In this path, "*" means any one value of a dict.
        kind: the full name of the class of this object in Scrapy. An object of an unrelated class,
            such as a user's own downloader, may lack the part.
        names: the names of the part. The name may depend on the version of Scrapy.
        without: what happens to a crawl if the part is missing. It is written to the log.
    """

    owner: str
    kind: str
    names: tuple[str, ...]
    without: str


def _parts(owner: str, kind: str, **without: str) -> list[Part]:
    """Return a `Part` for each keyword argument.

    Args:
        owner: the `Part.owner` of each part.
        kind: the `Part.kind` of each part.
        **without: each keyword is the name of a part, and each value is its `Part.without`. If the
            name depends on the version of Scrapy, the keyword is "name_or_othername".
    """
    return [Part(owner, kind, tuple(names.split("_or_")), why) for names, why in without.items()]


_DOWNLOADER = "scrapy.core.downloader.Downloader"
_LATER = "requests that no longer wait for their robots.txt may be sent up to 5 s later"
_ONE_SLOT = "requests go to the downloader even if their host is busy"
_TAKES_PLACES = "robots.txt requests count against CONCURRENT_REQUESTS"
_ONE_BY_ONE = "requests that wait for their robots.txt are taken from the scheduler one by one"
_NOT_FED = "the sitemaps that robots.txt files list are not crawled"
_READS_ON = "RobotsSitemapSpider reads sitemaps on while responses fill the memory"
_AFTER_MIDDLEWARES = "a robots.txt is read as the downloader middlewares have changed it"

PARTS = (
    *_parts(
        "engine",
        "scrapy.core.engine.ExecutionEngine",
        _slot=_LATER,
        downloader=_ONE_SLOT,
        scraper=_READS_ON,
    ),
    *_parts("engine.scraper", "scrapy.core.scraper.Scraper", slot=_READS_ON),
    *_parts("engine.scraper.slot", "scrapy.core.scraper.Slot", needs_backout=_READS_ON),
    *_parts(
        "engine._slot",
        "scrapy.core.engine._Slot",
        nextcall=_LATER,
        inprogress="the plugin does not notice when another middleware drops a request",
        closing="when the crawl closes, waiting requests still wait for their robots.txt",
        scheduler="RobotsSitemapSpider may request the robots.txt of its next host later",
    ),
    *_parts(
        "engine.downloader",
        _DOWNLOADER,
        slots=_ONE_SLOT,
        get_slot_key=_ONE_SLOT,
        _get_slot=_ONE_SLOT,
        active="requests that wait in the downloader count against CONCURRENT_REQUESTS",
        middleware="requests wait for their robots.txt in the downloader, not in the scheduler",
        handlers=_AFTER_MIDDLEWARES,
        _enqueue_request=_TAKES_PLACES,
        fetch=_TAKES_PLACES,
    ),
    *_parts(
        "engine.downloader.slots.*",
        "scrapy.core.downloader.Slot",
        active=_ONE_SLOT,
        queue=_ONE_SLOT,
        delay=_ONE_SLOT,
        concurrency=_ONE_SLOT,
        jitter_or_randomize_delay="a crawl-delay may vary at random",
    ),
    *_parts(
        "engine.downloader.middleware",
        "scrapy.core.downloader.middleware.DownloaderMiddlewareManager",
        middlewares="requests wait for their robots.txt in the downloader, not in the scheduler",
        download_async=_TAKES_PLACES,
    ),
    *_parts(
        "engine.downloader.handlers",
        "scrapy.core.downloader.handlers.DownloadHandlers",
        download_request_async=_AFTER_MIDDLEWARES,
        _get_handler="robots.txt files and pages share their connections",
    ),
    *_parts(
        "engine._slot.scheduler",
        "scrapy.core.scheduler.Scheduler",
        mqs=_ONE_BY_ONE,
        dqs=_ONE_BY_ONE,
    ),
    *_parts(
        "engine._slot.scheduler.mqs",
        "scrapy.pqueues.DownloaderAwarePriorityQueue",
        downstream_queue_cls=_ONE_BY_ONE,
        _start_queue_cls=_ONE_BY_ONE,
    ),
    *_parts(
        "engine._slot.scheduler.dqs",
        "scrapy.pqueues.DownloaderAwarePriorityQueue",
        _downloader_interface=_ONE_BY_ONE,
        pqueues=_ONE_BY_ONE,
    ),
    *_parts(
        "engine._slot.scheduler.dqs._downloader_interface",
        "scrapy.pqueues.DownloaderInterface",
        _active_downloads=_ONE_BY_ONE,
    ),
    *_parts(
        "spider",
        "scrapy.spiders.sitemap.SitemapSpider",
        _parse_sitemap=_NOT_FED,
        _follow="sitemap_follow is compiled again for each sitemap",
        _cbs="sitemap_rules are read again for each page",
    ),
)


def missing_parts(crawler: Crawler) -> list[Part]:
    """Return the parts in `PARTS` that the installed Scrapy lacks.

    A part is not checked if this crawl has no object at the path `Part.owner`, or if the object is
    not an instance of `Part.kind`. For example, it may be a user's own downloader.
    """
    missing: list[Part] = []
    for part in PARTS:
        owner: Any = crawler
        for name in part.owner.split("."):
            if name == "*":
                owner = next(iter(owner.values()), None)
                continue
            owner = getattr(owner, name, None)
            if owner is None:
                break
        kinds = {f"{cls.__module__}.{cls.__qualname__}" for cls in type(owner).__mro__}
        if part.kind in kinds and not any(hasattr(owner, name) for name in part.names):
            missing.append(part)
    return missing


def warn_of_missing_parts(crawler: Crawler, owner: str = "") -> None:
    """Log a warning if Scrapy lacks parts. The warning describes the effects on the crawl.

    Args:
        crawler: the crawl.
        owner: only parts with this `Part.owner` are checked. With "", all parts are checked except
            the parts of the scheduler, which obeying/front.py checks.
    """
    missing: list[str] = []
    for part in missing_parts(crawler):
        if owner and part.owner != owner:
            continue
        if not owner and part.owner.startswith("engine._slot.scheduler"):
            continue
        missing.append(f"{part.owner}.{' or '.join(part.names)} ({part.without})")
    if missing:
        logger.warning(
            "Scrapy %s lacks parts that this version of the plugin uses: %s. All requests are "
            "still checked. A newer version of the plugin may support this version of Scrapy",
            scrapy_version,
            "; ".join(missing),
        )


def is_for_one_page(crawler: Crawler) -> bool:
    """Whether `scrapy check`, `shell`, `fetch`, `view` or `parse` runs this crawl.

    These commands fetch one page or a few, and a person waits for the result. `scrapy shell` can be
    recognised by its setting DUPEFILTER_CLASS. Each of the other commands replaces the method
    `start` of the spider's class with its own function.
    """
    if crawler.settings.getpriority("DUPEFILTER_CLASS") == SETTINGS_PRIORITIES["command"]:
        return True
    start = getattr(crawler.spidercls, "start", None)
    return getattr(start, "__module__", "") in _FETCH_FEW_PAGES


def refuse_as_add_on(component: type, crawler: Crawler) -> None:
    """Raise an error if `ADDONS` contains `component`, which is not an add-on.

    Without this error, a crawl with this mistake in its settings would not obey robots.txt, because
    Scrapy accepts any class in `ADDONS`.

    Raises:
        ValueError: `ADDONS` contains `component`.
    """
    add_ons = crawler.settings.getdict("ADDONS").items()
    if component in [load_object(name) for name, at in add_ons if at is not None]:
        raise ValueError(
            f"ADDONS must not name {component.__name__}, which is only a part of the add-on: "
            'write ADDONS = {"scrapy_gbot_robots.Addon": 500}'
        )


@cache
def _has_titled_keys() -> bool:
    """Whether Scrapy's `Headers` is a dict whose keys are spelt like b"User-Agent"."""
    return dict.__contains__(Headers({"user-agent": "a"}), _USER_AGENT)


def user_agent_of(request: Request) -> str:
    """Return the User-Agent header of `request`, or "" if it has none.

    This function is called for every request, so it avoids two costs if the version of Scrapy
    allows it. First, `request.headers` creates an object of 424 bytes for a request without
    headers. Second, each method of `Headers` takes 3 microseconds to normalise the name of a
    header.
    """
    headers: Any = getattr(request, "_headers", _NO_PART)
    if headers is None:
        return ""
    if headers is _NO_PART:
        headers = request.headers
    if _has_titled_keys() and not dict.__contains__(headers, _USER_AGENT):
        return ""
    user_agent = headers.get(_USER_AGENT)
    if user_agent is None:
        return ""
    return str(user_agent, "latin-1")


class Overhearing:
    """Lets the `Exchange` of a robots.txt request stop the download of the robots.txt.

    The number of the `Exchange` (fetching/exchange.py) is in the meta of the request, under the key
    LISTENER. The exchange needs Scrapy's signals `headers_received` and `bytes_received`. But a
    handler of these signals would be called for all requests of the crawl, and make them slower. So
    this class replaces the method that sends signals. It does so only while a robots.txt is being
    downloaded.

    The project's own handlers of these signals are called as usual. If one of them raises
    `StopDownload` for a robots.txt, the download goes on, because users write these handlers for
    pages.

    Args:
        crawler: the crawl.
        exchanges: each `Exchange` that is under way, by its number. The caller may change this
            mapping later.
    """

    def __init__(self, crawler: Crawler, exchanges: Mapping[int, Any]) -> None:
        self._signals: Any = crawler.signals
        self._send = self._signals.send_catch_log
        self._exchanges = exchanges
        self._under_way = 0
        self._is_in_place = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Return a context manager that lets each `Exchange` stop its download."""
        self._under_way += 1
        now = self._signals.send_catch_log
        first = type(self._signals).send_catch_log.__get__(self._signals)
        # Other code may have replaced `_overhear` with Scrapy's original method. In this case,
        # `send_catch_log` must be replaced again.
        if not self._is_in_place or now in (self._send, first):
            self._is_in_place = True
            self._send = now
            self._signals.send_catch_log = self._overhear
        try:
            yield
        finally:
            self._under_way -= 1
            if self.is_on_top and not self._under_way:
                self._is_in_place = False
                self._signals.send_catch_log = self._send

    @property
    def is_on_top(self) -> bool:
        """Whether `signals.send_catch_log` is the method `_overhear` of this object now."""
        return bool(self._signals.send_catch_log == self._overhear)

    def _overhear(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        results: list[tuple[Any, Any]] = self._send(signal, **named)
        if signal not in _RECEIVED:
            return results
        exchange = self._exchanges.get(named["request"].meta.get(LISTENER, 0))
        if exchange is None:
            return results
        if exchange.goes_on(named.get("data", b"")):
            return []
        return [(self._overhear, _STOP)]


class DownloadSlots:
    """The download slots of a crawl.

    Scrapy's pull request 6931 replaces download slots with the *scopes* of a throttler. When Scrapy
    contains this change, the method `key` must call `throttler.get_scopes_key`, and the load of a
    scope must be used in place of the attribute `active` of a slot.

    Attributes:
        are_apart: if True, which is the default, each request is in the slot that the downloader
            chooses. If False, all requests are treated as if they were in a single slot without
            limits.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.are_apart = True
        self._crawler = crawler
        self._found_downloader: Any = None
        # True if a download slot has all the attributes in `_OF_A_SLOT`, False if it lacks one;
        # None until the first slot is checked.
        self._fits: bool | None = None

    @property
    def by_key(self) -> dict[str, Any]:
        """The download slots by key; an empty dict if the downloader has no `slots`."""
        slots: dict[str, Any] = getattr(self._downloader(), "slots", _NO_SLOTS)
        return slots

    def _downloader(self) -> Any:
        """Return the downloader of the crawl, or None if the crawl has no downloader yet."""
        if self._found_downloader is None:
            self._found_downloader = _downloader(self._crawler)
        return self._found_downloader

    def key(self, request: Request) -> str:
        """Return the key of the slot of `request`, for example "example.com".

        If `are_apart` is False, or if the downloader has no method that computes keys, the key is
        the same for all requests.
        """
        key = getattr(self._downloader(), "get_slot_key", None)
        if key is None or not self.are_apart:
            return _ONLY_SLOT
        return str(key(request))

    def of(self, key: str) -> Any:
        """Return the download slot whose key is `key`.

        If this slot does not exist, or lacks an attribute, return an object that has the attributes
        of an idle slot without limits.
        """
        slot = self.by_key.get(key)
        if slot is None:
            return _IDLE_SLOT
        if self._fits is None:
            self._fits = all(hasattr(slot, name) for name in _OF_A_SLOT)
            warn_of_missing_parts(self._crawler, "engine.downloader.slots.*")
        if not self._fits:
            return _IDLE_SLOT
        return slot

    def make(self, key: str, request: Request) -> None:
        """Create the download slot of `request`, unless a slot with the key `key` exists."""
        downloader = self._downloader()
        if isinstance(downloader, Downloader) and key not in self.by_key:
            getattr(downloader, "_get_slot", _do_nothing)(request)


async def send_beside_limits(
    crawler: Crawler, request: Request, secs: float, own_meta: Mapping[str, Any]
) -> Response:
    """Send `request` without counting it against CONCURRENT_REQUESTS, and return its response.

    The request goes through the downloader middlewares, as with `engine.download_async`. But the
    engine and the downloader do not add it to their sets of active requests. So the engine does not
    wait for it when the crawl closes.

    Args:
        crawler: the crawl.
        request: the request.
        secs: the time in seconds that downloader middlewares may take for the request and its
            response. The time of the download does not count.
        own_meta: meta keys and values that the request must have. If a middleware replaces the
            request with a new one, missing keys are added to the new request.

    Raises:
        TimeoutError: the middlewares took longer than `secs`. For example, a middleware may wait
            for the download of a page while the request for this page waits for the robots.txt.
        RuntimeError: the middlewares have replaced the request 25 times.
        Exception: any exception of the download handler or of a middleware.
    """
    engine: Any = crawler.engine
    downloader = _downloader(crawler)
    send: Send | None = getattr(downloader, "_enqueue_request", None)
    download = getattr(getattr(downloader, "middleware", None), "download_async", None)
    is_scrapys = getattr(type(downloader), "fetch", None) is getattr(Downloader, "fetch", _NO_PART)
    if send is None or download is None or not is_scrapys:
        # The downloader is a user's own class, or the engine is mocked. So the engine's public
        # method sends the request, although it counts the request against CONCURRENT_REQUESTS.
        response: Response = await engine.download_async(request)
        return response
    limit = TimeLimit(secs)

    async def enqueue(request: Request) -> Response:
        limit.lift()
        try:
            return await send(request)
        finally:
            limit.begin()

    why = f"the downloader middlewares have kept it for {secs:g} s"
    for _ in range(_MOST_SENT):
        work = download(enqueue, request)
        result: Response | Request = await limit.on(work, why)
        if isinstance(result, Response):
            _announce(crawler, request, result)
            return result
        request = result  # A middleware has replaced the request, for example to retry it.
        for key, value in own_meta.items():
            request.meta.setdefault(key, value)
    raise RuntimeError(f"a downloader middleware has sent it again {_MOST_SENT} times")


def _announce(crawler: Crawler, request: Request, response: Response) -> None:
    """Log `response`, and send the signal `response_received`, as the engine does for a page."""
    if response.request is None:
        response.request = request
    spider: Any = crawler.spider
    formatter: Any = crawler.logformatter
    line = None
    try:
        line = formatter.crawled(response.request, response, spider)
    except Exception:
        if crawler not in _with_faulty_formatter:
            _with_faulty_formatter.add(crawler)
            logger.exception("LOG_FORMATTER failed on the response for %s", request.url)
    if line is not None:
        logging.getLogger("scrapy.core.engine").log(
            *logformatter_adapter(line), extra={"spider": spider}
        )
    crawler.signals.send_catch_log(
        signals.response_received, response=response, request=response.request, spider=spider
    )


def pull_soon(crawler: Crawler) -> None:
    """Make the engine take requests from the scheduler soon.

    Otherwise it might wait for its next heartbeat, which comes every 5 seconds.
    """
    next_call = getattr(_engine_slot(crawler), "nextcall", None)
    if next_call is not None:
        next_call.schedule()


@contextmanager
def without_a_place(crawler: Crawler, request: Request) -> Iterator[None]:
    """Do not count `request` against CONCURRENT_REQUESTS inside the `with` block.

    A downloader middleware uses this while it lets a request wait. Otherwise, 16 waiting requests
    would stop all other downloads of a crawl with CONCURRENT_REQUESTS = 16.
    """
    active = getattr(_downloader(crawler), "active", None)
    if not isinstance(active, set) or request not in active:
        yield
        return
    active.discard(request)
    pull_soon(crawler)
    try:
        yield
    finally:
        active.add(request)


def is_closing(crawler: Crawler) -> bool:
    """Whether the crawl has begun to close.

    Scrapy sends no signal when a crawl begins to close. It sends the first signal only after it has
    closed the scheduler.
    """
    return getattr(_engine_slot(crawler), "closing", None) is not None


def is_backed_out(crawler: Crawler) -> bool:
    """Whether Scrapy has paused sending requests because the responses in memory are too large.

    The limit is the setting SCRAPER_SLOT_MAX_ACTIVE_SIZE.
    """
    slot = getattr(getattr(crawler.engine, "scraper", None), "slot", None)
    needs_backout = getattr(slot, "needs_backout", None)
    return needs_backout is not None and needs_backout()


def pages_ahead(crawler: Crawler, request: Request) -> int:
    """Return how many pages wait in the memory of a `RobotsScheduler` for the slot of `request`.

    Return 0 if the crawl has a different scheduler, or if requests wait on disk.
    """
    scheduler = getattr(_engine_slot(crawler), "scheduler", None)
    ahead_of = getattr(scheduler, "pages_ahead_of", None)
    if ahead_of is None:
        return 0
    return int(ahead_of(request))


def in_progress(crawler: Crawler) -> Container[Request] | None:
    """Return the set of requests that the engine has taken from the scheduler but not finished.

    Return None if the engine has no such set.
    """
    return getattr(_engine_slot(crawler), "inprogress", None)


def memory_queues(scheduler: Any) -> tuple[type, type | None] | None:
    """Return the classes of the scheduler's inner queues, or None if `Room` cannot replace them.

    The scheduler has a priority queue in memory, which consists of inner queues. A `Room`
    (obeying/room.py) can replace the priority queue if all three conditions are true:

    1. The priority queue and its inner queues are instances of Scrapy's classes.
    2. The priority queue is empty.
    3. The scheduler has no queue on disk.

    Returns:
        The class of the inner queues, and the class of the inner queues for start requests. The
        second class is None if start requests do not have queues of their own.

    Raises:
        AttributeError: this version of Scrapy lacks a part of the scheduler.
    """
    requests = scheduler.mqs
    if scheduler.dqs is not None or type(requests) not in _PRIORITY_QUEUES or len(requests):
        return None
    queue, start_queue = requests.downstream_queue_cls, requests._start_queue_cls  # noqa: SLF001
    if queue not in _MEMORY_QUEUES or start_queue not in {*_MEMORY_QUEUES, None}:
        return None
    return queue, start_queue


def count_held(requests: object, held: Mapping[str, int]) -> Collection[str]:
    """Let Scrapy's `DownloaderAwarePriorityQueue` prefer slots with few held requests.

    The queue always returns a request of the slot with the fewest active downloads. After this
    call, it counts held requests as active downloads. A *held* request was taken from the queue,
    and waits in the `Room` (obeying/room.py) until its robots.txt is known.

    Args:
        requests: the queue of a scheduler.
        held: the number of held requests, by slot key. The queue reads this mapping each time, so
            the caller may change the numbers later.

    Returns:
        The keys of the slots that have requests in the queue. This collection belongs to the queue
        and changes with it. If `requests` is not a `DownloaderAwarePriorityQueue`, nothing is
        changed, and the result is empty.
    """
    if type(requests) is not DownloaderAwarePriorityQueue:
        return ()
    interface: Any = requests._downloader_interface  # noqa: SLF001
    active = interface._active_downloads  # noqa: SLF001
    interface._active_downloads = lambda slot: active(slot) + held.get(slot, 0)  # noqa: SLF001
    return requests.pqueues


def is_idle(crawler: Crawler) -> bool:
    """Whether no request waits in the scheduler and no request is being downloaded."""
    if getattr(_downloader(crawler), "active", None):
        return False
    scheduler = getattr(_engine_slot(crawler), "scheduler", None)
    if scheduler is None:
        return True
    return not scheduler.has_pending_requests()


def downloader_middleware(crawler: Crawler, kind: type[_T]) -> _T | None:
    """Return the first downloader middleware of a crawl that is an instance of `kind`, or None.

    Scrapy's `Crawler.get_downloader_middleware` would raise an exception if a user's own downloader
    has no middlewares.
    """
    for middleware in downloader_middlewares(crawler):
        if isinstance(middleware, kind):
            return middleware
    return None


def downloader_middlewares(crawler: Crawler) -> tuple[object, ...]:
    """Return the downloader middlewares of a crawl; () if its downloader has no list of them."""
    manager = getattr(_downloader(crawler), "middleware", None)
    return tuple(getattr(manager, "middlewares", ()))


def is_offsite(crawler: Crawler, request: Request) -> bool:
    """Whether Scrapy's OffsiteMiddleware, or a subclass of it, drops `request`.

    The middleware drops a request in its handler of the signal `request_scheduled`. Scrapy then
    does not send the signal `request_dropped`.
    """
    middleware = downloader_middleware(crawler, OffsiteMiddleware)
    spider = crawler.spider
    if middleware is None or spider is None:
        return False
    if request.dont_filter or request.meta.get("allow_offsite"):
        return False
    return not middleware.should_follow(request, spider)


def several_of(crawler: Crawler, kind: type) -> str:
    """Return the names of all downloader middlewares that are instances of `kind`.

    The names are joined by " and ". If there is only one such middleware, or none, return "".
    """
    of_kind = [
        middleware for middleware in downloader_middlewares(crawler) if isinstance(middleware, kind)
    ]
    if len(of_kind) == 1:
        return ""
    return " and ".join(global_object_name(type(middleware)) for middleware in of_kind)


def is_bypassed(crawler: Crawler, middleware: object, *methods: str) -> bool:
    """Whether a downloader middleware that has one of `methods` comes before `middleware`.

    Such a middleware gets requests before `middleware` does, and responses after it. So
    `middleware` may not notice what happens to them. Middlewares of Scrapy and of this plugin are
    ignored.
    """
    for other in downloader_middlewares(crawler):
        if other is middleware:
            return False
        if _is_foreign(other) and any(hasattr(other, method) for method in methods):
            return True
    return False


def is_followed(crawler: Crawler, middleware: object) -> bool:
    """Whether a downloader middleware of the project comes after `middleware`.

    A middleware of the project may change the headers of a request in any of its methods. For
    example, `process_response` may change them before a retry. Middlewares of Scrapy and of this
    plugin are ignored.
    """
    for other in reversed(downloader_middlewares(crawler)):
        if other is middleware:
            return False
        if _is_foreign(other):
            return True
    return False


def _is_foreign(middleware: object) -> bool:
    """Whether `middleware` is neither part of Scrapy nor of this plugin."""
    package = type(middleware).__module__.partition(".")[0]
    return package not in {"scrapy", __package__}


def reads_sitemaps(spider_cls: type) -> bool:
    """Whether `spider_cls` is a SitemapSpider whose class has the method `_parse_sitemap`.

    If the result is True, `sitemap_callback` works for spiders of this class.
    """
    return issubclass(spider_cls, SitemapSpider) and hasattr(spider_cls, "_parse_sitemap")


def sitemap_callback(spider: SitemapSpider) -> Callable[..., Any]:
    """Return the method of a SitemapSpider that is the callback of requests for sitemap files.

    Raises:
        AttributeError: this version of Scrapy lacks the method. Then `reads_sitemaps` is False.
    """
    return spider._parse_sitemap  # noqa: SLF001  The method has no public name.


def follows_sitemap(spider: SitemapSpider, url: str) -> bool:
    """Whether a pattern in the spider's `sitemap_follow` matches the sitemap's URL `url`."""
    # Scrapy stores the compiled patterns in the attribute `_follow`.
    patterns = getattr(spider, "_follow", None)
    if patterns is None:
        patterns = map(re.compile, spider.sitemap_follow)
    return any(pattern.search(url) for pattern in patterns)


def page_callback(spider: SitemapSpider, url: str) -> Callable[..., Any] | None:
    """Return the callback that the spider's `sitemap_rules` give for the page at `url`.

    Return None if none of the rules matches.
    """
    rules = getattr(spider, "_cbs", None)  # Scrapy stores the compiled rules in this attribute.
    if rules is None:
        rules = [(re.compile(pattern), callback) for pattern, callback in spider.sitemap_rules]
    for pattern, callback in rules:
        if pattern.search(url):
            if isinstance(callback, str):
                named: Callable[..., Any] = getattr(spider, callback)
                return named
            found: Callable[..., Any] = callback
            return found
    return None


def around_sending(
    crawler: Crawler, send_with: Callable[[Send, Request], Coroutine[Any, Any, Response]]
) -> bool:
    """Make the downloader call `send_with(send, request)` for each request.

    `send` is the function that the downloader has called until now. It passes a request to its
    download handler, and returns the response.

    Returns:
        True if the downloader will call `send_with`. False if a user's own downloader has no method
        `download_request_async` that can be replaced.
    """
    handlers = _download_handlers(crawler)
    send = getattr(handlers, "download_request_async", None)
    if send is None:
        return False
    handlers.download_request_async = partial(send_with, send)
    return True


def at_end_of_way(
    crawler: Crawler,
    end_way: Callable[[Request, Response | Request | None], None],
    *,
    of_all: bool,
) -> bool:
    """Make the crawl call `end_way` when all downloader middlewares are done with a request.

    A request goes through the downloader middlewares to the download handler, and its response goes
    back through the middlewares. If a middleware raises an exception for the response, Scrapy does
    not call `process_exception`. Without this function, the plugin's middleware would not notice
    that the request has ended.

    The call is `end_way(request, result)`. `result` is the response, or a request that a middleware
    has returned in its place, for example for a retry. If an exception has ended the request,
    `result` is None.

    Args:
        crawler: the crawl.
        end_way: the function.
        of_all: if True, `end_way` is called for all requests. If False, it is called only if
            `result` is not a response.

    Returns:
        True if the crawl will call `end_way`. False if a user's own downloader has no downloader
        middlewares.
    """
    manager = getattr(_downloader(crawler), "middleware", None)
    download = getattr(manager, "download_async", None)
    if manager is None or download is None:
        return False

    async def download_async(enqueue: Send, request: Request) -> Response | Request:
        result: Response | Request | None = None
        try:
            result = await download(enqueue, request)
        finally:
            if of_all or not isinstance(result, Response):
                end_way(request, result)
        return result

    manager.download_async = download_async
    return True


class RobotsConnections:
    """Gives robots.txt requests their own connections if the number of connections is limited.

    Scrapy's handlers for aiohttp and httpx open at most CONCURRENT_REQUESTS connections. If several
    servers did not answer requests for their robots.txt, these requests could occupy all
    connections, and the crawl would stop. So a second handler of the same class sends the
    robots.txt requests. It is created when the first robots.txt request is sent.

    A download handler of any other class sends all requests itself.

    Args:
        crawler: the crawl.
        number: the maximum number of connections of a second handler.
    """

    def __init__(self, crawler: Crawler, number: int) -> None:
        self._crawler = crawler
        self._number = number
        self._second_of = cache(self._made_again)

    def second(self, request: Request) -> Any:
        """Return the second download handler if it should send `request`, or None.

        None means that the usual download handler should send `request`.
        """
        return self._second_of(urlparse_cached(request).scheme)

    def _made_again(self, scheme: str) -> Any:
        """Create and return a second download handler for the URL scheme `scheme`.

        If the usual handler does not limit its connections, return None. If the second handler
        cannot be created, return the usual handler.
        """
        handler_of = getattr(_download_handlers(self._crawler), "_get_handler", None)
        if handler_of is None:
            return None
        first = handler_of(scheme)
        kind = type(first)
        if _BOUNDED.isdisjoint(cls.__name__ for cls in kind.__mro__):
            return None
        crawler = copy(self._crawler)
        crawler.settings = Settings(self._crawler.settings)
        for name in ("CONCURRENT_REQUESTS", "CONCURRENT_REQUESTS_PER_DOMAIN"):
            crawler.settings.set(name, self._number, "cmdline")
        # Scrapy logs a warning when it creates an experimental handler. To avoid a second warning,
        # the second handler is not marked as experimental.
        quiet = type(kind.__name__, (kind,), {"experimental": False})
        try:
            second = build_from_crawler(quiet, crawler)
        except Exception:  # A user's own handler may not allow a second instance.
            logger.warning(
                "A second %s could not be created, so robots.txt requests use the same connections "
                "as pages",
                kind.__name__,
                exc_info=True,
            )
            return first
        crawler.signals.connect(second.close, signals.engine_stopped)
        return second


def _do_nothing(_: object) -> None:
    """Do nothing. This function is called in place of a method that Scrapy lacks."""


def is_http_of_scrapy(crawler: Crawler, request: Request) -> bool:
    """Whether an HTTP handler of Scrapy sends `request`.

    These handlers send the signal `headers_received`, and follow no redirects. A subclass with its
    own `download_request` (as in scrapy-playwright) or `_make_request` may differ in both
    ways. Any other subclass is treated as Scrapy's handler.
    """
    handler_of = getattr(_download_handlers(crawler), "_get_handler", None)
    scheme = urlparse_cached(request).scheme
    if handler_of is None or scheme not in {"http", "https"}:
        return False
    kind = type(handler_of(scheme))
    # `_make_request` is the method of the aiohttp and httpx handlers that sends the request.
    sends = getattr(kind, "download_request", None)
    senders = (sends, getattr(kind, "_make_request", sends))
    return all(str(getattr(each, "__module__", "")).startswith("scrapy.core.") for each in senders)


def _downloader(crawler: Crawler) -> Any:
    return getattr(crawler.engine, "downloader", None)


def _download_handlers(crawler: Crawler) -> Any:
    """Return the object with the download handlers of a crawl, or None if there is none."""
    return getattr(_downloader(crawler), "handlers", None)


def _engine_slot(crawler: Crawler) -> Any:
    # The attribute `_slot` of the engine is an object with the scheduler, the set of requests in
    # progress and more. Scrapy 2.19 has the public name `engine.scheduler`, but no public names for
    # the other attributes.
    return getattr(crawler.engine, "_slot", None)
