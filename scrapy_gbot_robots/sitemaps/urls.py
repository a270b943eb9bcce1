"""Which URLs a robots.txt or a sitemap may send the crawl to, and in what form: every refusal is made here.

Pure: nothing is fetched, no suffix list is downloaded. Sources: Google's page, "sitemap" (absolute URLs that need not
be encoded, on any host); sitemaps.org, "Sitemap file location"; for what a URL is, `core.origin` and w3lib.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from w3lib.url import safe_url_string

from ..core.origin import Origin
from ..core.urls import shown
from ..policy.addresses import is_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import tldextract

    from ..core.sitemaps import SitemapLine

MOST_URL_CHARS = 8192  # of a URL as written; sitemaps.org ends at 2,048
MOST_LEVELS = 3  # of indexes above a sitemap; sitemaps.org has one

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_AFTER_AUTHORITY = re.compile(r"[^:]*://[^/?#]*(.*)", re.DOTALL)
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffd\ud800-\udfff\u2028\u2029]")  # controls, and what was no character


class Refused(ValueError):  # noqa: N818  it says what became of the URL
    """A URL that is not followed.

    Attributes:
        reason: one word, for the stats: "malformed", "scheme", "host", "private" or "depth".
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class FoundSitemap(NamedTuple):
    """A sitemap that a robots.txt lists."""

    url: str  # encoded, host in punycode
    robotstxt: str  # URL of the robots.txt
    line: int  # in it, from 1


class Choice(NamedTuple):
    """What became of the sitemap lines of one robots.txt.

    `sitemaps` may be fed; `found` counts the distinct URLs that could be sitemaps, `duplicate` their repetitions,
    `capped` those that were beyond the limit. `refused` counts the rest by reason; `why` explains the first few.
    """

    sitemaps: tuple[FoundSitemap, ...]
    found: int
    duplicate: int
    capped: int
    refused: Counter[str]
    why: tuple[str, ...]


class Choosing(NamedTuple):
    """By what sitemaps are chosen."""

    schemes: frozenset[str]  # that the crawl can fetch
    hosts: str  # GBOT_ROBOTS_SITEMAPS_HOSTS
    most: int  # GBOT_ROBOTS_SITEMAPS_MAX
    refuses_private: bool = False  # GBOT_ROBOTS_REFUSE_PRIVATE

    def choose(self, origin: Origin, lines: Iterable[SitemapLine]) -> Choice:
        """Choose among the sitemap lines of the robots.txt of `origin`; what is wrong with one costs no other."""
        chosen: dict[str, FoundSitemap] = {}
        seen: set[str] = set()
        duplicate = 0
        refused: Counter[str] = Counter()
        why: list[str] = []
        robots_url = origin.robots_url
        for line in lines:
            try:
                url = usable_url(line.url or line.raw.decode("utf-8", "replace"), self.schemes)
                if url in seen:
                    duplicate += 1
                    continue
                seen.add(url)
                self.check_host(url, origin)
            except Refused as refusal:
                refused[refusal.reason] += 1
                if len(why) < _MOST_EXPLAINED:
                    why.append(f"line {line.line}: {refusal}")
                continue
            if len(chosen) < self.most:
                chosen[url] = FoundSitemap(url, robots_url, line.line)
        capped = len(seen) - refused["host"] - len(chosen)
        return Choice(tuple(chosen.values()), len(seen), duplicate, capped, refused, tuple(why))

    def check_host(self, url: str, robots_txt: Origin) -> None:
        """Refuse a sitemap that does not live where sitemaps for `robots_txt` may (GBOT_ROBOTS_SITEMAPS_HOSTS).

        Raises:
            Refused: with the reason "host".
        """
        if self.hosts == "any":
            return
        host = Origin.of(url).host
        if not (_site(host) == _site(robots_txt.host) if self.hosts == "same-site" else host == robots_txt.host):
            raise Refused("host", f"{self.hosts} is asked for, and this is another host: {shown(url)}")

    def check_address(self, url: str, found_at: str) -> None:
        """Refuse an address that is private by its text to what was found on a host that is not.

        Raises:
            Refused: with the reason "private".
        """
        if self.refuses_private and is_private(Origin.of(url).host) and not is_private(Origin.of(found_at).host):
            raise to_private_address(url)


_MOST_EXPLAINED = 5


def to_private_address(url: str) -> Refused:
    """The refusal of a URL that leads to a private address."""
    return Refused("private", f"GBOT_ROBOTS_REFUSE_PRIVATE refuses private addresses: {shown(url)}")


def usable_url(text: str, schemes: frozenset[str]) -> str:
    """Return the URL in the form it is to be asked for: percent-encoded, host in punycode, without user-info.

    Args:
        text: as it stands in a robots.txt or a sitemap.
        schemes: that may be followed, in lower case; of http, https and ftp.

    Raises:
        Refused: it is no absolute URL with a host ("malformed"), or its scheme is another ("scheme").
    """
    text = text.strip()
    if len(text) > MOST_URL_CHARS or _UNFIT.search(text):
        raise Refused("malformed", f"no URL: {shown(text)}")
    scheme = _SCHEME.match(text)
    if scheme and scheme[1].lower() not in schemes:
        raise Refused("scheme", f"{scheme[1].lower()} is not followed: {shown(text)}")
    try:
        origin = Origin.of(text)
        rest = _AFTER_AUTHORITY.match(text)
        return safe_url_string(f"{origin}{rest[1] if rest else ''}")
    except ValueError as error:
        raise Refused("malformed", str(error)) from None


def source_below(index_url: str, source: Mapping[str, Any]) -> dict[str, Any]:
    """Say where a sitemap comes from that an index lists: `source`, which is where the index comes from, and the index.

    Raises:
        Refused: there are too many indexes above it ("depth"); some lists lead on and on.
    """
    level = source.get("level", 0) + 1
    if level > MOST_LEVELS:
        raise Refused("depth", f"there are more than {MOST_LEVELS} sitemap indexes above what it lists")
    return {**source, "index": index_url, "level": level}


@cache
def _suffix_list() -> tldextract.TLDExtract:
    import tldextract  # noqa: PLC0415  only a setting that is not the default needs it

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def _site(host: str) -> str:
    """The registrable domain that `host` belongs to; the host itself if it is an address or a single name."""
    name = host.rstrip(".")
    parts = _suffix_list().extract_str(name)
    return f"{parts.domain}.{parts.suffix}" if parts.domain and parts.suffix else name
