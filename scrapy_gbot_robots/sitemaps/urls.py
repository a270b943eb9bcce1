"""Decides which URLs of robots.txt files and sitemaps a crawl may follow, and on which hosts.

`Skipped` is raised for a URL that is not followed.

The module fetches nothing and downloads no suffix list.
Sources: Google's page, "sitemap" (absolute URLs that need not be encoded, on any host);
sitemaps.org, "Sitemap file location"; `core.urls` and w3lib for the syntax of URLs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

import tldextract
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import BaseSettings
from w3lib.url import safe_url_string

from ..core.robots import RobotsTxt, sitemap_lines_of
from ..core.urls import Origin, as_text, origin_of_robots_txt, shown
from ..fetching.private_hosts import is_private, is_this_machine
from ..meta import CHECKED, SITEMAP
from ..settings import GbotSettings
from .reader import MOST_URL_CHARS, URL

# How many levels of sitemap indexes may stand above a sitemap. sitemaps.org allows one.
MOST_LEVELS = 3

# The rules by which a sitemap is skipped. The keys are the stats below "gbot_robots/sitemaps/".
RULES = {
    "not_fed": "GBOT_ROBOTS_SITEMAPS, since the spider finds its pages in another way",
    "capped": "GBOT_ROBOTS_MAX_SITEMAPS",
    "skipped/host": "GBOT_ROBOTS_SITEMAPS_HOSTS",
    "skipped/private": "GBOT_ROBOTS_DENY_PRIVATE",
    "skipped/loopback": "the rule that no other host leads to the machine that crawls",
    "skipped/follow": "the spider's sitemap_follow",
    "skipped/depth": f"the bound of {MOST_LEVELS} sitemap indexes above it",
    "skipped/scheme": "the scheme of its URL",
    "skipped/vetoed": "a handler of sitemap_found",
    "skipped/malformed": "the form of its URL, which must be absolute",
}

# Where software puts a sitemap that no robots.txt lists, the commonest place first.
_COMMON = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/wp-sitemap.xml",
    "/sitemap/sitemap-index.xml",
    "/sitemap.xml.gz",
    "/sitemap.txt",
)

# The public suffix list is read when it is first used.
_SUFFIX_LIST = tldextract.TLDExtract(
    suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HAS_SCHEME = re.compile(rf"{_SCHEME.pattern}//")
_UP_TO_PATH = re.compile(r"[^:]*://[^/?#]*")
_PATH = re.compile(r"/(?!/)")
# Control characters, line breaks, and what decoding puts in place of bytes that it cannot decode.
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffd\ud800-\udfff\u2028\u2029]")


# An ordinary URL is requested as it is written, because it consists of a site and of a path and
# query with characters that w3lib does not change. The groups are the site and its scheme.
_ORDINARY = re.compile(
    r"((https?)://[a-z0-9.-]{1,255}(?::[0-9]{2,5})?)/[\w~!$%&()*+,;=:@./-]{0,2000}"
    r"(?:\?[\w~!$%&()*+,;=:@./?-]{1,2000})?",
    re.ASCII,
)


class Skipped(ValueError):  # noqa: N818  The name shows what became of the URL.
    """A URL that is not followed.

    Attributes:
        stat: the stat below "gbot_robots/sitemaps/" that counts it if a robots.txt lists the URL.
    """

    def __init__(self, stat: str, url: str, rule: str = "") -> None:
        """Take the stat, the URL and, if `RULES` lacks the stat, the rule in words."""
        super().__init__(stat, url, rule)
        self.stat = stat
        self._url = url
        self._rule = rule

    def __str__(self) -> str:
        """The rule and the URL, for a log line. Most are never logged, so it is made late."""
        return f"skipped by {self.rule}: {shown(self._url)}"

    @property
    def rule(self) -> str:
        """The rule by which the URL is skipped, in words."""
        return self._rule or RULES[self.stat]

    @property
    def reason(self) -> str:
        """The last word of `stat`. It is the last word of the stat for URLs of sitemaps, too."""
        return self.stat.rpartition("/")[2]


class FoundSitemap(NamedTuple):
    """A sitemap that a robots.txt lists.

    Attributes:
        url: the URL of the sitemap, encoded, with the host in punycode.
        robotstxt: the URL of the robots.txt.
        line: the number of the line in the robots.txt, from 1.
    """

    url: str
    robotstxt: str
    line: int


class UrlCheck(NamedTuple):
    """How a crawl checks the URLs that it finds in robots.txt files and sitemaps.

    Attributes:
        schemes: the schemes that the crawl can fetch.
        hosts: the value of GBOT_ROBOTS_SITEMAPS_HOSTS.
        most: the value of GBOT_ROBOTS_MAX_SITEMAPS.
        denies_private: the value of GBOT_ROBOTS_DENY_PRIVATE.
    """

    schemes: frozenset[str]
    hosts: str
    most: int
    denies_private: bool = False

    @classmethod
    def of(cls, gbot: GbotSettings, settings: BaseSettings) -> UrlCheck:
        """The check for a crawl with the plugin's settings `gbot` and Scrapy's `settings`."""
        handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
        schemes = frozenset(scheme for scheme in ("http", "https", "ftp") if handlers.get(scheme))
        return cls(schemes, gbot.sitemaps_hosts, gbot.max_sitemaps, gbot.deny_private)

    def choose(
        self, robots_url: str, robotstxt: RobotsTxt, before: Collection[str] = ()
    ) -> tuple[list[FoundSitemap], Counter[str], str]:
        """Choose the sitemaps to feed from those that the robots.txt at `robots_url` lists.

        The URLs in `before` were chosen by earlier calls, and they count towards `most`. A bad line
        does not affect the others.

        Returns:
            The sitemaps; the number of lines for each stat ("found" includes lines that are skipped
            later because of host or number); and a sentence about the first skipped line, or "".
        """
        chosen: list[FoundSitemap] = []
        counts: Counter[str] = Counter()
        first_skipped = ""
        listed = {*before}
        for line in sitemap_lines_of(robotstxt):
            try:
                _, url, _ = self.listed(as_text(line.raw))
                if url in listed:
                    counts["duplicate"] += 1
                    continue
                listed.add(url)
                counts["found"] += 1
                self.check_host(url, robots_url)
                check_machine(url, robots_url)
                self._check_number(url, len(before) + len(chosen))
            except Skipped as skipped:
                counts[skipped.stat] += 1
                if not first_skipped:
                    first_skipped = f"line {line.line} {skipped}"
            else:
                chosen.append(FoundSitemap(url, robots_url, line.line))
        return chosen, counts, first_skipped

    def _check_number(self, url: str, number: int) -> None:
        """Raise Skipped if `number` sitemaps are all that GBOT_ROBOTS_MAX_SITEMAPS allows."""
        if number >= self.most:
            raise Skipped("capped", url)

    def listed(self, text: str, file_url: str = "") -> tuple[str, str, Origin]:
        """Return the absolute URL that a file lists, that URL as requested, and its origin.

        The URL as requested is encoded, has its host in punycode, and has no user-info. If
        `file_url` is given, a relative URL is resolved against it, as Scrapy 2.20 does.

        Raises:
            Skipped: the URL is not followed, because it is not absolute or has no host
            ("malformed"), or has a scheme that the crawl cannot fetch ("scheme"), or leads from a
            public file to a private host ("private").
        """
        site = self._site_of_ordinary(text)
        if site is not None:
            return text, text, site
        whole = text.strip()
        if len(whole) > MOST_URL_CHARS or _UNFIT.search(whole) or not URL.fullmatch(whole):
            raise Skipped("skipped/malformed", text)
        scheme = _SCHEME.match(whole)
        if scheme and scheme[1].lower() not in self.schemes:
            raise Skipped("skipped/scheme", text)
        try:
            if scheme is None:
                whole = urljoin(file_url, whole)  # This takes longer than all else here.
            origin = Origin.of(whole)
            path = _UP_TO_PATH.sub("", whole, count=1)
            url = safe_url_string(f"{origin}{path}")
        except ValueError:
            raise Skipped("skipped/malformed", text) from None
        if (
            self.denies_private
            and file_url
            and is_private(origin.host)
            and not is_private(Origin.of(file_url).host)
        ):
            raise Skipped("skipped/private", url)
        return whole, url, origin

    def _site_of_ordinary(self, text: str) -> Origin | None:
        """The origin of an ordinary URL, which needs no further check; None for any other URL."""
        ordinary = _ORDINARY.fullmatch(text)
        if ordinary is None or ordinary[2] not in self.schemes or self.denies_private:
            return None
        return _site_of(ordinary[1])

    def below(self, url: str, file: Response) -> dict[str, Any]:
        """Return the `meta.SITEMAP` of the sitemap `url`: which file lists it, at which level.

        `file` is a sitemap index, or a robots.txt that the spider's code reads. Such a robots.txt
        is noted as an index of level 0. If the spider has named the robots.txt itself, the sitemap
        may be on any host.

        Raises:
            Skipped: the sitemap is not followed ("host", "loopback" or "depth"). The depth is
            bounded, because some sitemap indexes lead to further indexes without end.
        """
        source = file.meta.get(SITEMAP, {})
        self.check_host(url, source.get("robotstxt"))
        check_machine(url, file.url)
        level = source.get("level", 0)
        if origin_of_robots_txt(file.url) is None:
            level += 1
        if level > MOST_LEVELS:
            raise Skipped("skipped/depth", url)
        return {**source, "index": file.url, "level": level}

    def note_checked(self, request: Request, file_url: str) -> None:
        """Note that the sitemap of `request` may be at its URL, which the file at `file_url` lists.

        With GBOT_ROBOTS_DENY_PRIVATE, nothing is noted for a sitemap on another host, because the
        addresses of that host must still be looked up.
        """
        if self.denies_private and _host_of(request.url) != _host_of(file_url):
            return
        request.meta[CHECKED] = request.url

    def check_host(self, url: str, robots_url: str | None) -> None:
        """Check the host of a sitemap that the robots.txt at `robots_url` lists.

        If no robots.txt lists it, it may be on any host.

        Raises:
            Skipped: GBOT_ROBOTS_SITEMAPS_HOSTS does not allow this host ("host").
        """
        if self.hosts == "any" or not robots_url:
            return
        host = Origin.of(url).host
        robots_host = Origin.of(robots_url).host
        if host == robots_host:
            return
        if self.hosts == "same-host" or _domain_of(host) != _domain_of(robots_host):
            raise Skipped("skipped/host", url)


def check_machine(url: str, found_at: str) -> None:
    """Check that no file on another machine leads to a sitemap on loopback.

    Tools write a URL on loopback if they were not configured with the address of the site. In a
    file on loopback or on disk, that URL may be right.

    Raises:
        Skipped: the sitemap is on loopback, and the file at `found_at` on another host
        ("loopback").
    """
    finder = _host_of(found_at)
    if finder and is_this_machine(Origin.of(url).host) and not is_this_machine(finder):
        raise Skipped("skipped/loopback", url)


def _host_of(url: str) -> str:
    """The host of a URL; "" if it has none, as the URL of a file on disk."""
    try:
        return Origin.of(url).host
    except ValueError:
        return ""


@lru_cache(1_000)
def _site_of(written: str) -> Origin | None:
    """The origin that `written` names, if `str(origin)` is the same text; else None."""
    with suppress(ValueError):
        origin = Origin.of(written)
        if str(origin) == written:
            return origin
    return None


def _domain_of(host: str) -> str:
    """The registered domain of `host`; `host` itself if it is an address or a single label."""
    parts = _SUFFIX_LIST.extract_str(host)
    if not parts.domain or not parts.suffix:
        return host
    return f"{parts.domain}.{parts.suffix}"


# The hosts that a user names, in a list, in a text with commas, or line by line in a file. These
# hosts are the scope of a crawl.


def origins_of(text: str) -> tuple[Origin, ...]:
    """The origins to try for a host that a user wrote, the best first.

    A host is `example.org`, `example.org:8080` or any URL on it. Without a scheme, https is tried
    before http. On an unusual port http is tried first, because a server that speaks only http may
    never answer a TLS greeting.

    Raises:
        ValueError: `text` is not a host.
    """
    if _HAS_SCHEME.match(text):
        return (Origin.of(text),)
    https = Origin.of(f"https://{text}")
    http = Origin.of(f"http://{text}")
    if str(https.port).endswith("443"):  # Servers often use 8443 for https, too.
        return https, http
    return http, https


def scope_of(hosts: Iterable[str]) -> frozenset[str]:
    """Return the scope of a crawl: the places that `covers` looks up.

    The scope is the hosts, with and without "www.", and their subdomains. If "www." stands before a
    public suffix, as in www.gov.uk, only that host and its subdomains are in scope, because anybody
    may have a site under the suffix. The same name with a port that is not the scheme's default is
    another host. A text that is not a host is ignored here, and `start` reports it.
    """
    scope = set()
    for text in hosts:
        with suppress(ValueError):
            place = _place(origins_of(text)[0])
            name = place.removeprefix("www.")
            if name != place and _SUFFIX_LIST.extract_str(name).domain:
                place = name
            scope.add(place)
    return frozenset(scope)


@lru_cache(1_000)
def covers(scope: frozenset[str], origin: Origin) -> bool:
    """Whether `origin` is one of the hosts of `scope`, or a subdomain of one."""
    place = _place(origin)
    while place and place not in scope:
        place = place.partition(".")[2]
    return bool(place)


def _place(origin: Origin) -> str:
    """The host, with its port if that is not the scheme's default."""
    return str(origin).partition("://")[2]


