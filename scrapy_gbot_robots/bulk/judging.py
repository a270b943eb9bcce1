"""URLs judged by what was served for their robots.txt: the answers, and the reasons.

The policy says what a status code or a failure means, as in a crawl. Many sites serve the same
file, and pages of many sites have the same paths. So a robots.txt is read once for all sites that
serve it, and is asked once about each path.
Source: as policy/outages.py and core/rules.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from math import isnan
from operator import getitem
from typing import TypeAlias

from ..core.crawlers import UserAgent
from ..core.lines import MAX_BYTES
from ..core.robots import RobotsTxt
from ..core.rules import Rules
from ..core.url_forms import as_sent, disallowed_of_a_site
from ..core.urls import ROBOTS_PATH, Origin, as_text, origin_of_robots_txt, prefix_of
from ..core.verdict import Verdict
from ..policy.outages import Copy, Decision, Kind, Policy, State, decide, renew
from ..policy.outcome import Fetched, Outcome, Unreachable, meaning_of, outcome_of
from ..policy.overrides import Overrides
from ..policy.verdicts import judge_url
from ..policy.web_pages import wall_of

NO = 0
YES = 1
UNREACHABLE = 2  # no, until a definite answer comes
NO_URL = 3  # the text has no origin

_MEANING = (NO, YES, UNREACHABLE, None)
_BYTES = (bytes, bytearray, memoryview)
_STATUS = re.compile(r"([0-9]{3})(?:\.0)?")
_MOST_KEPT = 16  # robots.txt files whose rules are kept for the next URLs
_BEHIND_SCHEME = len("https://")

_NO_URL = Verdict(False, None, "no URL")
_ANY_SITE = "http://example.com"  # whose path is asked about


class BulkError(ValueError):
    """A list of URLs or a batch cannot be used; the message says which, and why."""


Decisions: TypeAlias = Decision | Mapping[Origin, Decision]  # one for all URLs, or each origin's
Robots: TypeAlias = "tuple[int | None, bytes] | bytes | None"
# what decides about some sites: the text of their robots.txt, or one answer to all URLs
_Basis: TypeAlias = bytes | int
_Answers: TypeAlias = "dict[str, bytes]"  # by path or URL: the answer of each crawler
Agent: TypeAlias = "str | bytes | UserAgent"


def origins_of(urls: Sequence[str]) -> set[Origin]:
    """Return the origins of URLs. A text that is no URL has none."""
    return set(filter(None, map(_origin_of, urls)))


def _origin_of(url: str) -> Origin | None:
    """Return the origin that a client asks for `url`; None if it asks none."""
    try:
        return Origin.of(url)
    except ValueError:
        sent = as_sent(url)
        return _origin_of(sent) if sent != url else None


@dataclass(eq=False)
class Judge:
    """Judges for `crawlers`, with the rules of the robots.txt files that it read last.

    Args:
        crawlers: the crawlers.
        policy: what it means if nothing is known of a robots.txt.
        max_bytes: how many bytes of a robots.txt are read.
        overrides: an override counts if it is in force at `now`, in seconds since the epoch.
    """

    crawlers: Sequence[UserAgent]
    _: KW_ONLY
    policy: Policy = field(default_factory=Policy)
    max_bytes: int | None = MAX_BYTES
    overrides: Overrides = field(default_factory=Overrides)
    now: float = 0.0
    _rules_read: dict[bytes, list[Rules]] = field(default_factory=dict, init=False)

    def judged(self, urls: Sequence[str], robots: Decisions) -> list[bytearray]:
        """Return for each crawler the answers to `urls`, a byte each, in their order.

        `robots` is one decision for all URLs, or one for each origin. The basis of a site is what
        alone decides about its URLs: the text of its robots.txt, or one answer to all of them. Many
        sites have the same basis: their URLs are judged together, each path once. A URL without a
        basis, as where an override counts, is judged alone, by `explained`.
        """
        allowed = bytes([YES]) * len(self.crawlers)
        answers_by_basis: defaultdict[_Basis | None, _Answers] = defaultdict(dict)
        sites: dict[str, tuple[_Answers, int]] = {}
        answers_of_each: list[_Answers] = []
        keys: list[str] = []
        # sort the URLs by their basis
        for url in urls:
            beginning = url[: url.find("/", _BEHIND_SCHEME) + 1]
            site = sites.get(beginning)
            if site is None:
                basis = self._basis(beginning, robots)
                # a path is the key of an answer; a whole URL is, where more than the path decides
                begin = 0 if basis is None else len(beginning) - 1
                site = sites[beginning] = answers_by_basis[basis], begin
            answers, begin = site
            key = url[begin:]
            answers[key] = allowed
            answers_of_each.append(answers)
            keys.append(key)
        # judge each path once
        for basis, answers in answers_by_basis.items():
            if basis is not None:
                self._judge_paths(answers, basis)
                continue
            for url in answers:
                answers[url] = bytes([answer for answer, _ in self.explained(url, robots)])
        # lay the answers out by crawler
        row_by_row = bytearray().join(map(getitem, answers_of_each, keys))
        return [row_by_row[number :: len(allowed)] for number in range(len(allowed))]

    def _basis(self, beginning: str, robots: Decisions) -> _Basis | None:
        """Return what alone decides about all URLs that begin with `beginning`.

        It is None if they may be of several sites, or if an override counts. They are of one site
        if `beginning` is scheme, authority and a slash, and clients read it as written.
        """
        if prefix_of(beginning) != beginning or as_sent(beginning) != beginning:
            return None
        origin = _origin_of(beginning)
        if origin is None or self.overrides.of(origin, self.now) is not None:
            return None
        return _basis_of(self._decision(origin, robots))

    def _judge_paths(self, answers: _Answers, basis: _Basis) -> None:
        """Set the answers to paths, which are YES so far.

        `basis` is one answer to all of them, or the text of rules: what these disallow gets NO.
        """
        if isinstance(basis, int):
            paths_by_crawler = [set(answers)] * len(self.crawlers)
            answer = basis
        else:
            rules_by_crawler = self._rules(basis)
            paths_by_crawler = [disallowed_of_a_site(rules, answers) for rules in rules_by_crawler]
            answer = NO
        for number, paths in enumerate(paths_by_crawler):
            for path in paths:
                # the path of a robots.txt, which is never disallowed (RFC 9309 2.2.2)
                if path.startswith(ROBOTS_PATH) and origin_of_robots_txt(_ANY_SITE + path):
                    continue
                of_crawlers = bytearray(answers[path])
                of_crawlers[number] = answer
                answers[path] = bytes(of_crawlers)

    def explained(self, url: str, robots: Decisions) -> list[tuple[int, Verdict]]:
        """Return for each crawler the answer to a URL, and the verdict that explains it."""
        origin = _origin_of(url)
        if origin is None:
            return [(NO_URL, _NO_URL)] * len(self.crawlers)
        override = self.overrides.of(origin, self.now)
        decision = self._decision(origin, robots)
        is_replaced = override is not None and override.replaces
        no = UNREACHABLE if decision.temporary and not is_replaced else NO
        rules_by_crawler = self._rules(_text_of(decision))
        if override is not None and override.robotstxt is not None:
            rules_by_crawler = [override.robotstxt.rules_for(crawler) for crawler in self.crawlers]
        explained: list[tuple[int, Verdict]] = []
        for rules in rules_by_crawler:
            verdict = judge_url(url, decision, rules, override)
            explained.append((YES if verdict.allowed else no, verdict))
        return explained

    def _decision(self, origin: Origin, robots: Decisions) -> Decision:
        """Return the decision for `origin`: as for no response if `robots` has none."""
        if isinstance(robots, Decision):
            return robots
        decision = robots.get(origin)
        if decision is None:
            return decision_on(None, b"", self.policy)
        return decision

    def _rules(self, body: bytes) -> list[Rules]:
        """Return each crawler's rules in a robots.txt, which is parsed unless they are kept."""
        rules = self._rules_read.get(body)
        if rules is None:
            parsed = RobotsTxt.parse(body, max_bytes=self.max_bytes)
            rules = [parsed.rules_for(crawler) for crawler in self.crawlers]
            if len(self._rules_read) >= _MOST_KEPT:
                self._rules_read.clear()
            self._rules_read[body] = rules
        return rules


