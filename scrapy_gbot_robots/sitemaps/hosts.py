"""The hosts that a user names: in a list, separated by commas, or in a file that is read line by line.

A host is `example.org`, `example.org:8080` or any URL on it. Without a scheme, https is tried before http. On an unusual
port http is tried first, because a server that speaks only http may never answer a TLS greeting.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..core.urls import DEFAULT_PORTS, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Host(NamedTuple):
    """A host that a user named.

    `origin` is tried first. If the user gave no scheme, `otherwise` is tried next.
    """

    origin: Origin
    otherwise: Origin | None

    @classmethod
    def of(cls, text: str) -> Host:
        """Read what a user wrote.

        Raises:
            ValueError: `text` is no host.
        """
        if _HAS_SCHEME.match(text):
            return cls(Origin.of(text), None)
        bare = text.removeprefix("//")
        https, http = Origin.of(f"https://{bare}"), Origin.of(f"http://{bare}")
        return cls(https, http) if str(https.port).endswith("443") else cls(http, https)


def scope_of(origins: Iterable[Origin]) -> frozenset[int]:
    """The scope of a crawl: the hosts of `origins`, with and without "www.", and their subdomains.

    The same name on another port than the scheme's default is another host. A host takes some 24 bytes: its hash.
    """
    return frozenset(hash(_key(origin.host.removeprefix("www."), origin)) for origin in origins)


def covers(scope: frozenset[int], origin: Origin) -> bool:
    """Whether `origin` is one of the hosts of `scope`, or a subdomain of one."""
    name = origin.host
    while name:
        if hash(_key(name, origin)) in scope:
            return True
        name = name.partition(".")[2]
    return False


def _key(name: str, origin: Origin) -> str:
    return name if origin.port == DEFAULT_PORTS[origin.scheme] else f"{name}:{origin.port}"


def survey(hosts: Iterable[str], others: Iterable[str]) -> tuple[int, frozenset[int]]:
    """Read a whole list of hosts: return how many there are, and the scope.

    Args:
        hosts: as the user wrote them. What is no host counts, too.
        others: URLs of more hosts that belong to the scope.
    """
    count = 0

    def origins() -> Iterator[Origin]:
        nonlocal count
        for text in hosts:
            count += 1
            with suppress(ValueError):
                yield Host.of(text).origin
        for url in others:
            with suppress(ValueError):
                yield Origin.of(url)

    scope = scope_of(origins())
    return count, scope


def given_in(hosts: str | Iterable[str], path: str | Path | None = None) -> Iterator[str]:
    """Yield the hosts of a list, or of a text in which commas or white space separate them, then those of a file.

    The file is in UTF-8 and has a host on each line. It is read line by line. A "#" begins a comment.

    Raises:
        OSError: the file cannot be read.
    """
    names = re.split(r"[,\s]+", hosts) if isinstance(hosts, str) else hosts
    yield from (name.strip() for name in names if name.strip())
    if path:
        with Path(path).open(encoding="utf-8-sig", errors="replace") as lines:
            for line in lines:
                name = line.partition("#")[0].strip()
                if name:
                    yield name
