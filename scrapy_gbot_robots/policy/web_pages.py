"""Whether a web page came in place of a robots.txt, or around the text of one.

A page is parsed like any other body, and lines in it that are valid count (Google's page, "File
format"). One without such a line says nothing to crawlers: it is an error page, a log-in or the
like. Bodies are hostile: each is searched in one pass.
Source: what sites and browsers send.
"""

from __future__ import annotations

import re

from ..core.lines import is_web_page

_LINE_OF_A_FILE = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[ \t\v\f]*(?:user[^a-z\r\n]?agent|site-?map)", re.IGNORECASE
)
# As a browser shows a text: the line behind a tag is no line of a robots.txt.
_AGENT_BEHIND_A_TAG = re.compile(rb">[ \t]*user-?agent[ \t]*:", re.IGNORECASE)
_RULE = re.compile(rb"allow[ \t]*:", re.IGNORECASE)


def speaks_to_crawlers(body: bytes) -> bool:
    """Whether a line of `body` is for a crawler or a sitemap."""
    return _LINE_OF_A_FILE.search(body) is not None


def replaces_robots_txt(body: bytes) -> bool:
    """Whether `body` is a web page that says nothing to crawlers."""
    return is_web_page(body) and not speaks_to_crawlers(body)


def hides_rules(body: bytes) -> bool:
    """Whether `body` is a web page around what looks like rules, of which some are not read."""
    if not is_web_page(body) or _RULE.search(body) is None:
        return False
    return _AGENT_BEHIND_A_TAG.search(body) is not None
