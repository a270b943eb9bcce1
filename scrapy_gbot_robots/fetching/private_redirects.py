"""`GBOT_ROBOTS_REFUSE_PRIVATE`: whether a URL that a site names leads to a private address.

The host's text decides (`policy.private_hosts`); for a name, the addresses that it resolves to. The
reactor's resolver is asked, since connections use the same one, and Scrapy's own caches its
replies. Warning: with another resolver, or without a reactor, the name may resolve to another
address when the connection is made (DNS rebinding).
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import Deferred

from ..concurrency import reactor
from ..core.urls import Origin
from ..policy.private_hosts import is_private, is_private_address


async def leads_inside(url: str, found_at: str) -> bool:
    """Whether `url` may lead to a private address from outside.

    `found_at` is the URL that names it: it is inside if it has the same host, or only private
    addresses. A name that does not resolve here is not private: it leads
    nowhere, or a proxy resolves it. Both arguments are http, https or ftp URLs.
    """
    host = Origin.of(url).host
    finder = Origin.of(found_at).host
    if host == finder or not any(await _are_private(host)):
        return False
    of_finder = await _are_private(finder)
    return not of_finder or not all(of_finder)


async def _are_private(host: str) -> list[bool]:
    """Whether each address of `host` is private. Of several, the connection may go to any."""
    by_text = is_private(host)
    if by_text is not None:
        return [by_text]
    return [is_private_address(address) for address in await _addresses(host)]


async def _addresses(name: str) -> list[str]:
    """The IP addresses of a name, resolved without blocking the reactor; none if that fails."""
    if not is_reactor_installed():
        try:
            resolved = await asyncio.get_running_loop().getaddrinfo(name, None)
        except OSError:
            return []
        return [str(address[0]) for *_, address in resolved]
    addresses: list[str] = []
    complete: Deferred[list[str]] = Deferred()
    receiver = SimpleNamespace(  # an IResolutionReceiver
        resolutionBegan=lambda resolution: None,
        addressResolved=lambda address: addresses.append(address.host),
        resolutionComplete=lambda: complete.callback(addresses),
    )
    reactor().nameResolver.resolveHostName(receiver, name)
    return await maybe_deferred_to_future(complete)
