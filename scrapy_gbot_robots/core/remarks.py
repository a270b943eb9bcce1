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
from .crawlers import GOOGLE_NAMES, is_browser_like, product_token
from .known_crawlers import did_you_mean, is_known
from .lines import Line, agent_of, split_lines
from .patterns import directory_of_index
from .urls import shown, sitemap_url

ERROR = "error"  # the line does nothing, or something else than it says
# the line works for Google and fails elsewhere, or looks like more than it does
WARNING = "warning"
NOTE = "note"  # harmless
LEVELS = (ERROR, WARNING, NOTE)  # the greatest harm first


class FindingKind(NamedTuple):
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


# What is said of each kind of finding, and what to do about it, with places for what a finding is
# about. The kinds stand in the order in which they are told, the greatest harm first, which is our
# judgement: what shuts pages off that nobody meant, what opens pages that nobody meant, what only
# misses something. Programs may know the names.
_WORDS = {
    ERROR: {
        "search engine shut out": "{crawlers} may fetch nothing: {why}",
        "no robots file": (
            "this is {what}, not a robots.txt: {rules} of its lines are read as rules"
        ),
        "cut": "the file was cut here, after {size} bytes; this line may have lost its end",
        "another field read as a rule": (
            'Google reads it as "{rule}", whatever the rest of it means'
        ),
        "comment within a path": (
            'a "#" begins a comment, so the rule is "{rule}"; crawlers request no "#"'
        ),
        "rule before any group": "a rule before the first user-agent line is ignored",
        "no user agent": '"{value}"{odd} names no user agent{advice}',
        "user agent cut": 'this is for "{agent}", not for "{value}"{odd}{advice}',
        "misspelt field": (
            'unknown field "{key}"{odd}, so the line is ignored; did you mean "{name}"?'
        ),
        "ignored": 'neither a directive nor a comment, which begins with "#"{odd}',
        "no leading slash": (
            'no path begins like "{value}"{odd}: it begins with "/", without scheme and host'
        ),
        "space in a path": "no URL has white space in it: a space is %20 there; one rule a line",
        "regular expression": (
            'no crawler reads regular expressions: "{part}" is matched as it stands; "*" is '
            'anything, "$" the end'
        ),
        "shadowed rule": (
            '"{rule}" never decides for {whom}: "{rival}" in line {other} matches all of it '
            "and is preferred"
        ),
        "over-long": "longer than {most} bytes, the rest was dropped",
        "not UTF-8": "not UTF-8: {what}; save the file as UTF-8",
        "noindex": (
            'Google does not use the field "{key}" and may index the page: use a robots meta '
            "tag or the header X-Robots-Tag"
        ),
        "bad sitemap": "not one absolute http, https or ftp URL: {value}",
        "preference that says nothing": "{what}",
        "bad license": "{what}",
    },
    WARNING: {
        "whole site disallowed": (
            '"{rule}" keeps search engines away from the whole site, and each crawler without a '
            "group of its own"
        ),
        "odd character in a path": (
            "a character that cannot be seen or looks like another{odd}: no URL is likely to have "
            "it, so retype the path"
        ),
        "joined groups": (
            "in one group with line {other}, as no rule stands between: both follow the same rules"
        ),
        "name of no crawler": 'no known crawler is called "{agent}"{advice}',
        "preferences not repeated": "{what}",
        "typo": '"{key}" was read as "{name}"',
        "missing colon": 'no colon after "{key}"{odd}',
        "unused field": 'Google does not use the field "{key}"{why}',
        "unknown field": 'unknown field "{key}"',
    },
    NOTE: {
        "own group": (
            'the group of "*" is not for {whom}, so this is open there: {paths}; repeat what '
            "should hold"
        ),
        "field of other crawlers": 'Google does not use the field "{key}"; others do',
        "style or script": (
            '"{rule}" keeps crawlers from style sheets or scripts, so they may not see pages as '
            "people do"
        ),
        "group without rules": 'no rules follow: "{agent}" may fetch everything',
        "dollar within a path": '"$" is the end of a URL only as the last character of a rule',
        "duplicate rule": '"{rule}" is already in line {other}',
        "index page": (
            'Google\'s parser takes it for the directory "{directory}", too; others may not'
        ),
        "path not escaped": "matched as {value}: write it so, for crawlers that do not escape",
        "too many rules to compare": (
            "from this group on, not all rules were compared with each other: there are too many"
        ),
    },
}
KINDS: dict[str, FindingKind] = {}
for _level, _kinds in _WORDS.items():
    KINDS.update({name: FindingKind(name, _level, words) for name, words in _kinds.items()})

