"""What is odd about single lines of a robots.txt: kinds of findings, and the findings of a line.

`RobotsTxt.remarks` has some of them. lint.py adds what only shows when several lines are compared.

Boundary: no verdict depends on a finding. The careful reader (lines.py) sets the kinds and flags of
lines.
Source: RFC 9309, Google's page and Google's parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import NamedTuple

from . import lines
from .known_crawlers import is_known, meant_by
from .lines import Line, agent_of, split_lines
from .urls import as_text, is_absolute, shown

ERROR = "error"  # the line does nothing, or something else than it says
# the line works for Google and fails elsewhere, or looks like more than it does
WARNING = "warning"
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
    """Something odd in line `line` (from 1): its level, the name of its kind, a printable text."""

    level: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


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
    'no crawler reads regular expressions: "{part}" is matched as it stands; '
    '"*" is anything, "$" the end',
)
OVER_LONG = Kind("over-long", ERROR, "longer than {most} bytes, the rest was dropped")
NOT_UTF8 = Kind(
    "not UTF-8", ERROR, "not UTF-8: bytes are matched as they stand, and none after a NUL byte"
)
BAD_SITEMAP = Kind("bad sitemap", ERROR, "not one absolute http, https or ftp URL: {value}")
NOINDEX = Kind(
    "noindex",
    ERROR,
    'Google does not use the field "{key}" and may index the page: '
    "use a robots meta tag or the header X-Robots-Tag",
)
NO_CRAWLER = Kind(
    "name of no crawler", WARNING, 'no known crawler is called "{agent}"; did you mean {names}?'
)
TYPO = Kind("typo", WARNING, '"{key}" was read as "{name}"')
MISSING_COLON = Kind("missing colon", WARNING, 'no colon after "{key}"')
UNUSED_FIELD = Kind("unused field", WARNING, 'Google does not use the field "{key}"')
UNKNOWN_FIELD = Kind("unknown field", WARNING, 'unknown field "{key}"')
DOLLAR = Kind(
    "dollar within a path", NOTE, '"$" is the end of a URL only as the last character of a rule'
)
RAW = Kind(
    "path not escaped", NOTE, "matched as {value}: write it so, for crawlers that do not escape"
)

# What a finding is called as a remark on a robots.txt. A finer kind than the remarks know goes by
# the kind that it refines.
_BY_LINE = (CUT, RULE_BEFORE_GROUP, NO_AGENT, AGENT_CUT, IGNORED, NO_SLASH, OVER_LONG, BAD_SITEMAP)
_BY_FIELD = (TYPO, MISSING_COLON, UNUSED_FIELD, UNKNOWN_FIELD)
_FINER = {MISSPELT: UNKNOWN_FIELD, OTHER_FIELD: TYPO, NOINDEX: UNUSED_FIELD}
_REMARKS = {kind.name: _FINER.get(kind, kind).name for kind in (*_BY_LINE, *_BY_FIELD, *_FINER)}

# What only regular expressions have. ".*" also is a dot and any run of characters, as in
# "/index.*", so it has to stand where no file name has a dot.
_REGEX = re.compile(
    rb"\[\^?(?:\w-\w)+\w*\][+*?]?|\([^()|]*\|[^()]*\)[+*?]?|\(\?[:=!]|\(\.[*+]"
    rb"|\\[dws](?![A-Za-z])|\\[.?/+*()]"
    rb"|(?<=[^/*])/\.\*(?=/|\$?\Z)|\.\+(?=/|\$?\Z)"
)
_DOT_STAR = re.compile(rb"(?<=[^*.])\.\*(?=\w)")  # in a path without another star
_NOINDEX = b"noindex"
# a product token with a version, as in a User-Agent header
_PRODUCT = re.compile(rb"[A-Za-z_-]+/")
_FIELD_NAMES = {kind: name.decode("ascii") for kind, name, _ in lines.FIELDS}
_MAX_FIELD = 30  # characters; a longer name is no misspelling
_ENDING = 2  # characters of an ending, as in "Disallowed"; more of them make another word
_RULES = {lines.ALLOW, lines.DISALLOW}
LICENSE = b"license"  # a field of RSL 1.0
MOST_NAMES = 3  # that a finding names
_BETWEEN_NAMES = re.compile(r"[,;|]\s*")


def finding(line: int, kind: Kind, **about: object) -> Finding:
    """Return a finding of `kind`, with what it is `about` in its words."""
    return Finding(kind.level, line, kind.name, kind.words.format(**about))


def nearest_field(key: str) -> str | None:
    """Return the field that is spelt nearly like `key`."""
    if len(key) > _MAX_FIELD:
        return None
    nearest = get_close_matches(key.lower(), _FIELD_NAMES.values(), n=1, cutoff=0.75)
    if not nearest:
        return None
    return nearest[0]


def remarks_on(all_lines: Iterable[Line], body: bytes, *, cut: bool) -> Iterator[Finding]:
    """Yield the findings about single lines of `body`, in the order of the lines.

    `all_lines` were read from it.
    """
    for remark in on_lines(all_lines, body, cut=cut):
        if remark.kind in _REMARKS:
            yield remark._replace(kind=_REMARKS[remark.kind])


def on_lines(all_lines: Iterable[Line], body: bytes, *, cut: bool) -> Iterator[Finding]:
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
            yield finding(number, BAD_SITEMAP, value=text_of(line.value))
    if cut:
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
        yield from _on_field(line, text_of(line.key))
    elif not line.flags & (lines.EMPTY | lines.IS_COMMENT):
        yield finding(line.number, IGNORED)
    if line.flags & lines.MISSING_COLON:
        yield finding(line.number, MISSING_COLON, key=text_of(line.key))


def _on_field(line: Line, key: str) -> Iterator[Finding]:
    """Look at the name of a field."""
    number, name = line.number, _FIELD_NAMES.get(line.kind, "")
    if line.kind == lines.UNKNOWN:
        nearest = nearest_field(key)
        if nearest is not None:
            yield finding(number, MISSPELT, key=key, name=nearest)
        elif line.key.lower() != LICENSE:
            yield finding(number, UNKNOWN_FIELD, key=key)
    elif line.kind == lines.UNUSED:
        if line.key.lower() == _NOINDEX:
            yield finding(number, NOINDEX, key=key)
        else:
            yield finding(number, UNUSED_FIELD, key=key)
    elif _is_another_field(line, key, name):
        yield finding(number, OTHER_FIELD, rule=f"{name.capitalize()}: {text_of(line.value, 60)}")
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
        yield finding(line.number, RAW, value=text_of(line.value, 100))


def _on_path(line: Line, raw: bytes) -> Iterator[Finding]:
    """Look at the path of a rule."""
    number, path = line.number, line.value
    if path[:1] not in b"/*":
        yield finding(number, NO_SLASH, value=text_of(path))
    if b" " in path or b"\t" in path:
        yield finding(number, SPACE)
    before, hash_sign, _ = raw.partition(b"#")
    if hash_sign and path and not before[-1:].isspace():
        name = _FIELD_NAMES[line.kind].capitalize()
        yield finding(number, COMMENT_IN_PATH, rule=f"{name}: {text_of(path)}")
    regex = _REGEX.search(path)
    if regex is None and path.count(b"*") == path.count(b".*"):
        regex = _DOT_STAR.search(path)
    if regex is not None:
        yield finding(number, REGEX, part=text_of(regex[0]))
    elif b"$" in path[1:-1]:
        yield finding(number, DOLLAR)


def _on_agent(number: int, value: bytes) -> Iterator[Finding]:
    """Look at the name in a user-agent line."""
    agent = agent_of(value).decode("ascii")
    text = text_of(value, 60)
    if not agent:
        yield finding(number, NO_AGENT, value=text_of(value))
    elif len(agent) == len(value):
        names = meant_by(agent)
        if names:
            meant = " or ".join(names[:MOST_NAMES])
            yield finding(number, NO_CRAWLER, agent=text, names=meant)
    elif _has_several_names(text):
        advice = ": write one user-agent line for each name"
        yield finding(number, AGENT_CUT, agent=agent, value=text, advice=advice)
    elif not _PRODUCT.match(value):
        names = meant_by(text)
        advice = ': a name ends where anything but letters, "-" and "_" begins'
        if names:
            advice = f"; did you mean {' or '.join(names[:MOST_NAMES])}?"
        yield finding(number, AGENT_CUT, agent=agent, value=text, advice=advice)


def _has_several_names(text: str) -> bool:
    """Whether a user-agent line lists names: parted by commas, or known ones by spaces."""
    if "(" in text:  # a whole header
        return False
    names = _BETWEEN_NAMES.split(text)
    if len(names) > 1:
        return all(name[:1].isalpha() for name in names)
    words = text.split()
    return len(words) > 1 and all(is_known(word) for word in words)


def text_of(raw: bytes, limit: int = 200) -> str:
    """Return bytes of a file as printable text of at most `limit` characters."""
    return shown(raw.decode("utf-8", "backslashreplace"), limit)
