"""The kinds of finding about a robots.txt, and how much harm each of them does.

lint.py and lint_preferences.py find them. How harmful a kind is, is our judgement; all of it is in the table here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from . import lint_preferences as preferences
from . import remarks

ERROR: Final = "error"  # the line does nothing, or something else than it says
WARNING: Final = "warning"  # the line works for Google and fails elsewhere, or looks like more than it does
NOTE: Final = "note"  # harmless

# The kinds of finding that are not kinds of remark.
NOT_TEXT: Final = "not text"
WEB_PAGE: Final = "web page"
CLOSED: Final = "whole site disallowed"
TWO_SITEMAPS: Final = "several sitemaps in a line"
MISSPELT: Final = "misspelt field"
SPACE: Final = "space in a path"
OTHER_FIELD: Final = "another field read as a rule"
RAW: Final = "path not escaped"
SHADOWED: Final = "shadowed rule"
JOINED: Final = "joined groups"
AGENT_VERSION: Final = "user agent with version"
NO_RULES: Final = "group without rules"
DUPLICATE: Final = "duplicate rule"
TOO_MANY: Final = "too many rules to compare"

OF_THE_FILE: Final = {NOT_TEXT, WEB_PAGE}  # findings about the whole file, not about a line

# Every kind, the greatest harm first.
_HARM: Final = (
    (ERROR, NOT_TEXT),
    (ERROR, WEB_PAGE),
    (ERROR, remarks.CUT),
    (ERROR, remarks.RULE_BEFORE_GROUP),
    (ERROR, remarks.NO_AGENT),
    (ERROR, remarks.AGENT_CUT),
    (ERROR, MISSPELT),
    (ERROR, OTHER_FIELD),
    (ERROR, remarks.IGNORED),
    (ERROR, remarks.NO_SLASH),
    (ERROR, SPACE),
    (ERROR, SHADOWED),
    (ERROR, remarks.OVER_LONG),
    (ERROR, remarks.NOT_UTF8),
    (ERROR, TWO_SITEMAPS),
    (ERROR, remarks.BAD_SITEMAP),
    (ERROR, preferences.UNREADABLE),
    (ERROR, preferences.BAD_LICENSE),
    (WARNING, preferences.CONTRADICTING),
    (WARNING, preferences.NOT_REPEATED),
    (WARNING, CLOSED),
    (WARNING, JOINED),
    (WARNING, remarks.TYPO),
    (WARNING, remarks.PREFIX),
    (WARNING, remarks.MISSING_COLON),
    (WARNING, remarks.UNUSED_FIELD),
    (WARNING, remarks.UNKNOWN_FIELD),
    (NOTE, NO_RULES),
    (NOTE, DUPLICATE),
    (NOTE, AGENT_VERSION),
    (NOTE, RAW),
    (NOTE, preferences.NO_STANDARD),
    (NOTE, TOO_MANY),
)
LEVELS: Final = (ERROR, WARNING, NOTE)  # the greatest harm first
KINDS: Final = tuple(kind for _, kind in _HARM)
RANK: Final = {kind: rank for rank, (_, kind) in enumerate(_HARM)}
LEVEL_OF: Final = {kind: level for level, kind in _HARM}


class Finding(NamedTuple):
    """Something odd in line `line` (from 1): `level` is ERROR, WARNING or NOTE, `text` a printable sentence."""

    level: str
    line: int
    kind: str
    text: str


def finding(line: int, kind: str, text: str) -> Finding:
    """Return a finding of `kind`, with the level of that kind."""
    return Finding(LEVEL_OF[kind], line, kind, text)