# What lint alone tells.
_NO_REMARKS = {
    "comment within a path",
    "dollar within a path",
    "index page",
    "name of no crawler",
    "not UTF-8",
    "odd character in a path",
    "path not escaped",
    "regular expression",
    "space in a path",
    "style or script",
}
# What a remark on a robots.txt is called whose kind is finer than those of remarks.
_REMARKS = {
    "field of other crawlers": "unused field",
    "misspelt field": "unknown field",
    "another field read as a rule": "typo",
    "noindex": "unused field",
}

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
# A whole header of one product: its name, a version, comments.
_HEADER = re.compile(
    rb"[A-Za-z_-]+(?:(?P<version>/[^\s,;|()]*)| \d[\d.]*)?[;+]?\s*"
    rb"(?:\([^()]*(?:\)|\Z)\s*|\+?https?://\S*(?:\s+|\Z))*\Z"
)
# Spaces and characters that cannot be seen, joiners only if not within a word that needs them; what
# looks like a slash; Greek and Cyrillic letters beside Latin ones.
_ODD_IN_PATH = re.compile(
    "[\\xa0\\xad\\u2000-\\u200b\\u200e\\u200f\\u2028-\\u202f\\u205f-\\u2069\\u3000\\ufeff]"
    "|(?<![^\\0-\\x7f])[\\u200c\\u200d]|[\\u200c\\u200d](?![^\\0-\\x7f])"
    "|[\\u2044\\u2215\\uff0f]|(?<=[A-Za-z])[\\u0370-\\u052f]|[\\u0370-\\u052f](?=[A-Za-z])"
)
_DIRECTIVE = re.compile(r"(?:allow|sitemap|crawl-delay)\s*:", re.IGNORECASE)  # within a value
# who means "*"
_EVERYBODY = re.compile(
    r"(?:all|any|every)(?:body|one|[ _-]?(?:robot|bot|crawler|spider|agent)s?)?"
    r"|(?:robot|crawler|spider)s?|bots",
    re.IGNORECASE,
)
FOR_GOOGLE = {"*", *(name.lower() for name in GOOGLE_NAMES)}  # agents
# Fields that other crawlers are known to use: the form of their values, and what is said of others.
_ANYTHING = re.compile(rb".+", re.DOTALL), "empty"
_OF_OTHERS: dict[bytes, tuple[re.Pattern[bytes], str]] = {
    lines.CRAWL_DELAY: (re.compile(rb"\d{1,300}\.?\d*|\.\d+"), "no number of seconds"),
    b"request-rate": (
        re.compile(rb"\d+/\d+[smhd]?(?:\s+\d{4}\s*-\s*\d{4})?"),
        "no rate such as 1/10s",
    ),
    b"visit-time": (re.compile(rb"\d{4}\s*-\s*\d{4}"), "no time such as 0600-0845"),
    b"clean-param": _ANYTHING,
    b"content-signal": _ANYTHING,
    b"content-usage": _ANYTHING,
    b"host": _ANYTHING,
}
OF_GROUPS = {lines.CRAWL_DELAY, b"request-rate", b"visit-time"}  # of no use elsewhere
_FIELD_NAMES = {kind: name.decode("ascii") for kind, name, _ in lines.FIELDS}
_MAX_FIELD = 30  # characters; a longer name is no misspelling
_ENDING = 2  # characters of an ending, as in "Disallowed"; more of them make another word
_RULES = {lines.ALLOW, lines.DISALLOW}
LICENSE = b"license"  # a field of RSL 1.0
MOST_NAMES = 3  # that a finding names
_LISTED_URL = re.compile(rb"[^?#]*[,;|]https?://", re.IGNORECASE)  # after another, not in a query
# What becomes of bytes that are not UTF-8.
_NOT_UTF_8 = dict.fromkeys(_RULES, "the path is matched byte by byte")
_NOT_UTF_8[lines.USER_AGENT] = ""  # "user agent cut" tells of it
_NOT_UTF_8[lines.SITEMAP] = "in the URL, each byte past ASCII counts as % and its code"
_BETWEEN_NAMES = re.compile(r"[,;|]\s*")


def finding(line: int, kind: str, /, **about: object) -> Finding:
    """Return a finding of `kind`, a name, with what it is `about` in its words."""
    row = KINDS[kind]
    return Finding(row.level, line, kind, row.words.format(**about))


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
        if remark.kind not in _NO_REMARKS:
            yield remark._replace(kind=_REMARKS.get(remark.kind, remark.kind))


