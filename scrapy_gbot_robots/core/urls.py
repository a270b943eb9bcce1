"""URLs as rules see them: the path that a rule is compared with, and percent-escaping.

Boundary: nothing is fetched. `..` and `//` stay as written, as in Google's parser.
Source: RFC 9309 2.2.2, and Google's parser for the path of odd URLs.
"""

from __future__ import annotations

import re
from typing import Final

# Scheme, authority and path. For Google's parser, the authority is any text before the first "/", "?" or ";". The
# lookaheads keep the search from going back: it never reads "//" or "://" before the authority as the beginning of the path.
_PATH = re.compile(r"(?://|(?!//))(?:[^/?;#]*://|(?![^/?;#]*://))[^/?;#]*([/?;][^#]*)")

_PREFIX = re.compile(r"[^/?;#]*://[^/?;#]*/")

# What escaping changes: escapes with a lower-case digit, and bytes past ASCII.
_PERCENT: Final = ord("%")  # `37 in raw` is much faster than `b"%" in raw`
_LOOSE_ESCAPE = re.compile(rb"%(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-F])")
_LOOSE_BYTES = re.compile(_LOOSE_ESCAPE.pattern + rb"|[\x80-\xff]+")
_ESCAPED: Final = [b"%%%02X" % byte for byte in range(256)]


def path_of(url: str | bytes) -> str:
    """Return the text that rules are compared with: path, parameters and query of `url`, escaped; "/" if it has none.

    As in Google's parser, any text has a path, and a NUL ends it: "//a/b" gives "/b", "example.com?a" gives "/?a",
    "mailto:a@b" gives "/". Text past ASCII is percent-encoded as UTF-8, and hexadecimal digits become upper case (RFC
    9309 2.2.2).
    """
    if isinstance(url, bytes):
        text = escape(url).decode("ascii")
    elif isinstance(url, str):
        text = escape_text(url)
    else:
        raise TypeError(f"a URL is str or bytes, not {type(url).__name__}")
    found = _PATH.match(text)
    if not found:
        return "/"
    path = found[1]
    if "\0" in path:  # Google's parser takes the path as a C string
        path = path.partition("\0")[0]
    return path if path[0] == "/" else "/" + path


def prefix_of(url: str) -> str:
    """Return the beginning of `url`, up to and with the first slash of its path; "" if it has another form."""
    found = _PREFIX.match(url)
    return found[0] if found else ""


def split_path(url: str | bytes) -> tuple[str, str]:
    """Return the beginning of `url`, up to and with the first slash of its path, and the path as `path_of` gives it.

    In any other URL that begins like that, the path begins at the same slash. The beginning is "" if `url` does not have
    the form scheme://authority/path.
    """
    if not isinstance(url, str):
        return "", path_of(url)
    found = _PREFIX.match(url)
    if not found:
        return "", path_of(url)
    if url.isascii() and "%" not in url and "#" not in url and "\0" not in url:
        return found[0], url[found.end() - 1 :]
    return found[0], path_of(url)


def escape(raw: bytes) -> bytes:
    """Percent-encode the bytes past ASCII, and turn escapes into upper case. Nothing is decoded (Google's parser)."""
    if raw.isascii() and (_PERCENT not in raw or not _LOOSE_ESCAPE.search(raw)):
        return raw
    return _LOOSE_BYTES.sub(_tightened, raw)


def _tightened(found: re.Match[bytes]) -> bytes:
    loose = found[0]
    return loose.upper() if loose[0] == _PERCENT else b"".join(map(_ESCAPED.__getitem__, loose))


def escape_text(text: str) -> str:
    """Return the UTF-8 form of `text`, escaped by `escape`. A lone surrogate is encoded as if UTF-8 had it."""
    if text.isascii() and "%" not in text:
        return text
    return escape(text.encode("utf-8", "surrogatepass")).decode("ascii")


def shown(text: str, limit: int = 200) -> str:
    """Return `text` for a log line: characters that are not printable are escaped, and all after `limit` are cut."""
    cut = text if len(text) <= limit else text[:limit] + "..."
    if cut.isprintable():
        return cut
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)
