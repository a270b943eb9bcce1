"""Checks the URLs that a crawl finds in robots.txt files and sitemaps.

If the crawl must not follow a URL, the checks raise `Skipped`.

The module also reads the hosts that a user gives to `RobotsSitemapSpider`. It makes no network
requests. It reads the public suffix list from the copy in the library tldextract.
Sources: the section "sitemap" of Google's robots.txt specification (absolute URLs that need not be
encoded, on any host); sitemaps.org, "Sitemap file location"; `core.urls` and w3lib for the syntax
of URLs.
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

from ..core.lines import UTF_16_MARKS
from ..core.robots import RobotsTxt, sitemap_lines_of
from ..core.urls import Origin, as_text, origin_of_robots_txt, shown
from ..fetching.private_hosts import is_private, is_this_machine
from ..meta import CHECKED, SITEMAP
from ..settings import GbotSettings
from .reader import MOST_URL_CHARS, URL

# A crawl reads a sitemap only if at most this many sitemap indexes lead to it. For example, two
# indexes lead to it if an index lists a second index, and the second index lists the sitemap.
# sitemaps.org allows only one.
MOST_LEVELS = 3

# The rules by which a sitemap is skipped. Each value is a description of the rule, for the log. The
# stat `gbot_robots/sitemaps/KEY` counts the sitemaps that are skipped by the rule.
RULES = {
    "not_fed": "GBOT_ROBOTS_SITEMAPS, since the spider finds its pages in another way",
    "capped": "GBOT_ROBOTS_MAX_SITEMAPS",
    "skipped/host": "GBOT_ROBOTS_SITEMAPS_HOSTS",
    "skipped/origin": "the rules for robots.txt files of other hosts",
    "skipped/private": "GBOT_ROBOTS_DENY_PRIVATE",
    "skipped/loopback": "the rule that only local files may list URLs on this machine",
    "skipped/follow": "the spider's sitemap_follow",
    "skipped/depth": f"the bound of {MOST_LEVELS} sitemap indexes above it",
    "skipped/scheme": "the scheme of its URL",
    "skipped/vetoed": "a handler of sitemap_found",
    "skipped/malformed": "the form of its URL, which must be absolute",
}

# Paths at which software usually puts the sitemap of a site, the most common path first.
_COMMON = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/wp-sitemap.xml",
    "/sitemap/sitemap-index.xml",
    "/sitemap.xml.gz",
    "/sitemap.txt",
)

# The public suffix list. It is read from disk when it is used for the first time.
_SUFFIX_LIST = tldextract.TLDExtract(
    suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HAS_SCHEME = re.compile(rf"{_SCHEME.pattern}//")
_UP_TO_PATH = re.compile(r"[^:]*://[^/?#]*")
_PATH = re.compile(r"/(?!/)")
# Control characters, line breaks, lone surrogates, and U+FFFD, which stands for bytes that could
# not be decoded. A URL must not contain them.
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffd\ud800-\udfff\u2028\u2029]")


# Matches URLs that w3lib's `safe_url_string` would leave unchanged. For these URLs, this slow
# function is not called. Group 1 is the URL up to the path, such as "https://example.org:8080".
# Group 2 is the scheme.
_ORDINARY = re.compile(
    r"((https?)://[a-z0-9.-]{1,255}(?::[0-9]{2,5})?)/[\w~!$%&()*+,;=:@./-]{0,2000}"
    r"(?:\?[\w~!$%&()*+,;=:@./?-]{1,2000})?",
    re.ASCII,
)


class Skipped(ValueError):  # noqa: N818  The name shows what became of the URL.
    """Raised for a URL in a robots.txt or sitemap that the crawl must not follow.

    Args:
        stat: the name of the stat that counts the URL if a robots.txt lists it. The name is without
            the prefix `gbot_robots/sitemaps/`, for example "skipped/host". If a sitemap lists the
            URL, a different stat counts the URL (see `reason`).
        url: the URL.
        rule: a description of the rule by which the URL is skipped. The default is `RULES[stat]`.

    Attributes:
        stat: the same as the argument `stat`.
    """

    def __init__(self, stat: str, url: str, rule: str = "") -> None:
        super().__init__(stat, url, rule)
        self.stat = stat
        self._url = url
        self._rule = rule

    def __str__(self) -> str:
        """Return the rule and the URL, for the log.

        Most of these exceptions are not logged. So the text is made only when it is needed.
        """
        return f"skipped by {self.rule}: {shown(self._url)}"

    @property
    def rule(self) -> str:
        """A description of the rule by which the URL is skipped."""
        return self._rule or RULES[self.stat]

    @property
    def reason(self) -> str:
        """The last part of `stat`, such as "host" for "skipped/host".

        If a sitemap lists the URL, the stat `entries/REASON` counts it, for example `entries/host`.
        """
        return self.stat.rpartition("/")[2]


class FoundSitemap(NamedTuple):
    """A sitemap that a robots.txt lists.

    Attributes:
        url: the URL of the sitemap. It is percent-encoded, and its host is in punycode.
        robotstxt: the URL of the robots.txt.
        line: the number of the line in the robots.txt. The first line is 1.
    """

    url: str
    robotstxt: str
    line: int


class UrlCheck(NamedTuple):
    """Checks the URLs that a crawl finds in robots.txt files and sitemaps.

    Attributes:
        schemes: the URL schemes that the crawl can fetch, such as "https".
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
        """Return the `UrlCheck` for a crawl.

        Args:
            gbot: the plugin's settings.
            settings: all settings of the crawl.
        """
        handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
        schemes = frozenset(scheme for scheme in ("http", "https", "ftp") if handlers.get(scheme))
        return cls(schemes, gbot.sitemaps_hosts, gbot.max_sitemaps, gbot.deny_private)

    def choose(
        self, robots_url: str, robotstxt: RobotsTxt, before: Collection[str] = ()
    ) -> tuple[list[FoundSitemap], Counter[str], str]:
        """Return the sitemaps that a robots.txt lists and that the crawl may request.

        A malformed Sitemap line does not affect the other lines.

        Args:
            robots_url: the URL of the robots.txt.
            robotstxt: the parsed robots.txt.
            before: the URLs that earlier calls have chosen from this robots.txt. They are not
                returned again, but they count towards the limit GBOT_ROBOTS_MAX_SITEMAPS.

        Returns:
            Three values:

            1. The list of sitemaps.
            2. A `Counter` with a number for each stat. "found" is the number of different valid
               URLs that are not in `before`, even if they are skipped because of their host or the
               limit. "duplicate" and the keys of `RULES` stand for numbers of Sitemap lines.
            3. A description of the first line that was skipped; "" if no line was skipped.
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
        """Check that a robots.txt does not list too many sitemaps.

        Args:
            url: the URL of the next sitemap.
            number: the number of sitemaps that were chosen before it.

        Raises:
            Skipped: `number` has reached GBOT_ROBOTS_MAX_SITEMAPS ("capped").
        """
        if number >= self.most:
            raise Skipped("capped", url)

    def listed(self, text: str, file_url: str = "") -> tuple[str, str, Origin]:
        """Check a URL that a robots.txt or sitemap lists.

        Args:
            text: the URL as it is written in the file.
            file_url: the URL of the file. A relative URL is resolved against it, as in Scrapy 2.20.
                If `file_url` is "", a relative URL is treated as malformed.

        Returns:
            Three values. The first is the absolute URL before it is encoded. The second is the URL
            to request, which is percent-encoded, has its host in punycode, and contains neither a
            user nor a password. The third is the origin of the URL.

        Raises:
            Skipped: the crawl must not follow the URL. It is not a valid URL with a host
                ("malformed"), or the crawl cannot fetch URLs of its scheme ("scheme"). With
                GBOT_ROBOTS_DENY_PRIVATE, a file on a public host must not list a URL on a private
                host ("private").
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
                # `urljoin` is slow, so it is called only for relative URLs.
                whole = urljoin(file_url, whole)
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
        """Return the origin of `text` if it is a URL of a common form (`_ORDINARY`); else None.

        A URL of this form needs no further checks.
        """
        ordinary = _ORDINARY.fullmatch(text)
        if ordinary is None or ordinary[2] not in self.schemes or self.denies_private:
            return None
        return _site_of(ordinary[1])

    def below(self, url: str, file: Response) -> dict[str, Any]:
        """Check a sitemap that `file` lists. Return the value of `meta.SITEMAP` for its request.

        This value contains the URL of `file`, and the number of sitemap indexes that lead to the
        sitemap. This number is limited, because some indexes lead to further indexes without end.

        Args:
            url: the URL of the sitemap.
            file: the response with the file that lists the sitemap: a sitemap index, or a
                robots.txt that the spider's code reads. If the spider itself has requested this
                robots.txt, the sitemap may be on any host.

        Raises:
            Skipped: the crawl must not request the sitemap ("host", "loopback" or "depth").
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
        """Mark the request for a sitemap as checked, so that its URL is not checked again.

        With GBOT_ROBOTS_DENY_PRIVATE, the request is marked only if the sitemap is on the same host
        as the file that lists it. For any other host, a middleware still has to look up the IP
        addresses.

        Args:
            request: the request for the sitemap. Its meta is changed.
            file_url: the URL of the file that lists the sitemap.
        """
        if self.denies_private and _host_of(request.url) != _host_of(file_url):
            return
        request.meta[CHECKED] = request.url

    def check_host(self, url: str, robots_url: str | None) -> None:
        """Check that a robots.txt may list a sitemap on the host of `url`.

        Args:
            url: the URL of the sitemap.
            robots_url: the URL of the robots.txt that lists the sitemap. If it is None, the sitemap
                may be on any host.

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
    """Check that a file from the network does not lead to the machine on which the crawl runs.

    The robots.txt of a site may list "http://localhost/sitemap.xml", because the site's software
    does not know its own host name. The crawl must not fetch this URL from its own machine. But if
    the file that lists the URL is itself on this machine, the URL may be correct.

    Args:
        url: the URL of a sitemap.
        found_at: the URL of the file that lists the sitemap.

    Raises:
        Skipped: the sitemap is on loopback, and the file that lists it is not ("loopback").
    """
    finder = _host_of(found_at)
    if finder and is_this_machine(Origin.of(url).host) and not is_this_machine(finder):
        raise Skipped("skipped/loopback", url)