def on_lines(all_lines: Iterable[Line], body: bytes, *, cut: bool) -> Iterator[Finding]:
    """Look at each line for itself."""
    in_group = False
    # whether the group is for named crawlers of others than Google alone
    for_others = False
    has_rules = False
    number = 0
    for line, raw in zip(all_lines, split_lines(body), strict=True):
        number = line.number
        yield from _on_form(line, raw)
        if line.flags & lines.HAS_DIRECTIVE:
            yield from _on_bytes(line, raw.partition(b"#")[0])
        if line.kind in _RULES:
            has_rules = True
            if not in_group:
                yield finding(number, "rule before any group")
            yield from _on_path(line, raw)
        elif line.kind == lines.USER_AGENT:
            of_other = agent_of(line.value).decode("ascii") not in FOR_GOOGLE
            for_others = of_other and (for_others or has_rules or not in_group)
            in_group = True
            has_rules = False
            yield from _on_agent(number, line.value)
        elif line.kind == lines.SITEMAP and not _is_one_url(line.value):
            yield finding(number, "bad sitemap", value=text_of(line.value))
        elif line.kind == lines.UNUSED:
            yield from _on_unused(line, in_group=in_group, for_others=for_others)
    if cut:
        yield finding(number, "cut", size=len(body))


def _is_one_url(value: bytes) -> bool:
    """Whether the value of a sitemap line is one absolute URL, and no list of them."""
    if len(value.split()) > 1 or _LISTED_URL.match(value):
        return False
    return sitemap_url(value) is not None


def _on_unused(line: Line, *, in_group: bool, for_others: bool) -> Iterator[Finding]:
    """Look at a field that Google does not use: others may, where it counts and is well formed."""
    key = text_of(line.key)
    name = line.key.lower()
    if name == _NOINDEX:
        yield finding(line.number, "noindex", key=key)
        return
    form, fault = _OF_OTHERS.get(name, (None, ""))
    why = None
    if form is None:
        why = ""
    elif name in OF_GROUPS and not in_group:
        why = ", and it is in no group"
    elif not form.fullmatch(line.value):
        why = f", and it is {fault}"
    if why is not None:
        yield finding(line.number, "unused field", key=key, why=why)
    elif not for_others:
        yield finding(line.number, "field of other crawlers", key=key)


def _on_form(line: Line, raw: bytes) -> Iterator[Finding]:
    """Look at the form of a line."""
    if line.flags & lines.TOO_LONG:
        yield finding(line.number, "over-long", most=lines.MAX_LINE_BYTES)
    if line.flags & (lines.EMPTY | lines.IS_COMMENT):
        return
    key = text_of(line.key)
    is_words = line.flags & lines.MISSING_COLON and line.kind == lines.UNKNOWN
    if not line.flags & lines.HAS_DIRECTIVE or (is_words and nearest_field(key) is None):
        yield finding(line.number, "ignored", odd=_odd_characters(raw))
        return
    yield from _on_field(line, key)
    if line.flags & lines.MISSING_COLON:
        yield finding(line.number, "missing colon", key=key, odd=_odd_characters(line.key))


def _on_field(line: Line, key: str) -> Iterator[Finding]:
    """Look at the name of a field."""
    number = line.number
    name = _FIELD_NAMES.get(line.kind, "")
    if line.kind == lines.UNKNOWN:
        nearest = nearest_field(key)
        if nearest is not None:
            odd = _odd_characters(line.key)
            yield finding(number, "misspelt field", key=key, odd=odd, name=nearest)
        elif line.key.lower() != LICENSE:
            yield finding(number, "unknown field", key=key)
    elif _is_another_field(line, key, name):
        yield finding(
            number,
            "another field read as a rule",
            rule=f"{name.capitalize()}: {text_of(line.value, 60)}",
        )
    elif line.kind != lines.UNUSED and key.lower() != name:
        yield finding(number, "typo", key=key, name=name)


def _is_another_field(line: Line, key: str, name: str) -> bool:
    """Whether a rule's field only begins with the `name` of a rule, and is no misspelling of it."""
    if line.kind not in _RULES or line.flags & lines.TYPO:
        return False
    return _ENDING < len(key) - len(name) <= _MAX_FIELD


