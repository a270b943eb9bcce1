"""The hosts that a user names: in a list, separated by commas, or in a file that is read line by line.

A host is `example.org`, `example.org:8080` or any URL on it. Without a scheme, https is tried before http. On an unusual
port http is tried first, because a server that speaks only http may never answer a TLS greeting.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
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


class HostScope:
    """The hosts of a crawl, with and without "www.", and their subdomains. A host takes eight bytes: its hash.

    The same name on another port than the scheme's default is another host.
    """

    def __init__(self, origins: Iterable[Origin]) -> None:
        hashes = array("q", (hash(_key(origin.host.removeprefix("www."), origin)) for origin in origins))
        self._hashes = array("q", sorted(hashes))

    def covers(self, origin: Origin) -> bool:
        """Whether `origin` is one of the hosts, or a subdomain of one."""
        name = origin.host
        while name:
            wanted = hash(_key(name, origin))
            at = bisect_left(self._hashes, wanted)
            if at < len(self._hashes) and self._hashes[at] == wanted:
                return True
            name = name.partition(".")[2]
        return False


def _key(name: str, origin: Origin) -> str:
    return name if origin.port == DEFAULT_PORTS[origin.scheme] else f"{name}:{origin.port}"


class HostList:
    """All hosts of a crawl. Iterate over it for the hosts as the user wrote them; a file is read line by line."""

    def __init__(self, listed: Iterable[str], path: str | Path | None) -> None:
        self._listed = tuple(listed)
        self._path = path

    def __iter__(self) -> Iterator[str]:
        yield from self._listed
        if self._path:
            yield from given_in_file(self._path)

    def survey(self, others: Iterable[str]) -> tuple[int, HostScope]:
        """Read the whole list once.

        Args:
            others: URLs of more hosts that belong to the scope.

        Returns:
            How many hosts the list has, and the scope.
        """
        count = 0

        def origins() -> Iterator[Origin]:
            nonlocal count
            for text in self:
                count += 1
                with suppress(ValueError):
                    yield Host.of(text).origin
            for url in others:
                with suppress(ValueError):
                    yield Origin.of(url)

        scope = HostScope(origins())
        return count, scope


def given_in(hosts: str | Iterable[str]) -> list[str]:
    """The hosts of a list, or of a text in which commas or white space separate them."""
    names = re.split(r"[,\s]+", hosts) if isinstance(hosts, str) else hosts
    return [name.strip() for name in names if name.strip()]


def given_in_file(path: str | Path) -> Iterator[str]:
    """Yield the hosts of a UTF-8 file, one a line. A "#" begins a comment.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(path).open(encoding="utf-8-sig", errors="replace") as lines:
        for line in lines:
            name = line.partition("#")[0].strip()
            if name:
                yield name