def _host_of(url: str) -> str:
    """Return the host of a URL, or "" if it has none (a file: URL, for example)."""
    try:
        return Origin.of(url).host
    except ValueError:
        return ""


@lru_cache(1_000)
def _site_of(written: str) -> Origin | None:
    """Return `written` as an `Origin`.

    If `written` is not an origin in its normal form, such as "https://example.com", return None.
    """
    with suppress(ValueError):
        origin = Origin.of(written)
        if str(origin) == written:
            return origin
    return None


def _domain_of(host: str) -> str:
    """Return the registered domain of `host`, such as "example.co.uk" for "www.example.co.uk".

    If `host` has no registered domain, for example because it is an IP address, return `host`.
    """
    parts = _SUFFIX_LIST.extract_str(host)
    if not parts.domain or not parts.suffix:
        return host
    return f"{parts.domain}.{parts.suffix}"


# The following functions read the arguments of `RobotsSitemapSpider`: `hosts`, `hosts_file` and
# `sitemap_guess`.


def origins_of(text: str) -> tuple[Origin, ...]:
    """Return the origins to try for a host that a user has given, in the order of the attempts.

    The user writes a host as `example.org`, as `example.org:8080` or as any URL on the host. A URL
    has only one origin. For a host without a scheme, https is tried first, and then http.

    If the host has a port that does not end with 443, such as 8080, http is tried first, because a
    server without TLS might never answer the attempt with https.

    Raises:
        ValueError: `text` is not a host.
    """
    if _HAS_SCHEME.match(text):
        return (Origin.of(text),)
    https = Origin.of(f"https://{text}")
    http = Origin.of(f"http://{text}")
    # The default port of https is 443, and many servers use 8443 for https.
    if str(https.port).endswith("443"):
        return https, http
    return http, https


