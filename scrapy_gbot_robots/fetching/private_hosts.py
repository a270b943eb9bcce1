"""Find out whether a host is private, that is, not part of the public internet.

For example, the hosts "localhost", "10.0.0.1" and "printer.local" are private. A public site should
not be able to send a crawl to a private host.

`is_private` examines only the text of a host. With `GBOT_ROBOTS_DENY_PRIVATE`, `leads_inside` also
looks up the IP addresses of a domain name. It uses the resolver of the reactor. Scrapy's default
resolver caches its results, so the later connection is made to the address that was checked.

Warning: with a resolver that does not cache, or without a reactor, the name may resolve to a
different address when the connection is made (DNS rebinding).

Sources: the IANA registries of special-purpose addresses, as implemented by the standard library's
`ipaddress`; for names RFC 6761 (localhost), RFC 6762 (local), RFC 8375 (home.arpa) and ICANN's
resolution 2024.07.29.06 (internal).
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
# The networks of IPv6 addresses whose last 32 bits are an IPv4 address.
_WITH_IPV4_AT_THE_END = (
    IPv6Network("::/96"),  # RFC 4291 2.5.5.1 (IPv4-compatible)
    IPv6Network("64:ff9b::/96"),  # RFC 6052 (NAT64)
    IPv6Network("::ffff:0:0/96"),  # RFC 4291 2.5.5.2 (IPv4-mapped)
    IPv6Network("::ffff:0:0:0/96"),  # RFC 2765 (SIIT)
)
# Private networks that some versions of Python's `ipaddress` treat as public.
_PRIVATE = (
    IPv4Network("192.0.0.0/24"),  # RFC 6890 (protocol assignments)
    IPv4Network("224.0.0.0/4"),  # RFC 5771 (multicast)
    IPv6Network("64:ff9b:1::/48"),  # RFC 8215 (a network's own NAT64)
    IPv6Network("3fff::/20"),  # RFC 9637 (documentation)
    IPv6Network("5f00::/16"),  # RFC 9602 (SRv6 segment identifiers)
    IPv6Network("fec0::/10"),  # RFC 3879 (site-local)
    IPv6Network("ff00::/8"),  # RFC 4291 2.7 (multicast)
)


def is_private(host: str) -> bool | None:
    """Whether `host` is private; None if this depends on the IP addresses of a domain name.

    A name without a dot, such as "intranet", counts as private, because it can be resolved only on
    the machine itself or in the local network.

    Args:
        host: the host in the form of `Origin.host`. An IPv4 address may have any spelling that a
            resolver accepts, such as "127.1", "0x7f000001" or "2130706433".
    """
    name = host.rstrip(".").lower()
    address = _address_of(name)
    if address is not None:
        return _is_private(address)
    if "." not in name or name.endswith(_SUFFIXES):
        return True
    return None


def is_this_machine(host: str) -> bool:
    """Whether `host` is the machine on which the crawl runs.

    The result is True for "localhost", for loopback addresses such as "127.0.0.1" or "[::1]", and
    for unspecified addresses such as "0.0.0.0".

    Args:
        host: the host in the form of `Origin.host`.
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
    # A connection to the unspecified address (0.0.0.0 or "::") reaches the machine itself.
    return any(form.is_loopback or form.is_unspecified for form in forms)


def _address_of(name: str) -> IPv4Address | IPv6Address | None:
    """Return `name` as an IP address, or None if it is a domain name."""
    try:
        if name.startswith("["):
            return IPv6Address(name.strip("[]"))
        return IPv4Address(inet_aton(name))
    except (OSError, ValueError):
        return None


def _is_private(address: IPv4Address | IPv6Address) -> bool:
    """Whether `address` is not public, for example a loopback, link-local or multicast address."""
    if isinstance(address, IPv6Address):
        inner = _ipv4_in(address)
        if inner is not None:
            return _is_private(inner)
    if any(address in network for network in _PRIVATE):
        return True
    return not address.is_global


def _ipv4_in(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address inside an IPv6 address such as "::ffff:10.0.0.1", or None."""
    if any(address in network for network in _WITH_IPV4_AT_THE_END):
        return IPv4Address(address.packed[-4:])
    if address.teredo is not None:
        _, client = address.teredo
        return client
    return address.sixtofour


async def leads_inside(url: str, found_at: str) -> bool:
    """Whether `url` is on a private host although the crawl has found it on a public host.

    The result is False if both URLs have the same host. It is also False if the host of `url` does
    not resolve, because the crawl can then reach this host only through a proxy.

    Args:
        url: an http, https or ftp URL.
        found_at: the http, https or ftp URL at which the crawl found `url`. Either the server
            redirects `found_at` to `url`, or the file at `found_at` lists `url`.
    """
    host = Origin.of(url).host
    finder = Origin.of(found_at).host
    if host == finder or not any(await _are_private(host)):
        return False
    of_finder = await _are_private(finder)
    return not of_finder or not all(of_finder)


async def _are_private(host: str) -> list[bool]:
    """Return a list with one value for each IP address of `host`: True if the address is private.

    The value is False if the address is public. If `host` does not resolve, the list is empty.
    """
    by_text = is_private(host)
    if by_text is not None:
        return [by_text]
    # In "fe80::1%eth0", "eth0" is the zone of the IPv6 address. The zone has no effect on whether
    # the address is private.
    addresses = [text.partition("%")[0] for text in await _addresses(host)]
    return [_is_private(ip_address(address)) for address in addresses]


async def _addresses(name: str) -> list[str]:
    """Return the IP addresses of `name` as strings; an empty list if `name` does not resolve.

    The reactor is not blocked during the look-up.
    """
    if not is_reactor_installed():
        try:
            resolved = await asyncio.get_running_loop().getaddrinfo(name, None)
        except OSError:
            return []
        return [str(address[0]) for *_, address in resolved]
    addresses: list[str] = []
    complete: Deferred[list[str]] = Deferred()
    receiver = SimpleNamespace(  # This object implements Twisted's interface IResolutionReceiver.
        resolutionBegan=lambda resolution: None,
        addressResolved=lambda address: addresses.append(address.host),
        resolutionComplete=lambda: complete.callback(addresses),
    )
    reactor().nameResolver.resolveHostName(receiver, name)
    return await maybe_deferred_to_future(complete)
