"""Credentials for a proxy: a robots.txt goes through the same proxy as the request that needs it.

Scrapy's HttpProxyMiddleware takes user and password out of the proxy's URL and puts them into a header. After a redirect or
a retry, a request has been through that middleware: its `proxy` meta key alone is not enough for the proxy any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

_HEADER = "Proxy-Authorization"
_AUTHORISED = "_auth_proxy"  # HttpProxyMiddleware's meta key: the proxy of the header, which it drops for another proxy
_CARRIED = "gbot_robots_proxy_credentials"  # request.meta key: the value of the header that was copied, and its proxy


def carry_credentials(own: Request, request: Request) -> None:
    """Copy the proxy credentials of `request` to `own`, if both go through the same proxy."""
    proxy = own.meta.get("proxy")
    header = request.headers.get(_HEADER)
    if not proxy or header is None or proxy != request.meta.get("proxy"):
        return
    if request.meta.get(_AUTHORISED, proxy) == proxy:
        own.headers[_HEADER] = header
        own.meta[_AUTHORISED] = proxy
        own.meta[_CARRIED] = (header, proxy)


def leave_credentials(own: Request) -> None:
    """Remove proxy credentials from a request in the downloader, unless it goes through the proxy that they are for."""
    proxy = own.meta.get("proxy")
    header, carried_for = own.meta.get(_CARRIED, (None, None))
    if not proxy or (own.headers.get(_HEADER) == header and proxy != carried_for):
        own.headers.pop(_HEADER, None)
