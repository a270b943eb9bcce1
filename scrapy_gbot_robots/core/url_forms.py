"""Find the forms in which clients may send a URL, and judge the URL in all these forms.

Scrapy's default download handler sends a URL nearly as written. It only leaves out an empty query,
and a `;` at the end of the path. Other handlers change more of the URL. They remove dot segments,
decode unneeded escapes, or escape characters that a URL may not contain. For example, with such a
handler the server receives `/private` for `/x/../private` and for `/%70rivate`. So a URL is judged
in every form that a client may send, and it is disallowed if one of these forms is disallowed.

This module does not send anything. It never decodes the escapes of `/`, `%` and non-ASCII bytes,
because clients do not decode these escapes.

The sources are RFC 3986 5.2.4 and 6.2.2 (dot segments, escapes), url.spec.whatwg.org ("basic URL
parser") for browsers, and the behaviour of urllib.parse (Twisted), yarl (aiohttp), httpx and
urllib3.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection

from .rules import Rules, disallowed_among
from .urls import Origin, path_of, shown
from .verdict import Verdict

# Every client sends these characters unchanged. If a URL contains only these characters, and has no
# dot segment, no empty query and no empty parameters, every client sends it as written.
_SENT = string.ascii_letters + string.digits + "!$&'()*+,-./:;=?_~"
# This checks many URLs at once. It matches a string of joined URLs, with an LF after each URL, if
# all other characters are in `_SENT`.
_ARE_SENT = re.compile(rf"[{re.escape(_SENT)}\n]*").fullmatch
# If such a joined text contains one of these strings, a client may change one of the URLs. For
# example, "?\n" is the end of a URL with an empty query.
_MAY_BE_ODD = ("/.", ";?", ";\n", "?\n")
# This matches one URL that consists of characters in `_SENT` and does not end with ";" or "?".
_IS_SENT = re.compile(rf"[{re.escape(_SENT)}]*(?<![;?])").fullmatch

_ANY_SITE = "http://example.com"

# The groups of this expression are the scheme, authority, path and query of a URL.
_PARTS = re.compile(r"([^/?#]*://)([^/?#]*)([^?#]*)((?:\?[^#]*)?)", re.DOTALL)
# White space and control characters, which clients strip from both ends of a URL.
_ENDS = "".join(map(chr, range(0x21)))
# Characters that clients remove everywhere in a URL (url.spec.whatwg.org).
_DROPPED = str.maketrans("", "", "\t\n\r")

# This matches the last segment of a path with a ";" at the end. The ";" begins parameters that are
# empty (RFC 1808 2.1).
_EMPTY_PARAMETERS = re.compile(r"(/[^/;]*);\Z")
_ODD_CHARACTER = re.compile(r"%[0-9A-Fa-f]{2}|[%\x00-\x20\"<>\[\\\]^`{|}\x7f]")
# Characters that need no escape in a URL. Only yarl decodes the escapes of the last seven
# characters.
_UNRESERVED = string.ascii_letters + string.digits + "-._~" + "!$'()*,"
_DECODED_IN_PATH = frozenset(_UNRESERVED + "&=;@:")
_DECODED_IN_QUERY = frozenset(_UNRESERVED + "?/:@")
_DOTS = frozenset({".", ".."})
# Browsers read these segments as dot segments, in upper and lower case (url.spec.whatwg.org).
_BROWSERS_DOTS = {"%2e": ".", ".%2e": "..", "%2e.": "..", "%2e%2e": ".."}


def as_sent(url: str) -> str:
    """Return `url` without the characters that clients remove before they read a URL.

    These characters are white space around the URL, line ends and tabs. For example, a client
    sends the request for `" http://example.com/"` to example.com.
    """
    if url.isprintable() and url[:1] != " " and url[-1:] != " ":
        return url
    return url.strip(_ENDS).translate(_DROPPED)


def other_forms(url: str | bytes) -> tuple[str, ...]:
    """Return all forms, except `url` itself, in which some client may send the absolute URL `url`.

    For nearly every URL the result is empty, and it never contains more than five forms. User-info
    that contains a `;` is removed from each form, because Google's parser would take the `;` for
    the beginning of the path.
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
        # The form that aiohttp sends if the caller marks the URL as already encoded.
        base + path + shorter_query,
        # The form that Twisted sends.
        base + _EMPTY_PARAMETERS.sub(r"\1", path) + shorter_query,
        # The form that httpx sends.
        base + _without_dots(path, end="") + query,
        # The form that browsers send.
        base + _without_dots(in_browsers) + query,
        # The form that aiohttp usually sends.
        base + _without_dots(decoded) + _rewritten(shorter_query, _DECODED_IN_QUERY),
    )
    return tuple(form for form in dict.fromkeys(forms) if form != text)


def names_the_same(url: str, other: str) -> bool:
    """Return whether `other` is a form in which a client may send `url`. Fragments are ignored.

    `url` and `other` should be absolute URLs. If one of them is not an absolute URL, the result is
    True only if they are equal.
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

    This function is faster than `verdict_on_all_forms`.
    """
    if not rules.allowed(url):
        return False
    if isinstance(url, str) and _IS_SENT(url) and "/." not in url and ";?" not in url:
        return True  # Nearly all URLs have no other form.
    forms = other_forms(url)
    return not forms or all(map(rules.allowed, forms))


def disallowed_of_a_site(rules: Rules, paths: Collection[str]) -> set[str]:
    """Return the paths among `paths` that are disallowed.

    A path may be sent in several forms. It is returned if at least one form is disallowed. Each
    path is a URL without its scheme and authority, as written. This function is faster than calling
    `allowed_in_all_forms` with each URL.
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
    """Return whether every client sends each of the paths or URLs as written."""
    text = "\n".join([*paths, ""])
    if text.count("\n") > len(paths) or not _ARE_SENT(text):
        return False
    return not any(odd in text for odd in _MAY_BE_ODD)


def verdict_on_all_forms(rules: Rules, url: str | bytes) -> Verdict:
    """Return the verdict on `url` in all forms in which a client may send it.

    The first disallowed form decides. If this form is not the URL as written, the reason in the
    verdict shows the form.
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
    """Return `path` without dot segments (RFC 3986 5.2.4). At the root, `..` has no effect.

    If the last segment is a dot segment, the result ends with `end`. For example, "/a/b/.." becomes
    "/a/" if `end` is "/".
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
    """Decode the escapes of characters in `decoded`, and write all other escapes in upper case.

    Characters that a URL may not contain are escaped. For example, "/%7e%2f{" becomes "/~%2F%7B" if
    `decoded` contains "~".
    """

    def write(match: re.Match[str]) -> str:
        odd = match[0]
        if len(odd) == 1:
            return f"%{ord(odd):02X}"
        char = chr(int(odd[1:], 16))
        return char if char in decoded else odd.upper()

    return _ODD_CHARACTER.sub(write, text)
