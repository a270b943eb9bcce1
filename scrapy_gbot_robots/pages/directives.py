"""What robots meta tags and X-Robots-Tag headers say: text in, directives out.

`Directives` are plain values, so that `request.meta` and a JOBDIR can hold them: a word such as "noindex" is True,
a limit such as "max-snippet" is its text, and "unavailable_after" is a time in ISO 8601.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications". Several statements add up. If two
of them contradict each other, the more restrictive one counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TypeAlias

Directives: TypeAlias = "dict[str, bool | str]"

EVERYONE = "robots"  # the name that stands for all crawlers, in a meta tag

MOST_BYTES = 64 * 1024  # that are read of all header values together, and of one meta tag's content
MOST_NAMES = 100  # directives that are kept of one page; directives that Google knows are always kept

_SAY_NOTHING = frozenset({"all", "index", "follow"})
_WORDS = frozenset(
    """
    noindex nofollow noarchive nosnippet nocache notranslate noimageindex nositelinkssearchbox indexifembedded noai
    noimageai
    """.split()
)
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")
_DAYS = frozenset({"mon", "tue", "wed", "thu", "fri", "sat", "sun"})
_LONGEST_DATE = 64  # characters
_YEAR_OF_OLD = re.compile(r"(?<![0-9])00[0-9]{2}(?![0-9])")  # four digits, but `email` reads 0001 as 2001


def _limit(text: str) -> float | None:
    """A number of characters or seconds; -1 is no limit."""
    number = int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None
    if number is None or number < -1:
        return None
    return float("inf") if number == -1 else number


def _moment(text: str) -> float | None:
    when = _date(text)
    return None if when is None else when.timestamp()


# Directives with a value, and the function that turns the value into a number. A smaller number is more restrictive.
_VALUED: dict[str, Callable[[str], float | None]] = {
    "max-snippet": _limit,
    "max-video-preview": _limit,
    "max-image-preview": {"none": 0.0, "standard": 1.0, "large": 2.0}.get,
    "unavailable_after": _moment,
}

KNOWN = _WORDS | _VALUED.keys()


def in_headers(values: Iterable[str], names: Collection[str]) -> Directives:
    """What `X-Robots-Tag` headers say to a crawler.

    Args:
        values: the header's values, one for each header line. Within a line, "token:" addresses what follows it.
        names: the crawler's product tokens, in lower case.
    """
    found: Directives = {}
    left = MOST_BYTES
    for value in dict.fromkeys(values):
        if left <= 0:
            break
        for addressee, name, text in _statements(value[:left], addressed=True):
            if not addressee or addressee in names:
                _add(found, name, text)
        left -= len(value)
    return found


def in_meta_tags(contents: Iterable[str], said: Directives) -> Directives:
    """Add what the contents of meta tags say to `said`. Of different values for one directive, the more restrictive."""
    for content in contents:
        for _, name, text in _statements(content[:MOST_BYTES], addressed=False):
            _add(said, name, text)
    return said


def at_time(now: float, found: Directives) -> Directives:
    """The directives at `now` (seconds since the epoch): "noindex" is added once "unavailable_after" has passed."""
    until = found.get("unavailable_after")
    if isinstance(until, str) and datetime.fromisoformat(until).timestamp() <= now:
        return {**found, "noindex": True}
    return found


def _statements(text: str, *, addressed: bool) -> Iterator[tuple[str, str, str]]:
    """Each directive as (addressee, name, value), in lower case; addressee and value may be empty."""
    addressee = ""
    pieces = iter(text.lower().split(","))
    for piece in pieces:
        name, colon, value = (part.strip() for part in piece.partition(":"))
        while addressed and colon and name not in _VALUED and _WORD.match(name):
            addressee = name
            name, colon, value = (part.strip() for part in value.partition(":"))
        if name == "unavailable_after" and value[:3] in _DAYS:  # "wed, 25 jun 2031 15:00:00 gmt"
            value = f"{value},{next(pieces, '')}"
        if not colon or name in _VALUED:
            yield addressee, name, value


def _add(found: Directives, name: str, text: str) -> None:
    """Keep a directive; of two values the smaller. One that cannot be read has no effect, as Google's page says of dates."""
    if name == "none":
        found.update({"noindex": True, "nofollow": True})
    elif name in _VALUED:
        rank = _VALUED[name]
        new, old = rank(text), found.get(name)
        if new is not None and (not isinstance(old, str) or new < (rank(old) or 0)):
            when = _date(text) if name == "unavailable_after" else None
            found[name] = text if when is None else when.isoformat()
    elif name not in _SAY_NOTHING and _WORD.match(name) and (name in _WORDS or len(found) < MOST_NAMES):
        found[name] = True


def _date(text: str) -> datetime | None:
    """Read a date of ISO 8601, RFC 822 or RFC 850. A date without a zone is in UTC."""
    if len(text) > _LONGEST_DATE or _YEAR_OF_OLD.search(text):
        return None
    for read, form in ((datetime.fromisoformat, re.sub(r"z\Z", "+00:00", text)), (parsedate_to_datetime, text)):
        with suppress(ValueError, TypeError, IndexError, OverflowError):  # a date at the end of time overflows
            when = read(form)
            return (when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    return None
