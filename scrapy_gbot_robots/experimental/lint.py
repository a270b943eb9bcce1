"""What is wrong in lines about the use of content: `Content-Usage`, `Content-Signal`, `License`.

`core.lint` has the kinds of finding, and asks this module. Sources: those of preferences.py; RSL 1.0 for `License`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..core.lines import GLOBAL
from ..core.robots import groups_of
from ..core.urls import is_absolute, shown
from .preferences import LABELS, USES, path_and_dictionary, read_dictionary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..core.robots import FieldLine, RobotsTxt

UNREADABLE: Final = "preference that says nothing"
CONTRADICTING: Final = "contradicting preferences"
NOT_REPEATED: Final = "preferences not repeated"
BAD_LICENSE: Final = "bad license"
NO_STANDARD: Final = "field without a standard"

FIELDS: Final = ("content-usage", "content-signal")
LICENSE: Final = b"license"
_USAGE_KEYS: Final = [key for _, key, _ in LABELS]
_SIGNAL_KEYS: Final = [name.decode("ascii") for _, _, name in LABELS]
_YES_OR_NO: Final = ("yes", "no")

# line, kind, text
Found = tuple[int, str, str]


def on_preferences(robotstxt: RobotsTxt) -> Iterator[Found]:
    """Yield what is wrong in these lines, in no particular order."""
    usage, signals = (robotstxt.fields(name) for name in FIELDS)
    yield from _on_usage(usage)
    for field in signals:
        text = _unread_signal(field.value)
        if text:
            yield field.line, UNREADABLE, text
    yield from _on_groups(robotstxt, usage, signals)
    for field in robotstxt.fields("license"):
        if not is_absolute(field.value):
            yield field.line, BAD_LICENSE, f"not an absolute http, https or ftp URL: {shown(field.value)}"
    for field in robotstxt.fields("llm-policy"):
        yield field.line, NO_STANDARD, "no standard has this field, and no crawler is known to heed it"


def _on_usage(lines: Sequence[FieldLine]) -> Iterator[Found]:
    """Find values that say nothing, and `y` and `n` for the same path of the same group."""
    said: dict[tuple[tuple[str, ...], str, bytes], tuple[bytes, int]] = {}
    for line, value, agents in lines:
        path, dictionary = path_and_dictionary(value.encode())
        members = read_dictionary(dictionary)
        if members is None:
            why = "keys are in lower case" if read_dictionary(dictionary.lower()) is not None else "see RFC 9651, 3.2"
            yield line, UNREADABLE, f"not a dictionary, so the line is ignored: {why}"
            continue
        for key in _USAGE_KEYS:
            token = members.get(key)
            if key not in members:
                continue
            if token not in {b"y", b"n"}:
                yield line, UNREADABLE, f'only y and n count in Content-Usage: "{key.decode()}" says nothing here'
                continue
            before, first = said.setdefault((agents, path, key), (token, line))
            if before != token:
                text = f'"{key.decode()}" is {before.decode()} in line {first} for the same path: n counts'
                yield line, CONTRADICTING, text


def _unread_signal(value: str) -> str:
    """Say why a Content-Signal line says less than it seems to; "" if it does not."""
    if value.startswith("/"):
        return "Content-Signal has no paths: the line says less than it seems to"
    for pair in value.lower().split(","):
        key, _, granted = (part.strip() for part in pair.partition("="))
        if key in _SIGNAL_KEYS and granted not in _YES_OR_NO:
            return f'only yes and no count in Content-Signal: "{key}" says nothing here'
        if key == "use" and granted not in USES:
            return f'only {", ".join(USES)} count for "use" in Content-Signal'
    return ""


def _on_groups(robotstxt: RobotsTxt, *fields: Sequence[FieldLine]) -> Iterator[Found]:
    """Find groups for named crawlers without preferences, if the group for all has some: those do not count for them."""
    everyone = GLOBAL.decode("ascii")
    speaking = {agent for lines in fields for field in lines for agent in field.agents}
    if everyone not in speaking:
        return
    named: dict[str, int] = {}
    for group in groups_of(robotstxt):
        for agent, line in group.agents.items():
            named.setdefault(agent.decode("ascii"), line)
    for name, line in named.items():
        if name and name not in speaking:
            yield line, NOT_REPEATED, f'"{name}" does not heed what Content- lines say to "*": its own group has none'
