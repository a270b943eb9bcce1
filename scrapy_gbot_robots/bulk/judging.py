"""URLs judged by what was served for their robots.txt: the answers, and the reasons.

The policy says what a status code or a failure means, as in a crawl. URLs of one site lie side by
side if they are sorted, and many sites serve the same file. So what was read of a robots.txt is
kept for the next URL and for the next site.
Source: as policy/outages.py and core/rules.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice
from math import isnan
from operator import index
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

from ..core.crawlers import Crawler
from ..core.lines import MAX_BYTES
from ..core.robots import RobotsTxt
from ..core.rules import Rules, preferences_of, weight_of
from ..core.url_forms import allowed_each_in_all_forms, as_sent, verdict_on_all_forms
from ..core.urls import ROBOTS_PATH, Origin, as_text, prefix_of
from ..core.verdict import MOST_SPECIFIC, ROBOTS_TXT_ITSELF, Verdict
from ..experimental.preferences import refusal
from ..policy.outages import Decision, Policy, State, decide, renew
from ..policy.outcome import Fetched, Outcome, Unavailable, Unreachable, outcome_of
from ..policy.overrides import Action, Override, Overrides

NO = 0
YES = 1
UNREACHABLE = 2  # no, until a definite answer comes
NO_URL = 3  # the text has no origin

_MEANING = (NO, YES, UNREACHABLE, None)
_WHOLE_SITE = {Action.IGNORE: YES, Action.DISALLOW: NO}
_STATUS = re.compile(r"[0-9]{3}")  # in text
# bytes of robots.txt files, and of memory, roughly, that their rules take
_MOST_HELD = 96 * 2**20
_MOST_READ_ONCE = 100_000  # files that are remembered

_BEHIND_SCHEME = len("https://")
_CACHED = 1_000  # URLs that a processor's cache holds

_ITSELF = Verdict(True, None, ROBOTS_TXT_ITSELF)
_NO_URL = Verdict(False, None, "no URL")
_NONE = [Rules()]
_ANY_SITE = "http://example.com"  # whose path is asked about


class BulkError(ValueError):
    """An archive, a list of URLs or a batch cannot be used; the message says which, and why."""


class Served(NamedTuple):
    """What was served for a robots.txt, redirects followed."""

    status: int | None  # the HTTP status code; None: there was no answer, or only part of one
    body: bytes = b""  # content-decoded
    cut: bool = False  # whether more was served than `body` has
    why: str = "robots.txt not asked yet"  # the reason in words, if `status` is None
    # whose wall has answered in place of the site, if more than the body shows that
    wall: str = ""
    # of a crawl, if there is one; then only `body` and `cut` count beside it
    decision: Decision | None = None


AllServed: TypeAlias = Served | Mapping[Origin, Served]  # one for all URLs, or each origin's
_NOT_ASKED = Served(None)

Robots: TypeAlias = "tuple[int | None, bytes] | bytes | None"
_FileKey: TypeAlias = tuple[object, ...]
Agent: TypeAlias = "str | bytes | Crawler"


def sites(urls: Sequence[str]) -> Iterator[tuple[Origin | None, Sequence[str]]]:
    """Yield the origin of URLs that lie side by side, and these URLs.

    Another spelling of an origin comes separately. For a text that is no URL the origin is None.
    """
    begin, key = 0, ""
    for end, url in enumerate(urls):
        if not key or not url.startswith(key):
            yield from _sites_of(key, urls[begin:end])
            begin, key = end, _key_of(url)
    yield from _sites_of(key, urls[begin:])


def _sites_of(key: str, urls: Sequence[str]) -> Iterator[tuple[Origin | None, Sequence[str]]]:
    """Yield URLs that begin with `key`, with their origin: together if they are of one site."""
    if _is_site(key):
        yield _origin_of(key), urls
        return
    for url in urls:
        yield _origin_of(url), [url]


def _key_of(url: str) -> str:
    """Return how a URL begins, up to and with the first slash of its path.

    For a URL in an odd form it is any text, "" for one without such a slash. Another URL that
    begins like that has the same key.
    """
    return url[: url.find("/", _BEHIND_SCHEME) + 1]


def _is_site(key: str) -> bool:
    """Whether `key` is scheme and authority of a URL, and clients read it as it is written."""
    if key == "" or prefix_of(key) != key:
        return False
    return as_sent(key) == key


def _by_key(urls: Sequence[Any]) -> tuple[dict[str, list[Any]], list[list[Any]]]:
    """Return the URLs by how they begin (`_key_of`), and for each URL the list in which it is.

    What is no text becomes text first.
    """
    by_key: defaultdict[str, list[Any]] = defaultdict(list)
    list_of_each: list[list[Any]] = []
    key, side_by_side = "", False  # whether the last URLs were of one site
    for begin in range(0, len(urls), _CACHED):
        texts = urls[begin : begin + _CACHED]
        try:
            _bring_near(texts)
        except TypeError:  # bytes, or no URL at all
            texts = [_as_text(url) for url in texts]
        for url in texts:
            # In a sorted column, a look at the beginning is enough for most URLs.
            if not (side_by_side and url.startswith(key)):
                before, key = key, _key_of(url)
                side_by_side = key != "" and key == before
                of_key = by_key[key]
            of_key.append(url)
            list_of_each.append(of_key)
    return by_key, list_of_each


def _bring_near(texts: Sequence[str]) -> None:
    """Bring texts that lie all over the memory into the processor's cache.

    This loop in C waits for several at a time; one in Python waits for each. It takes a third off.
    """
    "".join(texts)


def _put_answers(urls: list[Any], columns: Sequence[Sequence[Any]]) -> None:
    """Replace URLs by the answers to them, column by column.

    The last item is the first answer of the first column: they are taken from the end.
    """
    urls.clear()
    for column in reversed(columns):
        urls += reversed(column)


def _origin_of(url: str) -> Origin | None:
    """Return the origin that a client asks for `url`."""
    try:
        return Origin.of(url)
    except ValueError:
        sent = as_sent(url)
        return _origin_of(sent) if sent != url else None


class _File(NamedTuple):
    """A robots.txt whose rules decide, and the sites that have it."""

    served: Served
    sites: list[tuple[str, list[Any]]]  # how the URLs of each begin, and these URLs


@dataclass(eq=False)
class Judge:
    """Judges for `crawlers`, with the rules of the robots.txt files that it read last.

    Args:
        crawlers: the crawlers.
        policy: what statuses and failures mean; by default as in a crawl without settings.
        max_bytes: how many bytes of a robots.txt are read.
        overrides: an override counts if it is in force at `now`, in seconds since the epoch.
        purposes: what a crawl would be for; a URL is disallowed if its site refuses one of these.
    """

    crawlers: Sequence[Crawler]
    _: KW_ONLY
    policy: Policy = field(default_factory=Policy)
    max_bytes: int | None = MAX_BYTES
    overrides: Overrides | None = None
    now: float = 0.0
    purposes: Sequence[str] = ()
    _rules_read: dict[_FileKey, list[Rules]] = field(default_factory=dict, init=False)
    _held: int = field(default=0, init=False)
    _read_once: set[int] = field(default_factory=set, init=False)  # hashes of keys

    def judged(
        self,
        urls: Sequence[str | bytes | None],
        robots: AllServed,
        *,
        gives_reasons: bool = False,
    ) -> tuple[list[bytearray], list[list[Verdict]]]:
        """Judge URLs by one robots.txt, or by that of the origin of each.

        Returns for each crawler the answers, and if `gives_reasons` the verdicts that explain them,
        which take longer.
        """
        by_key, list_of_each = _by_key(urls)  # the lists get the answers in place of the URLs
        files: dict[_FileKey, _File] = {}
        one_by_one = gives_reasons or self.purposes
        for key, of_key in by_key.items():
            file = None
            if not one_by_one:
                file = self._file_of(key, robots, files)
            if file is None:
                self._judge_one_by_one(key, of_key, robots)
            else:
                file.sites.append((key, of_key))
        for file in files.values():
            self._judge_together(file)
        answers = [bytearray(map(list.pop, list_of_each)) for _ in self.crawlers]  # in C
        if not gives_reasons:
            return answers, []
        return answers, [list(map(list.pop, list_of_each)) for _ in self.crawlers]

    def _file_of(self, key: str, robots: AllServed, files: dict[_FileKey, _File]) -> _File | None:
        """Return the file whose rules alone decide about URLs that begin with `key`.

        It becomes one of `files`. Return None if there is none, or if the URLs are not of one site.
        """
        if not _is_site(key):
            return None
        origin = _origin_of(key)
        served, override = self._robots_of(origin, robots)
        if origin is None or override is not None:
            return None
        file = files.get(_file_key(served))
        if file is None and self.decision(served) is None:
            file = files[_file_key(served)] = _File(served, [])
        return file

    def _robots_of(
        self, origin: Origin | None, robots: AllServed
    ) -> tuple[Served, Override | None]:
        """Return what was served for the robots.txt of a site, and what is agreed with it."""
        served = robots if isinstance(robots, Served) else robots.get(origin, _NOT_ASKED)  # type: ignore[arg-type]
        if self.overrides and origin is not None:
            return served, self.overrides.of(origin, self.now)
        return served, None

    def _judge_together(self, file: _File) -> None:
        """Judge the URLs of all sites that have one robots.txt."""
        paths: list[str] = []
        for prefix, urls in file.sites:
            _bring_near(urls)
            slash = len(prefix) - 1
            paths += [url[slash:] for url in urls]
        answers_to = _answers_by_path
        if len(file.sites) == 1 and len(paths) <= _CACHED:  # hardly any path occurs twice
            answers_to = _answers
        columns = [iter(answers_to(rules, paths)) for rules in self._rules(file.served, None)]
        for _, urls in file.sites:
            _put_answers(urls, [list(islice(column, len(urls))) for column in columns])

    def _judge_one_by_one(self, key: str, urls: list[Any], robots: AllServed) -> None:
        """Judge URLs that begin with `key`, and say why."""
        columns: list[list[Any]] = [[] for _ in self.crawlers]
        verdicts: list[list[Any]] = [[] for _ in self.crawlers]
        for origin, of_site in _sites_of(key, urls):
            served, override = self._robots_of(origin, robots)
            whole = self._whole_site(origin, served, override)
            rules_of_each = _NONE * len(self.crawlers)
            if whole is None:
                rules_of_each = self._rules(served, override)
            for rules, answers, reasons in zip(rules_of_each, columns, verdicts, strict=True):
                for url in of_site:
                    answer, verdict = YES, _ITSELF
                    if not _is_robots_txt(url):
                        answer, verdict = whole or self._one(url, rules)
                        if override is not None:
                            verdict = override.named(verdict)
                    answers.append(answer)
                    reasons.append(verdict)
        _put_answers(urls, [*columns, *verdicts])

    def _one(self, url: str, rules: Rules) -> tuple[int, Verdict]:
        verdict = verdict_on_all_forms(rules, url)
        if self.purposes and verdict.allowed:
            verdict = refusal(self.purposes, preferences_of(rules, url)) or verdict
        return int(verdict.allowed), verdict

    def _whole_site(
        self, origin: Origin | None, robots: Served, override: Override | None
    ) -> tuple[int, Verdict] | None:
        """Return the answer to all URLs of a site, and why; None if rules decide."""
        if origin is None:
            return NO_URL, _NO_URL
        if override is not None and override.action in _WHOLE_SITE:
            answer = _WHOLE_SITE[override.action]
            return answer, Verdict(answer == YES, None, MOST_SPECIFIC)
        if override is not None and override.robotstxt is not None:
            return None
        decision = self.decision(robots)
        if decision is None:
            return None
        answer = NO
        if decision.state is State.FULL_ALLOW:
            answer = YES
        elif decision.temporary:
            answer = UNREACHABLE
        return answer, Verdict(answer == YES, None, decision.why)

    def decision(self, robots: Served) -> Decision | None:
        """Return what `robots` means if nothing else is known of it; None if its rules decide."""
        if robots.decision is not None:
            return None if robots.decision.state is State.RULES else robots.decision
        if _file_key(robots) in self._rules_read:
            return None
        status, soft_404 = robots.status, self.policy.soft_404
        outcome: Outcome
        if status is None:
            outcome = Unreachable(robots.why)
        elif robots.wall:
            outcome = Unavailable(status, "", f"HTTP {status} of {robots.wall}", wall=robots.wall)
        else:
            outcome = outcome_of(
                status, "", robots.body, soft_404=soft_404, proxied=False, headers={}
            )
            if isinstance(outcome, Fetched):
                return None
        return decide(renew(None, outcome, 0.0, self.policy), 0.0, self.policy)

    def parsed(self, robots: Served) -> RobotsTxt:
        """Read the robots.txt."""
        return RobotsTxt.parse(robots.body, max_bytes=self.max_bytes, cut=robots.cut)

    def _rules(self, robots: Served, override: Override | None) -> list[Rules]:
        """Return the rules that each crawler follows."""
        if override is not None:
            parsed = override.robotstxt or self.parsed(robots)
            return [parsed.rules_for(crawler) for crawler in self.crawlers]
        key = _file_key(robots)
        rules = self._rules_read.get(key)
        if rules is None:
            parsed = self.parsed(robots)
            rules = [parsed.rules_for(crawler) for crawler in self.crawlers]
            self._keep(key, rules, len(robots.body))
        return rules

    def _keep(self, key: _FileKey, rules: list[Rules], size: int) -> None:
        """Keep rules that are read for the second time: most files are met once."""
        if hash(key) not in self._read_once:
            if len(self._read_once) >= _MOST_READ_ONCE:
                self._read_once.clear()
            self._read_once.add(hash(key))
            return
        size += sum(map(weight_of, rules))
        self._held += size
        if self._held > _MOST_HELD:
            self._rules_read.clear()
            self._held = size
        self._rules_read[key] = rules


def _file_key(robots: Served) -> _FileKey:
    """Return what the rules, and that it is they that decide, depend on."""
    state = None
    if robots.decision is not None:
        state = robots.decision.state
    return robots.body, robots.status, robots.wall, state


def _answers(rules: Rules, paths: Sequence[str]) -> bytearray:
    """Return the answer to each path: YES or NO.

    It is that of `allowed_each_in_all_forms`, but for a robots.txt itself.
    """
    answers = allowed_each_in_all_forms(rules, paths)
    if ROBOTS_PATH in "".join(paths):  # in C
        for number, path in enumerate(paths):
            if path.startswith(ROBOTS_PATH) and _is_robots_txt(f"{_ANY_SITE}{path}"):
                answers[number] = YES
    return answers


def _answers_by_path(rules: Rules, paths: Sequence[str]) -> bytearray:
    """Return the answer to each path as `_answers`, which is asked about each path once."""
    different = list(dict.fromkeys(paths))
    answer_of = dict(zip(different, _answers(rules, different), strict=True))
    return bytearray(map(answer_of.__getitem__, paths))


def _is_robots_txt(url: str) -> bool:
    """Whether this is the URL of a robots.txt, which is never disallowed (RFC 9309 2.2.2)."""
    return Origin.of_robots_txt(url) is not None


def judge(
    urls: Sequence[str | bytes | None],
    robots: Mapping[str, Robots] | Mapping[Origin, Robots] | Sequence[Robots],
    agents: Agent | Sequence[Agent],
    *,
    unreachable: str = "google",
    refused: str = "allow",
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
        agents: the crawlers: product tokens, User-Agent headers or `Crawler`.
        unreachable: as GBOT_ROBOTS_UNREACHABLE.
        refused: as GBOT_ROBOTS_REFUSED.
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
    several = [agents] if isinstance(agents, (str, bytes, Crawler)) else agents
    crawlers = dict.fromkeys(map(_crawler_of, several))
    policy = Policy(unreachable, soft_404=soft_404, refused=refused)
    judges = Judge(list(crawlers), policy=policy, max_bytes=max_bytes)
    if isinstance(robots, Mapping):
        columns, _ = judges.judged(list(urls), _by_origin(robots))
    else:
        columns = _judged_by_rows(judges, list(urls), robots)
    return {
        crawler.name or "*": _in_words(column)
        for crawler, column in zip(crawlers, columns, strict=True)
    }


def _check_columns(urls: object, robots: object) -> None:
    """Raise TypeError for what is no list, and for one text in place of many."""
    if isinstance(urls, (str, bytes)) or not isinstance(urls, Iterable):
        raise TypeError(f"urls is a list of URLs, not one {type(urls).__name__}")
    if isinstance(robots, (str, bytes, bytearray, memoryview)) or not isinstance(robots, Sized):
        raise TypeError(
            "robots says which origin served what, such as {'https://example.com': body}, or has "
            f"a row for each URL; it is not one {type(robots).__name__}"
        )


def _crawler_of(agent: Agent) -> Crawler:
    if isinstance(agent, Crawler):
        return agent
    return Crawler.of(agent)


def _in_words(column: bytearray) -> list[int | None]:
    """Return the answers as `judge` gives them."""
    if NO_URL not in column:
        return list(column)
    return [_MEANING[answer] for answer in column]


def _by_origin(
    robots: Mapping[str, Robots] | Mapping[Origin, Robots],
) -> dict[Origin, Served]:
    return {
        key if isinstance(key, Origin) else Origin.of(key): _served(value)
        for key, value in robots.items()
    }


def _judged_by_rows(
    judges: Judge, urls: Sequence[str | bytes | None], robots: Sequence[Robots]
) -> list[bytearray]:
    """Return for each crawler the answers to URLs, each by what stands beside it in `robots`.

    Most files are in many rows, as one object.
    """
    if len(robots) != len(urls):
        raise ValueError(f"{len(urls)} URLs, and what was served for {len(robots)}")
    by_value: defaultdict[Any, list[Any]] = defaultdict(list)
    list_of_each: list[list[Any]] = []
    for url, value in zip(urls, robots, strict=True):
        try:
            of_value = by_value[value]
        except TypeError:  # such as a bytearray, which may change
            of_value = by_value[_served(value)]
        of_value.append(url)
        list_of_each.append(of_value)
    for served, of_value in by_value.items():
        columns, _ = judges.judged(of_value, _served(served))
        _put_answers(of_value, columns)
    return [bytearray(map(list.pop, list_of_each)) for _ in judges.crawlers]


def _served(robots: Robots | Served) -> Served:
    if isinstance(robots, Served):
        return robots
    if _is_missing(robots):
        return _NOT_ASKED
    if isinstance(robots, (bytes, bytearray, memoryview)):
        return Served(200, bytes(robots))
    if isinstance(robots, tuple) and len(robots) == 2:  # noqa: PLR2004
        status, body = robots
        return Served(_status_of(status), _body_of(body), why="no answer")
    raise TypeError(
        f"what was served is (status, body), bytes or None, not {type(robots).__name__}"
    )


def _is_missing(value: object) -> bool:
    """Whether this is None, or NaN, which stands for it in a data frame."""
    return value is None or (isinstance(value, float) and isnan(value))


def _status_of(status: object) -> int | None:
    """Return a status as a number: some tables have text or floats. None: there was no answer."""
    if type(status) is int:  # most are
        return status
    if _is_missing(status):
        return None
    if isinstance(status, str) and _STATUS.fullmatch(status):
        return int(status)
    if isinstance(status, float) and status.is_integer():
        return int(status)
    if isinstance(status, SupportsIndex) and not isinstance(status, bool):
        return index(status)  # such as an integer of numpy
    raise TypeError(f"a status is a whole number such as 200, or None, not {status!r:.100}")


def _body_of(body: object) -> bytes:
    if isinstance(body, bytes):
        return body
    if _is_missing(body):
        return b""
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body)
    raise TypeError(f"the body of a robots.txt is bytes or None, not {type(body).__name__}")


def _as_text(url: object) -> str:
    if isinstance(url, bytes):
        return as_text(url)
    if isinstance(url, str):
        return url
    return ""  # such as None, or what stands for it in a data frame
