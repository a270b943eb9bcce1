"""What the author of a robots.txt should know about it: the findings, the greatest harm first.

Each kind of finding has a level, its words and what to write instead. `KINDS` is the order in which
they are told, the greatest harm first: that is our judgement. Some kinds only show when several
lines are compared, such as a rule that another rule always outweighs: an index of the other rules
is asked about the paths of each rule (`stand_in` of patterns.py).

Boundary: no verdict depends on a finding. The careful reader (lines.py) sets the kinds and flags of lines.
Source: RFC 9309, Google's page and Google's parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, pairwise
from typing import NamedTuple

from . import lines
from .crawlers import Crawler
from .known_crawlers import SEARCH_ENGINES, is_known, meant_by
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


SHUT_OUT = Kind("search engine shut out", ERROR, "{crawlers} may fetch nothing: {why}")
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
    'this is for "{agent}", not for "{value}"{advice}',
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

# All of them in the order in which they are told: what shuts pages off that nobody meant, what opens
# pages that nobody meant, what only misses something.
_IN_ORDER = (
    # errors
    SHUT_OUT,
    NO_ROBOTS_FILE,
    CUT,
    OTHER_FIELD,
    COMMENT_IN_PATH,
    RULE_BEFORE_GROUP,
    NO_AGENT,
    AGENT_CUT,
    MISSPELT,
    IGNORED,
    NO_SLASH,
    SPACE,
    REGEX,
    SHADOWED,
    OVER_LONG,
    NOT_UTF8,
    NOINDEX,
    BAD_SITEMAP,
    UNREADABLE,
    BAD_LICENSE,
    # warnings
    CLOSED,
    JOINED,
    NO_CRAWLER,
    CONTRADICTING,
    NOT_REPEATED,
    TYPO,
    MISSING_COLON,
    UNUSED_FIELD,
    UNKNOWN_FIELD,
    # notes
    OWN_GROUP,
    NO_RULES,
    DOLLAR,
    DUPLICATE,
    RAW,
    TOO_MANY,
)
KINDS = {kind.name: kind for kind in _IN_ORDER}
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
_BETWEEN_NAMES = re.compile(r"[,;|]\s*")

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
    more: Callable[[RobotsTxt], Iterable[tuple[int, str, str]]] | None = None,
) -> list[Finding]:
    """Return what is odd about a robots.txt, the greatest harm first, then by line. No `body` makes this raise.

    Args:
        body: the bytes of the file.
        strict: as for `RobotsTxt.parse`.
        max_bytes: as for `RobotsTxt.parse`.
        truncated: whether more was served than `body`.
        more: adds findings, each as its line, the name of its kind, and its text.
    """
    robotstxt = RobotsTxt.parse(body, strict=strict, max_bytes=max_bytes, cut=truncated)
    all_lines, groups = lines_of(robotstxt), groups_of(robotstxt)
    what = _something_else(body, all_lines)
    if what:
        rules = sum(len(group.rules) for group in groups)
        return [finding(1, NO_ROBOTS_FILE, what=what, rules=rules)]
    unsorted = {*_on_lines(robotstxt, all_lines, body[:max_bytes])}
    if more is not None:
        for line, kind, text in more(robotstxt):
            unsorted.add(finding(line, KINDS[kind], what=text))
    unsorted.update(_on_groups(groups, all_lines))
    unsorted.update(_on_crawlers(groups, strict=strict))
    return sorted(unsorted, key=_place)


def _place(one: Finding) -> tuple[int, int, str]:
    return _RANK[one.kind], one.line, one.text


def _something_else(body: bytes, all_lines: Iterable[Line]) -> str:
    """Return what `body` is if it is another kind of file, such as an error message: no line of it is understood."""
    text = without_bom(body)
    if _PAGE_BEGINS.match(text):
        return "a web page"
    is_binary = b"\0" in text
    is_empty = True
    for line in all_lines:
        if line.flags & (lines.EMPTY | lines.IS_COMMENT):
            continue
        is_empty = False
        if _is_understood(line):
            return ""
    if is_empty and not is_binary:
        return ""
    if text.startswith(_UTF_16):
        return 'UTF-16 (Notepad\'s "Unicode"; save it as UTF-8)'
    if is_binary:
        return "no text"
    if text.lstrip().startswith((b"{", b"[")):
        return "JSON"
    return "another text"


def _is_understood(line: Line) -> bool:
    """Whether a line has a field of a robots.txt, or one that is spelt nearly like one."""
    if line.kind != lines.UNKNOWN or line.key.lower() == _LICENSE:
        return True
    return _nearest_field(_text(line.key)) is not None


def _nearest_field(key: str) -> str | None:
    """Return the field that is spelt nearly like `key`."""
    if len(key) > _MAX_FIELD:
        return None
    nearest = get_close_matches(key.lower(), _FIELD_NAMES.values(), n=1, cutoff=0.75)
    if not nearest:
        return None
    return nearest[0]


def remarks_on(robotstxt: RobotsTxt, body: bytes) -> Iterator[Finding]:
    """Yield the findings about single lines of `body`, in the order of the lines. `robotstxt` was read from it."""
    for remark in _on_lines(robotstxt, lines_of(robotstxt), body):
        if remark.kind in _REMARKS:
            yield remark._replace(kind=_REMARKS[remark.kind])


def _on_lines(robotstxt: RobotsTxt, all_lines: Iterable[Line], body: bytes) -> Iterator[Finding]:
    """Look at each line for itself."""
    in_group = False
    number = 0
    for line, raw in zip(all_lines, split_lines(body), strict=True):
        number = line.number
        yield from _on_form(line)
        if line.flags & lines.HAS_DIRECTIVE:
            yield from _on_bytes(line, raw.partition(b"#")[0])
        if line.kind in _RULES:
            if not in_group:
                yield finding(number, RULE_BEFORE_GROUP)
            yield from _on_path(line, raw)
        elif line.kind == lines.USER_AGENT:
            in_group = True
            yield from _on_agent(number, line.value)
        elif line.kind == lines.SITEMAP and not _is_one_url(line.value):
            yield finding(number, BAD_SITEMAP, value=_text(line.value))
    if robotstxt._cut:  # noqa: SLF001 - a user has the remark
        yield finding(number, CUT, size=len(body))


def _is_one_url(value: bytes) -> bool:
    if len(value.split()) > 1:
        return False
    return is_absolute(as_text(value))


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
        if nearest is not None:
            yield finding(number, MISSPELT, key=key, name=nearest)
        elif line.key.lower() != _LICENSE:
            yield finding(number, UNKNOWN_FIELD, key=key)
    elif line.kind == lines.UNUSED:
        if line.key.lower() == _NOINDEX:
            yield finding(number, NOINDEX, key=key)
        else:
            yield finding(number, UNUSED_FIELD, key=key)
    elif _is_another_field(line, key, name):
        yield finding(number, OTHER_FIELD, rule=f"{name.capitalize()}: {_text(line.value, 60)}")
    elif key.lower() != name:
        yield finding(number, TYPO, key=key, name=name)


def _is_another_field(line: Line, key: str, name: str) -> bool:
    """Whether a rule's field only begins with the `name` of a rule, and is no misspelling of it."""
    if line.kind not in _RULES or line.flags & lines.TYPO:
        return False
    return _ENDING < len(key) - len(name) <= _MAX_FIELD


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
    regex = _REGEX.search(path)
    if regex is None and path.count(b"*") == path.count(b".*"):
        regex = _DOT_STAR.search(path)
    if regex is not None:
        yield finding(number, REGEX, part=_text(regex[0]))
    elif b"$" in path[1:-1]:
        yield finding(number, DOLLAR)


