"""Where sitemaps may lead a crawl: to which URLs, in what form, and on which hosts.

A URL that is not followed is a `Refused`.

It fetches nothing and downloads no suffix list. Sources: Google's page, "sitemap" (absolute URLs
that need not be encoded, on any host); sitemaps.org, "Sitemap file location"; `core.urls` and w3lib
for what a URL is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urljoin

import tldextract
from scrapy.settings import BaseSettings
from w3lib.url import safe_url_string

from ..core.robots import RobotsTxt, sitemap_lines_of
from ..core.urls import DEFAULT_PORTS, Origin, shown
from ..fetching.private_hosts import is_private
from ..settings import GbotSettings

MOST_URL_CHARS = 8_191  # of a URL as written; sitemaps.org wants fewer than 2,048
MOST_LEVELS = 3  # of sitemap indexes above a sitemap; sitemaps.org has one

Source: TypeAlias = Mapping[str, Any]  # the `meta.SITEMAP` of a request for a sitemap

# What leaves a sitemap out, by the stat below "gbot_robots/sitemaps/" that counts it.
RULES = {
    "not_fed": "GBOT_ROBOTS_SITEMAPS",
    "capped": "GBOT_ROBOTS_SITEMAPS_MAX",
    "refused/host": "GBOT_ROBOTS_SITEMAPS_HOSTS",
    "refused/private": "GBOT_ROBOTS_REFUSE_PRIVATE",
    "refused/follow": "the spider's sitemap_follow",
    "refused/depth": f"the bound of {MOST_LEVELS} sitemap indexes above it",
    "refused/scheme": "the scheme of its URL",
    "refused/vetoed": "the spider's sitemap_request or a handler of sitemap_found",
    "refused/malformed": "the form of its URL, which must be absolute",
}

# What becomes of a URL that a sitemap file lists, in the words of the last line. The stats
# "gbot_robots/sitemaps/entries/..." count it, but for the last two.
FATES = {
    "crawled": "crawled",
    "blocked": "blocked",
    "sitemap": "sitemaps",
    "old": "older than since",
    "host": "on other hosts than scope = 'hosts' allows",
    "rules": "in no sitemap_rules",
    "follow": "not in sitemap_follow",
    "vetoed": "vetoed",
    "malformed": "malformed",
    "scheme": "of other schemes",
    "private": "on private hosts",
    "depth": "too deep",
    "duplicate": "seen before",
    "lost": "not fetched",
}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HAS_SCHEME = re.compile(rf"{_SCHEME.pattern}//")
# What `guess` may be in a word, with the paths that are tried.
_GUESSES: dict[str, Sequence[str]] = {
    **dict.fromkeys(("1", "true", "yes", "on"), ("/sitemap.xml",)),
    **dict.fromkeys(("", "0", "false", "no", "off", "none"), ()),
}
_AFTER_AUTHORITY = re.compile(r"[^:]*://[^/?#]*(.*)", re.DOTALL)
# Controls, line breaks, and what decoding puts for bytes that are no character.
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffd\ud800-\udfff\u2028\u2029]")


class Refused(ValueError):  # noqa: N818  it says what became of the URL
    """A URL that is not followed.

    Stats name the `reason`: "malformed", "scheme", "host", "private", "depth" or "vetoed".
    """

    def __init__(self, reason: str, url: str, rule: str = "") -> None:
        if not rule:
            rule = RULES[f"refused/{reason}"]
        super().__init__(f"left out by {rule}: {shown(url)}")
        self.reason = reason


class FoundSitemap(NamedTuple):
    """A sitemap that a robots.txt lists.

    Attributes:
        url: its URL, encoded, with the host in punycode.
        robotstxt: the URL of the robots.txt.
        line: the line in it, from 1.
    """

    url: str
    robotstxt: str
    line: int


class UrlCheck(NamedTuple):
    """How a crawl checks the URLs that it finds in robots.txt files and sitemaps."""

    schemes: frozenset[str]  # that the crawl can fetch
    hosts: str  # GBOT_ROBOTS_SITEMAPS_HOSTS
    most: int  # GBOT_ROBOTS_SITEMAPS_MAX
    refuses_private: bool = False  # GBOT_ROBOTS_REFUSE_PRIVATE

    @classmethod
    def of(cls, gbot: GbotSettings, settings: BaseSettings) -> UrlCheck:
        """The check for a crawl with the plugin's settings `gbot` and Scrapy's `settings`."""
        handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
        schemes = frozenset(scheme for scheme in ("http", "https", "ftp") if handlers.get(scheme))
        return cls(schemes, gbot.sitemaps_hosts, gbot.sitemaps_max, gbot.refuse_private)

    def choose(
        self, origin: Origin, robotstxt: RobotsTxt, before: Collection[str] = ()
    ) -> tuple[list[FoundSitemap], Counter[str], dict[str, str]]:
        """Choose the sitemaps to feed from those that the robots.txt of `origin` lists.

        The URLs of `before` were chosen already; with them, no more than `most` are. A bad line
        costs no other. Returns the sitemaps, the counts of lines by the name of the stat, and of
        those that are left out the first line by the same name.
        """
        chosen: list[FoundSitemap] = []
        first_lines: dict[str, str] = {}
        counts: Counter[str] = Counter()
        listed = {*before}
        for line in sitemap_lines_of(robotstxt):
            text = line.url
            if text is None:
                text = line.raw.decode("utf-8", "replace")
            try:
                url, _ = self.usable(text)
                if url in listed:
                    counts["duplicate"] += 1
                    continue
                listed.add(url)
                counts["found"] += 1
                self.check_host(url, origin.robots_url)
            except Refused as refusal:
                fate = f"refused/{refusal.reason}"
            else:
                if len(before) + len(chosen) < self.most:
                    chosen.append(FoundSitemap(url, origin.robots_url, line.line))
                    continue
                fate = "capped"
            counts[fate] += 1
            first_lines.setdefault(fate, f"line {line.line}: {shown(text.strip())}")
        return chosen, counts, first_lines

    def usable(self, text: str) -> tuple[str, Origin]:
        """Return a URL as requested (encoded, host in punycode, no user-info), and its origin.

        Raises:
            Refused: `text` is no absolute URL with a host ("malformed"), or has a scheme that is
            not followed ("scheme").
        """
        text = text.strip()
        if len(text) > MOST_URL_CHARS or _UNFIT.search(text):
            raise Refused("malformed", text)
        scheme = _SCHEME.match(text)
        if scheme and scheme[1].lower() not in self.schemes:
            raise Refused("scheme", text)
        try:
            origin = Origin.of(text)
            behind = _AFTER_AUTHORITY.match(text)
            path = "" if behind is None else behind[1]
            return safe_url_string(f"{origin}{path}"), origin
        except ValueError:
            raise Refused("malformed", text) from None

    def listed(self, text: str, file_url: str) -> tuple[str, str, Origin]:
        """Return the whole URL that the file at `file_url` lists, its usable form, its origin.

        A relative URL is resolved by that of the file, as Scrapy 2.20 does.

        Raises:
            Refused: the URL is not followed ("malformed", "scheme" or "private").
        """
        whole = text
        try:
            if not _SCHEME.match(text):
                whole = urljoin(file_url, text)  # which takes longer than all else here
        except ValueError:
            raise Refused("malformed", text) from None
        url, origin = self.usable(whole)
        if (
            self.refuses_private
            and is_private(origin.host)
            and not is_private(Origin.of(file_url).host)
        ):
            raise Refused("private", url)
        return whole, url, origin

    def below(self, url: str, index_url: str, source: Source) -> dict[str, Any]:
        """Return the `meta.SITEMAP` of the sitemap `url` in a sitemap index, whose own is `source`.

        Raises:
            Refused: the sitemap is not followed ("host" or "depth"). Some sitemap indexes lead on
            without end.
        """
        self.check_host(url, source.get("robotstxt"))
        level = source.get("level", 0) + 1
        if level > MOST_LEVELS:
            raise Refused("depth", url)
        return {**source, "index": index_url, "level": level}

    def check_host(self, url: str, robots_url: str | None) -> None:
        """Check that a sitemap is where GBOT_ROBOTS_SITEMAPS_HOSTS lets a robots.txt list it.

        Raises:
            Refused: it is not ("host").
        """
        if self.hosts == "any" or not robots_url:
            return
        host = Origin.of(url).host
        home = Origin.of(robots_url).host
        if host != home and (self.hosts == "same-host" or _site(host) != _site(home)):
            raise Refused("host", url)


@cache
def _suffix_list() -> tldextract.TLDExtract:
    return tldextract.TLDExtract(
        suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
    )


def _site(host: str) -> str:
    """The registered domain of `host`; `host` itself if it is an address or a single label."""
    parts = _suffix_list().extract_str(host)
    if not parts.domain or not parts.suffix:
        return host
    return f"{parts.domain}.{parts.suffix}"


# The hosts that a user names: in a list, separated by commas, or line by line in a file. They are
# the scope of a crawl.


def origins_of(text: str) -> tuple[Origin, ...]:
    """The origins to try for a host that a user wrote, the best first.

    A host is `example.org`, `example.org:8080` or any URL on it. Without a scheme, https is tried
    before http. On an unusual port http is tried first, because a server that speaks only http may
    never answer a TLS greeting.

    Raises:
        ValueError: `text` is no host.
    """
    if _HAS_SCHEME.match(text):
        return (Origin.of(text),)
    https = Origin.of(f"https://{text}")
    http = Origin.of(f"http://{text}")
    if str(https.port).endswith("443"):
        return https, http
    return http, https


def survey(hosts: Iterable[str]) -> tuple[int, frozenset[str]]:
    """Return how many hosts a list has, with those that are none, and the scope of the crawl.

    The scope is the hosts, with and without "www.", and their subdomains. What is left of a host
    without "www." may be a public suffix, under which anybody has a site: then only the host itself
    and its subdomains are in scope. The same name on another port than the scheme's default is
    another host.
    """
    number = 0
    scope = set()
    for text in hosts:
        number += 1
        with suppress(ValueError):
            origin = origins_of(text)[0]
            name = origin.host.removeprefix("www.")
            if name != origin.host and _suffix_list().extract_str(name).suffix == name:
                name = origin.host  # as with www.gov.uk: the rest is a public suffix
            scope.add(_key(name, origin))
    return number, frozenset(scope)


def covers(scope: frozenset[str], origin: Origin) -> bool:
    """Whether `origin` is one of the hosts of `scope`, or a subdomain of one."""
    name = origin.host
    while name and _key(name, origin) not in scope:
        name = name.partition(".")[2]
    return bool(name)


def _key(name: str, origin: Origin) -> str:
    if origin.port == DEFAULT_PORTS[origin.scheme]:
        return name
    return f"{name}:{origin.port}"


def given_in(hosts: str | Iterable[str], path: str | Path | None = None) -> Iterator[str]:
    """Yield the hosts of a list, or of a text with commas or white space, then those of a file.

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


