"""Define the kinds of findings in a robots.txt, and find problems in single lines.

`RobotsTxt.remarks` returns the findings of this module, except the kinds in `_NO_REMARKS`. lint.py
adds the findings for which several lines must be compared.

No verdict depends on a finding. The kind and the flags of a line come from the careful reader
(lines.py). The sources are RFC 9309, and Google's page and parser (lines.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple, TypeAlias

from .crawlers import GOOGLE_NAMES, is_browser_like, product_token
from .known_crawlers import did_you_mean, is_known, looks_known
from .lines import (
    ALLOW,
    CRAWL_DELAY,
    DISALLOW,
    EMPTY,
    FIELDS,
    IS_COMMENT,
    MAX_LINE_BYTES,
    MISSING_COLON,
    SITEMAP,
    TOO_LONG,
    UNKNOWN,
    UNUSED,
    USER_AGENT,
    Line,
    agent_of,
    as_written,
    seconds,
    split_lines,
)
from .patterns import directory_of_index
from .urls import DEFAULT_PORTS, shown, sitemap_url

# Each kind of finding has a level of harm. At the level ERROR, the line has no effect, or an effect
# that its author does not expect.
ERROR = "error"
# At the level WARNING, the line works for Google but may fail for other crawlers, or it does less
# than its author expects.
WARNING = "warning"
# At the level NOTE, the line may be correct, but its author should know what effect it has.
NOTE = "note"
LEVELS = (ERROR, WARNING, NOTE)  # The most severe level comes first.


class FindingKind(NamedTuple):
    """A kind of finding, such as "misspelt field".

    Attributes:
        name: the name of the kind. The name is the same in every version of this package, because
            programs may use it.
        level: one of `LEVELS`.
        words: a format string for the text of a finding. The function `finding` fills in the fields
            of this string, such as `{what}`.
    """

    name: str
    level: str
    words: str

    @property
    def id(self) -> str:
        """The name with "-" for spaces, as used in options and in the addresses of pages."""
        return self.name.lower().replace(" ", "-")


class Finding(NamedTuple):
    """Something odd in a line of a robots.txt.

    Attributes:
        level: "error", "warning" or "note".
        line: the line number, from 1.
        kind: the name of the kind of finding. It is the same in every version of this package.
        text: a printable text for people, of bounded length.
    """

    level: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


# The text of each kind of finding describes the problem and its solution. Findings are reported in
# the order of these kinds. This order is our own choice. Lines that close pages by mistake come
# first. Lines that open pages by mistake come next, and lines that only lack something come last.
# The names of the kinds are the same in every version of this package.
_WORDS = {
    ERROR: {
        "search engine shut out": "{crawlers} may fetch nothing: {why}",
        "no robots file": ("this is {what}, not a robots.txt{rules}"),
        "cut": "the file was cut here, after {what} bytes; the end of this line may be missing",
        "another field read as a rule": 'Google reads this field as the rule "{rule}"',
        "comment within a path": (
            'a "#" begins a comment, so the rule is "{rule}"; crawlers never send a "#"'
        ),
        "rule before any group": "{what} before the first user-agent line is ignored",
        "no user agent": '"{value}"{odd} names no user agent{what}',
        "value that a program lacked": (
            'a program wrote "{value}" instead of a name, so no crawler follows this group; write '
            '"*" for all crawlers'
        ),
        "user agent cut": 'this is for "{user_agent}", not for "{value}"{odd}{what}',
        "misspelt field": (
            'unknown field "{key}"{odd}, so the line is ignored; did you mean "{what}"?'
        ),
        "ignored": 'this line is neither a directive nor a comment, which begins with "#"{odd}',
        "no leading slash": (
            'the path of a URL begins with "/", so "{value}"{odd} matches no URL; '
            'write the path from its "/", without scheme and host'
        ),
        "several paths": (
            "a comma does not separate paths, so this is one path, which no URL has; write one "
            "rule on each line"
        ),
        "space in a path": (
            "no URL contains white space; write %20 for a space, and one rule on each line"
        ),
        "regular expression": (
            'no crawler reads regular expressions, so "{what}" is matched literally; "*" means any '
            'characters, and a final "$" means the end of the URL'
        ),
        "shadowed rule": (
            '"{rule}" never decides for {whom}, because "{rival}" in line {rival.line} matches all '
            "its URLs and has precedence"
        ),
        "over-long": f"this line is longer than {MAX_LINE_BYTES} bytes; the rest is ignored",
        "not UTF-8": "not UTF-8: {what}; save the file as UTF-8",
        "noindex": (
            'Google ignores the field "{key}" and may index the page; use a robots meta tag or the '
            "header X-Robots-Tag"
        ),
        "bad sitemap": "not one absolute http, https or ftp URL: {value}{what}",
        "preference that says nothing": "{what}",
        "bad license": "{what}",
    },
    WARNING: {
        "web page": (
            "this is a web page, not a robots.txt; crawlers find no rule in it, so they may fetch "
            "everything; if the site has no robots.txt, let the server answer 404"
        ),
        "whole site disallowed": (
            '"{rule}" keeps search engines, and all crawlers without a group of their own, away '
            "from the whole site"
        ),
        "odd character in a path": (
            "the path contains an HTML tag, or a character that is invisible or looks like "
            "another{what}; no URL is likely to contain it, so type the path again"
        ),
        "sitemap disallowed": (
            '{whom} may not fetch this sitemap, because "{rule}" in line {rule.line} disallows '
            "it{more}"
        ),
        "sitemap on no public host": (
            'crawlers cannot fetch a sitemap from "{host}"; write the address of the site'
        ),
        "noindex of a disallowed path": (
            'Google ignores the field "{key}"; "{rule}" in line {rule.line} keeps it from fetching '
            "the page, but it may still index the URL"
        ),
        "joined groups": (
            "this user agent is in one group with the user agents above, because no rule stands "
            "between them, so all have the same rules"
        ),
        "name of no crawler": 'no known crawler is called "{value}"{what}',
        "preferences not repeated": "{what}",
        "typo": '"{key}" was read as "{name}"',
        "missing colon": 'no colon after "{key}"{odd}',
        "unused field": 'Google ignores the field "{key}"{what}',
        "unknown field": 'unknown field "{key}"{what}',
    },
    NOTE: {
        "home page disallowed": '{whom} may not fetch the home page: "{rule}" disallows it',
        "other search engine shut out": "{crawlers} may fetch nothing: {why}",
        "only the home page allowed": (
            '"{rule}" keeps search engines away from the whole site, except its home page'
        ),
        "own group": (
            'the rules of "*" do not apply to {whom}, which may fetch {paths}; repeat here the '
            "rules that should apply"
        ),
        "crawler that may ignore it": (
            "these crawlers may ignore the rules, as their operators state: {crawlers}"
        ),
        "policy token": (
            '"{value}" is a policy token and not a crawler, by a draft of 2026-10-30 '
            "(draft-kelley-aipref-training-preference-signal-00); this version does not act on it"
        ),
        "name read in part": 'in "{value}"{odd}, Google reads {what}',
        "field of other crawlers": 'Google ignores the field "{key}"; other crawlers use it',
        "style or script": (
            '"{rule}" keeps crawlers from style sheets or scripts, so they may see pages '
            "differently from people"
        ),
        "group without rules": 'no rules follow, so "{user_agent}" may fetch everything',
        "dollar within a path": (
            '"$" means the end of a URL only if it is the last character of a rule'
        ),
        "duplicate rule": '"{rule}" is already in line {other}',
        "index page": 'Google also allows the directory "{what}"; other crawlers may not',
        "path not escaped": (
            "this path is matched as {value}; write it in this form for crawlers that do not escape"
        ),
        "encoded twice": (
            '"{what}" looks encoded twice, so the rule does not match URLs that are encoded once'
        ),
        "first parameter": (
            '"{what}" matches only the first parameter of a query; add a rule with "{how}" for '
            "other places{more}"
        ),
        # The following kinds are for lines that other parsers read differently. The versions in the
        # texts were tested on 2026-11-28.
        "blank line in a group": (
            "a blank line ends a group for Python's urllib (3.9 to 3.14), linkchecker 10.2, Perl's "
            "WWW::RobotRules 6.02, robotexclusionrulesparser 1.7, npm robots 0.10 and Ruby's "
            "webrobots 0.1: they see no rules below it{more}"
        ),
        "byte order mark": (
            "a byte order mark: Python's urllib (3.9 to 3.14), Protego 0.7 called by hand, "
            "robotspy 0.13, wget 1.21, wget2 1.99, HTTrack 3.49, linkchecker 10.2 and Ruby's "
            "webrobots 0.1 do not read this line; save the file without it"
        ),
        "group in parts": (
            '"{user_agent}" also has a group in line {other}: Python\'s urllib (3.9 to 3.14), '
            "linkchecker 10.2, wget2 1.99, Perl's WWW::RobotRules 6.02, robotexclusionrulesparser "
            "1.7, npm robots 0.10, robots-txt-guard 1.0 and Ruby's webrobots 0.1 read only one"
        ),
        "empty rule first": (
            "an empty rule before others: Python's urllib (3.9 to 3.14), linkchecker 10.2, wget "
            "1.21, wget2 1.99, Perl's WWW::RobotRules 6.02, robotexclusionrulesparser 1.7 and npm "
            "robots 0.10 then allow everything{more}"
        ),
        "escape in lower case": (
            "an escape such as %2f: wget 1.21, Perl's WWW::RobotRules 6.02, texting-robots 0.2, "
            "@nuxtjs/robots 6.2, robots-txt-guard 1.0, robots-txt-parser 2.0 and reppy2 0.3 do not "
            "match it with %2F; write it in upper case{more}"
        ),
        "line end of CR": (
            "a line that ends with CR alone: robotspy 0.13, wget 1.21, wget2 1.99, HTTrack 3.49, "
            "@nuxtjs/robots 6.2, robots-txt-parse 2.0, ai-crawler-robots 1.0 and Ruby's webrobots "
            "0.1 do not end the line there; end lines with LF"
        ),
        "long group": (
            "HTTrack 3.49 keeps about 4 KiB of the paths of a group, so it forgets this rule and "
            "those below"
        ),
    },
}
KINDS: dict[str, FindingKind] = {}
for _level, _kinds in _WORDS.items():
    KINDS.update({name: FindingKind(name, _level, words) for name, words in _kinds.items()})

# `RobotsTxt.remarks` does not report these kinds. Only lint reports them.
_NO_REMARKS = {
    "comment within a path",
    "dollar within a path",
    "encoded twice",
    "index page",
    "name of no crawler",
    "not UTF-8",
    "odd character in a path",
    "path not escaped",
    "regular expression",
    "several paths",
    "space in a path",
    "style or script",
}
# The keys are specific kinds of findings, and the values are more general kinds. If lint reports a
# finding of a specific kind, `RobotsTxt.remarks` reports a finding of the general kind.
_REMARKS = {
    "field of other crawlers": "unused field",
    "misspelt field": "unknown field",
    "another field read as a rule": "typo",
    "noindex": "unused field",
}

# This matches a part of a path that looks like a regular expression, such as "[0-9]". The text ".*"
# may be only a dot before a wildcard, as in "/index.*". So ".*" is matched in two cases only: as a
# whole segment of the path, as in "/a/.*", and as the first star of the path before a letter or
# digit, as in "/a.*b".
_REGEX = re.compile(
    rb"\[\^?(?:\w-\w)+\w*\][+*?]?|\([^()|]*\|[^()]*\)[+*?]?|\(\?[:=!]|\(\.[*+]"
    rb"|\\[dws](?![A-Za-z])|\\[.?/+*()]"
    rb"|(?<=[^/*])/\.\*(?=/|\$?\Z)|\.\+(?=/|\$?\Z)|\A[^*]*[^*.]\.\*(?=\w)"
)
# This matches several paths with commas between them. Commas in a query are not considered.
_SEVERAL_PATHS = re.compile(rb"[^?]*,\s*/")
# This matches an escape whose percent sign is escaped again, such as "%252F" for "%2F".
_ENCODED_TWICE = re.compile(rb"%25[0-9A-F]{2}")
# This matches a product token with a version, as in a User-Agent header.
_PRODUCT = re.compile(r"[A-Za-z_-]+/")
# This matches a whole User-Agent header with one product. After the name of the product, there may
# be a version, comments and URLs.
_HEADER = re.compile(
    r"[A-Za-z_-]+(?:(?P<version>/[^\s,;|()]*)| \d[\d.]*)?[;+]?\s*"
    r"(?:\([^()]*(?:\)|\Z)\s*|\+?https?://\S*(?:\s+|\Z))*\Z"
)
# This matches texts that are probably in a path by mistake. Such texts are unusual spaces,
# invisible characters, HTML tags, characters that look like a slash, and Greek or Cyrillic letters
# next to Latin letters. Zero-width joiners and non-joiners are invisible, but some scripts need
# them, so they are accepted between two non-ASCII letters.
_ODD_IN_PATH = re.compile(
    "[\\xa0\\xad\\u2000-\\u200b\\u200e\\u200f\\u2028-\\u202f\\u205f-\\u2069\\u3000\\ufeff]"
    "|(?<![^\\0-\\x7f])[\\u200c\\u200d]|[\\u200c\\u200d](?![^\\0-\\x7f])"
    "|</?[A-Za-z][A-Za-z0-9]* ?/?>"
    "|[\\u2044\\u2215\\uff0f]|(?<=[A-Za-z])[\\u0370-\\u052f]|[\\u0370-\\u052f](?=[A-Za-z])"
)
# This matches a second directive in the value of a user-agent line.
_DIRECTIVE = re.compile(r"(?:allow|sitemap|crawl-delay)\s*:", re.IGNORECASE)
# This matches words that some authors of robots.txt files write when they mean "*".
_EVERYBODY = re.compile(
    r"(?:all|any|every)(?:body|one|[ _-]?(?:robot|bot|crawler|spider|agent)s?)?"
    r"|(?:robot|crawler|spider)s?|bots",
    re.IGNORECASE,
)
# The user agents whose groups Google's crawlers follow.
FOR_GOOGLE = {"*", *map(str.lower, GOOGLE_NAMES)}
# Fields that Google ignores and that other crawlers use.
_OF_OTHERS = {
    CRAWL_DELAY,
    b"clean-param",
    b"content-signal",
    b"content-usage",
    b"host",
    b"request-rate",
    b"visit-time",
}
# For each field that other crawlers use, the usual spelling of its name. Keys are in lower case.
_SPELT = {name.decode("ascii"): name.decode("ascii").capitalize() for name in _OF_OTHERS}
_SPELT.update({"content-signal": "Content-Signal", "content-usage": "Content-Usage"})
_SPELT["license"] = "License"
OF_GROUPS = {CRAWL_DELAY, b"request-rate", b"visit-time"}  # These fields work only in a group.
# The names, in lower case, of the fields that Google uses.
_FIELD_NAMES = {kind: name.decode("ascii") for kind, name, _ in FIELDS}
_MAX_FIELD = 30  # Only field names of at most 30 bytes are compared with Google's fields.
# A misspelt field name may have this many additional characters at its end, such as "ed" in
# "Disallowed". A name with a longer ending is taken for another word.
_ENDING = 2
RULES = {ALLOW, DISALLOW}
LICENSE = b"license"  # This field is defined by RSL 1.0.
_MOST_NAMED = 3  # A finding names at most three characters by their code points.
# This matches a list of URLs with separators between them. A URL within the query or fragment of
# another URL is not considered.
_LISTED_URL = re.compile(rb"[^?#]*[,;|]https?://", re.IGNORECASE)
# For each kind of line, a string for a finding. It describes the effect of bytes that are not
# UTF-8.
_NOT_UTF_8 = dict.fromkeys(RULES, "the path is matched byte by byte")
_NOT_UTF_8[SITEMAP] = "in the URL, each byte past ASCII is read as % and its code"
_BETWEEN_NAMES = re.compile(r"[\s,;|]+")
# A policy token begins with this text. A policy token appears in a user-agent line, but does not
# name a crawler (draft-kelley-aipref-training-preference-signal-00).
_POLICY = "__usage_"
# Google's parser reads only the beginning of some names in user-agent lines. A message about one of
# these names ends with one of the next two texts.
_NAME_ENDS = ', because a name ends before the first character that is not a letter, "-" or "_"'
_ITS_CRAWLER = f"{_NAME_ENDS}; the crawler itself may read the whole name"
# This matches a string that a program writes in a user-agent line if the name is missing, such as
# "undefined" or a variable of a template.
_OF_A_PROGRAM = re.compile(
    r"undefined|null|nil|none|nan|\(null\)|\[object object\]|<no value>|%s|"
    r"\$?\{[^{}]*\}|\{\{[^{}]*\}\}|<%.*%>",
    re.IGNORECASE,
)
_FROM_A_DIGIT = re.compile(r"[0-9][\w./! -]*", re.ASCII)  # a name such as "360Spider"


# The results of a function that checks a line. Each is a pair of the name of a kind of finding,
# such as "bad sitemap", and a string. The string replaces `{what}` in the string of this kind (see
# `_WORDS`).
Odd: TypeAlias = Iterator[tuple[str, str]]


def finding(line: int, kind: str, /, **about: object) -> Finding:
    """Return a finding about the line with the number `line`.

    `kind` is the name of the kind of finding. `_WORDS` has a string with fields such as `{what}`
    for this kind, and `about` contains the values for these fields.
    """
    row = KINDS[kind]
    return Finding(row.level, line, kind, row.words.format(**about))


def nearest_field(key: bytes) -> str:
    """Return the name of Google's field that `key` probably misspells; "" if there is none."""
    nearest: list[str] = []
    if len(key) <= _MAX_FIELD:
        name = key.decode("utf-8", "replace").lower()
        nearest = get_close_matches(name, _FIELD_NAMES.values(), n=1, cutoff=0.75)
    return "".join(nearest)


