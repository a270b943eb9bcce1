"""Judge many URLs whose robots.txt files the caller has already fetched.

To *judge* a URL means to decide whether a crawler may fetch it. The result is an *answer*, which is
one of the numbers NO, YES, UNREACHABLE and NO_URL.

First, the response with the robots.txt of an origin becomes a `Decision` (policy/outages.py). A
decision means that every URL of the origin is allowed, that no URL is allowed, or that the rules of
the robots.txt decide. Then each URL is judged by the decision for its origin.

Many sites serve the same robots.txt, and many sites have pages with the same paths. So a robots.txt
is parsed only once for all sites that serve it, and each path is judged only once for these sites.

The sources are named in policy/outages.py and core/rules.py.
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
UNREACHABLE = 2  # The robots.txt is unreachable, so the crawler must wait.
NO_URL = 3  # The text to judge is not an http, https or ftp URL.

_MEANING = (NO, YES, UNREACHABLE, None)
_BYTES = (bytes, bytearray, memoryview)
_STATUS = re.compile(r"([0-9]{3})(?:\.0)?")
_MOST_KEPT = 16  # A `Judge` keeps the rules of at most this many robots.txt files.
_BEHIND_SCHEME = len("https://")

_NO_URL = Verdict(False, None, "not a URL")
# `origin_of_robots_txt` needs a URL. To make one from a path, the path is added to this text.
_ANY_SITE = "http://example.com"


class BulkError(ValueError):
    """Raised if a list of URLs or a batch cannot be used. The message contains the reason."""


# Either one `Decision` for all URLs, or a mapping with a `Decision` for each origin.
Decisions: TypeAlias = Decision | Mapping[Origin, Decision]
# A response to the request for a robots.txt. It is a pair of a status and a body, or only a body if
# the status is 200, or None if no response came.
Robots: TypeAlias = "tuple[int | None, bytes] | bytes | None"
# The type of a site's basis. The basis is either the text of the site's robots.txt, or one answer
# for all URLs of the site. `Judge.judged` judges all sites with the same basis together.
_Basis: TypeAlias = bytes | int
# A dictionary from paths or URLs to the answers for all crawlers. Each byte of a value is the
# answer for one crawler.
_Answers: TypeAlias = "dict[str, bytes]"
Agent: TypeAlias = "str | bytes | UserAgent"


def origins_of(urls: Sequence[str]) -> set[Origin]:
    """Return the origins of `urls`. A text that is not a URL is ignored."""
    return set(filter(None, map(_origin_of, urls)))


def _origin_of(url: str) -> Origin | None:
    """Return the origin to which a client would send a request for `url`, or None.

    Clients remove some characters before they read a URL, such as a space at the beginning. The
    result is None if `url` is not a URL even without these characters.
    """
    try:
        return Origin.of(url)
    except ValueError:
        sent = as_sent(url)
        return _origin_of(sent) if sent != url else None


@dataclass(eq=False)
class Judge:
    """Judges URLs for one or more crawlers.

    A judge keeps the rules of the last robots.txt files that it has parsed. If one of these files
    occurs again, it is not parsed again.

    Args:
        crawlers: the crawlers.
        policy: the values of the settings that determine what a robots.txt means, for example
            while it is unreachable.
        max_bytes: at most this many bytes of a robots.txt are read. None means no limit.
        overrides: the user's overrides (GBOT_ROBOTS_OVERRIDES). An override is applied if `now` is
            not after its last day.
        now: the time in seconds since the epoch.
    """

    crawlers: Sequence[UserAgent]
    _: KW_ONLY
    policy: Policy = field(default_factory=Policy)
    max_bytes: int | None = MAX_BYTES
    overrides: Overrides = field(default_factory=Overrides)
    now: float = 0.0
    _rules_read: dict[bytes, list[Rules]] = field(default_factory=dict, init=False)

    def judged(self, urls: Sequence[str], robots: Decisions) -> list[bytearray]:
        """Return the answers for `urls`, as one bytearray for each crawler.

        Sites with the same robots.txt are judged together. If 1,000 sites serve the same file, the
        path "/about" is judged only once for all of them. To find these sites, the method computes
        a *basis* for each site. Normally, the basis is the text of the robots.txt. But if all URLs
        of the site have the same answer, for example because there is no robots.txt, the basis is
        this answer. If an override applies to the site, the basis is None, and each URL is judged
        separately.

        Args:
            urls: the URLs.
            robots: one decision for all URLs, or a mapping from origins to decisions.

        Returns:
            A bytearray for each crawler. It contains an answer for each URL, in the order of
            `urls`.
        """
        allowed = bytes([YES]) * len(self.crawlers)
        answers_by_basis: defaultdict[_Basis | None, _Answers] = defaultdict(dict)
        sites: dict[str, tuple[_Answers, int]] = {}
        answers_of_each: list[_Answers] = []
        keys: list[str] = []
        # First, put the URLs that have the same basis together.
        for url in urls:
            beginning = url[: url.find("/", _BEHIND_SCHEME) + 1]
            site = sites.get(beginning)
            if site is None:
                basis = self._basis(beginning, robots)
                # In the dictionary of answers, the key of a URL is its path. If the basis is None,
                # the key is the whole URL.
                begin = 0 if basis is None else len(beginning) - 1
                site = sites[beginning] = answers_by_basis[basis], begin
            answers, begin = site
            key = url[begin:]
            answers[key] = allowed
            answers_of_each.append(answers)
            keys.append(key)
        # Then judge each path once. Sites with the same basis have the same verdicts.
        for basis, answers in answers_by_basis.items():
            if basis is not None:
                self._judge_paths(answers, basis)
                continue
            for url in answers:
                answers[url] = bytes([answer for answer, _ in self.explained(url, robots)])
        # Last, collect the answers for each crawler in one bytearray.
        row_by_row = bytearray().join(map(getitem, answers_of_each, keys))
        return [row_by_row[number :: len(allowed)] for number in range(len(allowed))]

    def _basis(self, beginning: str, robots: Decisions) -> _Basis | None:
        """Return the basis of the site whose URLs begin with `beginning` (see `judged`), or None.

        A `beginning` such as "https://example.com/" has a scheme, an authority and a slash. If it
        has a different form, or if clients change it before they send a request, its URLs may
        belong to different sites. So the result is None. It is also None if an override applies to
        the site.
        """
        if prefix_of(beginning) != beginning or as_sent(beginning) != beginning:
            return None
        origin = _origin_of(beginning)
        if origin is None or self.overrides.of(origin, self.now) is not None:
            return None
        return _basis_of(self._decision(origin, robots))

    def _judge_paths(self, answers: _Answers, basis: _Basis) -> None:
        """Set the answers for the paths of all sites that have the same basis.

        Args:
            answers: a dictionary with an answer for each path. At first, each answer is YES. This
                method replaces the answers that are wrong.
            basis: one answer for all paths, or the text of a robots.txt. If it is a text, the
                answer becomes NO for each path that the rules in the robots.txt disallow.
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
                # No rule can disallow the robots.txt itself (RFC 9309 2.2.2).
                if path.startswith(ROBOTS_PATH) and origin_of_robots_txt(_ANY_SITE + path):
                    continue
                of_crawlers = bytearray(answers[path])
                of_crawlers[number] = answer
                answers[path] = bytes(of_crawlers)

    def explained(self, url: str, robots: Decisions) -> list[tuple[int, Verdict]]:
        """For each crawler, return the answer for `url`, and the verdict with its reason."""
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
        """Return the decision for `origin`.

        If `robots` contains no decision for `origin`, decide as if the request for its robots.txt
        got no response.
        """
        if isinstance(robots, Decision):
            return robots
        decision = robots.get(origin)
        if decision is None:
            return decision_on(None, b"", self.policy)
        return decision

    def _rules(self, body: bytes) -> list[Rules]:
        """Return the rules of a robots.txt for each crawler.

        The robots.txt is parsed only if its rules have not been kept from an earlier call.
        """
        rules = self._rules_read.get(body)
        if rules is None:
            parsed = RobotsTxt.parse(body, max_bytes=self.max_bytes)
            rules = [parsed.rules_for(crawler) for crawler in self.crawlers]
            if len(self._rules_read) >= _MOST_KEPT:
                self._rules_read.clear()
            self._rules_read[body] = rules
        return rules