def _on_bytes(line: Line, written: bytes) -> Iterator[Finding]:
    """Look at the bytes of a directive."""
    try:
        written.decode("utf-8")
        what = ""
    except UnicodeDecodeError:
        what = _NOT_UTF_8.get(line.kind, "programs may read it differently")
    if b"\0" in written:
        what = "the line ends at a NUL byte"
    if what:
        yield finding(line.number, "not UTF-8", what=what)
    elif line.kind in _RULES and line.value[:1] in b"/*":
        path = lines.as_written(written).decode("utf-8", "ignore")  # cut if over-long
        odd = "".join(_ODD_IN_PATH.findall(path)).encode()
        if odd:
            yield finding(line.number, "odd character in a path", odd=_odd_characters(odd))
        elif not path.isascii():
            yield finding(line.number, "path not escaped", value=text_of(line.value, 100))


def _on_path(line: Line, raw: bytes) -> Iterator[Finding]:
    """Look at the path of a rule."""
    number = line.number
    path = line.value
    if path[:1] not in b"/*":
        odd = _odd_characters(lines.as_written(raw))
        yield finding(number, "no leading slash", value=text_of(path), odd=odd)
    if b" " in path or b"\t" in path:
        yield finding(number, "space in a path")
    before, hash_sign, _ = raw.partition(b"#")
    if hash_sign and path and not before[-1:].isspace():
        name = _FIELD_NAMES[line.kind].capitalize()
        yield finding(number, "comment within a path", rule=f"{name}: {text_of(path)}")
    regex = _REGEX.search(path)
    if regex is None and path.count(b"*") == path.count(b".*"):
        regex = _DOT_STAR.search(path)
    if regex is not None:
        yield finding(number, "regular expression", part=text_of(regex[0]))
    elif b"$" in path[1:-1]:
        yield finding(number, "dollar within a path")
    if line.kind == lines.ALLOW:
        directory = directory_of_index(path.decode("ascii"))
        if directory is not None:
            yield finding(number, "index page", directory=shown(directory[:-1]))


def _on_agent(number: int, value: bytes) -> Iterator[Finding]:
    """Look at the name in a user-agent line."""
    agent = agent_of(value).decode("ascii")
    text = text_of(value, 60)
    odd = _odd_characters(value)
    advice = _what_is_meant(text, agent)
    if _DIRECTIVE.search(text):
        advice = ": write one directive a line"
    if not agent:
        yield finding(number, "no user agent", value=text, odd=odd, advice=advice)
        return
    if len(agent) == len(value):
        if advice:
            yield finding(number, "name of no crawler", agent=text, advice=advice)
        return
    if _has_several_names(text):
        advice = ": write one user-agent line for each name"
    elif _names_one_crawler(value, agent):
        return
    elif not advice and _PRODUCT.match(value):
        advice = f': of a User-Agent header, write the name alone, "{product_token(value)}"'
    elif not advice:
        advice = ': a name ends where anything but letters, "-" and "_" begins'
    yield finding(number, "user agent cut", agent=agent, value=text, odd=odd, advice=advice)


def _what_is_meant(text: str, agent: str) -> str:
    if _EVERYBODY.fullmatch(text):
        return f': the group is for a crawler "{agent}" alone; write "*" for all'
    return did_you_mean(text)


def _names_one_crawler(value: bytes, agent: str) -> bool:
    """Whether a name with what follows it means the crawler that its group is for.

    MJ12bot means it, as its operator documents the name so, Googlebot* (Google's page), and a name
    with its version and comments. A browser's header does not: its group is for "Mozilla".
    """
    name, _, rest = value.partition(b"/")
    has_version = _PRODUCT.match(value) is not None
    if has_version and b" " not in rest:
        return True
    if not has_version and is_known(name.decode("latin-1").removesuffix("*")):
        return True
    header = _HEADER.match(value)
    if header is None or is_browser_like(value) or product_token(value).lower() != agent:
        return False
    return header["version"] is not None or is_known(agent)


def _has_several_names(text: str) -> bool:
    """Whether a user-agent line lists names: parted by commas, or known ones by spaces."""
    if "(" in text:  # a whole header
        return False
    names = _BETWEEN_NAMES.split(text)
    if len(names) > 1:
        return all(name[:1].isalpha() for name in names)
    words = text.split()
    return len(words) > 1 and all(is_known(word) for word in words)


def _odd_characters(raw: bytes) -> str:
    """Name the characters past ASCII by their code points: many cannot be seen, or look alike."""
    odd = dict.fromkeys(char for char in raw.decode("utf-8", "ignore") if not char.isascii())
    if not odd:
        return ""
    names = [f"U+{ord(char):04X}" for char in odd]
    return f" (with {', '.join(names[:MOST_NAMES])})"


def text_of(raw: bytes, limit: int = 200) -> str:
    """Return bytes of a file as printable text of at most `limit` characters."""
    return shown(raw.decode("utf-8", "backslashreplace"), limit)