def _other_field(key: bytes) -> str:
    """Return the end of a message about an unknown field, such as '; did you mean "Crawl-delay"?'.

    If `key` is similar to the name of a field that only other crawlers use, the message suggests
    this field. Otherwise the result is "".
    """
    name = key.decode("utf-8", "replace").lower()
    nearest = get_close_matches(name[: _MAX_FIELD + 1], _SPELT, n=1, cutoff=0.8)
    return f'; did you mean "{_SPELT[nearest[0]]}"?' if nearest else ""


def remarks_on(all_lines: Iterable[Line], body: bytes, *, cut: bool) -> Iterator[Finding]:
    """Yield the remarks on single lines of `body`, in file order.

    Args:
        all_lines: the lines of `body`.
        body: the bytes of the file.
        cut: whether the server sent more bytes than `body` contains.
    """
    for remark in on_lines(all_lines, body, cut=cut):
        if remark.kind not in _NO_REMARKS:
            yield remark._replace(kind=_REMARKS.get(remark.kind, remark.kind))


def on_lines(all_lines: Iterable[Line], body: bytes, *, cut: bool) -> Iterator[Finding]:
    """Yield the findings about single lines of `body`. The arguments are as in `remarks_on`."""
    user_agents: set[str] = set()  # The user agents of this group that have been read so far.
    has_rules = False
    number = 0
    for line, raw in zip(all_lines, split_lines(body), strict=True):
        number = line.number
        written = raw.partition(b"#")[0]
        odd = [*_on_form(line), *_on_bytes(line, written)]
        if line.kind in RULES:
            has_rules = True
            if not user_agents:
                odd.append(("rule before any group", "a rule"))
            odd += _on_rule(line, raw)
        elif line.kind == USER_AGENT:
            if has_rules:
                user_agents = set()
            has_rules = False
            user_agents.add(agent_of(line.value).decode("ascii"))
            odd += _on_agent(line.value)
        elif line.kind == SITEMAP and not _is_one_url(line.value):
            odd.append(("bad sitemap", _lost_scheme(line.key)))
        elif line.kind == UNUSED:
            odd += _on_unused(line, user_agents)
        for kind, what in odd:
            yield _on_line(line, written, kind, what)
    if cut:
        yield finding(number, "cut", what=len(body))


