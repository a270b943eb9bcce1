"""The forms in which clients may send a URL. The server sees only the form that was sent.

Scrapy's default download handler sends a URL nearly as written: it leaves out an empty query, and a
`;` at the end of the path. Others normalise more: they take out dot segments, decode escapes that
need none, or escape what a URL may not hold. `/x/../private` and `/%70rivate` then arrive as
`/private`. So a URL is judged in every form that a client may give it, and refused if one of them
is.

Boundary: nothing is sent. Escapes of `/`, `%` and of bytes past ASCII are never decoded, since no
client does that.
Sources: RFC 3986 5.2.4 and 6.2.2 (dot segments, escapes); url.spec.whatwg.org ("basic URL parser")
for browsers; what urllib.parse (Twisted), yarl (aiohttp), httpx and urllib3 do.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection

from .rules import Rules, disallowed_among
from .urls import Origin, path_of, shown
from .verdict import Verdict

# What every client sends as it is. Texts of it alone, each with an LF behind it, have one form, if
# there is no dot segment, no empty query and no empty parameters in them. So has a URL of it alone.
_SENT = string.ascii_letters + string.digits + "!$&'()*+,-./:;=?_~"
_ARE_SENT = re.compile(rf"[{re.escape(_SENT)}\n]*").fullmatch
_MAY_BE_ODD = ("/.", ";?", ";\n", "?\n")
_IS_SENT = re.compile(rf"[{re.escape(_SENT)}]*(?<![;?])").fullmatch

_ANY_SITE = "http://example.com"

_PARTS = re.compile(r"([^/?#]*://)([^/?#]*)([^?#]*)((?:\?[^#]*)?)", re.DOTALL)
# white space and controls, which clients strip from both ends of a URL
_ENDS = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\n\r")  # and these everywhere (url.spec.whatwg.org)

# A `;` behind which parameters of the path would stand (RFC 1808 2.1), and what is before it.
_EMPTY_PARAMETERS = re.compile(r"(/[^/;]*);\Z")
_ODD_CHARACTER = re.compile(r"%[0-9A-Fa-f]{2}|[%\x00-\x20\"<>\[\\\]^`{|}\x7f]")
# yarl decodes the last seven, too
_UNRESERVED = string.ascii_letters + string.digits + "-._~" + "!$'()*,"
_DECODED_IN_PATH = frozenset(_UNRESERVED + "&=;@:")
_DECODED_IN_QUERY = frozenset(_UNRESERVED + "?/:@")
_DOTS = frozenset({".", ".."})
# Which segments browsers take for these, too, in any case (url.spec.whatwg.org).
_BROWSERS_DOTS = {"%2e": ".", ".%2e": "..", "%2e.": "..", "%2e%2e": ".."}


def as_sent(url: str) -> str:
    """Return `url` without the characters that clients drop first.

    They are white space around it, line ends and tabs. The rest says where a request goes: `"
    http://example.com/"` goes to example.com.
    """
    if url.isprintable() and url[:1] != " " and url[-1:] != " ":
        return url
    return url.strip(_ENDS).translate(_DROPPED)


def other_forms(url: str | bytes) -> tuple[str, ...]:
    """Return the URLs, other than `url` as written, that some client sends for it.

    There are none for nearly all URLs. Takes an absolute URL. Each form once, at most five. None
    has user-info that holds a `;`, at which Google's parser takes the path to begin.
    """
    text = url if isinstance(url, str) else url.decode("utf-8", "surrogateescape")
    text = text.partition("#")[0]
    if _have_one_form([text]):
        return ()
    parts = _PARTS.match(as_sent(text))
    if parts is None:
        return ()
    scheme, authority, path, query = parts.groups()
    if ";" in authority:
        authority = authority.rpartition("@")[2]
    shorter_query = query
    if query == "?":
        shorter_query = ""
    base = scheme + authority
    segments = path.replace("\\", "/").split("/")
    in_browsers = "/".join([_BROWSERS_DOTS.get(part.lower(), part) for part in segments])
    decoded = _rewritten(path, _DECODED_IN_PATH)
    forms = (
        base + path + shorter_query,  # aiohttp, of a URL that is to be sent as it is
        base + _EMPTY_PARAMETERS.sub(r"\1", path) + shorter_query,  # Twisted
        base + _without_dots(path, end="") + query,  # httpx
        base + _without_dots(in_browsers) + query,  # browsers
        base + _without_dots(decoded) + _rewritten(shorter_query, _DECODED_IN_QUERY),  # aiohttp
    )
    return tuple(form for form in dict.fromkeys(forms) if form != text)


def names_the_same(url: str, other: str) -> bool:
    """Whether `other` is a form in which a client may send `url`, without regard to fragments.

    Takes absolute URLs; of others only the same text names the same.
    """
    if url.partition("#")[0] == other.partition("#")[0]:
        return True
    try:
        if Origin.of(url) != Origin.of(other):
            return False
    except ValueError:
        return False
    return path_of(other) in map(path_of, (url, *other_forms(url)))


def allowed_in_all_forms(rules: Rules, url: str | bytes) -> bool:
    """Return whether `rules` allow `url` in every form in which a client may send it.

    This is faster than `verdict_on_all_forms`.
    """
    if not rules.allowed(url):
        return False
    if isinstance(url, str) and _IS_SENT(url) and "/." not in url and ";?" not in url:
        return True  # as nearly all: it has no other form
    forms = other_forms(url)
    return not forms or all(map(rules.allowed, forms))


def disallowed_of_a_site(rules: Rules, paths: Collection[str]) -> set[str]:
    """Return the URLs of a site that `allowed_in_all_forms` says no to.

    Of each, `paths` has what follows scheme and authority, from the first slash on, and the answer
    has the same. It is faster than to ask about each.
    """
    odd: list[str] = []
    if not _have_one_form(paths):
        odd = [path for path in paths if not _have_one_form([path])]
        paths = set(paths).difference(odd)
    disallowed = disallowed_among(rules, paths)
    for path in odd:
        if not allowed_in_all_forms(rules, _ANY_SITE + path):
            disallowed.add(path)
    return disallowed


def _have_one_form(paths: Collection[str]) -> bool:
    """Whether every client sends each path as it is written."""
    text = "\n".join([*paths, ""])
    if text.count("\n") > len(paths) or not _ARE_SENT(text):
        return False
    return not any(odd in text for odd in _MAY_BE_ODD)


def verdict_on_all_forms(rules: Rules, url: str | bytes) -> Verdict:
    """Return the verdict on `url` in every form in which a client may send it.

    The first disallowed form decides. If that is not the URL as written, the reason names it.
    """
    verdict = rules.verdict(url)
    if verdict.allowed:
        for form in other_forms(url):
            other = rules.verdict(form)
            if not other.allowed:
                reason = f"some download handlers send it as {shown(form)}"
                return other._replace(reason=reason)
    return verdict


def _without_dots(path: str, end: str = "/") -> str:
    """Take out dot segments (RFC 3986 5.2.4). At the root `..` leads nowhere.

    The path ends with `end` if its last segment was one.
    """
    segments = path.split("/")[1:]
    if _DOTS.isdisjoint(segments):
        return path
    remaining: list[str] = []
    for segment in segments:
        if segment == "..":
            del remaining[-1:]
        elif segment != ".":
            remaining.append(segment)
    shorter = "/" + "/".join(remaining)
    if segments[-1] in _DOTS and remaining:
        shorter += end
    return shorter


def _rewritten(text: str, decoded: frozenset[str]) -> str:
    """Decode the escapes of the characters in `decoded`, and write others in upper case.

    What a URL may not hold is escaped.
    """

    def write(match: re.Match[str]) -> str:
        odd = match[0]
        if len(odd) == 1:
            return f"%{ord(odd):02X}"
        char = chr(int(odd[1:], 16))
        return char if char in decoded else odd.upper()

    return _ODD_CHARACTER.sub(write, text)