def _on_agent(number: int, value: bytes) -> Iterator[Finding]:
    """Look at the name in a user-agent line."""
    agent = agent_of(value).decode("ascii")
    text = _text(value, 60)
    if not agent:
        yield finding(number, NO_AGENT, value=_text(value))
    elif len(agent) == len(value):
        names = meant_by(agent)
        if names:
            yield finding(number, NO_CRAWLER, agent=text, names=" or ".join(names[:_MOST_NAMES]))
    elif _has_several_names(text):
        advice = ": write one user-agent line for each name"
        yield finding(number, AGENT_CUT, agent=agent, value=text, advice=advice)
    elif not _PRODUCT.match(value):
        names = meant_by(text)
        advice = ': a name ends where anything but letters, "-" and "_" begins'
        if names:
            advice = f"; did you mean {' or '.join(names[:_MOST_NAMES])}?"
        yield finding(number, AGENT_CUT, agent=agent, value=text, advice=advice)


def _has_several_names(text: str) -> bool:
    """Whether a user-agent line lists names: with commas between them, or known ones with spaces."""
    if "(" in text:  # a whole header
        return False
    names = _BETWEEN_NAMES.split(text)
    if len(names) > 1:
        return all(name[:1].isalpha() for name in names)
    words = text.split()
    return len(words) > 1 and all(is_known(word) for word in words)


def _text(raw: bytes, limit: int = 200) -> str:
    return shown(raw.decode("utf-8", "backslashreplace"), limit)


class _Join(NamedTuple):
    """Two user-agent lines of one group that look like two groups: something else than a comment is between them."""

    before: int  # their lines
    after: int


def _joins_in(group: Group, all_lines: Sequence[Line]) -> list[_Join]:
    joins = []
    for before, after in pairwise(group.agents.values()):
        for line in all_lines[before : after - 1]:
            if line.kind != lines.USER_AGENT and not line.flags & lines.IS_COMMENT:
                joins.append(_Join(before, after))
                break
    return joins