def given_in(hosts: str | Iterable[str], path: str | Path | None = None) -> Iterator[str]:
    """Yield the hosts of a list, or of a text with commas or white space, then of a file.

    The file is in UTF-8 and has a host on each line. It is read line by line. A "#" begins a
    comment.

    Raises:
        OSError: the file cannot be read.
    """
    if isinstance(hosts, str):
        hosts = re.split(r"[,\s]+", hosts)
    yield from filter(None, map(str.strip, hosts))
    if path:
        with Path(path).open(encoding="utf-8-sig", errors="replace") as lines:
            yield from filter(None, (line.partition("#")[0].strip() for line in lines))


def guesses_of(guess: Any) -> tuple[str, ...]:
    """The paths that a spider's `sitemap_guess` names: /sitemap.xml for a yes, none for a no.

    "common" stands for the paths at which software puts sitemaps.

    Raises:
        ValueError: `guess` is neither a yes or no, nor a list of paths.
    """
    word = str(guess or "no").strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return _COMMON[:1]
    if word == "common":
        return _COMMON
    if word in {"0", "false", "no", "off"}:
        return ()
    paths = tuple(dict.fromkeys(given_in(guess)))
    if not all(map(_PATH.match, paths)):
        raise ValueError(f"sitemap_guess must be True or paths such as /sitemap.xml, got {guess!r}")
    return paths
