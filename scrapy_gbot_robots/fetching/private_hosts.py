"""Which hosts are private: not part of the public internet.

A public site should not send a crawl to such a host.

`is_private` looks at the text of a host alone. `leads_inside` also asks for the addresses of a
name, for `GBOT_ROBOTS_DENY_PRIVATE`. The reactor's resolver is asked, since connections use the
same one, and Scrapy's own caches its replies. Warning: with another resolver, or without a reactor,
the name may resolve to another address when the connection is made (DNS rebinding).
Sources: the IANA registries of special-purpose addresses, as the standard library's `ipaddress` has
them; for names RFC 6761 (localhost), RFC 6762 (local), RFC 8375 (home.arpa), ICANN's resolution
2024.07.29.06 (internal).
"""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import inet_aton
from types import SimpleNamespace

from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import Deferred

from ..concurrency import reactor
from ..core.urls import Origin

_SUFFIXES = (".localhost", ".localdomain", ".local", ".internal", ".home.arpa")
_WITH_IPV4_AT_THE_END = (
    IPv6Network("::/96"),  # RFC 4291 2.5.5.1
    IPv6Network("64:ff9b::/96"),  # RFC 6052 (NAT64)
    IPv6Network("::ffff:0:0/96"),  # RFC 4291 2.5.5.2
    IPv6Network("::ffff:0:0:0/96"),  # RFC 2765 (SIIT)
)
_PRIVATE = (  # that not every Python's `ipaddress` calls so
    IPv4Network("192.0.0.0/24"),  # RFC 6890 (protocol assignments)
    IPv4Network("224.0.0.0/4"),  # RFC 5771 (multicast)
    IPv6Network("64:ff9b:1::/48"),  # RFC 8215 (a network's own NAT64)
    IPv6Network("3fff::/20"),  # RFC 9637 (documentation)
    IPv6Network("5f00::/16"),  # RFC 9602 (SRv6 segment identifiers)
    IPv6Network("fec0::/10"),  # RFC 3879 (site-local)
    IPv6Network("ff00::/8"),  # RFC 4291 2.7 (multicast)
)


def is_private(host: str) -> bool | None:
    """Whether `host`, in the form of `Origin.host`, is private by its text.

    The answer is None for a name, which may be either.

    An IPv4 address counts in all spellings that a system's resolver takes (`127.1`, `0x7f000001`,
    `2130706433`). A name without a dot is private: no such name is public, but one may resolve on
    the machine or in its domain.
    """
    name = host.rstrip(".").lower()
    address = _address_of(name)
    if address is not None:
        return _is_private(address)
    if "." not in name or name.endswith(_SUFFIXES):
        return True
    return None


def is_this_machine(host: str) -> bool:
    """Whether `host`, in the form of `Origin.host`, means whoever asks for it: a loopback address.

    Its text alone counts. An IPv4 address counts in all spellings.
    """
    name = host.rstrip(".").lower()
    if name in {"localhost", "localhost.localdomain"} or name.endswith(".localhost"):
        return True
    address = _address_of(name)
    if address is None:
        return False
    forms = [address]
    if isinstance(address, IPv6Address):
        forms += filter(None, [_ipv4_in(address)])
    # connections to an unspecified address reach the machine, too
    return any(form.is_loopback or form.is_unspecified for form in forms)


def _address_of(name: str) -> IPv4Address | IPv6Address | None:
    """The IP address that a host is; None if it is a name."""
    try:
        if name.startswith("["):
            return IPv6Address(name.strip("[]"))
        return IPv4Address(inet_aton(name))
    except (OSError, ValueError):
        return None


def _is_private(address: IPv4Address | IPv6Address) -> bool:
    """Whether no public host can have `address`.

    It is loopback, link-local, shared, reserved, multicast, or the like.
    """
    if isinstance(address, IPv6Address):
        inner = _ipv4_in(address)
        if inner is not None:
            return _is_private(inner)
    if any(address in network for network in _PRIVATE):
        return True
    return not address.is_global


def _ipv4_in(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address carries; None if it carries none."""
    if any(address in network for network in _WITH_IPV4_AT_THE_END):
        return IPv4Address(address.packed[-4:])
    if address.teredo is not None:
        _, client = address.teredo
        return client
    return address.sixtofour


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
    addresses = [text.partition("%")[0] for text in await _addresses(host)]  # without a zone
    return [_is_private(ip_address(address)) for address in addresses]


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
