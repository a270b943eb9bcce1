"""Preferences about the use of content: what sites say, and what that means for a crawl's purposes.

core/preferences.py reads the lines of a robots.txt. Here are the headers of pages, what lint says
of the lines, and the check of a crawl. A purpose is a label of the drafts, such as "train-ai". It
is refused only if the site says so. A crawl says its purposes by `GBOT_ROBOTS_PURPOSES`, and by
`GBOT_ROBOTS_PREFERENCES` whether a refusal is only noted; the command has `--purpose`.

The crawl reads the robots.txt before it fetches a page. The headers of a page are about that page
only. The more restrictive of both counts. A crawl without a purpose uses nothing of this module.
Experimental: both fields are drafts, so names here may change.

Boundary: no verdict depends on preferences.
Sources: as core/preferences.py; RSL 1.0 (`License`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from ..core.preferences import (
    LABELS,
    NOTHING_SAID,
    SIGNAL_VALUES,
    SIGNALS,
    USES,
    Preferences,
    combined,
    pairs_of,
    path_and_dictionary,
    read_dictionary,
    signal_of,
    usage_of,
)
from ..core.robots import RobotsTxt, groups_by_agent, groups_of
from ..core.rules import closing_rule
from ..core.urls import is_absolute, shown
from ..core.verdict import Verdict
from ..meta import PREFERENCES, PROVENANCE

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

Odd: TypeAlias = Iterator[tuple[int, str, str]]  # a line, the name of a kind of finding, a text

# of `Preferences`, by purpose
_ATTRIBUTES = {key.decode(): attribute for attribute, key, _ in LABELS}
PURPOSES = tuple(_ATTRIBUTES)
# The labels of each field with the values that count, and what the other field calls labels.
_USAGE_VALUES = dict.fromkeys(PURPOSES, ("y", "n"))
_SIGNAL_VALUES = {**dict.fromkeys(SIGNALS, tuple(SIGNAL_VALUES)), "use": USES}
_USAGE_OF = {signal: key.decode() for _, key, signal in LABELS if signal != key.decode()}
_SIGNAL_OF = {usage: signal for signal, usage in _USAGE_OF.items()}

GRANTED = "granted"
REFUSED = "refused"
UNSAID = "unsaid"


def of_headers(usage: Iterable[bytes], signals: Iterable[bytes]) -> Preferences:
    """Return what a response says by its `Content-Usage` and `Content-Signal` headers.

    `usage` and `signals` are their values. Several `Content-Usage` headers are one Dictionary (RFC
    9651 4.2). Headers are about their response only.
    """
    return combined(
        [
            usage_of(b", ".join(usage), lines=()) or NOTHING_SAID,
            *(signal_of(value, lines=()) for value in signals),
        ]
    )


def on_preferences(robotstxt: RobotsTxt) -> Odd:
    """Yield what is wrong in lines about the use of content."""
    usage = robotstxt.fields("content-usage")
    signals = robotstxt.fields("content-signal")
    for what_is_odd, lines in ((_odd_usage, usage), (_odd_signal, signals)):
        for line, value, _ in lines:
            text = what_is_odd(value)
            if text:
                yield line, "preference that says nothing", text
    speaking: set[str] = set()
    for field in (*usage, *signals):
        speaking.update(field.agents)
    if "*" in speaking:
        yield from _on_silent_groups(robotstxt, speaking)
    for line, value, _ in robotstxt.fields("license"):
        if not is_absolute(value):
            yield line, "bad license", f"not an absolute http, https or ftp URL: {shown(value)}"


def _odd_usage(value: str) -> str:
    """Say why a Content-Usage line says less than it seems to; "" if it does not."""
    _, dictionary = path_and_dictionary(value.encode())
    members = read_dictionary(dictionary)
    if members is None:
        why = "see RFC 9651, 3.2"
        if read_dictionary(dictionary.lower()) is not None:
            why = "keys are in lower case"
        return f"not a dictionary, so the line is ignored: {why}"
    pairs = [(key.decode(), (token or b"").decode()) for key, token in members.items()]
    return _odd_label("Content-Usage", pairs, _USAGE_VALUES, _USAGE_OF)


def _odd_signal(value: str) -> str:
    """Say why a Content-Signal line says less than it seems to; "" if it does not."""
    if value.startswith("/"):
        return "Content-Signal has no paths: the line says less than it seems to"
    pairs = [(key, granted) for key, granted in pairs_of(value) if key]
    return _odd_label("Content-Signal", pairs, _SIGNAL_VALUES, _SIGNAL_OF)


def _odd_label(
    field: str,
    pairs: Sequence[tuple[str, str]],
    labels: Mapping[str, tuple[str, ...]],
    swapped: Mapping[str, str],
) -> str:
    """Say which label of a line is the other field's, or has a value that says nothing.

    Or that the line has no label of its own field. Return "" if nothing is so: an unknown label
    beside a known one may be that of a later draft.
    """
    for key, _ in pairs:
        if key in swapped:
            return f'"{key}" says nothing in {field}: its label is "{swapped[key]}"'
    if pairs and labels.keys().isdisjoint(dict(pairs)):
        return f"no label of {field} is in this line: {', '.join(labels)}"
    for key, value in pairs:
        if key in labels and value not in labels[key]:
            joint = " and "
            if key == "use":  # it has more than two values
                joint = ", "
            counted = joint.join(labels[key])
            return f'only {counted} count in {field}: "{key}" says nothing here'
    return ""


def _on_silent_groups(robotstxt: RobotsTxt, speaking: Collection[str]) -> Odd:
    """Find groups for named crawlers without preferences, that may fetch something.

    Those of the group for all do not count for them.
    """
    groups = groups_of(robotstxt)
    for name, numbers in groups_by_agent(groups).items():
        if name in speaking:
            continue
        rules = chain.from_iterable(groups[number].rules for number in numbers)
        if closing_rule(rules) is None:  # else there is nothing to use
            line = groups[numbers[0]].agents[name]
            text = f'"{name}" does not heed what Content- lines say to "*": its own group has none'
            yield line, "preferences not repeated", text


# The purposes of a crawl


def word_on(purpose: str, stated: Preferences) -> str:
    """Whether `stated` grants or refuses a purpose: "granted", "refused" or "unsaid"."""
    return {True: GRANTED, False: REFUSED}.get(getattr(stated, _ATTRIBUTES[purpose]), UNSAID)


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
        request.meta[PREFERENCES] = _note(stated)
        if not self._refuses:
            return None
        refused = refusal(self._purposes, stated)
        if refused is not None:
            self._count(stated)
        return refused

    def after(self, request: Request, response: Response) -> Verdict | None:
        """Add what the headers of `response` say.

        Returns a verdict if they keep the response from the spider.
        """
        stated = self._stated.pop(request, None)
        if stated is None:
            return None
        headers = response.headers
        by_header = of_headers(headers.getlist("Content-Usage"), headers.getlist("Content-Signal"))
        stated = combined([stated, by_header])
        request.meta[PREFERENCES] = _note(stated)
        proof = request.meta.get(PROVENANCE)
        if isinstance(proof, dict):
            proof["preferences"] = request.meta[PREFERENCES]
        self._count(stated)
        for purpose in self._purposes:
            if word_on(purpose, by_header) == REFUSED:
                self._crawler.stats.inc_value(f"gbot_robots/preference/{purpose}/by_header")
        if not self._refuses:
            return None
        return refusal(self._purposes, by_header, "a header of the page")

    def _count(self, stated: Preferences) -> None:
        for purpose in self._purposes:
            word = word_on(purpose, stated)
            self._crawler.stats.inc_value(f"gbot_robots/preference/{purpose}/{word}")


def _note(stated: Preferences) -> dict[str, Any]:
    """The preferences as plain values, for `request.meta`."""
    return {
        **{purpose: word_on(purpose, stated) for purpose in PURPOSES},
        "use": stated.use,
        "lines": list(stated.lines),
    }
