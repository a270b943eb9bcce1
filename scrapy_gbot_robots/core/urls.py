"""URLs: the origin of a robots.txt, the path that rules are compared with, escaping.

Boundary: nothing is fetched, and no name is resolved. `..` and `//` stay as written, as in Google's
parser.
Source: RFC 9309 2.2.2 and 2.3, Google's page ("File location & range of validity"), and Google's
parser for the path of odd URLs; for hosts the URL standard (url.spec.whatwg.org).
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Scheme, authority and path. For Google's parser, the authority is any text before the first "/",
# "?" or ";". The lookaheads keep the search from going back: it never reads "//" or "://" before
# the authority as the beginning of the path.
_PATH = re.compile(r"(?://|(?!//))(?:[^/?;#]*://|(?![^/?;#]*://))[^/?;#]*([/?;][^#]*)")

_PREFIX = re.compile(r"[^/?;#]*://[^/?;#]*/")

# What escaping changes: escapes with a lower-case digit, and bytes past ASCII.
_PERCENT = ord("%")  # `37 in raw` is much faster than `b"%" in raw`
_LOOSE_ESCAPE = re.compile(rb"%(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-F])")
_LOOSE_BYTES = re.compile(_LOOSE_ESCAPE.pattern + rb"|[\x80-\xff]+")
_ESCAPED = [b"%%%02X" % byte for byte in range(256)]

# the protocols with a robots.txt, by Google's page
DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21}
ROBOTS_PATH = "/robots.txt"  # case-sensitive, only at the root

_MAX_HOST = 1_000  # characters
_MAX_NAME = 253  # characters of a host past ASCII; DNS has no longer name
# characters of a label past ASCII; DNS has no longer label, and punycode takes quadratic time
_MAX_LABEL = 63
_MAX_PORT = 65_535
_PORT_DIGITS = 6  # so many are too many

# The ordinary URL, read in one step: nothing to convert, no user-info, no IPv6, no escapes.
_PLAIN = re.compile(r"(https?|ftp)://([a-z0-9_-][a-z0-9._-]*)(?::([0-9]{1,5}))?(?=[/?#]|\Z)")
# Any other: scheme, host and port. At a backslash browsers end the host; other clients read
# user-info up to an "@" behind it.
_ODD = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#\\]*@)?"
    r"(\[[0-9A-Fa-f:.]*\]|[^/?#@\\:\[\]]*)(?::([0-9]*))?(?=[/?#]|\Z)"
)
_FORBIDDEN_IN_HOST = r"[\x00-\x20\x7f#%/:;<>?@\[\\\]^|]"


def path_of(url: str | bytes) -> str:
    """Return the text that rules are compared with, "/" if `url` has none.

    It is path, parameters and query, escaped. As in Google's parser, any text has a path, and a NUL
    ends it: "//a/b" gives "/b", "example.com?a" gives "/?a", "mailto:a@b" gives "/". Text past
    ASCII is percent-encoded as UTF-8, and hexadecimal digits become upper case (RFC 9309 2.2.2).
    """
    if isinstance(url, str):
        text = escape_text(url)
    elif isinstance(url, bytes):
        text = escape(url).decode("ascii")
    else:
        raise TypeError(f"a URL is str or bytes, not {type(url).__name__}")
    match = _PATH.match(text)
    if not match:
        return "/"
    path = match[1]
    if "\0" in path:  # Google's parser takes the path as a C string
        path = path.partition("\0")[0]
    return path if path[0] == "/" else "/" + path


def prefix_of(url: str) -> str:
    """Return the beginning of `url`, up to and with the first slash of its path.

    In any other URL that begins like that, the path begins at the same slash. It is "" if `url`
    does not have the form scheme://authority/path.
    """
    match = _PREFIX.match(url)
    return match[0] if match else ""


def escape(raw: bytes) -> bytes:
    """Percent-encode the bytes past ASCII, and turn escapes into upper case.

    Nothing is decoded (Google's parser).
    """
    if raw.isascii() and (_PERCENT not in raw or not _LOOSE_ESCAPE.search(raw)):
        return raw
    return _LOOSE_BYTES.sub(_tightened, raw)


def _tightened(match: re.Match[bytes]) -> bytes:
    loose = match[0]
    if loose[0] == _PERCENT:
        return loose.upper()
    return b"".join(map(_ESCAPED.__getitem__, loose))


def escape_text(text: str) -> str:
    """Return the UTF-8 form of `text`, escaped by `escape`.

    A lone surrogate is encoded as if UTF-8 had it.
    """
    if text.isascii() and "%" not in text:
        return text
    return escape(text.encode("utf-8", "surrogatepass")).decode("ascii")


def as_text(raw: bytes) -> str:
    """Return UTF-8 as text.

    What is no UTF-8 is percent-encoded, as it is where URLs are compared with rules.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return escape(raw).decode("ascii")


def shown(text: str, limit: int = 200) -> str:
    """Return `text` for a log line.

    Characters that are not printable are escaped, and all after `limit` are cut.
    """
    cut = text if len(text) <= limit else text[:limit] + "..."
    if cut.isprintable():
        return cut
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)


