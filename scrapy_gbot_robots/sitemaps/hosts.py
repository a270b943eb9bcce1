"""The hosts that a user names: in a list, separated by commas, or line by line in a file.

A host is `example.org`, `example.org:8080` or any URL on it. Without a scheme, https is tried
before http. On an unusual port http is tried first, because a server that speaks only http may
never answer a TLS greeting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ..core.urls import DEFAULT_PORTS, Origin

_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def origins_of(text: str) -> tuple[Origin, ...]:
    """The origins to try for a host that a user wrote, the best first.

    Raises:
        ValueError: `text` is no host.
    """
    if _HAS_SCHEME.match(text):
        return (Origin.of(text),)
    https, http = Origin.of(f"https://{text}"), Origin.of(f"http://{text}")
    if str(https.port).endswith("443"):
        return https, http
    return http, https


def survey(hosts: Iterable[str]) -> tuple[int, frozenset[str]]:
    """Return how many hosts a list has, with those that are none, and the scope of the crawl.

    The scope is the hosts, with and without "www.", and their subdomains. The same name on another
    port than the scheme's default is another host.
    """
    number, scope = 0, set()
    for text in hosts:
        number += 1
        with suppress(ValueError):
            origin = origins_of(text)[0]
            scope.add(_key(origin.host.removeprefix("www."), origin))
    return number, frozenset(scope)


def covers(scope: frozenset[str], origin: Origin) -> bool:
    """Whether `origin` is one of the hosts of `scope`, or a subdomain of one."""
    name = origin.host
    while name and _key(name, origin) not in scope:
        name = name.partition(".")[2]
    return bool(name)


def _key(name: str, origin: Origin) -> str:
    if origin.port == DEFAULT_PORTS[origin.scheme]:
        return name
    return f"{name}:{origin.port}"


def given_in(hosts: str | Iterable[str], path: str | Path | None = None) -> Iterator[str]:
    """Yield the hosts of a list, or of a text with commas or white space, then those of a file.

    The file is in UTF-8 and has a host on each line. It is read line by line. A "#" begins a
    comment.

    Raises:
        OSError: the file cannot be read.
    """
    if isinstance(hosts, str):
        hosts = re.split(r"[,\s]+", hosts)
    yield from filter(None, map(str.strip, hosts))
    if path:
        with Path(path).open(encoding="utf-8-sig", errors="replace") as lines:
            yield from filter(None, (line.partition("#")[0].strip() for line in lines))