def _on_groups(groups: Sequence[Group], all_lines: Sequence[Line]) -> Iterator[Finding]:
    """Find groups without rules, two that are one, and a site that is closed to search engines or to all crawlers.

    Only rules end the user-agent lines of a group (Google's page). Many a site was closed only
    until it was public.
    """
    joins = [_joins_in(group, all_lines) for group in groups]
    closing_rules = [closing_rule(group.rules) for group in groups]
    is_closed = None not in closing_rules and any("*" in group.agents for group in groups)
    shut_out = _shut_out(groups, joins, is_closed=is_closed)
    for shut in shut_out:
        yield _on_shut_out(shut, all_lines)
    already_told = {shut.join for shut in shut_out}
    by_join = {shut.rule for shut in shut_out if shut.by_all}
    for group, closing, its_joins in zip(groups, closing_rules, joins, strict=True):
        is_for_all = is_closed and "*" in group.agents
        if is_for_all and closing is not None and closing not in by_join:
            yield finding(closing.line, CLOSED, rule=closing)
        if not group.rules:
            for agent, line in group.agents.items():
                if agent:
                    yield finding(line, NO_RULES, agent=agent)
        for join in its_joins:
            if join not in already_told:
                yield finding(join.after, JOINED, other=join.before)


class _ShutOut(NamedTuple):
    """Search engines that may fetch nothing."""

    rule: Rule  # that says so
    names: list[str]
    join: _Join | None  # why the rule is for them, if it was written for others
    by_all: bool  # whether that is the group of "*"


def _shut_out(
    groups: Sequence[Group], joins: Sequence[Sequence[_Join]], *, is_closed: bool
) -> list[_ShutOut]:
    """Return the search engines that may fetch nothing, by their own group or by one that was joined with theirs.

    A rule that was written for all crawlers is no mistake. If `is_closed`, the whole site is: only
    what a join has done counts.
    """
    merged = groups_by_agent(groups)
    by_rule: dict[Rule, _ShutOut] = {}
    for engine in SEARCH_ENGINES:
        agent = _agent_heeded(engine.crawler, merged)
        numbers = merged.get(agent, ())
        closing = closing_rule(chain.from_iterable(groups[number].rules for number in numbers))
        if closing is None:
            continue
        join = None
        for number in numbers:
            if closing in groups[number].rules:
                join = _join_after(groups[number].agents[agent], joins[number])
        if join is None and agent == "*":
            continue
        shut = by_rule.setdefault(closing, _ShutOut(closing, [], None, by_all=False))
        shut.names.append(engine.tokens[0])
        if join is not None:
            by_all = shut.by_all or agent == "*"
            by_rule[closing] = shut._replace(join=shut.join or join, by_all=by_all)
    return [shut for shut in by_rule.values() if shut.join is not None or not is_closed]


def _join_after(line: int, joins: Iterable[_Join]) -> _Join | None:
    for join in joins:
        if join.after > line:
            return join
    return None


def _agent_heeded(crawler: Crawler, merged: Mapping[str, object]) -> str:
    """Return the agent whose groups a crawler follows: its first token that has any, else "*"."""
    for token in crawler.tokens:
        if token.lower() in merged:
            return token.lower()
    return "*"


def _on_shut_out(shut: _ShutOut, all_lines: Sequence[Line]) -> Finding:
    crawlers = _listed(shut.names)
    why = f'"{shut.rule}" keeps them away from the whole site'
    if shut.join is not None:
        before, after = shut.join
        joined = f'"User-agent: {_text(all_lines[after - 1].value, 60)}"'
        why = (
            f'"{shut.rule}" is for them, too, as {joined} in line {after} begins no new group: '
            f"no rule stands between it and line {before}"
        )
    return finding(shut.rule.line, SHUT_OUT, crawlers=crawlers, why=why)


def _listed(names: Sequence[str]) -> str:
    """Return some names as a list in words."""
    if len(names) > _MOST_NAMES + 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} other crawlers"
    *most, last = names
    if not most:
        return last
    return f"{', '.join(most)} and {last}"


class _Merged(NamedTuple):
    """Agents that follow the same groups, and the rules of these."""

    agents: list[str]
    rules: list[Rule]  # without those that have no path
    line: int  # the first of their user-agent lines


def _merged_agents(groups: Sequence[Group]) -> Iterator[_Merged]:
    """Yield the agents that have the same groups, together. Each yield costs what its rules cost."""
    agents_of: dict[tuple[int, ...], list[str]] = {}
    for agent, numbers in groups_by_agent(groups).items():
        agents_of.setdefault(numbers, []).append(agent)
    for numbers, agents in agents_of.items():
        rules: list[Rule] = []
        for number in numbers:
            rules += [rule for rule in groups[number].rules if rule.pattern]
        yield _Merged(agents, rules, min(groups[numbers[0]].agents.values()))


