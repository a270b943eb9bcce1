"""The origin of a URL: scheme, host and port, for which one robots.txt is valid.

Boundary: nothing is fetched, and no name is resolved.
Source: Google's page ("Location and valid range") and RFC 9309 2.3; for hosts the URL standard (url.spec.whatwg.org).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .urls import path_of, shown

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ftp": 21}  # the protocols with a robots.txt, by Google's page
ROBOTS_PATH: Final = "/robots.txt"  # case-sensitive, only at the root

_MAX_HOST: Final = 1_000  # characters
_MAX_NAME: Final = 253  # characters of a host past ASCII; DNS has no longer name
_MAX_LABEL: Final = 63  # characters of a label past ASCII; DNS has no longer label, and punycode takes quadratic time
_MAX_PORT: Final = 65_535

# The ordinary URL, read in one step: nothing to convert, no user-info, no IPv6, no escapes.
_PLAIN = re.compile(r"(https?|ftp)://([a-z0-9_-][a-z0-9._-]*)(?::([0-9]{1,5}))?(?=[/?#]|\Z)")
_ANY: Final = r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)"
_PORT: Final = r":0*([0-9]*)\Z"
_FORBIDDEN_IN_HOST: Final = r"[\x00-\x20\x7f#%/:;<>?@\[\\\]^|]"


class Origin(NamedTuple):
    """The part of the web for which one robots.txt is valid (Google's page, "Location and valid range").

    Attributes:
        scheme: http, https or ftp.
        host: in lower case and punycode; an IPv6 address is in brackets. With a final dot it is another host, whose
            robots.txt is asked for under that name.
        port: also if it is the default.
    """

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str | bytes) -> Origin:
        """Return the origin of an absolute `url`. User-info is ignored.

        Raises:
            ValueError: the URL is not http, https or ftp, or has no host, or has an impossible host or port.
        """
        if isinstance(url, bytes):
            url = url.decode("utf-8", "surrogateescape")
        plain = _PLAIN.match(url)
        if plain:
            scheme, host, port = plain.groups()
            number = int(port) if port else DEFAULT_PORTS[scheme]
            if 0 < number <= _MAX_PORT and len(host) <= _MAX_HOST:
                return cls(scheme, host, number)
        return _odd_origin(url)

    @classmethod
    def of_robots_txt(cls, url: str | bytes) -> Origin | None:
        """Return the origin whose robots.txt is at `url`, None if the path of `url` is not exactly /robots.txt."""
        if isinstance(url, bytes):
            url = url.decode("utf-8", "surrogateescape")
        if ROBOTS_PATH not in url or path_of(url) != ROBOTS_PATH:
            return None
        try:
            return cls.of(url)
        except ValueError:
            return None

    @property
    def robots_url(self) -> str:
        """The URL of the robots.txt (RFC 9309 2.3)."""
        return f"{self}{ROBOTS_PATH}"

    def __str__(self) -> str:
        default = self.port == DEFAULT_PORTS.get(self.scheme)
        return f"{self.scheme}://{self.host}" if default else f"{self.scheme}://{self.host}:{self.port}"


def is_absolute(url: str) -> bool:
    """Whether `url` is an absolute http, https or ftp URL."""
    try:
        Origin.of(url)
    except ValueError:
        return False
    return True


def _odd_origin(url: str) -> Origin:
    parts = re.match(_ANY, url)
    if not parts:
        raise ValueError(f"no absolute URL with a host: {shown(url)}")
    scheme = parts[1].lower()
    if scheme not in DEFAULT_PORTS:
        raise ValueError(f"not an http, https or ftp URL: {shown(url)}")
    if "\\" in parts[2]:  # browsers end the host here; other clients read user-info up to an "@"
        raise ValueError(f"no valid host: {shown(url)} (a backslash before the path)")
    authority = parts[2].rpartition("@")[2]
    port = re.search(_PORT, authority)
    name = authority[: port.start()] if port else authority
    number = DEFAULT_PORTS[scheme]
    if port and authority[-1] != ":":
        number = int(port[1] or "0") if len(port[1]) <= len(str(_MAX_PORT)) else _MAX_PORT + 1
    if not 0 < number <= _MAX_PORT:
        raise ValueError(f"port out of range: {shown(url)}")
    if len(name) > _MAX_HOST:
        raise ValueError(f"host longer than {_MAX_HOST} characters: {shown(url)}")
    try:
        host = _ipv6(name) if name.startswith("[") else _host(name)
    except ValueError as error:  # UnicodeError is one
        raise ValueError(f"no valid host: {shown(url)} ({error})") from None
    return Origin(scheme, host, number)


def _ipv6(name: str) -> str:
    from ipaddress import IPv6Address  # noqa: PLC0415 - hardly ever needed

    if name[-1] != "]" or "%" in name:
        raise ValueError("not an IPv6 address")
    return f"[{IPv6Address(name[1:-1]).compressed}]"


def _host(name: str) -> str:
    """Convert `name` as browsers do: unescape, map (UTS 46), lower-case, punycode. Labels in ASCII are not checked."""
    if "%" in name:
        name = _unescape(name)
    if not name.isascii():
        name = ".".join(_punycode_labels(name))
    name = name.lower()
    forbidden = re.search(_FORBIDDEN_IN_HOST, name)
    if forbidden:
        raise ValueError(f"character {forbidden[0]!r}")
    if not name.strip("."):
        raise ValueError("it is empty")
    return name


def _unescape(text: str) -> str:
    from urllib.parse import unquote_to_bytes  # noqa: PLC0415 - hardly ever needed

    return unquote_to_bytes(text.encode("utf-8", "surrogateescape")).decode("utf-8")


def _punycode_labels(name: str) -> list[str]:
    """Map and encode each label. Labels that are no IDNA names, such as an emoji, are encoded as browsers do."""
    import idna  # noqa: PLC0415 - its tables are large, and most hosts are ASCII

    name = idna.uts46_remap(name, std3_rules=False, transitional=False)
    labels = name.split(".")
    if len(name) > _MAX_NAME or max(map(len, labels)) > _MAX_LABEL:
        raise ValueError(f"longer than {_MAX_NAME} characters, or a label longer than {_MAX_LABEL}")
    return [label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}" for label in labels]