def _on_line(line: Line, written: bytes, kind: str, what: str) -> Finding:
    """Return a finding about a line. `written` is the line as in the file, without its comment."""
    name = _FIELD_NAMES.get(line.kind, "")
    key, value = text_of(line.key), text_of(line.value)
    return finding(
        line.number,
        kind,
        what=what,
        key=key,
        name=name,
        value=value,
        rule=f"{name.capitalize()}: {value}",
        user_agent=agent_of(line.value).decode("ascii"),
        odd=_code_points(written.decode("utf-8", "ignore")),
    )


def _on_form(line: Line) -> Odd:
    """Check the form of a line, such as its colon, and whether its field name is known."""
    if line.flags & TOO_LONG:
        yield "over-long", ""
    if line.flags & (EMPTY | IS_COMMENT):
        return
    lacks_colon = line.flags & MISSING_COLON
    if line.kind == UNKNOWN:
        nearest = nearest_field(line.key)
        if nearest:
            yield "misspelt field", nearest
        elif lacks_colon or not line.key:
            yield "ignored", ""
        elif line.key.lower() != LICENSE:
            yield "unknown field", _other_field(line.key)
        return
    name = _FIELD_NAMES.get(line.kind, "")
    if line.kind in RULES and len(line.key.decode("utf-8", "replace")) > len(name) + _ENDING:
        yield "another field read as a rule", ""
    elif name and line.key.lower() != name.encode() and not _lost_scheme(line.key):
        yield "typo", ""
    if lacks_colon and line.key.lower() != b"content-usage":
        yield "missing colon", ""


