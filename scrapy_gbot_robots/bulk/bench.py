"""A bench of judges, one for each crawler: URLs in sorted order in, a column of answers for each crawler out.

Plan:

1. URLs of one site lie side by side, so the site's robots.txt is looked up and read once (`sites`).
2. The policy says what a status code or a failure means, as in a crawl.
3. The rules of a robots.txt judge all URLs of the site at once (core/sweep.py).
4. Many sites serve the same file, or the same rules beside another sitemap. So prepared rules are kept for the next site.

Pure. Source: as policy/ladder.py and core/rules.py.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ..core.grammar import MAX_BYTES
from ..core.origin import ROBOTS_PATH, Origin
from ..core.robots import RobotsTxt
from ..core.rules import wording_of
from ..core.sweep import SiteUrls, Sweep
from ..core.urls import prefix_of
from ..core.wire import allowed_in_all_forms, as_sent
from ..policy.ladder import Policy, State, decide, renew
from ..policy.outcome import Fetched, Unreachable
from ..policy.overrides import Action
from ..policy.status_codes import outcome_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from ..core.agents import RobotsAgent
    from ..core.rules import Rules
    from ..policy.ladder import Decision
    from ..policy.outcome import Outcome
    from ..policy.overrides import Override, Overrides

NO: Final = 0
YES: Final = 1
UNREACHABLE: Final = 2  # no, until a definite answer comes
NO_URL: Final = 3  # the text has no origin

_WHOLE_SITE: Final = {Action.IGNORE: YES, Action.DISALLOW: NO}

NOT_ASKED: Final = "robots.txt not asked yet"

_BYTES_HELD: Final = 32 * 2**20  # of robots.txt files whose rules are kept
_WEIGHT_HELD: Final = 64 * 2**20  # bytes of memory, roughly, of prepared rules; shared ones count once


class Served(NamedTuple):
    """What was served for a robots.txt, redirects followed.

    Attributes:
        status: the HTTP status code; None: there was no answer, or only part of one.
        body: the robots.txt, content-decoded.
        cut: whether more was served than `body` has.
        why: the reason in words, if `status` is None.
    """

    status: int | None
    body: bytes = b""
    cut: bool = False
    why: str = NOT_ASKED


# URLs of one site: the number of the first, the number after the last, the text with which all begin, and the origin. That
# text is scheme, authority and a slash; it is "" for a single URL that begins otherwise. A URL may have no origin: None.
Site: TypeAlias = tuple[int, int, str, Origin | None]


def sites(urls: Sequence[str]) -> Iterator[Site]:
    """Yield the sites of sorted URLs. Another spelling of the same origin is another site."""
    first, count = 0, len(urls)
    while first < count:
        prefix = prefix_of(urls[first])
        # "0" comes after "/": URLs that begin with "https://host/" sort before "https://host0".
        end = bisect_left(urls, f"{prefix[:-1]}0", first) if prefix else first + 1
        yield first, end, prefix, _origin_of(prefix or urls[first])
        first = end


def _origin_of(url: str) -> Origin | None:
    """Return the origin that a client asks for `url`."""
    try:
        return Origin.of(url)
    except ValueError:
        sent = as_sent(url)
        return _origin_of(sent) if sent != url else None


class Bench:
    """Judges for `crawlers`, with the rules of the robots.txt files that they read last."""

    def __init__(
        self,
        crawlers: Sequence[RobotsAgent],
        *,
        policy: Policy | None = None,
        strict: bool = False,
        max_bytes: int | None = MAX_BYTES,
        overrides: Overrides | None = None,
        now: float = 0.0,
    ) -> None:
        """Take the crawlers, and the settings of a crawl. An override counts if it is in force at `now`."""
        self.crawlers = crawlers
        self._overrides = overrides
        self._now = now
        self._policy = policy or Policy()
        self._strict = strict
        self._max_bytes = max_bytes
        self._by_body: dict[bytes, list[Sweep]] = {}
        self._bytes_held = 0
        self._by_wording: dict[Hashable, Sweep] = {}
        self._weight_held = 0
        self._have_rules: set[int] = set()  # status codes after which the rules decide, whatever the body

    def answers(self, urls: Sequence[str], judged: Iterable[tuple[Site, Served]]) -> list[bytearray]:
        """Return for each crawler the answers to `urls`, which are sorted.

        `judged` has their sites in order, each with what was served for its robots.txt.
        """
        columns = [bytearray() for _ in self.crawlers]
        for site, robots in judged:
            for column, answers in zip(columns, self._of_site(urls, site, robots), strict=True):
                column.extend(answers)
        return columns

    def _of_site(self, urls: Sequence[str], site: Site, robots: Served) -> list[bytearray]:
        first, end, prefix, origin = site
        count = end - first
        if origin is None:
            return [bytearray((NO_URL,)) * count] * len(self.crawlers)
        override = self.override_of(origin)
        if override is not None and override.action in _WHOLE_SITE:
            found = [bytearray((_WHOLE_SITE[override.action],)) * count] * len(self.crawlers)
        elif override is None or override.robotstxt is None:
            decision = self.decision(robots)
            if decision is not None:
                answer = YES if decision.state is State.FULL_ALLOW else UNREACHABLE
                found = [bytearray((answer,)) * count] * len(self.crawlers)
            else:
                found = _swept(urls, site, self._sweeps(robots, override))
        else:
            found = _swept(urls, site, map(self._sweep, self.rules(robots, override)))
        _let_robots_txt_pass(found, urls, first, end, prefix)
        return found

    def override_of(self, origin: Origin) -> Override | None:
        """Return the override that counts for an origin."""
        return self._overrides.of(origin, self._now) if self._overrides else None

    def decision(self, robots: Served) -> Decision | None:
        """Return what `robots` means if nothing else is known of the origin; None: its rules decide."""
        if robots.status in self._have_rules:
            return None
        outcome: Outcome
        if robots.status is None:
            outcome = Unreachable(robots.why)
        else:
            outcome = outcome_of(robots.status, "", robots.body, cut=robots.cut, soft_404=self._policy.soft_404)
            if isinstance(outcome, Fetched):
                self._have_rules.add(robots.status)
                return None
        return decide(renew(None, outcome, 0.0, self._policy), 0.0, self._policy)

    def rules(self, robots: Served, override: Override | None = None) -> list[Rules]:
        """Return the rules that each crawler follows."""
        crawlers = self.crawlers
        if override is not None and override.crawler is not None:
            crawlers = [override.crawler] * len(crawlers)
        parsed = None if override is None else override.robotstxt
        if parsed is None:
            parsed = RobotsTxt.parse(robots.body, strict=self._strict, max_bytes=self._max_bytes, cut=robots.cut)
        return [parsed.rules_for(crawler) for crawler in crawlers]

    def _sweeps(self, robots: Served, override: Override | None) -> list[Sweep]:
        if override is not None:
            return [self._sweep(rules) for rules in self.rules(robots, override)]
        body = robots.body
        sweeps = self._by_body.get(body)
        if sweeps is None:
            self._bytes_held += len(body)
            if self._bytes_held > _BYTES_HELD:
                self._by_body.clear()
                self._bytes_held = len(body)
            sweeps = self._by_body[body] = [self._sweep(rules) for rules in self.rules(robots)]
        return sweeps

    def _sweep(self, rules: Rules) -> Sweep:
        wording = wording_of(rules)
        sweep = self._by_wording.get(wording)
        if sweep is None:
            self._weight_held += rules.weight
            if self._weight_held > _WEIGHT_HELD:
                self._by_wording.clear()
                self._weight_held = rules.weight
            sweep = self._by_wording[wording] = Sweep(rules)
        return sweep


def _swept(urls: Sequence[str], site: Site, sweeps: Iterable[Sweep]) -> list[bytearray]:
    first, end, prefix, _ = site
    if not prefix:
        return [bytearray((allowed_in_all_forms(sweep.rules, urls[first]),)) for sweep in sweeps]
    paths = SiteUrls(urls[first:end], prefix[:-1])
    return [sweep.allowed(paths) for sweep in sweeps]


def _let_robots_txt_pass(columns: Sequence[bytearray], urls: Sequence[str], first: int, end: int, prefix: str) -> None:
    """Let every crawler fetch a robots.txt itself: it is never disallowed (RFC 9309 2.2.2)."""
    begins = prefix[:-1] + ROBOTS_PATH
    number = bisect_left(urls, begins, first, end)
    while number < end and urls[number].startswith(begins):
        if Origin.of_robots_txt(urls[number]) is not None:
            for column in columns:
                column[number - first] = YES
        number += 1
