"""What the author of a robots.txt should know about it: the findings, the greatest harm first.

All kinds of finding are in one table, with their level, their words and what to write instead. How harmful a kind is, is our
judgement. Some kinds only show when several lines are compared, such as a rule that another rule always outweighs; that
stays within a budget, since a hostile file would take hours.

Boundary: no verdict depends on a finding. The careful reader (lines.py) sets the kinds and flags of lines.
Source: RFC 9309, Google's page and Google's parser.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from . import lines
from .crawlers import Crawler
from .known_crawlers import meant_by
from .lines import Line, agent_of, split_lines, without_bom
from .patterns import covers, directory_of_index
from .robots import Group, RobotsTxt, groups_by_agent, groups_of, lines_of
from .rules import closing_rule
from .urls import as_text, is_absolute, path_of, shown
from .verdict import Rule

ERROR = "error"  # the line does nothing, or something else than it says
WARNING = "warning"  # the line works for Google and fails elsewhere, or looks like more than it does
NOTE = "note"  # harmless
LEVELS = (ERROR, WARNING, NOTE)  # the greatest harm first


class Kind(NamedTuple):
    """A kind of finding.

    Attributes:
        name: is stable: programs may know it.
        level: one of `LEVELS`.
        words: what is so and what to do about it, with places for what a finding is about.
        part: the part of a line that it is about, "key", "value" or "whole"; "" if it is about the whole file.
    """

    name: str
    level: str
    words: str
    part: str = "value"

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


NOT_TEXT = Kind("not text", ERROR, "this is {what}: no line of it is understood, so all is allowed{hint}", part="")
NO_ROBOTS_TXT = Kind(
    "no robots file", ERROR, "this is {what}no robots.txt: no line of it is understood, so all is allowed", part=""
)
WEB_PAGE = Kind("web page", ERROR, "this is a web page, not a robots.txt{rules}", part="")
CUT = Kind("cut", ERROR, "the file was cut here, after {size} bytes; this line may have lost its end", "whole")
RULE_BEFORE_GROUP = Kind("rule before any group", ERROR, "a rule before the first user-agent line is ignored", "whole")
NO_AGENT = Kind("no user agent", ERROR, '"{value}" names no user agent')
AGENT_CUT = Kind(
    "user agent cut",
    ERROR,
    'this is for "{agent}", not for "{value}": a name ends where anything but letters, "-" and "_" begins',
)
MISSPELT = Kind("misspelt field", ERROR, 'unknown field "{key}", so the line is ignored; did you mean "{name}"?', "key")
OTHER_FIELD = Kind("another field read as a rule", ERROR, 'Google reads it as "{rule}", whatever the rest of it means')
IGNORED = Kind("ignored", ERROR, "neither a directive nor a comment{hint}", "whole")
NO_SLASH = Kind("no leading slash", ERROR, 'no path begins like "{value}": it should begin with "/"{hint}')
SPACE = Kind("space in a path", ERROR, "no URL has white space in it: a space is %20 there; one rule a line")
COMMENT_IN_PATH = Kind(
    "comment within a path", ERROR, 'a "#" begins a comment, so the rule is "{rule}"; crawlers request no "#"'
)
REGEX = Kind(
    "regular expression",
    ERROR,
    'no crawler reads regular expressions: "{part}" is matched as it stands; "*" is anything, "$" the end',
)
SHADOWED = Kind(
    "shadowed rule",
    ERROR,
    '"{rule}" never decides{whom}: "{rival}" in line {other} matches all of it and is preferred',
    "whole",
)
OVER_LONG = Kind("over-long", ERROR, "longer than {most} bytes, the rest was dropped")
NOT_UTF8 = Kind("not UTF-8", ERROR, "{what}")
TWO_SITEMAPS = Kind("several sitemaps in a line", ERROR, "white space in the URL of a sitemap: one URL a line")
BAD_SITEMAP = Kind("bad sitemap", ERROR, "not an absolute http, https or ftp URL: {value}")
NOINDEX = Kind(
    "noindex",
    ERROR,
    'Google does not use the field "{key}" and may index the page: use a robots meta tag or the header X-Robots-Tag',
    "key",
)
UNREADABLE = Kind("preference that says nothing", ERROR, "{what}")
BAD_LICENSE = Kind("bad license", ERROR, "{what}")
CONTRADICTING = Kind("contradicting preferences", WARNING, "{what}")
NOT_REPEATED = Kind("preferences not repeated", WARNING, "{what}")
CLOSED = Kind("whole site disallowed", WARNING, '"{rule}" keeps every crawler away from the whole site')
NO_CRAWLER = Kind("name of no crawler", WARNING, 'no known crawler is called "{agent}"; did you mean {names}?')
JOINED = Kind(
    "joined groups",
    WARNING,
    "in one group with line {other}, as no rule stands between: both follow the same rules",
)
TYPO = Kind("typo", WARNING, '"{key}" was read as "{name}"', "key")
PREFIX = Kind("prefix", WARNING, '"{key}" begins with "{name}" and was read as that', "key")
MISSING_COLON = Kind("missing colon", WARNING, 'no colon after "{key}"', "key")
UNUSED_FIELD = Kind("unused field", WARNING, 'Google does not use the field "{key}"', "key")
UNKNOWN_FIELD = Kind("unknown field", WARNING, 'unknown field "{key}"', "key")
OWN_GROUP = Kind(
    "own group", NOTE, '{whom} not heed the group of "*", so this is open to it: {paths}; repeat what should hold'
)
NO_RULES = Kind("group without rules", NOTE, "no rules{follow}")
DOLLAR = Kind("dollar within a path", NOTE, '"$" is the end of a URL only as the last character of a rule')
DUPLICATE = Kind("duplicate rule", NOTE, '"{rule}" is already in line {other}', "whole")
AGENT_VERSION = Kind("user agent with version", NOTE, 'this is for "{agent}" of any version: a version is ignored')
RAW = Kind("path not escaped", NOTE, "matched as {value}: write it so, for crawlers that do not escape")
NO_STANDARD = Kind("field without a standard", NOTE, "{what}")
TOO_MANY = Kind(
    "too many rules to compare",
    NOTE,
    "from this group on, not all rules were compared with each other: there are too many",
)

# All of them, the greatest harm first.
KINDS = {kind.name: kind for kind in list(globals().values()) if isinstance(kind, Kind)}
_RANK = {name: rank for rank, name in enumerate(KINDS)}

# What a finding is called as a remark on a robots.txt. A finer kind than the remarks know goes by the kind that it refines.
_BY_LINE = (CUT, RULE_BEFORE_GROUP, NO_AGENT, AGENT_CUT, IGNORED, NO_SLASH, OVER_LONG, BAD_SITEMAP, TYPO, PREFIX)
_BY_FIELD = (MISSING_COLON, UNUSED_FIELD, UNKNOWN_FIELD)
_FINER = {MISSPELT: UNKNOWN_FIELD, OTHER_FIELD: PREFIX, AGENT_VERSION: AGENT_CUT, NOINDEX: UNUSED_FIELD}
_REMARKS = {kind.name: _FINER.get(kind, kind).name for kind in (*_BY_LINE, *_BY_FIELD, *_FINER)}

_PAGE_BEGINS = re.compile(
    rb"\s*(?:<\?xml\b[^>]*>\s*)?(?:<!--.{0,1000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # its byte-order marks
_OTHER_COMMENTS = (b"//", b"/*", b";", b"--", b"<!--")  # of other languages
# What only regular expressions have. ".*" also is a dot and any run of characters, as in "/index.*", so it has to stand
# where no file name has a dot.
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
_MOST_WORK = 10_000_000  # characters of patterns compared with each other
_PATHS_BEGIN = ("/", "*")  # the patterns of paths
_MOST_PAIRS = 200_000  # of a rule for "*" and a rule of another group that are compared
_MOST_NAMES = 3  # that a finding names
_WORK_OF_RULE = 100  # looking at a rule takes as long as comparing this number of characters


def finding(line: int, kind: Kind, **about: object) -> Finding:
    """Return a finding of `kind`, with what it is `about` in its words."""
    return Finding(kind.level, line, kind.name, kind.words.format(**about))


def findings(
    body: bytes, *, strict: bool = False, max_bytes: int | None = lines.MAX_BYTES, truncated: bool = False
) -> list[Finding]:
    """Return what is odd about a robots.txt, the greatest harm first, then by line. No `body` makes this raise.

    Args:
        body: the bytes of the file.
        strict: as for `RobotsTxt.parse`.
        max_bytes: as for `RobotsTxt.parse`.
        truncated: whether more was served than `body`.
    """
    if _is_binary(body):
        is_utf_16 = body.startswith(_UTF_16)
        what = 'UTF-16 (Notepad\'s "Unicode"), not UTF-8' if is_utf_16 else "not UTF-8 text"
        return [finding(1, NOT_TEXT, what=what, hint="; save it as UTF-8" if is_utf_16 else "")]
    robotstxt = RobotsTxt.parse(body, strict=strict, max_bytes=max_bytes, cut=truncated)
    groups = groups_of(robotstxt)
    if _PAGE_BEGINS.match(without_bom(body)):
        rules = sum(len(group.rules) for group in groups)
        said = f"; {rules} of its lines are read as rules" if rules else ": it has no rules, so all is allowed"
        return [finding(1, WEB_PAGE, rules=said)]
    if _is_another_file(lines_of(robotstxt)):
        is_json = without_bom(body).lstrip().startswith((b"{", b"["))
        return [finding(1, NO_ROBOTS_TXT, what="JSON and " if is_json else "")]
    found = {*_on_lines(robotstxt, body[:max_bytes]), *_on_joined(lines_of(robotstxt))}
    from ..experimental.preferences import on_preferences  # noqa: PLC0415 - it is above core

    found |= {finding(line, KINDS[kind], what=text) for line, kind, text in on_preferences(robotstxt)}
    found |= {*_on_groups(groups, strict=strict), *_on_closed(groups), *_on_own_groups(groups)}
    return sorted(found, key=lambda each: (_RANK[each.kind], each.line, each.text))


def remarks_on(robotstxt: RobotsTxt, body: bytes) -> list[Finding]:
    """Return the findings about single lines of `body`, in the order of the lines. `robotstxt` was read from it."""
    found = [each for each in _on_lines(robotstxt, body) if each.kind in _REMARKS]
    return [each._replace(kind=_REMARKS[each.kind]) for each in found]


def _is_binary(body: bytes) -> bool:
    """Whether `body` has NUL bytes and no field, as UTF-16, images and archives do."""
    if b"\0" not in body:
        return False
    return all(line.kind == lines.UNKNOWN for line in lines_of(RobotsTxt.parse(body)))


def _is_another_file(all_lines: Iterable[Line]) -> bool:
    """Whether there are lines, and all are in another language, such as those of an error message."""
    said = [line for line in all_lines if not line.flags & (lines.EMPTY | lines.IS_COMMENT)]
    return bool(said) and not any(
        line.kind != lines.UNKNOWN or line.key.lower() == _LICENSE or _nearest_field(_text(line.key)) for line in said
    )


def _nearest_field(key: str) -> list[str]:
    return get_close_matches(key.lower(), _FIELD_NAMES.values(), n=1, cutoff=0.75) if len(key) <= _MAX_FIELD else []


def _on_lines(robotstxt: RobotsTxt, body: bytes) -> Iterator[Finding]:
    """Look at each line for itself."""
    in_group = False
    number = 0
    for number, (line, raw) in enumerate(zip(lines_of(robotstxt), split_lines(body), strict=True), 1):
        in_group = in_group or line.kind == lines.USER_AGENT
        yield from _on_form(line, raw)
        if line.flags & lines.HAS_DIRECTIVE:
            yield from _on_bytes(line, raw.partition(b"#")[0])
        if line.kind in _RULES:
            if not in_group:
                yield finding(number, RULE_BEFORE_GROUP)
            yield from _on_path(line, raw)
        elif line.kind == lines.USER_AGENT:
            yield from _on_agent(number, line.value)
        elif line.kind == lines.SITEMAP:
            if not is_absolute(as_text(line.value)):
                yield finding(number, BAD_SITEMAP, value=_text(line.value))
            if len(line.value.split()) > 1:
                yield finding(number, TWO_SITEMAPS)
    if robotstxt._cut:  # noqa: SLF001 - a user has the remark
        yield finding(number, CUT, size=len(body))


def _on_form(line: Line, raw: bytes) -> Iterator[Finding]:
    """Look at the form of a line."""
    if line.flags & lines.TOO_LONG:
        yield finding(line.number, OVER_LONG, most=lines.MAX_LINE_BYTES)
    if line.flags & lines.HAS_DIRECTIVE:
        yield from _on_field(line, _text(line.key))
    elif not line.flags & (lines.EMPTY | lines.IS_COMMENT):
        hint = '; a comment begins with "#"' if raw.lstrip().startswith(_OTHER_COMMENTS) else ""
        yield finding(line.number, IGNORED, hint=hint)
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
    elif line.flags & lines.TYPO:
        yield finding(number, TYPO, key=key, name=name)
    elif line.kind in _RULES and _ENDING < len(key) - len(name) <= _MAX_FIELD:
        yield finding(number, OTHER_FIELD, rule=f"{name.capitalize()}: {_text(line.value, 60)}")
    elif key.lower() != name:
        yield finding(number, PREFIX, key=key, name=name)


def _on_bytes(line: Line, written: bytes) -> Iterator[Finding]:
    """Look at the bytes of a directive."""
    if b"\0" in written:
        yield finding(line.number, NOT_UTF8, what="a NUL byte: the rest of the line is ignored")
    try:
        written.decode("utf-8")
        if line.kind in _RULES and not written.isascii():
            yield finding(line.number, RAW, value=_text(line.value, 100))
    except UnicodeDecodeError:
        yield finding(line.number, NOT_UTF8, what="not UTF-8: bytes are matched as they stand")


def _on_path(line: Line, raw: bytes) -> Iterator[Finding]:
    """Look at the path of a rule."""
    number, path = line.number, line.value
    if path and (path[:1] not in b"/*$" or (path.startswith(b"$") and not path.split()[1:])):
        hint = f'; leave out scheme and host: "{_text(path_of(path).encode())}"' if b"://" in path else ""
        yield finding(number, NO_SLASH, value=_text(path), hint=hint)
    if b" " in path or b"\t" in path:
        yield finding(number, SPACE)
    before, hash_sign, _ = raw.partition(b"#")
    if hash_sign and path and not before[-1:].isspace():
        name = _FIELD_NAMES[line.kind].capitalize()
        yield finding(number, COMMENT_IN_PATH, rule=f"{name}: {_text(path)}")
    regex = _REGEX.search(path) or (path.count(b"*") == path.count(b".*") and _DOT_STAR.search(path))
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
            yield finding(number, NO_CRAWLER, agent=_text(value), names=" or ".join(names[:_MOST_NAMES]))
    else:
        kind = AGENT_VERSION if _PRODUCT.match(value) else AGENT_CUT
        yield finding(number, kind, agent=agent, value=_text(value, 60))


def _text(raw: bytes, limit: int = 200) -> str:
    return shown(raw.decode("utf-8", "backslashreplace"), limit)


def _on_joined(all_lines: Iterable[Line]) -> Iterator[Finding]:
    """Find user-agent lines that look like two groups and are one. Only rules end the user-agent lines (Google's page)."""
    first, between = 0, False
    for line in all_lines:
        if line.kind in _RULES:
            first = 0
        elif line.kind != lines.USER_AGENT:
            between = between or not line.flags & lines.IS_COMMENT
        elif not first:
            first, between = line.number, False
        elif between:
            between = False
            yield finding(line.number, JOINED, other=first)


def _on_groups(groups: Sequence[Group], *, strict: bool) -> Iterator[Finding]:
    """Look for groups without rules, and compare the rules of each crawler with each other."""
    for group in groups:
        if not group.rules:
            for agent, line in group.agents.items():
                said = f' follow: "{agent}" may fetch everything' if agent else ""
                yield finding(line, NO_RULES, follow=said)
    left = _MOST_WORK
    for numbers, agents in _merged(groups).items():
        left -= _WORK_OF_RULE * sum(len(groups[number].rules) for number in numbers)
        if left > 0:
            rules = [rule for number in numbers for rule in groups[number].rules]
            whom = f', for "{agents[0]}"{" and others" if agents[1:] else ""}' if numbers[1:] else ""
            left = yield from _on_compared(rules, whom, left, strict=strict)
        if left <= 0:
            yield finding(min(groups[numbers[0]].agents.values()), TOO_MANY)
            return


def _on_compared(rules: Sequence[Rule], whom: str, left: int, *, strict: bool) -> Generator[Finding, None, int]:
    """Find rules that are there already, and rules that never decide.

    A rule never decides if a rule of the other kind matches all its paths and is preferred (RFC 9309 2.2.2). At most `left`
    characters are compared; the number that is then left is returned.
    """
    first: dict[tuple[bool, str], Rule] = {}
    directories: dict[str, Rule] = {}
    for rule in rules:
        before = first.setdefault((rule.allow, rule.pattern), rule)
        if before.line != rule.line:
            yield finding(rule.line, DUPLICATE, rule=rule, other=before.line)
        directory = directory_of_index(rule.pattern) if rule.allow and not strict else None
        if directory is not None:
            directories.setdefault(directory, rule)
    # Those that may match all paths of another rule.
    wide = sorted((rule for rule in rules if "*" in rule.pattern), key=lambda rule: -len(rule.pattern))
    rivals = {allow: [other for other in wide if other.allow != allow] for allow in (True, False)}
    for rule in rules:
        rival = None if rule.allow else first.get((True, rule.pattern)) or directories.get(rule.pattern)
        for other in rivals[rule.allow]:
            if rival is not None or len(other.pattern) < len(rule.pattern) + rule.allow or left <= 0:
                break
            left -= len(other.pattern) + len(rule.pattern)
            if covers(other.pattern, rule.pattern):
                rival = other
        if rival is not None and rule.pattern:
            yield finding(rule.line, SHADOWED, rule=rule, whom=whom, rival=rival, other=rival.line)
    return left


def _on_closed(groups: Sequence[Group]) -> Iterator[Finding]:
    """Find `Disallow: /` for all crawlers. It is often left over from the time before the site was public."""
    shut = [(group, rule) for group in groups if (rule := closing_rule(group.rules)) is not None]
    for group, rule in shut if len(shut) == len(groups) else ():
        if "*" in group.agents:
            yield finding(rule.line, CLOSED, rule=rule)


def _on_own_groups(groups: Sequence[Group]) -> Iterator[Finding]:
    """Find crawlers whose own group forgets rules of "*". One that may fetch everything is let in on purpose."""
    of_all = [rule for group in groups if "*" in group.agents for rule in group.rules if not rule.allow]
    shared = [rule for rule in of_all if rule.pattern[:1] in _PATHS_BEGIN and not covers(rule.pattern, "/")]
    pairs = 0
    for numbers, agents in _merged(groups).items():
        rules = [rule for number in numbers for rule in groups[number].rules if rule.pattern]
        pairs += len(rules) * len(shared)
        names = [agent for agent in agents if Crawler.of(agent).heeds_global]
        decided = all(rule.allow for rule in rules) or any(covers(rule.pattern, "/") for rule in rules)
        if "*" in agents or not names or decided or pairs > _MOST_PAIRS:
            continue
        opened = [rule.pattern for rule in shared if not any(covers(own.pattern, rule.pattern) for own in rules)]
        if opened:
            whom = f'"{names[0]}" and others do' if names[1:] else f'"{names[0]}" does'
            paths = shown(", ".join(opened))
            yield finding(groups[numbers[0]].agents[names[0]], OWN_GROUP, whom=whom, paths=paths)


def _merged(groups: Sequence[Group]) -> dict[tuple[int, ...], list[str]]:
    """Return the numbers of the groups that are merged, with the agents that they are merged for."""
    merged: dict[tuple[int, ...], list[str]] = {}
    for agent, numbers in groups_by_agent(groups).items():
        merged.setdefault(numbers, []).append(agent)
    return merged
