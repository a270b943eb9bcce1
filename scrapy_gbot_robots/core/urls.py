"""Find the origin of a URL and the path that is compared with rules, and percent-encode text.

This module does not fetch anything, and does not resolve names. `..` and `//` in a path stay as
written, as in Google's parser.

The sources are RFC 9309 2.2.2 and 2.3, and Google's page ("File location & range of validity"). The
source for the path of a malformed URL is Google's parser. The source for hosts is the URL standard
(url.spec.whatwg.org).
"""

from __future__ import annotations

import re
from typing import NamedTuple

# This matches a URL. The only group of the expression is the path of the URL with parameters and
# query. As in Google's parser, the authority is any text before the first "/", "?" or ";". Because
# of the lookaheads, "//" or "://" before the authority is never taken for the beginning of the
# path.
_PATH = re.compile(r"(?://|(?!//))(?:[^/?;#]*://|(?![^/?;#]*://))[^/?;#]*([/?;][^#]*)")

# This matches the beginning of a URL, up to the first slash of the path.
_PREFIX = re.compile(r"[^/?;#]*://[^/?;#]*/")

# `LOOSE_ESCAPE` matches an escape with a hexadecimal digit in lower case, such as "%2f".
# `_LOOSE_BYTES` also matches non-ASCII bytes. The function `escape` replaces these escapes and
# bytes.
_PERCENT = ord("%")  # For bytes, `37 in raw` is much faster than `b"%" in raw`.
LOOSE_ESCAPE = re.compile(rb"%(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-F])")
_LOOSE_BYTES = re.compile(LOOSE_ESCAPE.pattern + rb"|[\x80-\xff]+")
_ESCAPED = [b"%%%02X" % byte for byte in range(256)]

# The default ports of the protocols for which a robots.txt is valid (Google's page).
DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21}
ROBOTS_PATH = "/robots.txt"  # The case of this path matters.

_MAX_HOST = 1_000  # A URL whose host has more characters is rejected.
# A DNS name has at most this many characters.
_MAX_NAME = 253
# A label of a DNS name has at most this many characters. For a non-ASCII host this limit is checked
# before the labels are encoded in punycode, because the encoding takes quadratic time.
_MAX_LABEL = 63
_MAX_PORT = 65_535
_PORT_DIGITS = 6  # A port with six significant digits is out of range.

# This matches an ordinary URL, in which the authority has no upper-case letters, user-info, IPv6
# address or escapes. The groups of the expression are scheme, host and port. Most URLs match.
_PLAIN = re.compile(r"(https?|ftp)://([a-z0-9_-][a-z0-9._-]*)(?::([0-9]{1,5}))?(?=[/?#]|\Z)")
# This matches any other URL. The groups of the expression are scheme, host and port. A URL with a
# backslash in its authority does not match, because clients disagree about its host. Browsers end
# the host at the backslash, and other clients read the text before a later "@" as user-info.
_ODD = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#\\]*@)?"
    r"(\[[0-9A-Fa-f:.]*\]|[^/?#@\\:\[\]]*)(?::([0-9]*))?(?=[/?#]|\Z)"
)
# This matches the user name and the password of a URL, even if the password contains an "@".
_USER_INFO = re.compile(r"(?<=//)[^/?#\s]*@")
# The characters that a host may not contain. They are the forbidden domain code points of
# url.spec.whatwg.org, and ";".
_FORBIDDEN_IN_HOST = r"[\x00-\x20\x7f#%/:;<>?@\[\\\]^|]"


def path_of(url: str | bytes) -> str:
    """Return the escaped path and query of `url`, which are compared with the rules.

    Parameters, such as ";v=1", belong to the path. As in Google's parser, every text has a path,
    even if it is not a URL, and a NUL ends the path. For example, the path of "//a/b" is "/b", the
    path of "example.com?a" is "/?a", and the path of "mailto:a@b" is "/". Non-ASCII characters are
    percent-encoded as UTF-8, and the hexadecimal digits of escapes become upper case (RFC 9309
    2.2.2).

    Raises:
        TypeError: `url` is neither str nor bytes.
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
    if "\0" in path:  # Google's parser reads the path as a C string.
        path = path.partition("\0")[0]
    return path if path[0] == "/" else "/" + path


def prefix_of(url: str) -> str:
    """Return the beginning of `url`, including the first slash of its path.

    For example, the result for "https://example.com/a?b" is "https://example.com/". If another URL
    begins with the same text, its path begins at the same slash. The result is "" if `url` does not
    have the form scheme://authority/path.
    """
    match = _PREFIX.match(url)
    return match[0] if match else ""


def escape(raw: bytes) -> bytes:
    """Percent-encode the non-ASCII bytes, and write existing escapes in upper case.

    As in Google's parser, no escape is decoded.
    """
    if raw.isascii() and (_PERCENT not in raw or not LOOSE_ESCAPE.search(raw)):
        return raw
    return _LOOSE_BYTES.sub(_tightened, raw)


def _tightened(match: re.Match[bytes]) -> bytes:
    loose = match[0]
    if loose[0] == _PERCENT:
        return loose.upper()
    return b"".join(map(_ESCAPED.__getitem__, loose))


def escape_text(text: str) -> str:
    """Encode `text` as UTF-8, and return the result of `escape` as text.

    A lone surrogate is encoded like any other code point.
    """
    if text.isascii() and "%" not in text:
        return text
    return escape(text.encode("utf-8", "surrogatepass")).decode("ascii")


def as_text(raw: bytes) -> str:
    """Return UTF-8 bytes as text. If `raw` is not UTF-8, escape its non-ASCII bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return escape(raw).decode("ascii")


