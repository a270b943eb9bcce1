"""Credentials for a proxy: a robots.txt goes through the proxy of the request that it is for, as that request does.

Scrapy's HttpProxyMiddleware takes user and password out of the proxy's URL and puts them into a header. A request that was
redirected or retried has passed it, so that its `proxy` meta key alone opens the proxy no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

_HEADER = "Proxy-Authorization"
_AUTHORISED = "_auth_proxy"  # HttpProxyMiddleware's meta key: the proxy that the header is for; it drops it for another
_CARRIED = "gbot_robots_proxy_credentials"  # request.meta key: the header's value as carried over, and its proxy


def carry_credentials(own: Request, request: Request) -> None:
    """Give `own`, if it goes through the same proxy as `request`, the credentials that `request` has for it."""
    proxy = own.meta.get("proxy")
    header = request.headers.get(_HEADER)
    if not proxy or header is None or proxy != request.meta.get("proxy"):
        return
    if request.meta.get(_AUTHORISED, proxy) == proxy:
        own.headers[_HEADER] = header
        own.meta[_AUTHORISED] = proxy
        own.meta[_CARRIED] = (header, proxy)


def leave_credentials(own: Request) -> None:
    """Take credentials out of a request that has reached the downloader, unless it goes through the proxy they are for."""
    proxy = own.meta.get("proxy")
    header, carried_for = own.meta.get(_CARRIED, (None, None))
    if not proxy or (own.headers.get(_HEADER) == header and proxy != carried_for):
        own.headers.pop(_HEADER, None)