def _on_bytes(line: Line, written: bytes) -> Odd:
    """Find NUL bytes in a line, and bytes that are not UTF-8 in a rule or sitemap line."""
    if b"\0" in written:
        yield "not UTF-8", "the line ends at a NUL byte"
    elif line.kind in _NOT_UTF_8 and written.decode("utf-8", "ignore").encode() != written:
        yield "not UTF-8", _NOT_UTF_8[line.kind]


def _on_rule(line: Line, raw: bytes) -> Odd:
    """Find problems in the path of a rule."""
    path = line.value
    # A long line may be cut in the middle of a character, so decoding errors are ignored.
    as_typed = as_written(raw).decode("utf-8", "ignore")
    odd = "".join(_ODD_IN_PATH.findall(as_typed))
    yield from _on_several_paths(path)
    if path[:1] not in b"/*":
        yield "no leading slash", ""
    elif odd:
        yield "odd character in a path", _code_points(odd) or f" ({shown(odd)})"
    elif not as_typed.isascii():
        yield "path not escaped", ""
    before, hash_sign, _ = raw.partition(b"#")
    if hash_sign and path and not before[-1:].isspace():
        yield "comment within a path", ""
    regex = _REGEX.search(path)
    if regex is not None:
        yield "regular expression", text_of(regex[0])
    elif b"$" in path[1:-1]:
        yield "dollar within a path", ""
    directory = directory_of_index(path.decode("ascii"))
    if line.kind == ALLOW and directory:
        yield "index page", shown(directory[:-1])