def shown(text: str, limit: int = 200) -> str:
    """Return `text` in a form that is safe in a log line.

    Characters that are not printable are escaped. If `text` has more than `limit` characters, the
    rest is replaced by "...".
    """
    cut = text if len(text) <= limit else text[:limit] + "..."
    if cut.isprintable():
        return cut
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)


def without_login(text: str) -> str:
    """Return `text` without the user names and passwords of the URLs in it."""
    return _USER_INFO.sub("", text)


class Origin(NamedTuple):
    """The scheme, host and port of a URL. One robots.txt is valid for all URLs of an origin.

    The source is Google's page, "File location & range of validity".

    >>> from scrapy_gbot_robots import Origin
    >>> origin = Origin("https", "example.com", 8443)
    >>> str(origin)
    'https://example.com:8443'
    >>> origin.robots_url
    'https://example.com:8443/robots.txt'

    Attributes:
        scheme: "http", "https" or "ftp".
        host: the host in lower case and punycode. An IPv6 address is in brackets. A dot at the end
            of the host is kept.
        port: the port, even if it is the default port.
    """

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str | bytes) -> Origin:
        """Return the origin of an absolute `url`. User-info is ignored.

        >>> from scrapy_gbot_robots import Origin
        >>> Origin.of("https://www.Example.com/cart?id=7")
        Origin(scheme='https', host='www.example.com', port=443)
        >>> Origin.of("https://www.example.com:443/") == Origin.of("https://www.example.com")
        True
        >>> Origin.of("/cart")
        Traceback (most recent call last):
            ...
        ValueError: not an absolute URL with a host: /cart

        Raises:
            ValueError: the scheme is not http, https or ftp, the URL has no host, or its host or
                port is impossible.
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
    """Return the origin whose robots.txt has the URL `url`; None if `url` is not such a URL.

    The path has to be exactly /robots.txt.
    """
    if ROBOTS_PATH not in url or path_of(url) != ROBOTS_PATH:
        return None
    try:
        return Origin.of(url)
    except ValueError:
        return None


def may_resolve(host: str) -> bool:
    """Return whether DNS allows the length of `host` and of its labels (RFC 1035 2.3.4).

    `host` has the form of `Origin.host`. A label is a part between two dots. DNS does not allow an
    empty label, as in "www..example.com".
    """
    name = host.removesuffix(".")
    if len(name) > _MAX_NAME:
        return False
    return all(0 < len(label) <= _MAX_LABEL for label in name.split("."))


def is_absolute(url: str) -> bool:
    """Return whether `url` is an absolute http, https or ftp URL."""
    try:
        Origin.of(url)
    except ValueError:
        return False
    return True


def sitemap_url(value: bytes) -> str | None:
    """Return the URL in a sitemap line; None if its value is not a single absolute URL."""
    url = as_text(value)
    if not is_absolute(url) or any(map(is_absolute, url.split()[1:])):
        return None
    return url


def _odd_origin(url: str) -> Origin:
    parts = _ODD.match(url)
    if not parts:
        raise ValueError(f"not an absolute URL with a host: {shown(url)}")
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
    except ValueError as error:  # UnicodeError is a subclass.
        raise ValueError(f"invalid host: {shown(url)} ({error})") from None


def _host(name: str) -> str:
    """Convert the host of a URL to the form of `Origin.host`, as browsers do.

    Escapes are decoded, the characters are mapped to lower case and to standard forms (UTS 46), and
    labels with non-ASCII characters become punycode. Labels in ASCII are not checked. An IPv6
    address, which is in brackets, gets its shortest form.

    Raises:
        ValueError: no host can have this name.
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
        raise ValueError("the host is empty")
    return name


def _punycode_labels(name: str) -> list[str]:
    """Map the characters of a host (UTS 46), and encode each non-ASCII label in punycode.

    Labels that are not valid in IDNA, such as an emoji, are encoded nevertheless, as in browsers.
    """
    import idna  # noqa: PLC0415 - the tables are large, and most hosts are ASCII

    name = idna.uts46_remap(name, std3_rules=False, transitional=False)
    labels = name.split(".")
    if len(name) > _MAX_NAME or max(map(len, labels)) > _MAX_LABEL:
        limits = f"longer than {_MAX_NAME} characters, or a label longer than {_MAX_LABEL}"
        raise ValueError(limits)
    return [
        label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"
        for label in labels
    ]
