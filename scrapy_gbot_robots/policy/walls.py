"""What came in place of a robots.txt: a bot wall's answer, or a web page.

Googlebot passes bot walls, other crawlers do not; so Google's page has no word of them. A table has
their marks, each with its public source. A web page is parsed like any other body, and lines in it
that are valid count (Google's page, "File format"); one without such a line says nothing to
crawlers. So a 2xx with any line for a crawler or a sitemap is the site's own file, whatever stands
around it. Bodies are hostile: each is searched in one pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape

from ..core.lines import is_web_page

# A header, the beginnings of its value that count, and whose wall sends it.
_HEADERS = (
    # developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/
    # detect-response
    ("cf-mitigated", ("challenge",), "Cloudflare's challenge"),
    # docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html
    ("x-amzn-waf-action", ("challenge", "captcha"), "AWS WAF"),
    # github.com/woocommerce/woocommerce/issues/52896
    ("sg-captcha", ("challenge",), "SiteGround's challenge"),
)
HEADERS = frozenset(name for name, _, _ in _HEADERS)

# How titles begin, in lower case, each with a repository that has it.
_TITLES = {
    # FlareSolverr, src/flaresolverr_service.py, as the next two
    "just a moment...": "Cloudflare's challenge",
    "attention required! | cloudflare": "Cloudflare's block page",
    "ddos-guard": "DDoS-Guard",
    # TecharoHQ/anubis, lib/localization/locales/en.json; issue 1865
    "making sure you're not a bot!": "Anubis",
    "oh noes!": "Anubis",  # the same: it refuses
    # vercel-labs/vgpu, pull request 228; with a 403
    "vercel security checkpoint": "Vercel's challenge",
    "pardon our interruption": "Imperva",  # ziplokk1/incapsula-cracker-py3, issue 32
    # F5EMEA/oltra, use-cases/app-protect/attacks/README.md; with a 200
    "request rejected": "F5 BIG-IP",
    # PerimeterX/perimeterx-node-core, lib/templates
    "access to this page has been denied": "HUMAN",
}

_SUCCESS = range(200, 300)
_HEAD_BYTES = 16 * 1024
_TITLE_CHARS = 300
_TITLE = re.compile(rb"<title\b[^<>]*>([^<]*)", re.IGNORECASE)

_LINE_OF_A_FILE = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[ \t\v\f]*(?:user[^a-z\r\n]?agent|site-?map)", re.IGNORECASE
)
# As a browser shows a text: the line behind a tag is no line of a robots.txt.
_AGENT_BEHIND_A_TAG = re.compile(rb">[ \t]*user-?agent[ \t]*:", re.IGNORECASE)
_RULE = re.compile(rb"allow[ \t]*:", re.IGNORECASE)


def wall_of(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """Return whose wall a response looks like, and by which mark; "" if it looks like none.

    `headers` has those of `HEADERS`, with names in lower case; `body` is content-decoded, and empty
    if it is not known.
    """
    mark = _mark(headers, body)
    if mark and status in _SUCCESS and _speaks_to_crawlers(body):
        return ""
    return mark


def _mark(headers: Mapping[str, str], body: bytes) -> str:
    """Return as `wall_of` does, whatever the status: headers count first, then a page's title."""
    for name, beginnings, whose in _HEADERS:
        if headers.get(name, "").strip().lower().startswith(beginnings):
            return f"{whose}, by its header {name}"
    title = _title_of(body[:_HEAD_BYTES])
    for beginning, whose in _TITLES.items():
        if title.startswith(beginning):
            return f"{whose}, by its title"
    return ""


def _title_of(head: bytes) -> str:
    """The title of a page, in lower case and with plain apostrophes; "" if it is no page."""
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return ""
    match = _TITLE.search(head)
    if match is None:
        return ""
    title = unescape(match[1][:_TITLE_CHARS].decode("utf-8", "replace"))
    title = title.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return " ".join(title.lower().split())


def _speaks_to_crawlers(body: bytes) -> bool:
    """Whether a line of `body` is for a crawler or a sitemap."""
    return _LINE_OF_A_FILE.search(body) is not None


def replaces_robots_txt(body: bytes) -> bool:
    """Whether `body` is a web page that says nothing to crawlers."""
    return is_web_page(body) and not _speaks_to_crawlers(body)


def hides_rules(body: bytes) -> bool:
    """Whether `body` is a web page around what looks like rules, of which some are not read."""
    if not is_web_page(body) or _RULE.search(body) is None:
        return False
    return _AGENT_BEHIND_A_TAG.search(body) is not None
