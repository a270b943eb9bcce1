"""Fetching one robots.txt: an origin in, an `Outcome` out, whatever the server or the settings do.

The request goes through Scrapy's engine and downloader middlewares like any other, so that proxies, user agents, delays
and other download handlers apply. The response is taken from the download handler (`Exchange`), before any middleware can
redirect, decode, cache or drop it. `policy.outcome` decides what the response means.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1.
"""

from __future__ import annotations

import logging
import time
from functools import cached_property, partial
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from ..concurrency import Places, run_in_thread, within
from ..core.urls import shown
from ..engine import LISTENER, Overhearing, uncounted
from ..policy.decoding import ACCEPTED
from ..policy.outcome import (
    REDIRECTS,
    Failure,
    Outcome,
    Unavailable,
    Unreachable,
    failed,
    next_hop,
    recalled,
    to_private_address,
)
from ..signals import robotstxt_served
from .download import Download
from .exchange import NEVER_SENT, Exchange
from .failures import failure_of
from .host_lookup import leads_inside
from .proxies import carry_credentials
from .reading import content_encoding, outcome_of_response

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from ..core.urls import Origin
    from ..settings import GbotSettings
    from .http_cache import HttpCache

PRIORITY = 1000  # as in Scrapy's own middleware: pages wait for it

MOST_UNDER_WAY = 256  # robots.txt requests at a time, beside CONCURRENT_REQUESTS: each is a socket

_BODY_DECIDES = range(200, 300)  # with any other status the body is not needed
_STATUS_SECS = 2.0  # for a second request, for the status alone; plus the time that the first one's headers took
_DECODE_IN_THREAD_BYTES = 8 * 2**10  # as served; a longer body may take milliseconds to decode

# Keeps Scrapy's own middlewares from changing, dropping or storing a robots.txt, or from adding to its request.
_OWN_META = {
    "allow_offsite": True,
    "dont_cache": True,
    "dont_merge_cookies": True,
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    "download_fail_on_dataloss": False,  # a response that lost data then comes with its status and a flag
    "download_maxsize": 0,  # the body is cut at our own limit, not dropped at Scrapy's
    "download_warnsize": 0,
    "ftp_password": "guest",
    "ftp_user": "anonymous",  # whatever FTP_USER says: no credentials (Google's page, "File location")
    "handle_httpstatus_all": True,
}

logger = logging.getLogger(__name__)