def scope_of(hosts: Iterable[str]) -> frozenset[str]:
    """Return the scope of a crawl, which is the set of hosts on which it may request pages.

    For the host "www.example.org", the scope contains "example.org". So the crawl may request pages
    on "example.org" and on all of its subdomains (`covers`), but not on a different port such as
    "example.org:8080".

    The "www." is kept if the rest of the host is a public suffix, as in "www.gov.uk", because the
    sites below a public suffix have unrelated owners.

    A string that is not a valid host is ignored here. The spider's `start` reports it.

    Args:
        hosts: the hosts that a user has given to the spider.
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
    """Return whether the host of `origin` is in `scope` or is a subdomain of a host in `scope`."""
    place = _place(origin)
    while place and place not in scope:
        place = place.partition(".")[2]
    return bool(place)


def _place(origin: Origin) -> str:
    """Return the host of `origin`, and its port if it is not the default port of the scheme."""
    return str(origin).partition("://")[2]


def given_in(hosts: str | Iterable[str], path: str | Path | None = None) -> Iterator[str]:
    """Yield the hosts in `hosts`, then the hosts in the file at `path`.

    Args:
        hosts: a list of hosts, or a string with commas or white space between the hosts.
        path: the path of a file in UTF-8 with one host on each line. "#" begins a comment.

    Raises:
        OSError: the file cannot be read.
    """
    if isinstance(hosts, str):
        hosts = re.split(r"[,\s]+", hosts)
    yield from filter(None, map(str.strip, hosts))
    if path:
        with Path(path).open(encoding="utf-8-sig", errors="replace") as lines:
            yield from filter(None, (line.partition("#")[0].strip() for line in lines))


def is_utf_16(path: str | Path) -> bool:
    """Whether the file at `path` begins with a byte order mark of UTF-16.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        return file.read(2) in UTF_16_MARKS


def guesses_of(guess: Any) -> tuple[str, ...]:
    """Return the paths that the spider tries on a host whose robots.txt lists no sitemap.

    Args:
        guess: the spider's `sitemap_guess`. True, or a string such as "yes", means "/sitemap.xml".
            False, or a string such as "no", means that no path is tried. "common" means seven paths
            that software often uses. Any other value is a list of paths, or a string with commas
            between paths.

    Raises:
        ValueError: `guess` contains a string that is not a path.
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