class Guesses:
    """The guesses of one crawl: which sitemap is tried next on a host that lists none.

    Where a guess stands is in the meta of its request, and of those for what its sitemap indexes
    list: `guessed` is the host, and `tried` says of each guess before why it led to nothing.
    """

    def __init__(self, guess: object) -> None:
        """Take what the attribute `guess` of the spider says.

        Raises:
            ValueError: it is neither a yes or no, nor a list of paths.
        """
        self._paths = _paths_of(guess)
        # By host, while a guess there has listed no page: how many of its sitemaps, with those that
        # its sitemap indexes list, have not been read.
        self._unread: dict[str, int] = {}

    def first(self, host: str, robots_url: str) -> tuple[str, Source] | None:
        """The URL of the first guess for a host, with its source; None if there are no guesses."""
        return self.after({"robotstxt": robots_url, "line": 0, "guessed": host}, ())

    def after(self, source: Source, tried: Sequence[str]) -> tuple[str, Source] | None:
        """The URL of the guess after those that were `tried`, with its source; None at the end.

        The `source` is that of an earlier guess, or of a sitemap below it.
        """
        if len(tried) == len(self._paths):
            return None
        kept = {name: source[name] for name in ("robotstxt", "line", "guessed")}
        return self._url(source, len(tried)), {**kept, "tried": tried}

    def begin(self, source: Source) -> None:
        """Note that a sitemap has answered, or failed to. Its request may be of an earlier run."""
        if "guessed" in source and "index" not in source:
            self._unread[source["guessed"]] = 1

    def lead_on(self, source: Source, sitemaps: int) -> None:
        """Note that a sitemap lists so many others; 0: that it lists a page, or what is left out.

        The guesses for a host end with the latter.
        """
        host = source.get("guessed", "")
        if not sitemaps:
            self._unread.pop(host, None)
        elif host in self._unread:
            self._unread[host] += sitemaps

    def end(self, source: Source, why: str) -> list[str]:
        """Note that a sitemap is read, or cannot be.

        Returns what was tried for its host, with the reasons, if no page is listed there.
        """
        host = source.get("guessed", "")
        if host not in self._unread:
            return []
        self._unread[host] -= 1
        if self._unread[host]:
            return []
        del self._unread[host]
        if "index" in source:
            why = "lists sitemaps that lead to nothing"
        tried = source["tried"]
        return [*tried, f"{self._url(source, len(tried))} {why}"]

    def _url(self, source: Source, number: int) -> str:
        robots_url: str = source["robotstxt"]
        return urljoin(robots_url, self._paths[number])


def _paths_of(guess: object) -> tuple[str, ...]:
    """The paths that the attribute `guess` names.

    Raises:
        ValueError: it is neither a yes or no, nor a list of paths.
    """
    given = guess if isinstance(guess, (str, list, tuple)) else str(guess)
    names = list(given_in(given))
    paths = _GUESSES.get(" ".join(names).lower(), names)
    if not all(path.startswith("/") and not path.startswith("//") for path in paths):
        raise ValueError(f"guess must be True or paths such as /sitemap.xml, got {guess!r}")
    return tuple(dict.fromkeys(paths))