def decision_on(status: int | None, body: bytes, policy: Policy) -> Decision:
    """Return the decision on a response to a request for a robots.txt, if nothing else is known.

    The `body` is content-decoded. The `status` is None if no response came.
    """
    outcome: Outcome = Unreachable("no answer")
    if status is not None:
        # With "allow" a wall need not be told apart: it allows everything, and so does its text as
        # rules, since it has no line for a crawler.
        has_wall = policy.access_denied != "allow" and wall_of(status, {}, body) != ""
        if meaning_of(status) is Fetched and not has_wall:  # as most: a short cut
            copy = Copy(Kind.RULES, status, "", body, False, "", 0.0, 0.0)
            return Decision(State.RULES, "", False, 0.0, 0.0, copy)
        outcome = outcome_of(status, "", body, soft_404=policy.soft_404, proxy="", headers={})
    return decide(renew(None, outcome, 0.0, policy), 0.0, policy)


def _text_of(decision: Decision) -> bytes:
    """Return the text of the rules that count; none if no rules do."""
    if decision.state is not State.RULES or decision.copy is None:
        return b""
    return decision.copy.body


def _basis_of(decision: Decision) -> _Basis:
    """Return the text of the rules that count, or the answer to all URLs."""
    if decision.state is State.RULES:
        return _text_of(decision)
    if decision.state is State.FULL_ALLOW:
        return YES
    return UNREACHABLE if decision.temporary else NO