def decision_on(status: int | None, body: bytes, policy: Policy) -> Decision:
    """Return the decision for an origin, from the response to the request for its robots.txt.

    Args:
        status: the status code of the response; None if no response came.
        body: the body of the response, without content codings.
        policy: the values of the settings that determine the decision.
    """
    outcome: Outcome = Unreachable("no answer")
    if status is not None:
        # A bot wall is a protection service that sends a page in place of the robots.txt. The page
        # contains no rules, so parsing it as a robots.txt would allow everything. Bot walls
        # need to be recognised only if the setting GBOT_ROBOTS_ACCESS_DENIED is "disallow".
        has_wall = policy.access_denied != "allow" and wall_of(status, {}, body) != ""
        # Most responses have a 2xx status and are not from bot walls. Their decision is made here
        # without `outcome_of`, `renew` and `decide`, because this takes less time.
        if meaning_of(status) is Fetched and not has_wall:
            copy = Copy(Kind.RULES, status, "", body, False, "", 0.0, 0.0)
            return Decision(State.RULES, "", False, 0.0, 0.0, copy)
        outcome = outcome_of(status, "", body, soft_404=policy.soft_404, proxy="", headers={})
    return decide(renew(None, outcome, 0.0, policy), 0.0, policy)


def _text_of(decision: Decision) -> bytes:
    """Return the text of the robots.txt; b"" if the decision allows or disallows all URLs."""
    if decision.state is not State.RULES or decision.copy is None:
        return b""
    return decision.copy.body


