"""Preferences of sites about the use of their content, compared with the purposes of a crawl.

core/preferences.py reads the lines of a robots.txt. This module reads the headers of pages, finds
mistakes in the lines for lint, and checks the requests of a crawl. A purpose is a label of the
drafts, such as "train-ai". A site refuses a purpose only if it states this. The setting
`GBOT_ROBOTS_PURPOSES` lists the purposes of a crawl. `GBOT_ROBOTS_PURPOSES_ACTION` sets whether a
refusal forbids a request or is only noted.

The crawl reads the robots.txt before it fetches a page. The headers of a page are about that page
only. If the two differ, the more restrictive one counts. A crawl without a purpose does not use
this module. The module is experimental: both fields are drafts, so names may change.

Boundary: no verdict depends on preferences.
Sources: those of core/preferences.py; RSL 1.0 (`License`).
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

# The number of a line, the name of a kind of finding, and the text of the finding.
Odd: TypeAlias = Iterator[tuple[int, str, str]]

PURPOSES = tuple(USAGE)
_LABELS = USAGE.keys() | SIGNAL.keys()

_BEFORE_GROUPS = "a Content-Usage line"
_NO_COLON = "no colon after Content-Usage, so the line is ignored"
_NO_DICTIONARY = (
    "not a dictionary (RFC 9651, 3.2), so no preference is known for its path; write keys in lower "
    "case, and no comma at the end"
)
GRANTED = "granted"
REFUSED = "refused"
UNSAID = "unsaid"


def of_headers(usage: Iterable[bytes], signals: Iterable[bytes]) -> Preferences:
    """Return the preferences that the headers of a response state for this response.

    Args:
        usage: the values of the `Content-Usage` headers. Several of them form one Dictionary (RFC
            9651 4.2).
        signals: the values of the `Content-Signal` headers.
    """
    members = read_dictionary(b", ".join(usage)) or {}
    pairs = pairs_of(b",".join(signals).decode("ascii", "replace"))
    return combined([stated_in(members.items(), USAGE), stated_in(pairs, SIGNAL)])


def on_preferences(robotstxt: RobotsTxt) -> Odd:
    """Yield the mistakes in lines about the use of content."""
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
    stating: set[str] = set()
    for field in (*usage, *signals):
        stating.update(field.user_agents)
    if "*" in stating:
        yield from _on_silent_groups(robotstxt, stating)
    for line, value, _ in robotstxt.fields("license"):
        if not is_absolute(value):
            yield line, "bad license", f"not an absolute http, https or ftp URL: {shown(value)}"


def _not_read(path: str, dictionary: bytes) -> str:
    """Describe the mistake in a value of Content-Usage whose `dictionary` is not a Dictionary."""
    first, *rest = dictionary.split(None, 1)
    if not path and rest and read_dictionary(rest[0]) is not None and b"=" not in first:
        written = shown(first.decode("utf-8", "replace"))
        return f'a path begins with "/", but "{written}" does not; the line has no effect'
    return _NO_DICTIONARY


def _on_label(line: int, field: str, pairs: Iterable[tuple[str, str]], labels: Labels) -> Odd:
    """Find the first label in a line that has no effect.

    A label has no effect if it belongs to the other field, or if its value is not valid. A label
    that both fields lack is found only if the line has no known label. Otherwise it may come from
    a later draft.
    """
    stated = {key: value for key, value in pairs if key}
    checked = stated.keys() & _LABELS or stated.keys()  # All labels, if none is known.
    for key, value in stated.items():
        if key in checked and value not in labels.get(key, ()):
            words = ", ".join(f"{label}={'|'.join(values)}" for label, values in labels.items())
            text = f'"{shown(key)}" has no effect here; the labels of {field} are {words}'
            yield line, "preference that says nothing", text
            return


def _on_silent_groups(robotstxt: RobotsTxt, stating: Collection[str]) -> Odd:
    """Find groups that name a crawler, state no preferences, and let the crawler fetch something.

    The preferences of the group for `*` do not count for these crawlers.

    Args:
        robotstxt: the file.
        stating: the user agents whose groups state preferences.
    """
    groups = groups_of(robotstxt)
    for name, numbers in groups_by_agent(groups).items():
        if name in stating or is_policy(name):
            continue
        rules = chain.from_iterable(groups[number].rules for number in numbers)
        if closing_rule(rules) is None:  # The crawler may fetch something.
            line = groups[numbers[0]].user_agents[name]
            text = f'the preferences of "*" do not count for "{name}"; repeat them in its own group'
            yield line, "preferences not repeated", text


# The purposes of a crawl


def word_on(purpose: str, stated: Preferences) -> str:
    """Return "granted", "refused" or "unsaid", as `stated` decides about `purpose`."""
    return {True: GRANTED, False: REFUSED}.get(getattr(stated, purpose.replace("-", "_")), UNSAID)


def refusal(
    purposes: Iterable[str], stated: Preferences, who: str = "robots.txt"
) -> Verdict | None:
    """Return a verdict if `stated` refuses one of `purposes`; None if it refuses none of them.

    The reason of the verdict begins with `who`, which names the source of `stated`.
    """
    refused = [purpose for purpose in purposes if word_on(purpose, stated) == REFUSED]
    if not refused:
        return None
    where = f" (line {', '.join(map(str, stated.lines))})" if stated.lines else ""
    return Verdict(allowed=False, rule=None, reason=f"{who} refuses {', '.join(refused)}{where}")


class PreferenceCheck:
    """Compares the preferences of sites with the purposes of one crawl.

    Args:
        crawler: Scrapy's crawler, for its stats.
        purposes: the purposes of the crawl.
        refuses: whether a refused purpose forbids the request. If not, it is only noted.
    """

    def __init__(self, crawler: Crawler, purposes: tuple[str, ...], *, refuses: bool) -> None:
        self._crawler = crawler
        self._purposes = purposes
        self._refuses = refuses
        # The preferences that robots.txt files state about the pages of requests under way.
        self._stated: WeakKeyDictionary[Request, Preferences] = WeakKeyDictionary()

    def before(self, request: Request, stated: Preferences) -> Verdict | None:
        """Note the preferences that the robots.txt states about the page of `request`.

        Returns:
            A verdict if they forbid the request; else None.
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
        """Forget the preferences of the robots.txt, because the page came from another URL."""
        if request in self._stated:
            self._stated[request] = NOTHING_SAID

    def after(self, request: Request, response: Response) -> Verdict | None:
        """Add the preferences in the headers of `response`, and count all of them.

        Returns:
            A verdict if the headers forbid the response, so that the spider must not get it; else
            None.
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
    """Return the preferences as plain values, for `request.meta`."""
    return {
        **{purpose: word_on(purpose, stated) for purpose in PURPOSES},
        "use": stated.use,
        "lines": list(stated.lines),
    }
