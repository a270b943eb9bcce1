"""What the author of a robots.txt should know about it: the findings, the greatest harm first.

All kinds of finding are in one table, with their level, their words and what to write instead. How
harmful a kind is, is our judgement. Some kinds only show when several lines are compared, such as a
rule that another rule always outweighs: an index of the other rules is asked about the paths of
each rule (`stand_in` of patterns.py).

Boundary: no verdict depends on a finding. The careful reader (lines.py) sets the kinds and flags of lines.
Source: RFC 9309, Google's page and Google's parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import NamedTuple

from . import lines
from .crawlers import Crawler
from .known_crawlers import meant_by
from .lines import Line, agent_of, split_lines, without_bom
from .patterns import NO_RULE, covers, directory_of_index, line_of, precedence_of, stand_in
from .robots import Group, RobotsTxt, groups_by_agent, groups_of, lines_of
from .rule_index import Index
from .rules import closing_rule
from .urls import as_text, is_absolute, shown
from .verdict import Rule

ERROR = "error"  # the line does nothing, or something else than it says
WARNING = (
    "warning"  # the line works for Google and fails elsewhere, or looks like more than it does
)
NOTE = "note"  # harmless
LEVELS = (ERROR, WARNING, NOTE)  # the greatest harm first


class Kind(NamedTuple):
    """A kind of finding."""

    name: str  # is stable: programs may know it
    level: str  # one of `LEVELS`
    words: str  # what is so and what to do about it, with places for what a finding is about

    @property
    def id(self) -> str:
        """The name as it stands in options and in addresses of pages."""
        return self.name.lower().replace(" ", "-")


class Finding(NamedTuple):
    """Something odd in line `line` (from 1): a level, the name of a kind, and a printable sentence."""

    level: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


NO_ROBOTS_FILE = Kind(
    "no robots file",
    ERROR,
    "this is {what}, not a robots.txt: {rules} of its lines are read as rules",
)
CUT = Kind(
    "cut", ERROR, "the file was cut here, after {size} bytes; this line may have lost its end"
)
RULE_BEFORE_GROUP = Kind(
    "rule before any group", ERROR, "a rule before the first user-agent line is ignored"
)
NO_AGENT = Kind("no user agent", ERROR, '"{value}" names no user agent')
AGENT_CUT = Kind(
    "user agent cut",
    ERROR,
    'this is for "{agent}", not for "{value}": a name ends where anything but letters, "-" and "_" begins',
)
MISSPELT = Kind(
    "misspelt field", ERROR, 'unknown field "{key}", so the line is ignored; did you mean "{name}"?'
)
OTHER_FIELD = Kind(
    "another field read as a rule",
    ERROR,
    'Google reads it as "{rule}", whatever the rest of it means',
)
IGNORED = Kind("ignored", ERROR, 'neither a directive nor a comment, which begins with "#"')
NO_SLASH = Kind(
    "no leading slash",
    ERROR,
    'no path begins like "{value}": it begins with "/", without scheme and host',
)
SPACE = Kind(
    "space in a path", ERROR, "no URL has white space in it: a space is %20 there; one rule a line"
)
COMMENT_IN_PATH = Kind(
    "comment within a path",
    ERROR,
    'a "#" begins a comment, so the rule is "{rule}"; crawlers request no "#"',
)
REGEX = Kind(
    "regular expression",
    ERROR,
    'no crawler reads regular expressions: "{part}" is matched as it stands; "*" is anything, "$" the end',
)
SHADOWED = Kind(
    "shadowed rule",
    ERROR,
    '"{rule}" never decides for {whom}: "{rival}" in line {other} matches all of it and is preferred',
)
OVER_LONG = Kind("over-long", ERROR, "longer than {most} bytes, the rest was dropped")
NOT_UTF8 = Kind(
    "not UTF-8", ERROR, "not UTF-8: bytes are matched as they stand, and none after a NUL byte"
)
BAD_SITEMAP = Kind("bad sitemap", ERROR, "not one absolute http, https or ftp URL: {value}")
NOINDEX = Kind(
    "noindex",
    ERROR,
    'Google does not use the field "{key}" and may index the page: use a robots meta tag or the header X-Robots-Tag',
)
UNREADABLE = Kind("preference that says nothing", ERROR, "{what}")
BAD_LICENSE = Kind("bad license", ERROR, "{what}")
CONTRADICTING = Kind("contradicting preferences", WARNING, "{what}")
NOT_REPEATED = Kind("preferences not repeated", WARNING, "{what}")
CLOSED = Kind(
    "whole site disallowed", WARNING, '"{rule}" keeps every crawler away from the whole site'
)
NO_CRAWLER = Kind(
    "name of no crawler", WARNING, 'no known crawler is called "{agent}"; did you mean {names}?'
)
JOINED = Kind(
    "joined groups",
    WARNING,
    "in one group with line {other}, as no rule stands between: both follow the same rules",
)
TYPO = Kind("typo", WARNING, '"{key}" was read as "{name}"')
MISSING_COLON = Kind("missing colon", WARNING, 'no colon after "{key}"')
UNUSED_FIELD = Kind("unused field", WARNING, 'Google does not use the field "{key}"')
UNKNOWN_FIELD = Kind("unknown field", WARNING, 'unknown field "{key}"')
OWN_GROUP = Kind(
    "own group",
    NOTE,
    'the group of "*" is not for {whom}, so this is open there: {paths}; repeat what should hold',
)
NO_RULES = Kind("group without rules", NOTE, 'no rules follow: "{agent}" may fetch everything')
DOLLAR = Kind(
    "dollar within a path", NOTE, '"$" is the end of a URL only as the last character of a rule'
)
DUPLICATE = Kind("duplicate rule", NOTE, '"{rule}" is already in line {other}')
RAW = Kind(
    "path not escaped", NOTE, "matched as {value}: write it so, for crawlers that do not escape"
)
TOO_MANY = Kind(
    "too many rules to compare",
    NOTE,
    "from this group on, not all rules were compared with each other: there are too many",
)

# All of them, the greatest harm first.
KINDS = {kind.name: kind for kind in list(globals().values()) if isinstance(kind, Kind)}
_RANK = {name: rank for rank, name in enumerate(KINDS)}

# What a finding is called as a remark on a robots.txt. A finer kind than the remarks know goes by
# the kind that it refines.
_BY_LINE = (CUT, RULE_BEFORE_GROUP, NO_AGENT, AGENT_CUT, IGNORED, NO_SLASH, OVER_LONG, BAD_SITEMAP)
_BY_FIELD = (TYPO, MISSING_COLON, UNUSED_FIELD, UNKNOWN_FIELD)
_FINER = {MISSPELT: UNKNOWN_FIELD, OTHER_FIELD: TYPO, NOINDEX: UNUSED_FIELD}
_REMARKS = {kind.name: _FINER.get(kind, kind).name for kind in (*_BY_LINE, *_BY_FIELD, *_FINER)}

_PAGE_BEGINS = re.compile(
    rb"\s*(?:<\?xml\b[^>]*>\s*)?(?:<!--.{0,1000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # its byte-order marks
# What only regular expressions have. ".*" also is a dot and any run of characters, as in
# "/index.*", so it has to stand where no file name has a dot.
_REGEX = re.compile(
    rb"\[\^?(?:\w-\w)+\w*\][+*?]?|\([^()|]*\|[^()]*\)[+*?]?|\(\?[:=!]|\(\.[*+]|\\[dws](?![A-Za-z])|\\[.?/+*()]"
    rb"|(?<=[^/*])/\.\*(?=/|\$?\Z)|\.\+(?=/|\$?\Z)"
)
_DOT_STAR = re.compile(rb"(?<=[^*.])\.\*(?=\w)")  # in a path without another star
_NOINDEX = b"noindex"
_PRODUCT = re.compile(rb"[A-Za-z_-]+/")  # a product token with a version, as in a User-Agent header
_FIELD_NAMES = {kind: name.decode("ascii") for kind, name, _ in lines.FIELDS}
_MAX_FIELD = 30  # characters; a longer name is no misspelling
_ENDING = 2  # characters of an ending, as in "Disallowed"; more of them make another word
_RULES = {lines.ALLOW, lines.DISALLOW}
_LICENSE = b"license"  # a field of RSL 1.0
_PATHS_BEGIN = ("/", "*")  # the patterns of paths
_MOST_NAMES = 3  # that a finding names

# To hold patterns against a path takes at most a quarter of a nanosecond for each character of
# theirs and each of the path.
_MOST_WORK = 20_000_000_000
_WORK_OF_RULE = 60  # the patterns count as so many characters more
_WORK_OF_PATH = 200  # and the path


def finding(line: int, kind: Kind, **about: object) -> Finding:
    """Return a finding of `kind`, with what it is `about` in its words."""
    return Finding(kind.level, line, kind.name, kind.words.format(**about))


def findings(
    body: bytes,
    *,
    strict: bool = False,
    max_bytes: int | None = lines.MAX_BYTES,
    truncated: bool = False,
) -> list[Finding]:
    """Return what is odd about a robots.txt, the greatest harm first, then by line. No `body` makes this raise.

    Args:
        body: the bytes of the file.
        strict: as for `RobotsTxt.parse`.
        max_bytes: as for `RobotsTxt.parse`.
        truncated: whether more was served than `body`.
    """
    robotstxt = RobotsTxt.parse(body, strict=strict, max_bytes=max_bytes, cut=truncated)
    all_lines, groups = lines_of(robotstxt), groups_of(robotstxt)
    what = _something_else(body, all_lines)
    if what:
        return [
            finding(1, NO_ROBOTS_FILE, what=what, rules=sum(len(group.rules) for group in groups))
        ]
    found = {*_on_lines(robotstxt, body[:max_bytes])}
    from ..experimental.preferences import on_preferences  # noqa: PLC0415 - it is above core

    found |= {
        finding(line, KINDS[kind], what=text) for line, kind, text in on_preferences(robotstxt)
    }
    found |= {*_on_groups(groups, all_lines), *_on_crawlers(groups, strict=strict)}
    return sorted(found, key=lambda each: (_RANK[each.kind], each.line, each.text))


def _something_else(body: bytes, all_lines: Iterable[Line]) -> str:
    """Return what `body` is if it is another kind of file, such as an error message: no line of it is understood."""
    text = without_bom(body)
    if _PAGE_BEGINS.match(text):
        return "a web page"
    said = [line for line in all_lines if not line.flags & (lines.EMPTY | lines.IS_COMMENT)]
    is_binary = b"\0" in text
    if (not said and not is_binary) or any(
        line.kind != lines.UNKNOWN
        or line.key.lower() == _LICENSE
        or _nearest_field(_text(line.key))
        for line in said
    ):
        return ""
    if text.startswith(_UTF_16):
        return 'UTF-16 (Notepad\'s "Unicode"; save it as UTF-8)'
    if is_binary:
        return "no text"
    return "JSON" if text.lstrip().startswith((b"{", b"[")) else "another text"


def _nearest_field(key: str) -> list[str]:
    return (
        get_close_matches(key.lower(), _FIELD_NAMES.values(), n=1, cutoff=0.75)
        if len(key) <= _MAX_FIELD
        else []
    )


def remarks_on(robotstxt: RobotsTxt, body: bytes) -> list[Finding]:
    """Return the findings about single lines of `body`, in the order of the lines. `robotstxt` was read from it."""
    found = [each for each in _on_lines(robotstxt, body) if each.kind in _REMARKS]
    return [each._replace(kind=_REMARKS[each.kind]) for each in found]


def _on_lines(robotstxt: RobotsTxt, body: bytes) -> Iterator[Finding]:
    """Look at each line for itself."""
    in_group = False
    number = 0
    for number, (line, raw) in enumerate(
        zip(lines_of(robotstxt), split_lines(body), strict=True), 1
    ):
        in_group = in_group or line.kind == lines.USER_AGENT
        yield from _on_form(line)
        if line.flags & lines.HAS_DIRECTIVE:
            yield from _on_bytes(line, raw.partition(b"#")[0])
        if line.kind in _RULES:
            if not in_group:
                yield finding(number, RULE_BEFORE_GROUP)
            yield from _on_path(line, raw)
        elif line.kind == lines.USER_AGENT:
            yield from _on_agent(number, line.value)
        elif line.kind == lines.SITEMAP and (
            len(line.value.split()) > 1 or not is_absolute(as_text(line.value))
        ):
            yield finding(number, BAD_SITEMAP, value=_text(line.value))
    if robotstxt._cut:  # noqa: SLF001 - a user has the remark
        yield finding(number, CUT, size=len(body))


def _on_form(line: Line) -> Iterator[Finding]:
    """Look at the form of a line."""
    if line.flags & lines.TOO_LONG:
        yield finding(line.number, OVER_LONG, most=lines.MAX_LINE_BYTES)
    if line.flags & lines.HAS_DIRECTIVE:
        yield from _on_field(line, _text(line.key))
    elif not line.flags & (lines.EMPTY | lines.IS_COMMENT):
        yield finding(line.number, IGNORED)
    if line.flags & lines.MISSING_COLON:
        yield finding(line.number, MISSING_COLON, key=_text(line.key))


def _on_field(line: Line, key: str) -> Iterator[Finding]:
    """Look at the name of a field."""
    number, name = line.number, _FIELD_NAMES.get(line.kind, "")
    if line.kind == lines.UNKNOWN:
        nearest = _nearest_field(key)
        if nearest:
            yield finding(number, MISSPELT, key=key, name=nearest[0])
        elif line.key.lower() != _LICENSE:
            yield finding(number, UNKNOWN_FIELD, key=key)
    elif line.kind == lines.UNUSED:
        yield finding(number, NOINDEX if line.key.lower() == _NOINDEX else UNUSED_FIELD, key=key)
    elif (
        line.kind in _RULES
        and not line.flags & lines.TYPO
        and _ENDING < len(key) - len(name) <= _MAX_FIELD
    ):
        yield finding(number, OTHER_FIELD, rule=f"{name.capitalize()}: {_text(line.value, 60)}")
    elif key.lower() != name:
        yield finding(number, TYPO, key=key, name=name)


def _on_bytes(line: Line, written: bytes) -> Iterator[Finding]:
    """Look at the bytes of a directive."""
    text = written.decode("utf-8", "replace")
    if "\0" in text or "\ufffd" in text:
        yield finding(line.number, NOT_UTF8)
    elif line.kind in _RULES and not text.isascii():
        yield finding(line.number, RAW, value=_text(line.value, 100))


def _on_path(line: Line, raw: bytes) -> Iterator[Finding]:
    """Look at the path of a rule."""
    number, path = line.number, line.value
    if path[:1] not in b"/*":
        yield finding(number, NO_SLASH, value=_text(path))
    if b" " in path or b"\t" in path:
        yield finding(number, SPACE)
    before, hash_sign, _ = raw.partition(b"#")
    if hash_sign and path and not before[-1:].isspace():
        name = _FIELD_NAMES[line.kind].capitalize()
        yield finding(number, COMMENT_IN_PATH, rule=f"{name}: {_text(path)}")
    regex = _REGEX.search(path) or (
        path.count(b"*") == path.count(b".*") and _DOT_STAR.search(path)
    )
    if regex:
        yield finding(number, REGEX, part=_text(regex[0]))
    elif b"$" in path[1:-1]:
        yield finding(number, DOLLAR)


def _on_agent(number: int, value: bytes) -> Iterator[Finding]:
    """Look at the name in a user-agent line."""
    agent = agent_of(value).decode("ascii")
    if not agent:
        yield finding(number, NO_AGENT, value=_text(value))
    elif len(agent) == len(value):
        names = meant_by(agent)
        if names:
            yield finding(
                number, NO_CRAWLER, agent=_text(value), names=" or ".join(names[:_MOST_NAMES])
            )
    elif not _PRODUCT.match(value):
        yield finding(number, AGENT_CUT, agent=agent, value=_text(value, 60))


def _text(raw: bytes, limit: int = 200) -> str:
    return shown(raw.decode("utf-8", "backslashreplace"), limit)


def _on_groups(groups: Sequence[Group], all_lines: Sequence[Line]) -> Iterator[Finding]:
    """Find groups without rules, two that are one, and a site that is closed to all crawlers.

    Only rules end the user-agent lines of a group (Google's page). Many a site was closed only
    until it was public.
    """
    closed = [closing_rule(group.rules) for group in groups]
    all_closed = None not in closed
    for group, closing in zip(groups, closed, strict=True):
        if closing is not None and "*" in group.agents and all_closed:
            yield finding(closing.line, CLOSED, rule=closing)
        for agent, line in group.agents.items():
            if agent and not group.rules:
                yield finding(line, NO_RULES, agent=agent)
        for before, line in pairwise(group.agents.values()):
            between = all_lines[before : line - 1]
            if any(
                each.kind != lines.USER_AGENT and not each.flags & lines.IS_COMMENT
                for each in between
            ):
                yield finding(line, JOINED, other=before)


def _on_crawlers(groups: Sequence[Group], *, strict: bool) -> Iterator[Finding]:
    """Compare the rules of each crawler with each other, and with those of "*"."""
    merged: dict[tuple[int, ...], list[str]] = {}
    for agent, numbers in groups_by_agent(groups).items():
        merged.setdefault(numbers, []).append(agent)
    of_all = [
        rule for group in groups if "*" in group.agents for rule in group.rules if not rule.allow
    ]
    shared = [
        rule.pattern
        for rule in of_all
        if rule.pattern[:1] in _PATHS_BEGIN and not covers(rule.pattern, "/")
    ]
    left = _MOST_WORK
    for numbers, agents in merged.items():
        rules = [rule for number in numbers for rule in groups[number].rules if rule.pattern]
        disallows = [(rule.pattern, rule.line) for rule in rules if not rule.allow]
        allows = [(rule.pattern, rule.line) for rule in rules if rule.allow]
        for pattern, line in () if strict else tuple(allows):
            directory = directory_of_index(pattern)
            allows += [] if directory is None else [(directory, line)]
        rivals = Index(allows, ()), Index((), disallows)
        compared = [rule.pattern for rule in rules] + shared
        work = sum(_WORK_OF_RULE + index.wildcard_chars for index in rivals)
        left -= work * sum(_WORK_OF_PATH + len(pattern) for pattern in compared)
        if left < 0:
            yield finding(min(groups[numbers[0]].agents.values()), TOO_MANY)
            return
        yield from _on_outweighed(rules, rivals, agents)
        heeding = [agent for agent in agents if Crawler.of(agent).heeds_global]
        if heeding and disallows and "*" not in agents:
            yield from _on_opened(shared, rivals, heeding, groups[numbers[0]])


def _on_outweighed(
    rules: Sequence[Rule], rivals: Sequence[Index], agents: Sequence[str]
) -> Iterator[Finding]:
    """Find rules that are there already, and rules that never decide.

    A rule never decides if a rule of the other kind matches all its paths and is preferred (RFC
    9309 2.2.2). `rivals` are the allow rules and the disallow rules.
    """
    first: dict[tuple[bool, str], Rule] = {}
    at = {rule.line: rule for rule in rules}
    for rule in rules:
        before = first.setdefault((rule.allow, rule.pattern), rule)
        if before.line != rule.line:
            yield finding(rule.line, DUPLICATE, rule=rule, other=before.line)
        best = rivals[rule.allow].decider(stand_in(rule.pattern))
        if best > precedence_of(len(rule.pattern), rule.allow, rule.line):
            rival = at[line_of(best)]
            yield finding(
                rule.line, SHADOWED, rule=rule, whom=_names(agents), rival=rival, other=rival.line
            )


def _on_opened(
    shared: Iterable[str], rivals: Sequence[Index], names: Sequence[str], group: Group
) -> Iterator[Finding]:
    """Find crawlers whose own group forgets rules of "*". One that may fetch everything is let in on purpose."""
    opened = [
        pattern
        for pattern in ("/", *shared)
        if all(index.decider(stand_in(pattern)) == NO_RULE for index in rivals)
    ]
    if opened[1:] and opened[0] == "/":
        paths = shown(", ".join(opened[1:]))
        yield finding(group.agents[names[0]], OWN_GROUP, whom=_names(names), paths=paths)


def _names(agents: Sequence[str]) -> str:
    return f'"{agents[0]}"{" and others" if agents[1:] else ""}'