def _basis_of(decision: Decision) -> _Basis:
    """Return the basis of a site (see `Judge.judged`).

    The basis is the text of the robots.txt. If the decision allows or disallows all URLs of the
    site, the basis is the answer for all of them: YES, NO or UNREACHABLE.
    """
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
    r"""Return, for each crawler, whether it may fetch each URL.

    An answer is 1 (yes), 0 (no) or 2 (not now, because the robots.txt is unreachable).

    >>> from scrapy_gbot_robots.bulk import judge
    >>> urls = ["https://a.example/cart", "https://a.example/", "https://b.example/", "cart"]
    >>> robots = {
    ...     "https://a.example": b"User-agent: mybot\nDisallow: /cart",
    ...     "https://b.example": (503, b""),
    ... }
    >>> judge(urls, robots, ["mybot", "Googlebot"])
    {'mybot': [0, 1, 2, None], 'Googlebot': [1, 1, 2, None]}

    Args:
        urls: absolute URLs, in any order.
        robots: the responses to the requests for the robots.txt files. This is a mapping from
            origins to responses, or a list with a response for each URL in `urls`. In a mapping, a
            key is an `Origin` or any URL of the origin, and a missing origin means that no response
            came. A response is a pair of a status and a body. The status may be a text such as
            "200". If a response is only a body, the status is 200. If a response is None, no
            response came.
        user_agents: one crawler or a list of crawlers. A crawler is a product token, a User-Agent
            header or a `UserAgent`.
        unreachable: a value of the setting GBOT_ROBOTS_UNREACHABLE.
        access_denied: a value of the setting GBOT_ROBOTS_ACCESS_DENIED.
        soft_404: a value of the setting GBOT_ROBOTS_SOFT_404.
        max_bytes: at most this many bytes of a robots.txt are read. None means no limit.

    Returns:
        A dict with a list of answers for each crawler, in the order of `urls`. The key is the
        product token of the crawler, or "*" for a crawler without a token. If an item of `urls` is
        not an http, https or ftp URL, the answer for it is None.

    Raises:
        ValueError: a key of `robots` is not a URL, the lists differ in length, or one of the
            settings has an invalid value.
        TypeError: `urls` or `robots` is a single text or None, a status is not a number, or a
            response in `robots` has a wrong type.
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
    """Check the types of the arguments of `judge`.

    Raises:
        TypeError: `urls` or `robots` is a single text or None.
    """
    if isinstance(urls, (str, bytes)) or not isinstance(urls, Iterable):
        raise TypeError(f"urls is a list of URLs, not one {type(urls).__name__}")
    if isinstance(robots, (str, *_BYTES)) or not isinstance(robots, Sized):
        raise TypeError(
            "robots is a mapping from origins to responses, such as {'https://example.com': body}, "
            f"or a list with a response for each URL; it is not one {type(robots).__name__}"
        )


def _crawler_of(user_agent: Agent) -> UserAgent:
    """Return `user_agent` as a `UserAgent`."""
    if isinstance(user_agent, UserAgent):
        return user_agent
    return UserAgent.of(user_agent)


def _judged_by_rows(
    judge_of_all: Judge, urls: Sequence[str], robots: Sequence[Robots]
) -> list[bytearray]:
    """Return the answers for `urls`, as one bytearray for each crawler.

    Args:
        judge_of_all: a `Judge` for all crawlers.
        urls: the URLs.
        robots: a response for each URL.

    Raises:
        ValueError: `urls` and `robots` differ in length.
    """
    if len(robots) != len(urls):
        raise ValueError(
            f"the number of URLs is {len(urls)}, and the number of responses is {len(robots)}"
        )
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
    """Return the status and the body of the response `robots` to a robots.txt request.

    The status is None if no response came.

    Raises:
        TypeError: `robots` is neither a pair of a status and a body, nor a body, nor None.
    """
    if _is_missing(robots):
        return None, b""
    if isinstance(robots, _BYTES):
        return 200, bytes(robots)
    match robots:
        case (status, body) if isinstance(robots, tuple):  # A list would match the pattern, too.
            if _is_missing(body):
                return _status_of(status), b""
            if isinstance(body, _BYTES):
                return _status_of(status), bytes(body)
    raise TypeError(f"a response is (status, body), bytes or None, not {robots!r:.100}")


def _is_missing(value: object) -> bool:
    """Return whether `value` is None or NaN. A data frame may contain NaN in place of None."""
    return value is None or (isinstance(value, float) and isnan(value))


def _status_of(status: object) -> int | None:
    """Return a status as a number; None if no response came.

    Some tables contain a status as a text such as "200", or as a float such as 200.0.

    Raises:
        TypeError: `status` is neither a whole number in one of these forms, nor None or NaN.
    """
    if type(status) is int:
        return status
    if _is_missing(status):
        return None
    number = _STATUS.fullmatch(str(status))
    if number is None:
        raise TypeError(f"a status is a whole number such as 200, or None, not {status!r:.100}")
    return int(number[1])


def _url_text(url: object) -> str:
    """Return a URL as a text. If `url` is neither text nor bytes, return "", which is not a URL."""
    if isinstance(url, str):
        return url
    if isinstance(url, bytes):
        return as_text(url)
    return ""  # `url` is None or NaN, for example.