def _is_one_url(value: bytes) -> bool:
    """Return whether the value of a sitemap line is exactly one absolute URL."""
    if len(value.split()) > 1 or _LISTED_URL.match(value):
        return False
    return sitemap_url(value) is not None


def _on_several_paths(path: bytes) -> Odd:
    """Find several paths in one rule, and a path that was percent-encoded twice."""
    if _SEVERAL_PATHS.match(path):
        yield "several paths", ""
    elif len(path.split()) > 1:
        yield "space in a path", ""
    twice = _ENCODED_TWICE.search(path)
    if twice is not None:
        yield "encoded twice", text_of(twice[0])


def _lost_scheme(key: bytes) -> str:
    """Return the end of a message if `key` shows that the colon after a field name is missing.

    For example, the colon after "Sitemap" is missing in "Sitemap https://a.example/". A line is
    split at its first colon, so the key of this line is "Sitemap https". For any other key, the
    result is "".
    """
    words = key.decode("utf-8", "replace").split()
    if len(words) > 1 and words[-1].lower() in DEFAULT_PORTS:
        return f', because there is no colon after "{shown(words[0])}"'
    return ""


def _on_unused(line: Line, user_agents: set[str]) -> Odd:
    """Check a line with a field that Google ignores.

    `user_agents` contains the user agents of the line's group. It is empty before the first group.
    Other crawlers use some of these fields. A well-formed line with such a field is reported only
    if the line is not in a group, or if its group is for "*" or for a crawler of Google.
    """
    name = line.key.lower()
    if name == b"noindex":
        yield "noindex", ""
    elif name not in _OF_OTHERS:
        yield "unused field", ""
    elif name in OF_GROUPS and not user_agents:
        yield "unused field", ", and it is not in a group"
    elif not line.value:
        yield "unused field", ", and it is empty"
    elif name == CRAWL_DELAY and seconds(line.value) is None:
        yield "unused field", ", and its value is not a number of seconds"
    elif not user_agents or not user_agents.isdisjoint(FOR_GOOGLE):
        yield "field of other crawlers", ""


