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
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ..core.crawlers import AllOf, Crawler
from ..core.lines import MAX_BYTES
from ..core.robots import RobotsTxt
from ..core.url_forms import allowed_in_all_forms, as_sent, verdict_on_all_forms
from ..core.urls import ROBOTS_PATH, Origin, escape, prefix_of
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..experimental.purposes import refusal
from ..policy.outages import Policy, State, decide, renew
from ..policy.outcome import Fetched, Unreachable, outcome_of
from ..policy.overrides import Action
from ..policy.walls import wall_of
from .many import SiteUrls, Sweep, wording_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from ..core.crawlers import RobotsAgent
    from ..core.rules import Rules
    from ..policy.outages import Decision
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

ITSELF: Final = Verdict(True, None, ROBOTS_TXT_ITSELF)
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
    """

    status: int | None
    body: bytes = b""
    cut: bool = False
    why: str = NOT_ASKED


_NOTHING = Served(None)
_MEANING = (NO, YES, UNREACHABLE, None)

# Numbers of rows that are judged together, in the order of their URLs; these URLs; and what was served, by origin.
Batch: TypeAlias = "tuple[Sequence[int], Sequence[str], Callable[[Origin], Served]]"
Robots: TypeAlias = "Served | tuple[int | None, bytes] | bytes | None"
Agent: TypeAlias = "str | bytes | Crawler | AllOf"

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
        yield first, end, prefix, origin_of(prefix or urls[first])
        first = end


def origin_of(url: str) -> Origin | None:
    """Return the origin that a client asks for `url`."""
    try:
        return Origin.of(url)
    except ValueError:
        sent = as_sent(url)
        return origin_of(sent) if sent != url else None


class Reasons(NamedTuple):
    """Columns for one crawler, each as long as the URLs: the deciding rule and its line, or None; the reason in words."""

    rules: list[str | None]
    lines: list[int | None]
    words: list[str]


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

    def __init__(
        self,
        crawlers: Sequence[RobotsAgent],
        *,
        policy: Policy | None = None,
        strict: bool = False,
        max_bytes: int | None = MAX_BYTES,
        overrides: Overrides | None = None,
        now: float = 0.0,
        purposes: Sequence[str] = (),
    ) -> None:
        self.crawlers = crawlers
        self._overrides = overrides
        self._now = now
        self._policy = policy or Policy()
        self._strict = strict
        self._max_bytes = max_bytes
        self._purposes = purposes
        self._by_body: dict[bytes, list[Sweep]] = {}
        self._bytes_held = 0
        self._by_wording: dict[Hashable, Sweep] = {}
        self._weight_held = 0
        self._last_body: bytes | None = None  # whose rules give reasons; rules of the same wording have other lines
        self._last_rules: list[Rules] = []
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

    def reasons(self, urls: Sequence[str], judged: Iterable[tuple[Site, Served]]) -> list[Reasons]:
        """Return for each crawler the reasons of the answers that `answers` gives."""
        columns = [Reasons([], [], []) for _ in self.crawlers]
        for (first, end, _, origin), robots in judged:
            for column, verdict_on in zip(columns, self._verdicts(origin, robots), strict=True):
                for url in urls[first:end]:
                    note(column, verdict_on(url) if Origin.of_robots_txt(url) is None else ITSELF)
        return columns

    def _of_site(self, urls: Sequence[str], site: Site, robots: Served) -> list[bytearray]:
        first, end, prefix, origin = site
        if origin is None:
            return [bytearray((NO_URL,)) * (end - first)] * len(self.crawlers)
        override = self._overrides.of(origin, self._now) if self._overrides else None
        whole = self._whole_site(robots, override)
        if whole is None:
            sweeps = self._sweeps(robots, override)
            found = _swept(urls, site, sweeps)
            if self._purposes:
                for column, sweep in zip(found, sweeps, strict=True):
                    self._refuse(column, sweep.rules, urls[first:end])
        else:
            found = [bytearray((whole[0],)) * (end - first)] * len(self.crawlers)
        _let_robots_txt_pass(found, urls, first, end, prefix)
        return found

    def _whole_site(self, robots: Served, override: Override | None) -> tuple[int, Verdict] | None:
        """Return the answer to all URLs of a site, and why; None if rules decide."""
        if override is not None and override.action in _WHOLE_SITE:
            answer = _WHOLE_SITE[override.action]
            return answer, override.verdict(allowed=answer == YES)
        decision = None if override is not None and override.robotstxt is not None else self.decision(robots)
        if decision is None:
            return None
        allowed = decision.state is State.FULL_ALLOW
        verdict = Verdict(allowed, None, decision.why)
        answer = YES if allowed else UNREACHABLE if decision.temporary else NO
        return answer, verdict if override is None else override.named(verdict)

    def _refuse(self, column: bytearray, rules: Rules, urls: Sequence[str]) -> None:
        """Disallow those of the URLs whose use for the purposes the site refuses."""
        for number, url in enumerate(urls):
            if column[number] == YES and refusal(self._purposes, rules.preferences(url)):
                column[number] = NO

    def _verdicts(self, origin: Origin | None, robots: Served) -> Iterator[Callable[[str], Verdict]]:
        """Yield a function for each crawler, which returns the verdict on a URL of the site."""
        override = self._overrides.of(origin, self._now) if self._overrides and origin is not None else None
        whole = (NO_URL, _NO_URL) if origin is None else self._whole_site(robots, override)
        if whole is not None:
            yield from [lambda _url: whole[1]] * len(self.crawlers)
            return

        def verdict_on(url: str, rules: Rules) -> Verdict:
            verdict = verdict_on_all_forms(rules, url)
            if self._purposes and verdict.allowed:
                verdict = refusal(self._purposes, rules.preferences(url)) or verdict
            return verdict if override is None else override.named(verdict)

        if override is not None:
            rules = self._rules(robots, override)
        elif robots.body == self._last_body:  # that of another site, or of this one in another piece
            rules = self._last_rules
        else:
            rules = self._last_rules = self._rules(robots, None)
            self._last_body = robots.body
        for each in rules:
            yield partial(verdict_on, rules=each)

    def decision(self, robots: Served) -> Decision | None:
        """Return what `robots` means if nothing else is known of the origin; None: its rules decide."""
        if robots.status in self._have_rules and not wall_of(robots.status, {}, robots.body):
            return None
        outcome: Outcome
        if robots.status is None:
            outcome = Unreachable(robots.why)
        else:
            outcome = outcome_of(
                robots.status,
                "",
                robots.body,
                cut=robots.cut,
                soft_404=self._policy.soft_404,
                proxied=False,
                headers={},
            )
            if isinstance(outcome, Fetched):
                self._have_rules.add(robots.status)
                return None
        return decide(renew(None, outcome, 0.0, self._policy), 0.0, self._policy)

    def parsed(self, robots: Served) -> RobotsTxt:
        """Read the robots.txt."""
        return RobotsTxt.parse(robots.body, strict=self._strict, max_bytes=self._max_bytes, cut=robots.cut)

    def _rules(self, robots: Served, override: Override | None) -> list[Rules]:
        """Return the rules that each crawler follows."""
        crawlers = self.crawlers
        if override is not None and override.crawler is not None:
            crawlers = [override.crawler] * len(crawlers)
        parsed = None if override is None else override.robotstxt
        if parsed is None:
            parsed = self.parsed(robots)
        return [parsed.rules_for(crawler) for crawler in crawlers]

    def _sweeps(self, robots: Served, override: Override | None) -> list[Sweep]:
        if override is not None:
            return [self._sweep(rules) for rules in self._rules(robots, override)]
        body = robots.body
        sweeps = self._by_body.get(body)
        if sweeps is None:
            self._bytes_held += len(body)
            if self._bytes_held > _BYTES_HELD:
                self._by_body.clear()
                self._bytes_held = len(body)
            sweeps = self._by_body[body] = [self._sweep(rules) for rules in self._rules(robots, None)]
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


def note(reasons: Reasons, verdict: Verdict) -> None:
    """Add the reason of a verdict to columns of reasons."""
    reasons.rules.append(None if verdict.rule is None else str(verdict.rule))
    reasons.lines.append(None if verdict.rule is None else verdict.rule.line)
    reasons.words.append(verdict.reason)


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


def judge(
    urls: Sequence[str | bytes | None],
    robots: Mapping[str, Robots] | Mapping[Origin, Robots] | Sequence[Robots],
    agents: Agent | Sequence[Agent],
    *,
    policy: Policy | None = None,
    strict: bool = False,
    max_bytes: int | None = MAX_BYTES,
) -> dict[str, list[int | None]]:
    """Say for each URL whether each crawler may fetch it: 0 no, 1 yes, 2 not now (its robots.txt is unreachable).

    Args:
        urls: absolute URLs, in any order.
        robots: what was served for the robots.txt: by origin (an `Origin`, or any URL of it), or a column as long as
            `urls`. Each is a `Served`, status and body, a body that was served with 200, or None: there was no answer.
            An origin that is missing counts as None.
        agents: the crawlers: product tokens, User-Agent headers, `Crawler` or `AllOf`.
        policy: what statuses and failures mean; by default as in a crawl without settings.
        strict: as for `RobotsTxt.parse`.
        max_bytes: how many bytes of a robots.txt are read.

    Returns:
        A column for each crawler, by its product token ("*" for one without). The answer is None for a text that is not an
        http, https or ftp URL.

    Raises:
        ValueError: a key of `robots` has no origin, or the columns differ in length.
        TypeError: `urls` is one text, or a value of `robots` is of another type.
    """
    if isinstance(urls, (str, bytes)):
        raise TypeError(f"urls is a list of URLs, not one {type(urls).__name__}")
    judges = Judge(crawlers_of(agents), policy=policy, strict=strict, max_bytes=max_bytes)
    texts = [_as_text(url) for url in urls]
    columns = answers_in_rows(judges, len(texts), _batches(texts, robots))
    return {
        crawler.name or "*": [_MEANING[answer] for answer in column]
        for crawler, column in zip(judges.crawlers, columns, strict=True)
    }


def crawlers_of(agents: Agent | Sequence[Agent]) -> list[RobotsAgent]:
    """Return the crawlers that `agents` name, each once."""
    several = [agents] if isinstance(agents, (str, bytes, Crawler, AllOf)) else agents
    return list(dict.fromkeys(each if isinstance(each, (Crawler, AllOf)) else Crawler.of(each) for each in several))


def served(robots: Robots) -> Served:
    """Return what was served as a `Served`. Raises TypeError for a value of another type."""
    if isinstance(robots, Served):
        return robots
    if robots is None:
        return Served(None)
    if isinstance(robots, (bytes, bytearray, memoryview)):
        return Served(200, bytes(robots))
    if isinstance(robots, tuple) and len(robots) == 2:  # noqa: PLR2004
        status, body = robots
        return Served(status, body or b"", why="no answer")
    raise TypeError(f"what was served is a Served, (status, body), bytes or None, not {type(robots).__name__}")


def as_text(raw: bytes) -> str:
    """Return UTF-8 as text. What is no UTF-8 is percent-encoded, as it is where URLs are compared with rules."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return escape(raw).decode("ascii")