class Fetcher:
    """Fetches robots.txt files through the engine of a crawl."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._places = Places(MOST_UNDER_WAY)
        self._overhearing = Overhearing(crawler)

    def robots_request(self, url: str, request: Request | None) -> Request:
        """Return the request for the robots.txt at `url`. `request` is the request that needs it, or None.

        Override this method if the crawl needs another request, such as one for a browser's download handler.
        """
        inherited = (
            {} if request is None else {k: request.meta[k] for k in self._settings.meta_keys if k in request.meta}
        )
        own = Request(
            url,
            callback=NO_CALLBACK,
            dont_filter=True,
            priority=PRIORITY,
            headers={"Accept-Encoding": ACCEPTED},
            meta=inherited,
        )
        if request is not None:
            carry_credentials(own, request)
        return own

    async def fetch(self, origin: Origin, request: Request | None = None) -> Outcome:
        """Fetch the robots.txt of `origin`, follow redirects, and return the outcome. Only cancellation raises.

        Args:
            origin: the origin of the robots.txt.
            request: the request that needs the robots.txt. The fetch takes the meta keys of `GBOT_ROBOTS_META_KEYS` from
                it, and the credentials for its proxy.
        """
        exchanges: list[Exchange] = []
        outcome = await self._followed(origin, request, exchanges)
        if any(exchange.recalled for exchange in exchanges):
            return recalled(outcome)
        cache = self._http_cache
        if cache is not None and not isinstance(outcome, Unreachable):
            for exchange in exchanges:
                cache.store(exchange)
        return outcome

    def can_replay(self, origin: Origin, request: Request | None, status: int | None) -> bool:
        """Whether `fetch` has a response from Scrapy's HTTP cache to fall back on, after an outage with `status`."""
        cache = self._http_cache
        return cache is not None and cache.decides(self.robots_request(origin.robots_url, request), status)

    async def _followed(self, origin: Origin, request: Request | None, exchanges: list[Exchange]) -> Outcome:
        """Fetch, follow redirects, and return the outcome; each exchange is added to `exchanges`."""
        left = self._settings.timeout_secs
        asked = [origin.robots_url]
        while True:
            exchange = await self._ask_or_recall(asked[-1], request, left, exchanges)
            exchanges.append(exchange)
            answer = exchange.response
            if answer is None:
                return self._failed(exchange, asked[-1] if len(asked) > 1 else "")
            if answer.status not in REDIRECTS:
                read = partial(outcome_of_response, answer, asked[-1], exchange, self._settings)
                long = len(answer.body) > _DECODE_IN_THREAD_BYTES and content_encoding(answer, exchange)
                outcome = await run_in_thread(read) if long else read()
                if not exchange.recalled:
                    self._tell_served(outcome, answer, exchange)
                return outcome
            left -= exchange.secs
            looking_at = time.monotonic()
            hop = await self._next_hop(answer, asked, left)
            if not isinstance(hop, str):
                return hop
            left -= time.monotonic() - looking_at
            if left <= 0:
                return failed(Failure.TIMEOUT, f"redirected to {hop}")
            asked.append(hop)

    async def _next_hop(self, answer: Response, asked: list[str], left: float) -> str | Outcome:
        """Return the URL to fetch after a redirect, or the outcome if there is none; `left` seconds are left."""
        hop = next_hop(answer.status, answer.headers.get("Location"), asked, self._settings.max_redirects)
        if isinstance(hop, Unavailable):
            return hop
        if not _is_url_for_scrapy(hop):
            return Unavailable(answer.status, asked[-1], "unfit Location")
        if not self._settings.refuse_private:
            return hop
        try:
            inside = await within(max(0.0, left), leads_inside(hop, asked[-1]))
        except TimeoutError:
            return failed(Failure.TIMEOUT, f"redirected to {hop}: its address was not found")
        if not inside:
            return hop
        self._tell_refused(asked[0], hop)
        return to_private_address(answer.status, asked[-1])

    async def _ask_or_recall(
        self, url: str, request: Request | None, left: float, exchanges: list[Exchange]
    ) -> Exchange:
        """Request `url`, or recall its response from Scrapy's HTTP cache, if the settings say so or no server answers."""
        cache = self._http_cache
        if cache is None:
            return await self._ask(url, request, left)
        own = self.robots_request(url, request)
        found = cache.replayed(own)
        if found is None and exchanges and exchanges[-1].recalled:  # the server before did not answer
            found = cache.recalled(own)
        if found is None:
            asked = await self._ask(url, request, left)
            found = cache.recalled_for(asked) or asked
        return found

    @cached_property
    def _http_cache(self) -> HttpCache | None:
        """Scrapy's HTTP cache, if the crawl has one."""
        if not self._crawler.settings.getbool("HTTPCACHE_ENABLED"):
            return None
        from .http_cache import HttpCache  # noqa: PLC0415  most crawls have none

        return HttpCache.of(self._crawler)

    async def _ask(self, url: str, request: Request | None, left: float) -> Exchange:
        """Request `url`. If the response breaks off after its headers, request it again for the status alone.

        Most statuses decide without the body (Google's page, "HTTP status codes"). But no download handler tells the status
        of a response whose body hangs or is reset.
        """
        exchange = await self._send(url, request, left)
        if exchange.response is None and exchange.headers_at is not None:
            again_secs = min(left, _STATUS_SECS + 2 * (exchange.latency or 0.0))
            again = await self._send(url, request, again_secs, status_only=True)
            if again.response is not None and again.response.status not in _BODY_DECIDES:
                return again
        return exchange

    async def _send(self, url: str, request: Request | None, left: float, *, status_only: bool = False) -> Exchange:
        """Send a request for `url` through Scrapy's engine, and return what came within `left` seconds."""
        exchange = Exchange(self._settings.max_bytes, status_only=status_only)
        own = self._own_request(url, request, exchange, left)
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  for the type checker: there is one while there are requests
        async with self._places:
            with self._overhearing.listening(), uncounted(self._crawler, own):
                try:
                    result = await Download(self._crawler, engine.download_async(own), exchange, left).result()
                finally:
                    own.meta.pop(LISTENER, None)  # otherwise it would keep the body in memory
                    own.headers.pop("Proxy-Authorization", None)  # otherwise an archive would contain it
        if isinstance(result, BaseException):
            exchange.error = result
        elif exchange.request is None:
            exchange.response = result  # from a middleware that answers by itself, such as a cache
        return exchange

    def _own_request(self, url: str, request: Request | None, exchange: Exchange, left: float) -> Request:
        own = self.robots_request(url, request)
        own.meta.update(_OWN_META, download_timeout=left)
        own.meta[LISTENER] = exchange
        exchange.own = own
        for name in NEVER_SENT:
            own.headers.setlist(name, [])
        return own

    def _tell_served(self, outcome: Outcome, response: Response, exchange: Exchange) -> None:
        headers = exchange.headers or response.headers
        send = self._crawler.signals.send_catch_log
        send(robotstxt_served, outcome=outcome, request=exchange.own, response=response, headers=headers)

    def _tell_refused(self, robots_url: str, target: str) -> None:
        self._crawler.stats.inc_value("gbot_robots/refused_private")
        logger.warning(
            "%s redirects to a private address, which GBOT_ROBOTS_REFUSE_PRIVATE refuses; it counts as a 404: %s",
            robots_url,
            shown(target),
        )

    def _failed(self, exchange: Exchange, redirected_to: str) -> Outcome:
        error = exchange.error
        if error is None:
            return failed(Failure.REPLACED)
        self._crawler.stats.inc_value(f"robotstxt/exception_count/{type(error)}")
        return failure_of(error, redirected_to)


def _is_url_for_scrapy(url: str) -> bool:
    """Whether Scrapy makes a request for `url`; it refuses some URLs that this plugin accepts."""
    try:
        Request(url)
    except ValueError:
        return False
    return True