def _on_agent(value: bytes) -> Odd:
    """Find problems in `value`, which is the value of a user-agent line."""
    user_agent = agent_of(value).decode("ascii")
    text = value.decode("utf-8", "replace")
    advice = did_you_mean(text)
    if _OF_A_PROGRAM.fullmatch(text):
        yield "value that a program lacked", ""
    elif is_policy(user_agent):
        yield "policy token", ""
    elif _EVERYBODY.fullmatch(text):
        advice = f', so only a crawler "{user_agent}" follows this group; write "*" for all'
        yield ("name of no crawler" if len(user_agent) == len(value) else "user agent cut"), advice
    elif _DIRECTIVE.search(text):
        yield ("user agent cut" if user_agent else "no user agent"), "; write one directive a line"
    elif not user_agent:
        yield from _on_no_agent(text)
    elif len(user_agent) == len(value):
        if advice:
            yield "name of no crawler", advice
    elif not _names_one_crawler(text, user_agent):
        yield from _on_cut_agent(text, user_agent)


def _on_no_agent(text: str) -> Odd:
    """Check the value of a user-agent line in which Google's parser does not find a name."""
    if _FROM_A_DIGIT.fullmatch(text) is None:
        yield "no user agent", ""
    elif not is_known(text):
        yield "name read in part", f"no name{_ITS_CRAWLER}"