class _Rivals(NamedTuple):
    """The rules of one crawler, to hold paths against them."""

    allows: Index
    disallows: Index

    @classmethod
    def of(cls, rules: Iterable[Rule], *, strict: bool) -> _Rivals:
        """Take the rules. An allow rule for an index page is one for its directory, too, unless `strict`."""
        allows: list[tuple[str, int]] = []
        disallows: list[tuple[str, int]] = []
        for rule in rules:
            if not rule.allow:
                disallows.append((rule.pattern, rule.line))
                continue
            allows.append((rule.pattern, rule.line))
            directory = directory_of_index(rule.pattern)
            if directory is not None and not strict:
                allows.append((directory, rule.line))
        return cls(Index(allows, ()), Index((), disallows))

    def against(self, rule: Rule) -> Index:
        """The rules of the other kind."""
        if rule.allow:
            return self.disallows
        return self.allows

    def work_for(self, patterns: Iterable[str]) -> int:
        """How much work it is to hold the paths of `patterns` against the rules."""
        wildcards = self.allows.wildcard_chars + self.disallows.wildcard_chars
        paths = sum(_WORK_OF_PATH + len(pattern) for pattern in patterns)
        return (2 * _WORK_OF_RULE + wildcards) * paths


def _on_crawlers(groups: Sequence[Group], *, strict: bool) -> Iterator[Finding]:
    """Compare the rules of each crawler with each other, and with those of "*"."""
    closed_to_all = _paths_closed_to_all(groups)
    work_left = _MOST_WORK
    for merged in _merged_agents(groups):
        rivals = _Rivals.of(merged.rules, strict=strict)
        patterns = [rule.pattern for rule in merged.rules]
        work_left -= rivals.work_for(patterns + closed_to_all)
        if work_left < 0:
            yield finding(merged.line, TOO_MANY)
            return
        yield from _on_outweighed(merged, rivals)
        if "*" not in merged.agents and not all(rule.allow for rule in merged.rules):
            yield from _on_opened(closed_to_all, rivals, merged, groups)


def _paths_closed_to_all(groups: Iterable[Group]) -> list[str]:
    """Return the patterns of paths that "*" must not fetch, without those for the whole site."""
    patterns = []
    for group in groups:
        if "*" not in group.agents:
            continue
        for rule in group.rules:
            is_path = rule.pattern.startswith(_PATHS_BEGIN)
            if is_path and not rule.allow and not covers(rule.pattern, "/"):
                patterns.append(rule.pattern)
    return patterns


def _on_outweighed(merged: _Merged, rivals: _Rivals) -> Iterator[Finding]:
    """Find rules that are there already, and rules that never decide.

    A rule never decides if a rule of the other kind matches all its paths and is preferred (RFC
    9309 2.2.2).
    """
    first: dict[tuple[bool, str], Rule] = {}
    at = {rule.line: rule for rule in merged.rules}
    whom = _quoted(merged.agents)
    for rule in merged.rules:
        before = first.setdefault((rule.allow, rule.pattern), rule)
        if before.line != rule.line:
            yield finding(rule.line, DUPLICATE, rule=rule, other=before.line)
        best = rivals.against(rule).decider(stand_in(rule.pattern))
        if best > precedence_of(len(rule.pattern), rule.allow, rule.line):
            rival = at[line_of(best)]
            yield finding(rule.line, SHADOWED, rule=rule, whom=whom, rival=rival, other=rival.line)


def _on_opened(
    closed_to_all: Iterable[str], rivals: _Rivals, merged: _Merged, groups: Iterable[Group]
) -> Iterator[Finding]:
    """Find crawlers whose own group forgets rules of "*". One that may fetch everything is let in on purpose."""
    names = [agent for agent in merged.agents if Crawler.of(agent).heeds_global]
    if not names or not _is_undecided("/", rivals):
        return
    opened = [pattern for pattern in closed_to_all if _is_undecided(pattern, rivals)]
    if opened:
        line = min(group.agents[names[0]] for group in groups if names[0] in group.agents)
        paths = shown(", ".join(opened))
        yield finding(line, OWN_GROUP, whom=_quoted(names), paths=paths)


def _is_undecided(pattern: str, rivals: _Rivals) -> bool:
    """Whether no rule is for the paths of `pattern`."""
    path = stand_in(pattern)
    return rivals.allows.decider(path) == NO_RULE and rivals.disallows.decider(path) == NO_RULE


def _quoted(agents: Sequence[str]) -> str:
    if len(agents) > 1:
        return f'"{agents[0]}" and others'
    return f'"{agents[0]}"'