def judge(
    urls: Sequence[str | bytes | None],
    robots: Mapping[str, Robots] | Mapping[Origin, Robots] | Sequence[Robots],
    user_agents: Agent | Sequence[Agent],
    *,
    unreachable: str = "google",
    access_denied: str = "allow",
    soft_404: bool = True,
    max_bytes: int | None = MAX_BYTES,
) -> dict[str, list[int | None]]:
    """Say for each URL whether each crawler may fetch it.

    An answer is 0 for no, 1 for yes, 2 for not now: the robots.txt is unreachable.

    Args:
        urls: absolute URLs, in any order.
        robots: what was served for the robots.txt: by origin (an `Origin`, or any URL of it), or a
            column as long as `urls`. Each is a status and a body, a body that was served with 200,
            or None: there was no answer. A status may be text, such as "200". An origin that is
            missing counts as None.
        user_agents: the crawlers: product tokens, User-Agent headers or `UserAgent`.
        unreachable: as GBOT_ROBOTS_UNREACHABLE.
        access_denied: as GBOT_ROBOTS_ACCESS_DENIED.
        soft_404: as GBOT_ROBOTS_SOFT_404.
        max_bytes: how many bytes of a robots.txt are read.

    Returns:
        A column for each crawler, by its product token ("*" for one without). The answer is None
        for a text that is not an http, https or ftp URL.

    Raises:
        ValueError: a key of `robots` has no origin, the columns differ in length, or a word is none
            of its setting's.
        TypeError: `urls` or `robots` is one text or None, a status is no number, or a value of
            `robots` is of another type.
    """
    _check_columns(urls, robots)
    several = [user_agents] if isinstance(user_agents, (str, bytes, UserAgent)) else user_agents
    crawlers = dict.fromkeys(map(_crawler_of, several))
    policy = Policy(unreachable, soft_404=soft_404, access_denied=access_denied)
    texts = list(map(_url_text, urls))
    judge_of_all = Judge(list(crawlers), policy=policy, max_bytes=max_bytes)
    decision_by = cache(lambda status, body: decision_on(status, body, policy))
    if isinstance(robots, Mapping):
        decisions: dict[Origin, Decision] = {}
        for key, value in robots.items():
            origin = key if isinstance(key, Origin) else Origin.of(key)
            decisions[origin] = decision_by(*_response_in(value))
        columns = judge_of_all.judged(texts, decisions)
    else:
        columns = _judged_by_rows(judge_of_all, texts, robots)
    return {
        crawler.name or "*": list(map(_MEANING.__getitem__, column))
        for crawler, column in zip(crawlers, columns, strict=True)
    }