def _on_cut_agent(text: str, user_agent: str) -> Odd:
    """Check the value of a user-agent line if Google's parser reads only a part of the value.

    The caller has checked that the value is not the name of one crawler. If the author probably
    meant "*" or a known crawler, the finding is an error. Otherwise the finding is a note.

    Args:
        text: the whole value.
        user_agent: the beginning of the value that Google's parser reads.
    """
    words = [product_token(text), *_BETWEEN_NAMES.split(text)]
    unread = [word for word in words if is_known(word) and word.lower() != user_agent]
    meant = did_you_mean(text)
    advice = meant or _how_to_name(text, user_agent, unread)
    if unread or meant or is_known(user_agent) or user_agent == "*" or looks_known(text):
        yield "user agent cut", advice or _NAME_ENDS
    else:
        yield "name read in part", f'"{user_agent}"{advice or _ITS_CRAWLER}'


def _how_to_name(text: str, user_agent: str, unread: Sequence[str]) -> str:
    """Return advice on how to write the value `text` of a user-agent line; "" if there is none.

    `user_agent` is the name that Google's parser reads. `unread` contains the names of known
    crawlers in `text` that Google's parser does not read.
    """
    token = product_token(text)
    if _PRODUCT.match(text) or "(" in text:
        if token.lower() != user_agent:
            return f'; write only the name in the User-Agent header, "{token}"'
    elif all(map(is_known, filter(None, _BETWEEN_NAMES.split(text)))):
        return "; write one user-agent line for each name"
    return f'; write a line for "{unread[0]}" alone' if unread else ""


def is_policy(user_agent: str) -> bool:
    """Return whether `user_agent` is a policy token (`_POLICY`), which does not name a crawler."""
    return user_agent.startswith(_POLICY)


def name_of(value: bytes, user_agent: str) -> str:
    """Return the name of the crawler that a user-agent line names, for a message.

    `value` is the value of the line, and `user_agent` is the token that Google's parser reads from
    it. Usually the result is `user_agent`. But some well-known crawlers have a longer name. For
    example, the result for "MJ12bot" is "MJ12bot", although the token is "mj".
    """
    name = value.decode("utf-8", "replace").partition("/")[0].removesuffix("*")
    return name if len(name) > len(user_agent) and is_known(name) else user_agent


def _names_one_crawler(text: str, user_agent: str) -> bool:
    """Return whether a value that is not a product token still names one crawler.

    The result is True for three kinds of values: the documented name of a crawler, such as
    "MJ12bot"; the value "Googlebot*" of Google's page; and a header with one product, such as
    "mybot/1.0 (+https://a.example)". It is False for the header of a browser.

    Args:
        text: the value of the line.
        user_agent: the token that Google's parser reads from the value.
    """
    if is_known(text.partition("/")[0].removesuffix("*")):
        return True
    header = _HEADER.match(text)
    if header is None or is_browser_like(text) or product_token(text).lower() != user_agent:
        return False
    return header["version"] is not None or is_known(user_agent)


def _code_points(text: str) -> str:
    """Return, for a message, the code points of the first characters in `text` that are not ASCII.

    For example, the result for a string with a no-break space is " (with U+00A0)". The code points
    are shown because many of these characters are invisible or look like other characters. The
    result is "" if `text` is ASCII.
    """
    odd = [f"U+{ord(char):04X}" for char in dict.fromkeys(text) if not char.isascii()]
    if not odd:
        return ""
    return f" (with {', '.join(odd[:_MOST_NAMED])})"


def text_of(raw: bytes) -> str:
    """Return bytes of a file as printable text. The text is cut after 200 characters."""
    return shown(raw.decode("utf-8", "backslashreplace"))
