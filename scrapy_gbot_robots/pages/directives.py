"""What robots meta tags and X-Robots-Tag headers say: text in, directives out.

`Directives` are plain values, so that `request.meta` and a JOBDIR can hold them: a word such as
"noindex" is True, a limit such as "max-snippet" is its text, and "unavailable_after" is a time in
ISO 8601.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications". Several
statements add up. If two of them contradict each other, the more restrictive one counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import TypeAlias

from ..policy.headers import date_in

Directives: TypeAlias = "dict[str, bool | str]"

EVERYONE = "robots"  # the name that stands for all crawlers, in a meta tag

# That are read of all header values together, and of all meta tags: one header line that Twisted's
# client takes.
MOST_BYTES = 16 * 1024
MOST_NAMES = (
    100  # directives that are kept of one page; directives that Google knows are always kept
)

_SAY_NOTHING = frozenset({"all", "index", "follow"})
_WORDS = frozenset(
    """
    noindex nofollow noarchive nosnippet nocache notranslate noimageindex nositelinkssearchbox
    indexifembedded noai noimageai """.split()
)
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")
_DAYS = frozenset({"mon", "tue", "wed", "thu", "fri", "sat", "sun"})
_UNTIL = "unavailable_after"
_VALUED = frozenset({"max-snippet", "max-video-preview", "max-image-preview", _UNTIL})
_PREVIEWS = ("none", "standard", "large")
KNOWN = _WORDS | _VALUED


def in_headers(values: Iterable[str], names: Collection[str]) -> Directives:
    """What `X-Robots-Tag` headers say to a crawler.

    Args:
        values: the header's values, one for each header line. Within a line, "token:" addresses
            what follows it.
        names: the crawler's product tokens, in lower case.
    """
    directives: Directives = {}
    for value in "\n".join(values)[:MOST_BYTES].split("\n"):
        for addressee, name, text in _statements(value, addressed=True):
            if not addressee or addressee in names:
                _add(directives, name, text)
    return directives


def in_meta_tags(contents: Iterable[str], directives: Directives) -> Directives:
    """Add what the contents of meta tags say to `directives`.

    Of different values for one directive, the more restrictive one counts.
    """
    joined = ",,".join(contents)  # so that no date goes on in the next content
    for _, name, text in _statements(joined[:MOST_BYTES], addressed=False):
        _add(directives, name, text)
    return directives


def at_time(now: float, directives: Directives) -> Directives:
    """The directives at `now`, in epoch seconds: "noindex", too, after "unavailable_after"."""
    until = directives.get(_UNTIL)
    if isinstance(until, str) and datetime.fromisoformat(until).timestamp() <= now:
        return {**directives, "noindex": True}
    return directives


def _statements(text: str, *, addressed: bool) -> Iterator[tuple[str, str, str]]:
    """Each directive as (addressee, name, value), in lower case; the first and last may be ""."""
    addressee = ""
    pieces = iter(text.lower().split(","))
    for piece in pieces:
        name, colon, value = (part.strip() for part in piece.partition(":"))
        while addressed and colon and name not in _VALUED and _WORD.match(name):
            addressee = name
            name, colon, value = (part.strip() for part in value.partition(":"))
        if name == _UNTIL and value[:3] in _DAYS:  # "wed, 25 jun 2031 15:00:00 gmt"
            value = f"{value},{next(pieces, '')}"
        if not colon or name in _VALUED:
            yield addressee, name, value


def _add(directives: Directives, name: str, text: str) -> None:
    """Keep a directive; of two values, keep the smaller one.

    A value that cannot be read has no effect, as Google's page says of dates.
    """
    if name == "none":
        directives.update({"noindex": True, "nofollow": True})
    elif name == _UNTIL:
        when = date_in(re.sub(r"z\Z", "+00:00", text), datetime.fromisoformat)
        if when is None:
            when = date_in(text)
        if when is not None:
            date = when.isoformat()
            directives[name] = min(date, str(directives.get(name, date)))
    elif name in _VALUED:
        new = _limit(text)
        old = directives.get(name)
        if new is not None and (not isinstance(old, str) or new < (_limit(old) or 0)):
            directives[name] = text
    elif (
        name not in _SAY_NOTHING
        and _WORD.match(name)
        and (name in _WORDS or len(directives) < MOST_NAMES)
    ):
        directives[name] = True


def _limit(text: str) -> float | None:
    """What a limit leaves of characters, seconds or `_PREVIEWS`: inf for -1; None if unreadable."""
    if text in _PREVIEWS:
        return _PREVIEWS.index(text)
    if text == "-1":
        return float("inf")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None