class Origin(NamedTuple):
    """The part of the web for which one robots.txt is valid.

    Source: Google's page, "File location & range of validity".

    Attributes:
        scheme: http, https or ftp.
        host: in lower case and punycode; an IPv6 address is in brackets. A final dot stays.
        port: also if it is the default.
    """

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str | bytes) -> Origin:
        """Return the origin of an absolute `url`. User-info is ignored.

        Raises:
            ValueError: the URL is not http, https or ftp, or has no host, or has an impossible host
                or port.
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

    @property
    def robots_url(self) -> str:
        """The URL of the robots.txt (RFC 9309 2.3)."""
        return f"{self}{ROBOTS_PATH}"

    def __str__(self) -> str:
        if self.port == DEFAULT_PORTS.get(self.scheme):
            return f"{self.scheme}://{self.host}"
        return f"{self.scheme}://{self.host}:{self.port}"


def origin_of_robots_txt(url: str) -> Origin | None:
    """Return the origin whose robots.txt is at `url`.

    Return None if `url` has no origin, or if its path is not exactly /robots.txt.
    """
    if ROBOTS_PATH not in url or path_of(url) != ROBOTS_PATH:
        return None
    try:
        return Origin.of(url)
    except ValueError:
        return None


def may_resolve(host: str) -> bool:
    """Whether DNS can have `host`, in the form of `Origin.host`, by its length and its labels.

    No label is empty, as in "www..example.com" (RFC 1035 2.3.4).
    """
    name = host.removesuffix(".")
    if len(name) > _MAX_NAME:
        return False
    return all(0 < len(label) <= _MAX_LABEL for label in name.split("."))


def is_absolute(url: str) -> bool:
    """Whether `url` is an absolute http, https or ftp URL."""
    try:
        Origin.of(url)
    except ValueError:
        return False
    return True


def sitemap_url(value: bytes) -> str | None:
    """Return the URL that the value of a sitemap line is, None if it is not one absolute URL."""
    url = as_text(value)
    if not is_absolute(url) or any(map(is_absolute, url.split()[1:])):
        return None
    return url


def _odd_origin(url: str) -> Origin:
    parts = _ODD.match(url)
    if not parts:
        raise ValueError(f"no absolute URL with a host: {shown(url)}")
    scheme, name, port = parts[1].lower(), parts[2], parts[3]
    if scheme not in DEFAULT_PORTS:
        raise ValueError(f"not an http, https or ftp URL: {shown(url)}")
    number = DEFAULT_PORTS[scheme]
    if port:
        number = int(port.lstrip("0")[:_PORT_DIGITS] or 0)
    if not 0 < number <= _MAX_PORT:
        raise ValueError(f"port out of range: {shown(url)}")
    try:
        return Origin(scheme, _host(name), number)
    except ValueError as error:  # UnicodeError is one
        raise ValueError(f"no valid host: {shown(url)} ({error})") from None


def _host(name: str) -> str:
    """Convert `name` as browsers do: unescape, map (UTS 46), lower-case, punycode.

    Labels in ASCII are not checked. An IPv6 address is in brackets, and gets its shortest form.
    """
    if name.startswith("["):
        from ipaddress import IPv6Address  # noqa: PLC0415 - hardly ever needed

        return f"[{IPv6Address(name[1:-1]).compressed}]"
    if len(name) > _MAX_HOST:
        raise ValueError(f"longer than {_MAX_HOST} characters")
    if "%" in name:
        from urllib.parse import unquote_to_bytes  # noqa: PLC0415 - hardly ever needed

        name = unquote_to_bytes(name.encode("utf-8", "surrogateescape")).decode("utf-8")
    if not name.isascii():
        name = ".".join(_punycode_labels(name))
    name = name.lower()
    forbidden = re.search(_FORBIDDEN_IN_HOST, name)
    if forbidden:
        raise ValueError(f"character {forbidden[0]!r}")
    if not name.strip("."):
        raise ValueError("it is empty")
    return name


def _punycode_labels(name: str) -> list[str]:
    """Map and encode each label.

    Labels that are no IDNA names, such as an emoji, are encoded as browsers do.
    """
    import idna  # noqa: PLC0415 - its tables are large, and most hosts are ASCII

    name = idna.uts46_remap(name, std3_rules=False, transitional=False)
    labels = name.split(".")
    if len(name) > _MAX_NAME or max(map(len, labels)) > _MAX_LABEL:
        limits = f"longer than {_MAX_NAME} characters, or a label longer than {_MAX_LABEL}"
        raise ValueError(limits)
    return [
        label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"
        for label in labels
    ]
