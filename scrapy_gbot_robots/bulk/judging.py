"""URLs judged by what was served for their robots.txt: answers for many at once, and reasons for each.

Plan:

1. URLs of one site lie side by side, so the site's robots.txt is looked up and read once (`sites`).
2. The policy says what a status code or a failure means, as in a crawl.
3. The rules of a robots.txt judge all URLs of the site at once (many.py). For reasons, each URL is judged on its own.
4. Many sites serve the same file, or the same rules beside another sitemap. So prepared rules are kept for the next site.

Source: as policy/outages.py and core/rules.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple, TypeAlias

from ..core.crawlers import AllOf, Crawler, RobotsAgent
from ..core.lines import MAX_BYTES
from ..core.robots import RobotsTxt
from ..core.rules import Rules, preferences_of, weight_of
from ..core.url_forms import as_sent, verdict_on_all_forms
from ..core.urls import ROBOTS_PATH, Origin, as_text, prefix_of
from ..core.verdict import MOST_SPECIFIC, ROBOTS_TXT_ITSELF, Verdict
from ..experimental.purposes import refusal
from ..policy.outages import Decision, Policy, State, decide, renew
from ..policy.outcome import Fetched, Outcome, Unavailable, Unreachable, outcome_of
from ..policy.overrides import Action, Override, Overrides
from .many import SiteUrls, Sweep, wording_of

NO = 0
YES = 1
UNREACHABLE = 2  # no, until a definite answer comes
NO_URL = 3  # the text has no origin

_MEANING = (NO, YES, UNREACHABLE, None)
_WHOLE_SITE = {Action.IGNORE: YES, Action.DISALLOW: NO}
_MOST_HELD = 96 * 2**20  # bytes of robots.txt files, and of memory, roughly, that their prepared rules take

ITSELF = Verdict(True, None, ROBOTS_TXT_ITSELF)
_NO_URL = Verdict(False, None, "no URL")


class BulkError(ValueError):
    """An archive, a list of URLs or a batch cannot be used; the message says which, and why."""


class Served(NamedTuple):
    """What was served for a robots.txt, redirects followed.

    Attributes:
        status: the HTTP status code; None: there was no answer, or only part of one.
        body: the robots.txt, content-decoded.
        cut: whether more was served than `body` has.
        why: the reason in words, if `status` is None.
        wall: whose wall has answered in place of the site, if more than the body shows that; else "".
        decision: what a crawl has decided, if it has; then only `body` and `cut` count beside it.
    """

    status: int | None
    body: bytes = b""
    cut: bool = False
    why: str = "robots.txt not asked yet"
    wall: str = ""
    decision: Decision | None = None


Robots: TypeAlias = "tuple[int | None, bytes] | bytes | None"
Agent: TypeAlias = "str | bytes | Crawler | AllOf"


class Site(NamedTuple):
    """URLs of one site, sorted. A text without an origin is a site of its own.

    Attributes:
        prefix: the text with which all begin: scheme, authority and a slash; "" for a single URL that begins otherwise.
        origin: the origin; None if there is none.
        urls: the URLs.
    """

    prefix: str
    origin: Origin | None
    urls: Sequence[str]


def sites(urls: Sequence[str]) -> Iterator[Site]:
    """Yield the sites of sorted URLs. Another spelling of the same origin is another site."""
    first, count = 0, len(urls)
    while first < count:
        prefix = prefix_of(urls[first])
        # "0" comes after "/": URLs that begin with "https://host/" sort before "https://host0".
        end = bisect_left(urls, f"{prefix[:-1]}0", first) if prefix else first + 1
        yield Site(prefix, origin_of(prefix or urls[first]), urls[first:end])
        first = end


def origin_of(url: str) -> Origin | None:
    """Return the origin that a client asks for `url`."""
    try:
        return Origin.of(url)
    except ValueError:
        sent = as_sent(url)
        return origin_of(sent) if sent != url else None


@dataclass(eq=False)
class Judge:
    """Judges for `crawlers`, with the rules of the robots.txt files that it read last.

    Args:
        crawlers: the crawlers.
        policy: what statuses and failures mean; by default as in a crawl without settings.
        strict: as for `RobotsTxt.parse`.
        max_bytes: how many bytes of a robots.txt are read.
        overrides: an override counts if it is in force at `now`, in seconds since the epoch.
        purposes: what a crawl would be for; a URL is disallowed if its site refuses one of these.
    """

    crawlers: Sequence[RobotsAgent]
    _: KW_ONLY
    policy: Policy = field(default_factory=Policy)
    strict: bool = False
    max_bytes: int | None = MAX_BYTES
    overrides: Overrides | None = None
    now: float = 0.0
    purposes: Sequence[str] = ()
    _by_body: dict[bytes, list[Rules]] = field(default_factory=dict, init=False)
    _by_wording: dict[Hashable, Sweep] = field(default_factory=dict, init=False)
    _held: int = field(default=0, init=False)

    def judged(
        self, sited: Iterable[tuple[Site, Served]], *, gives_reasons: bool = False
    ) -> tuple[list[bytearray], list[list[Verdict]]]:
        """Judge the URLs of sites by what was served for the robots.txt of each.

        Returns for each crawler the answers, and if `gives_reasons` the verdicts that explain them; they take several times
        as long.
        """
        columns = [bytearray() for _ in self.crawlers]
        verdicts: list[list[Verdict]] = [[] for _ in self.crawlers]
        for site, robots in sited:
            whole, override = self._whole_site(site.origin, robots)
            rules = [] if whole is not None else self._rules(robots, override)
            if gives_reasons or self.purposes or not site.prefix:
                for number, (column, explained) in enumerate(zip(columns, verdicts, strict=True)):
                    for url in site.urls:
                        is_robots_txt = Origin.of_robots_txt(url) is not None
                        whole_or_own = (YES, ITSELF) if is_robots_txt else whole
                        answer, verdict = whole_or_own or self._one(url, rules[number], override)
                        column.append(answer)
                        explained.append(verdict)
                continue
            if whole is not None:
                found = [bytearray((whole[0],)) * len(site.urls)] * len(columns)
            else:
                urls = SiteUrls(site.urls, site.prefix[:-1])
                found = [self._sweep(each).allowed(urls) for each in rules]
            _let_robots_txt_pass(found, site)
            for column, answers in zip(columns, found, strict=True):
                column.extend(answers)
        return columns, verdicts if gives_reasons else []

    def _one(self, url: str, rules: Rules, override: Override | None) -> tuple[int, Verdict]:
        verdict = verdict_on_all_forms(rules, url)
        if self.purposes and verdict.allowed:
            verdict = refusal(self.purposes, preferences_of(rules, url)) or verdict
        return int(verdict.allowed), verdict if override is None else override.named(verdict)

    def _whole_site(self, origin: Origin | None, robots: Served) -> tuple[tuple[int, Verdict] | None, Override | None]:
        """Return the answer to all URLs of a site, and why; None if rules decide. And the override that counts."""
        if origin is None:
            return (NO_URL, _NO_URL), None
        override = self.overrides.of(origin, self.now) if self.overrides else None
        if override is not None and override.action in _WHOLE_SITE:
            answer = _WHOLE_SITE[override.action]
            return (answer, override.named(Verdict(answer == YES, None, MOST_SPECIFIC))), override
        decision = None if override is not None and override.robotstxt is not None else self.decision(robots)
        if decision is None:
            return None, override
        allowed = decision.state is State.FULL_ALLOW
        verdict = Verdict(allowed, None, decision.why)
        answer = YES if allowed else UNREACHABLE if decision.temporary else NO
        return (answer, verdict if override is None else override.named(verdict)), override

    def decision(self, robots: Served) -> Decision | None:
        """Return what `robots` means, if nothing else is known of the origin; None: its rules decide."""
        if robots.decision is not None:
            return None if robots.decision.state is State.RULES else robots.decision
        status, soft_404 = robots.status, self.policy.soft_404
        outcome: Outcome
        if status is None:
            outcome = Unreachable(robots.why)
        elif robots.wall:
            outcome = Unavailable(status, "", f"HTTP {status} of {robots.wall}", wall=robots.wall)
        else:
            outcome = outcome_of(status, "", robots.body, soft_404=soft_404, proxied=False, headers={})
            if isinstance(outcome, Fetched):
                return None
        return decide(renew(None, outcome, 0.0, self.policy), 0.0, self.policy)

    def parsed(self, robots: Served) -> RobotsTxt:
        """Read the robots.txt."""
        return RobotsTxt.parse(robots.body, strict=self.strict, max_bytes=self.max_bytes, cut=robots.cut)

    def _rules(self, robots: Served, override: Override | None) -> list[Rules]:
        """Return the rules that each crawler follows."""
        if override is not None:
            parsed = override.robotstxt or self.parsed(robots)
            return [parsed.rules_for(override.crawler or crawler) for crawler in self.crawlers]
        rules = self._by_body.get(robots.body)
        if rules is None:
            parsed = self.parsed(robots)
            rules = [parsed.rules_for(crawler) for crawler in self.crawlers]
            self._hold(len(robots.body))
            self._by_body[robots.body] = rules
        return rules

    def _sweep(self, rules: Rules) -> Sweep:
        """Return the sweep of the first rules that had this wording."""
        wording = wording_of(rules)
        sweep = self._by_wording.get(wording)
        if sweep is None:
            self._hold(weight_of(rules))
            sweep = self._by_wording[wording] = Sweep(rules)
        return sweep

    def _hold(self, size: int) -> None:
        """Count what is held from now on; forget all else if that is too much."""
        self._held += size
        if self._held > _MOST_HELD:
            self._by_body.clear()
            self._by_wording.clear()
            self._held = size


def _let_robots_txt_pass(columns: Sequence[bytearray], site: Site) -> None:
    """Let every crawler fetch a robots.txt itself: it is never disallowed (RFC 9309 2.2.2)."""
    begins = site.prefix[:-1] + ROBOTS_PATH
    number = bisect_left(site.urls, begins)
    while number < len(site.urls) and site.urls[number].startswith(begins):
        if Origin.of_robots_txt(site.urls[number]) is not None:
            for column in columns:
                column[number] = YES
        number += 1


def judge(
    urls: Sequence[str | bytes | None],
    robots: Mapping[str, Robots] | Mapping[Origin, Robots] | Sequence[Robots],
    agents: Agent | Sequence[Agent],
    *,
    unreachable: str = "google",
    refused: str = "allow",
    soft_404: bool = True,
    strict: bool = False,
    max_bytes: int | None = MAX_BYTES,
) -> dict[str, list[int | None]]:
    """Say for each URL whether each crawler may fetch it: 0 no, 1 yes, 2 not now (its robots.txt is unreachable).

    Args:
        urls: absolute URLs, in any order.
        robots: what was served for the robots.txt: by origin (an `Origin`, or any URL of it), or a column as long as
            `urls`. Each is a status and a body, a body that was served with 200, or None: there was no answer.
            An origin that is missing counts as None.
        agents: the crawlers: product tokens, User-Agent headers or `Crawler`.
        unreachable: as GBOT_ROBOTS_UNREACHABLE.
        refused: as GBOT_ROBOTS_REFUSED.
        soft_404: as GBOT_ROBOTS_SOFT_404.
        strict: as for `RobotsTxt.parse`.
        max_bytes: how many bytes of a robots.txt are read.

    Returns:
        A column for each crawler, by its product token ("*" for one without). The answer is None for a text that is not an
        http, https or ftp URL.

    Raises:
        ValueError: a key of `robots` has no origin, the columns differ in length, or a word is none of its setting's.
        TypeError: `urls` is one text, or a value of `robots` is of another type.
    """
    if isinstance(urls, (str, bytes)):
        raise TypeError(f"urls is a list of URLs, not one {type(urls).__name__}")
    several = [agents] if isinstance(agents, (str, bytes, Crawler, AllOf)) else agents
    crawlers = dict.fromkeys(each if isinstance(each, (Crawler, AllOf)) else Crawler.of(each) for each in several)
    policy = Policy(unreachable, soft_404=soft_404, refused=refused)
    judges = Judge(list(crawlers), policy=policy, strict=strict, max_bytes=max_bytes)
    texts = [_as_text(url) for url in urls]
    columns = [bytearray(len(texts)) for _ in crawlers]
    for rows, served_of in _alike(len(texts), robots):
        in_order = sorted(rows, key=texts.__getitem__)
        judged = ((site, served_of(site.origin)) for site in sites([texts[row] for row in in_order]))
        for column, answers in zip(columns, judges.judged(judged)[0], strict=True):
            for row, answer in zip(in_order, answers, strict=True):
                column[row] = answer
    return {
        crawler.name or "*": [_MEANING[answer] for answer in column]
        for crawler, column in zip(crawlers, columns, strict=True)
    }


def _alike(
    count: int, robots: Mapping[str, Robots] | Mapping[Origin, Robots] | Sequence[Robots]
) -> Iterator[tuple[Iterable[int], Callable[[Origin | None], Served]]]:
    """Yield the numbers of rows, of `count`, that are judged together, and what was served for an origin in them."""
    if isinstance(robots, Mapping):
        known = {key if isinstance(key, Origin) else Origin.of(key): value for key, value in robots.items()}
        yield range(count), lambda origin: _served(known.get(origin))  # type: ignore[arg-type]
        return
    if len(robots) != count:
        raise ValueError(f"{count} URLs, and what was served for {len(robots)}")
    rows_of: defaultdict[Served, list[int]] = defaultdict(list)
    for row, each in enumerate(robots):
        rows_of[_served(each)].append(row)
    for served, rows in rows_of.items():
        yield rows, lambda _origin, served=served: served  # type: ignore[misc]


def _served(robots: Robots) -> Served:
    if robots is None:
        return Served(None)
    if isinstance(robots, (bytes, bytearray, memoryview)):
        return Served(200, bytes(robots))
    if isinstance(robots, tuple) and len(robots) == 2:  # noqa: PLR2004
        status, body = robots
        return Served(status, body or b"", why="no answer")
    raise TypeError(f"what was served is (status, body), bytes or None, not {type(robots).__name__}")


def _as_text(url: str | bytes | None) -> str:
    if isinstance(url, bytes):
        return as_text(url)
    return url if isinstance(url, str) else ""  # such as None, or what stands for it in a data frame