def _as_text(url: str | bytes | None) -> str:
    if isinstance(url, bytes):
        return as_text(url)
    return url if isinstance(url, str) else ""  # such as None, or what stands for it in a data frame


def _batches(
    urls: Sequence[str], robots: Mapping[str, Robots] | Mapping[Origin, Robots] | Sequence[Robots]
) -> Iterator[Batch]:
    if isinstance(robots, Mapping):
        known = {key if isinstance(key, Origin) else Origin.of(key): value for key, value in robots.items()}
        yield _sorted(urls, range(len(urls)), lambda origin: served(known.get(origin)))
        return
    if len(robots) != len(urls):
        raise ValueError(f"{len(urls)} URLs, and what was served for {len(robots)}")
    rows_of: defaultdict[Served, list[int]] = defaultdict(list)
    for row, each in enumerate(robots):
        rows_of[served(each)].append(row)
    for one, rows in rows_of.items():
        yield _sorted(urls, rows, lambda _origin, one=one: one)  # type: ignore[misc]


def _sorted(urls: Sequence[str], rows: Iterable[int], served_of: Callable[[Origin], Served]) -> Batch:
    in_order = sorted(rows, key=urls.__getitem__)
    return in_order, [urls[row] for row in in_order], served_of


def answers_in_rows(judges: Judge, count: int, batches: Iterable[Batch]) -> list[bytearray]:
    """Return the answers for each crawler in the order of the `count` rows."""
    columns = [bytearray(count) for _ in judges.crawlers]
    for rows, urls, served_of in batches:
        judged = ((site, _NOTHING if site[3] is None else served_of(site[3])) for site in sites(urls))
        for column, answers in zip(columns, judges.answers(urls, judged), strict=True):
            for row, answer in zip(rows, answers, strict=True):
                column[row] = answer
    return columns
