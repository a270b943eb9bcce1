"""Preferences about the use of content in headers, and what lint says of the lines.

core/preferences.py reads the lines of a robots.txt; its names for those who combine both stand
here, too. Experimental: both fields are drafts, so names here may change.

Boundary: no verdict depends on preferences.
Sources: as core/preferences.py; RSL 1.0 (`License`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

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
from ..core.robots import FieldLine, RobotsTxt, groups_of
from ..core.urls import is_absolute, shown

__all__ = ["LABELS", "NOTHING_SAID", "Preferences", "combined", "of_headers", "on_preferences"]


def of_headers(usage: Iterable[bytes], signals: Iterable[bytes]) -> Preferences:
    """Return what a response says by its `Content-Usage` and `Content-Signal` headers.

    `usage` and `signals` are their values. Several `Content-Usage` headers are one Dictionary (RFC
    9651 4.2). Headers are about their response only.
    """
    return combined(
        [
            usage_of(b", ".join(usage), ()) or NOTHING_SAID,
            *(signal_of(value, ()) for value in signals),
        ]
    )


def on_preferences(robotstxt: RobotsTxt) -> Iterator[tuple[int, str, str]]:
    """Yield what is wrong in lines about the use of content.

    Each has its line and the name of its kind.
    """
    usage, signals = robotstxt.fields("content-usage"), robotstxt.fields("content-signal")
    yield from _on_usage(usage)
    for line, value, _ in signals:
        text = _unread_signal(value)
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


def _on_usage(lines: Iterable[FieldLine]) -> Iterator[tuple[int, str, str]]:
    """Find values that say nothing, and `y` and `n` for the same path of the same group."""
    firsts: dict[tuple[tuple[str, ...], str, bytes], tuple[bytes, int]] = {}
    for line, value, agents in lines:
        path, dictionary = path_and_dictionary(value.encode())
        members = read_dictionary(dictionary)
        if members is None:
            why = "see RFC 9651, 3.2"
            if read_dictionary(dictionary.lower()) is not None:
                why = "keys are in lower case"
            text = f"not a dictionary, so the line is ignored: {why}"
            yield line, "preference that says nothing", text
            continue
        for key, token in [(key, members[key]) for _, key, _ in LABELS if key in members]:
            if token not in {b"y", b"n"}:
                text = f'only y and n count in Content-Usage: "{key.decode()}" says nothing here'
                yield line, "preference that says nothing", text
                continue
            before, first = firsts.setdefault((agents, path, key), (token, line))
            if before != token:
                statement = f'"{key.decode()}" is {before.decode()} in line {first}'
                text = f"{statement} for the same path: n counts"
                yield line, "contradicting preferences", text


def _unread_signal(value: str) -> str:
    """Say why a Content-Signal line says less than it seems to; "" if it does not."""
    if value.startswith("/"):
        return "Content-Signal has no paths: the line says less than it seems to"
    for key, granted in pairs_of(value):
        if key in SIGNALS and granted not in SIGNAL_VALUES:
            return f'only yes and no count in Content-Signal: "{key}" says nothing here'
        if key == "use" and granted not in USES:
            return f'only {", ".join(USES)} count for "use" in Content-Signal'
    return ""


def _on_silent_groups(
    robotstxt: RobotsTxt, speaking: Collection[str]
) -> Iterator[tuple[int, str, str]]:
    """Find groups for named crawlers without preferences.

    Those of the group for all do not count for them.
    """
    named: dict[str, int] = {}
    for group in groups_of(robotstxt):
        for agent, line in group.agents.items():
            named.setdefault(agent, line)
    for name, line in named.items():
        if name and name not in speaking:
            text = f'"{name}" does not heed what Content- lines say to "*": its own group has none'
            yield line, "preferences not repeated", text
