"""Compares the purposes of a crawl with the preferences of sites about the use of their content.

A site states its preferences in the fields Content-Usage and Content-Signal, which two drafts
define. The fields may be lines of its robots.txt or headers of a page. A header applies only to its
page. core/preferences.py reads the lines of a robots.txt. This module reads the headers of pages,
finds mistakes in the lines of a robots.txt for `lint`, and checks the requests of a crawl.

A *purpose* is what a crawl uses pages for, such as "train-ai". The setting `GBOT_ROBOTS_PURPOSES`
lists the purposes of a crawl. If it lists none, the crawl does not use this module. If the
robots.txt and the headers of a page differ, the more restrictive preference is used. If a site
refuses a purpose, the setting `GBOT_ROBOTS_PURPOSES_ACTION` determines whether the request is
forbidden, or whether the refusal is only noted. A site that states no preferences does not refuse
any purpose.

The module is experimental, because the drafts may change. Whether the rules of a robots.txt allow
a URL does not depend on preferences.
Sources: the sources of core/preferences.py, and RSL 1.0 for the field `License`.
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

# Each finding of `lint` consists of a line number, the name of its kind, and a string.
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
    """Return the preferences in the headers of a response. They apply only to its page.

    Args:
        usage: the values of the `Content-Usage` headers. Together they form one Dictionary (RFC
            9651 4.2).
        signals: the values of the `Content-Signal` headers.
    """
    members = read_dictionary(b", ".join(usage)) or {}
    pairs = pairs_of(b",".join(signals).decode("ascii", "replace"))
    return combined([stated_in(members.items(), USAGE), stated_in(pairs, SIGNAL)])


def on_preferences(robotstxt: RobotsTxt) -> Odd:
    """Yield the mistakes in the lines of a robots.txt that state preferences or a license."""
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
    """Describe the mistake in the value of a Content-Usage line.

    Args:
        path: the path at the beginning of the value; "" if there is none.
        dictionary: the rest of the value, which is not a Dictionary (RFC 9651 3.2).
    """
    first, *rest = dictionary.split(None, 1)
    if not path and rest and read_dictionary(rest[0]) is not None and b"=" not in first:
        written = shown(first.decode("utf-8", "replace"))
        return f'a path begins with "/", but "{written}" does not; the line has no effect'
    return _NO_DICTIONARY


def _on_label(line: int, field: str, pairs: Iterable[tuple[str, str]], labels: Labels) -> Odd:
    """If some labels in a line have no effect, yield a mistake that describes the first of them.

    A label, such as "train-ai", has no effect if the field of the line does not define it, or if
    its value is not valid. But if neither Content-Usage nor Content-Signal defines a label, it may
    come from a later draft. Then it is a mistake only if all labels in the line are unknown.

    Args:
        line: the number of the line.
        field: the name of the field, such as "Content-Usage".
        pairs: the labels in the line, each with its value.
        labels: the labels of the field, each with its valid values.
    """
    stated = {key: value for key, value in pairs if key}
    # Unknown labels are checked only if the line has no known label.
    checked = stated.keys() & _LABELS or stated.keys()
    for key, value in stated.items():
        if key in checked and value not in labels.get(key, ()):
            words = ", ".join(f"{label}={'|'.join(values)}" for label, values in labels.items())
            text = f'"{shown(key)}" has no effect here; the labels of {field} are {words}'
            yield line, "preference that says nothing", text
            return


def _on_silent_groups(robotstxt: RobotsTxt, stating: Collection[str]) -> Odd:
    """Yield a mistake for each crawler that has a group without preferences.

    The preferences in the group for `*` do not apply to this crawler. The author of the file may
    have overlooked this. If the crawler may not fetch any page, no mistake is yielded.

    Args:
        robotstxt: the robots.txt.
        stating: the user agents whose groups state preferences.
    """
    groups = groups_of(robotstxt)
    for name, numbers in groups_by_agent(groups).items():
        if name in stating or is_policy(name):
            continue
        rules = chain.from_iterable(groups[number].rules for number in numbers)
        if closing_rule(rules) is None:  # The crawler may fetch some of the pages.
            line = groups[numbers[0]].user_agents[name]
            text = f'the preferences of "*" do not count for "{name}"; repeat them in its own group'
            yield line, "preferences not repeated", text


# The purposes of a crawl


def word_on(purpose: str, stated: Preferences) -> str:
    """Return the preference for `purpose` in `stated`: "granted", "refused" or "unsaid"."""
    return {True: GRANTED, False: REFUSED}.get(getattr(stated, purpose.replace("-", "_")), UNSAID)


def refusal(
    purposes: Iterable[str], stated: Preferences, who: str = "robots.txt"
) -> Verdict | None:
    """Return a verdict that forbids a request, or None if `stated` refuses none of `purposes`.

    Args:
        purposes: the purposes of the crawl.
        stated: the preferences of the site.
        who: the source of the preferences, such as "robots.txt". The reason of the verdict begins
            with this text.
    """
    refused = [purpose for purpose in purposes if word_on(purpose, stated) == REFUSED]
    if not refused:
        return None
    where = ""
    if stated.lines:
        where = f" (line {', '.join(map(str, stated.lines))})"
    return Verdict(allowed=False, rule=None, reason=f"{who} refuses {', '.join(refused)}{where}")


class PreferenceCheck:
    """Compares the preferences of sites with the purposes of one crawl.

    Args:
        crawler: Scrapy's crawler, for its stats.
        purposes: the purposes of the crawl.
        refuses: whether a request is forbidden if the site refuses one of the purposes. If this is
            False, the refusal is only noted.
    """

    def __init__(self, crawler: Crawler, purposes: tuple[str, ...], *, refuses: bool) -> None:
        self._crawler = crawler
        self._purposes = purposes
        self._refuses = refuses
        # For each request that has no response yet, the preferences that the robots.txt states
        # about the page.
        self._stated: WeakKeyDictionary[Request, Preferences] = WeakKeyDictionary()

    def before(self, request: Request, stated: Preferences) -> Verdict | None:
        """Note the preferences for `request` before the request is sent.

        Args:
            request: the request.
            stated: the preferences that the robots.txt states about the page of the request.

        Returns:
            A verdict if the preferences forbid the request; else None.
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
        """Forget the preferences that `before` has noted for `request`.

        Call this if the page came from another URL, because that URL may have other preferences.
        """
        if request in self._stated:
            self._stated[request] = NOTHING_SAID

    def after(self, request: Request, response: Response) -> Verdict | None:
        """Combine the preferences in the headers with the preferences that `before` has noted.

        The result is put into `request.meta`, and counted for each purpose.

        Returns:
            A verdict if the headers refuse a purpose and `refuses` is True; else None. After a
            verdict, the spider must not get the response.
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
    """Return the preferences in the form for `request.meta` (see `meta.PREFERENCES`)."""
    return {
        **{purpose: word_on(purpose, stated) for purpose in PURPOSES},
        "use": stated.use,
        "lines": list(stated.lines),
    }
