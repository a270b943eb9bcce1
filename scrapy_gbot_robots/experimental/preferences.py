"""Preferences about the use of content: what sites say, and what that means for a crawl's purposes.

core/preferences.py reads the lines of a robots.txt. Here are the headers of pages, what lint says
of the lines, and the check of a crawl. A purpose is a label of the drafts, such as "train-ai". It
is refused only if the site says so. A crawl says its purposes by `GBOT_ROBOTS_PURPOSES`, and by
`GBOT_ROBOTS_PURPOSES_ACTION` whether a refusal is only noted.

The crawl reads the robots.txt before it fetches a page. The headers of a page are about that page
only. The more restrictive of both counts. A crawl without a purpose uses nothing of this module.
Experimental: both fields are drafts, so names here may change.

Boundary: no verdict depends on preferences.
Sources: as core/preferences.py; RSL 1.0 (`License`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from ..core.lines import MISSING_COLON
from ..core.preferences import (
    NOTHING_SAID,
    SIGNAL,
    USAGE,
    Labels,
    Preferences,
    combined,
    pairs_of,
    path_and_dictionary,
    read_dictionary,
    stated_in,
)
from ..core.remarks import is_policy
from ..core.robots import RobotsTxt, groups_by_agent, groups_of, lines_of
from ..core.rules import closing_rule
from ..core.urls import is_absolute, shown
from ..core.verdict import Verdict
from ..meta import PREFERENCES, PROVENANCE

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

Odd: TypeAlias = Iterator[tuple[int, str, str]]  # a line, the name of a kind of finding, a text

PURPOSES = tuple(USAGE)
_LABELS = USAGE.keys() | SIGNAL.keys()

_BEFORE_GROUPS = "a Content-Usage line"
_NO_COLON = "no colon after Content-Usage, so the line is ignored"
_NO_DICTIONARY = (
    "not a dictionary (RFC 9651, 3.2), so nothing is known for its path: keys are in lower case, "
    "and no comma ends it"
)
GRANTED = "granted"
REFUSED = "refused"
UNSAID = "unsaid"


def of_headers(usage: Iterable[bytes], signals: Iterable[bytes]) -> Preferences:
    """Return what a response says by its `Content-Usage` and `Content-Signal` headers.

    `usage` and `signals` are their values. Several `Content-Usage` headers are one Dictionary (RFC
    9651 4.2). Headers are about their response only.
    """
    members = read_dictionary(b", ".join(usage)) or {}
    pairs = pairs_of(b",".join(signals).decode("ascii", "replace"))
    return combined([stated_in(members.items(), USAGE), stated_in(pairs, SIGNAL)])


def on_preferences(robotstxt: RobotsTxt) -> Odd:
    """Yield what is wrong in lines about the use of content."""
    usage = robotstxt.fields("content-usage")
    signals = robotstxt.fields("content-signal")
    lines = lines_of(robotstxt)
    for line, value, user_agents in usage:
        path, dictionary = path_and_dictionary(value.encode())
        members = read_dictionary(dictionary)
        if not user_agents:
            yield line, "rule before any group", _BEFORE_GROUPS
        elif lines[line - 1].flags & MISSING_COLON:
            yield line, "preference that says nothing", _NO_COLON
        elif members is None:
            yield line, "preference that says nothing", _not_read(path, dictionary)
        else:
            yield from _on_label(line, "Content-Usage", members.items(), USAGE)
    for line, value, _ in signals:
        yield from _on_label(line, "Content-Signal", pairs_of(value), SIGNAL)
    speaking: set[str] = set()
    for field in (*usage, *signals):
        speaking.update(field.user_agents)
    if "*" in speaking:
        yield from _on_silent_groups(robotstxt, speaking)
    for line, value, _ in robotstxt.fields("license"):
        if not is_absolute(value):
            yield line, "bad license", f"not an absolute http, https or ftp URL: {shown(value)}"


def _not_read(path: str, dictionary: bytes) -> str:
    """Return what is wrong with a value of Content-Usage whose `dictionary` is none."""
    first, *rest = dictionary.split(None, 1)
    if not path and rest and read_dictionary(rest[0]) is not None and b"=" not in first:
        written = shown(first.decode("utf-8", "replace"))
        return f'a path begins with "/", and "{written}" does not: nothing is known'
    return _NO_DICTIONARY


def _on_label(line: int, field: str, pairs: Iterable[tuple[str, str]], labels: Labels) -> Odd:
    """Find the first label of a line that says nothing.

    It is the other field's, or has a value that does not count. An unknown label counts as one
    only if the line has no known one: beside that, it may be a label of a later draft.
    """
    stated = {key: value for key, value in pairs if key}
    checked = stated.keys() & _LABELS or stated.keys()  # all, if none is known
    for key, value in stated.items():
        if key in checked and value not in labels.get(key, ()):
            words = ", ".join(f"{label}={'|'.join(values)}" for label, values in labels.items())
            text = f'"{shown(key)}" says nothing here; {field} has {words}'
            yield line, "preference that says nothing", text
            return


def _on_silent_groups(robotstxt: RobotsTxt, speaking: Collection[str]) -> Odd:
    """Find groups for named crawlers without preferences, that may fetch something.

    Those of the group for all do not count for them.
    """
    groups = groups_of(robotstxt)
    for name, numbers in groups_by_agent(groups).items():
        if name in speaking or is_policy(name):
            continue
        rules = chain.from_iterable(groups[number].rules for number in numbers)
        if closing_rule(rules) is None:  # else there is nothing to use
            line = groups[numbers[0]].user_agents[name]
            text = f'"{name}" does not heed what Content- lines say to "*": its own group has none'
            yield line, "preferences not repeated", text


# The purposes of a crawl


def word_on(purpose: str, stated: Preferences) -> str:
    """Whether `stated` grants or refuses a purpose: "granted", "refused" or "unsaid"."""
    return {True: GRANTED, False: REFUSED}.get(getattr(stated, purpose.replace("-", "_")), UNSAID)


def refusal(
    purposes: Iterable[str], stated: Preferences, who: str = "robots.txt"
) -> Verdict | None:
    """Return why a page may not be used for `purposes`, None if it may.

    `who` names the author of `stated`.
    """
    refused = [purpose for purpose in purposes if word_on(purpose, stated) == REFUSED]
    if not refused:
        return None
    where = f" (line {', '.join(map(str, stated.lines))})" if stated.lines else ""
    return Verdict(allowed=False, rule=None, reason=f"{who} refuses {', '.join(refused)}{where}")


class PreferenceCheck:
    """Compares the preferences of sites with the purposes of one crawl."""

    def __init__(self, crawler: Crawler, purposes: tuple[str, ...], *, refuses: bool) -> None:
        self._crawler = crawler
        self._purposes = purposes
        self._refuses = refuses
        # What the robots.txt files have stated about requests under way.
        self._stated: WeakKeyDictionary[Request, Preferences] = WeakKeyDictionary()

    def before(self, request: Request, stated: Preferences) -> Verdict | None:
        """Note what robots.txt has `stated` about the page of `request`.

        Returns a verdict if that forbids the request.
        """
        self._stated[request] = stated
        request.meta[PREFERENCES] = note = _note(stated)
        if not self._refuses:
            return None
        refused = refusal(self._purposes, stated)
        if refused is not None:
            self._count(note)
        return refused

    def forget(self, request: Request) -> None:
        """Forget what robots.txt has stated: the page of `request` came from another URL."""
        if request in self._stated:
            self._stated[request] = NOTHING_SAID

    def after(self, request: Request, response: Response) -> Verdict | None:
        """Add what the headers of `response` say.

        Returns a verdict if they keep the response from the spider.
        """
        stated = self._stated.pop(request, None)
        if stated is None:
            return None
        headers = response.headers
        by_header = of_headers(headers.getlist("Content-Usage"), headers.getlist("Content-Signal"))
        request.meta[PREFERENCES] = note = _note(combined([stated, by_header]))
        proof = request.meta.get(PROVENANCE)
        if isinstance(proof, dict):
            proof["preferences"] = note
        self._count(note)
        for purpose in self._purposes:
            if word_on(purpose, by_header) == REFUSED:
                self._crawler.stats.inc_value(f"gbot_robots/preference/{purpose}/by_header")
        if not self._refuses:
            return None
        return refusal(self._purposes, by_header, "a header of the page")

    def _count(self, note: dict[str, Any]) -> None:
        for purpose in self._purposes:
            self._crawler.stats.inc_value(f"gbot_robots/preference/{purpose}/{note[purpose]}")


def _note(stated: Preferences) -> dict[str, Any]:
    """The preferences as plain values, for `request.meta`."""
    return {
        **{purpose: word_on(purpose, stated) for purpose in PURPOSES},
        "use": stated.use,
        "lines": list(stated.lines),
    }