def _check_columns(urls: object, robots: object) -> None:
    """Raise TypeError for what is no list, and for one text in place of many."""
    if isinstance(urls, (str, bytes)) or not isinstance(urls, Iterable):
        raise TypeError(f"urls is a list of URLs, not one {type(urls).__name__}")
    if isinstance(robots, (str, *_BYTES)) or not isinstance(robots, Sized):
        raise TypeError(
            "robots says which origin served what, such as {'https://example.com': body}, or has "
            f"a row for each URL; it is not one {type(robots).__name__}"
        )


def _crawler_of(user_agent: Agent) -> UserAgent:
    """Return the crawler that `agent` is or names."""
    if isinstance(user_agent, UserAgent):
        return user_agent
    return UserAgent.of(user_agent)


def _judged_by_rows(
    judge_of_all: Judge, urls: Sequence[str], robots: Sequence[Robots]
) -> list[bytearray]:
    """Return for each crawler the answers to URLs, each by what stands beside it in `robots`.

    Raises ValueError if the columns differ in length.
    """
    if len(robots) != len(urls):
        raise ValueError(f"{len(urls)} URLs, and what was served for {len(robots)}")
    rows_by_response: defaultdict[tuple[int | None, bytes], list[int]] = defaultdict(list)
    for row, value in enumerate(robots):
        rows_by_response[_response_in(value)].append(row)
    columns = [bytearray(len(urls)) for _ in judge_of_all.crawlers]
    for (status, body), rows in rows_by_response.items():
        decision = decision_on(status, body, judge_of_all.policy)
        answers_of_rows = judge_of_all.judged([urls[row] for row in rows], decision)
        for column, answers in zip(columns, answers_of_rows, strict=True):
            for row, answer in zip(rows, answers, strict=True):
                column[row] = answer
    return columns


def _response_in(robots: Robots) -> tuple[int | None, bytes]:
    """Return the status and the body that a value says were served.

    Raises TypeError for a value of another type.
    """
    if _is_missing(robots):
        return None, b""
    if isinstance(robots, _BYTES):
        return 200, bytes(robots)
    match robots:
        case (status, body) if isinstance(robots, tuple):  # a list would match, too
            if _is_missing(body):
                return _status_of(status), b""
            if isinstance(body, _BYTES):
                return _status_of(status), bytes(body)
    raise TypeError(f"what was served is (status, body), bytes or None, not {robots!r:.100}")


def _is_missing(value: object) -> bool:
    """Whether this is None, or NaN, which stands for it in a data frame."""
    return value is None or (isinstance(value, float) and isnan(value))


def _status_of(status: object) -> int | None:
    """Return a status as a number: some tables have text or floats. None: there was no response.

    Raises TypeError for anything else.
    """
    if type(status) is int:  # most are
        return status
    if _is_missing(status):
        return None
    number = _STATUS.fullmatch(str(status))
    if number is None:
        raise TypeError(f"a status is a whole number such as 200, or None, not {status!r:.100}")
    return int(number[1])


def _url_text(url: object) -> str:
    """Return a URL as text; "", which is no URL, for what is neither text nor bytes."""
    if isinstance(url, str):
        return url
    if isinstance(url, bytes):
        return as_text(url)
    return ""  # such as None, or what stands for it in a data frame
