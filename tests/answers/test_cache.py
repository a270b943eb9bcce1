"""The answers in memory: the least recently used go first, and neither number nor real memory grows beyond its bound."""

import gc
import random
import time
import tracemalloc
from collections.abc import Sequence
from string import ascii_lowercase

import pytest
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin, RobotsTxt, UserAgent
from scrapy_gbot_robots.answers.answer import AnswerCache, CachedAnswer
from scrapy_gbot_robots.policy.outages import Copy, Decision, Entry, Kind, Policy, State, decide
from scrapy_gbot_robots.report.summary import CrawlCounts

from ..support.rows import row, table


def answer(name: str, weight: int = 1000) -> CachedAnswer:
    found = CachedAnswer(
        Origin.of(f"http://{name}.example/"), Decision(State.FULL_ALLOW, "", False, 0.0, 0.0)
    )
    found.weight = weight
    return found


def fetched(number: int, body: bytes, crawlers: Sequence[UserAgent]) -> tuple[CachedAnswer, Copy]:
    """The answer for a host with this robots.txt, which has the rules of `crawlers`; its copy."""
    origin, now = Origin.of(f"https://host-{number}.example"), time.time()
    copy = Copy(Kind.RULES, 200, origin.robots_url, body, False, "", now, now + 9_000)
    found = CachedAnswer(origin, decide(Entry(copy), now, Policy()))
    found.add_rules(RobotsTxt.parse(body), crawlers)
    return found, copy


def cached(cache: AnswerCache, names: Sequence[str]) -> str:
    return "".join(
        name for name in names if cache.get(Origin.of(f"http://{name}.example/")) is not None
    )


def test_answer_in_use_stays_and_a_new_one_takes_the_place_of_the_old_one() -> None:
    cache = AnswerCache(2)
    a, b, new = answer("a"), answer("b"), answer("a")
    for each in (a, b, new):
        cache.put(each)
    assert cache.get(b.origin) is b
    cache.put(answer("c"))
    assert cached(cache, "abc") == "bc"
    assert cache.get(b.origin) is b
    cache.put(new)
    assert cached(cache, "abc") == "ab"


@table(
    "put, left",
    row("just-enough-room", "a400 b300 c300", "abc"),
    row("a-byte-too-many", "a401 b300 c300", "bc"),
    row("two-go", "a10 b990 c990", "c"),
    row("newest-whatever-its-weight", "a10 b5000", "b"),
    row("and-the-one-after-it", "a10 b5000 c10", "c"),
    row("one-that-has-gone-counts-no-longer", "a600 b600 c300", "bc"),
    row("nor-does-one-that-was-replaced", "a600 a600 b400", "ab"),
)
def test_bytes_are_bounded(put: str, left: str) -> None:
    cache = AnswerCache(100, most_bytes=1000)
    for each in put.split():
        cache.put(answer(each[0], int(each[1:])))
    assert cached(cache, "abc") == left


def test_answer_that_learns_more_rules_later_takes_no_bytes_from_others() -> None:
    cache = AnswerCache(100, most_bytes=1000)
    learning = answer("a", 400)
    cache.put(learning)
    learning.weight = 900  # as it has learnt the rules of another user agent
    cache.put(answer("a", 400))
    for name in "bc":
        cache.put(answer(name, 400))
    assert cached(cache, "abc") == "bc"


# Memory


def test_of_long_rules_for_many_user_agents_those_of_the_last_16_stay() -> None:
    short = [UserAgent.of(f"short{letter}") for letter in ascii_lowercase[:20]]
    long = [UserAgent.of(f"long{letter}") for letter in ascii_lowercase]
    robotstxt = RobotsTxt.parse(
        "\n".join(
            [
                *("user-agent: short" + letter for letter in ascii_lowercase[:20]),
                "disallow: /x",
                *("user-agent: long" + letter for letter in ascii_lowercase),
                *(f"disallow: /{number}/" for number in range(2000)),
            ]
        ).encode()
    )
    learning = CachedAnswer(
        Origin.of("http://a.example/"), Decision(State.RULES, "", False, 0.0, 0.0)
    )
    learning.add_rules(robotstxt, short)
    assert all(learning.knows(user_agent) for user_agent in short)
    learning.add_rules(robotstxt, long)
    assert [user_agent for user_agent in (*short, *long) if learning.knows(user_agent)] == long[
        -16:
    ]


BOUND = 2**19
MIXED = ["disallow: /{0}/", "disallow: /*{0}*{1}", "allow: /{0}/{1}$", "disallow: /*{1}"]
ASKED = ["/nothing", "/a/b/c.html?d=e", "/index.html", "/" + "xyz" * 20]


def body_of(lines: Sequence[str], many: int, source: random.Random) -> bytes:
    words = ["".join(source.choices(ascii_lowercase, k=8)) for _ in range(many + 1)]
    rules = (
        lines[number % len(lines)].format(words[number], words[number + 1])
        for number in range(many)
    )
    return "\n".join(["user-agent: *", *rules]).encode()


def ask(answer: CachedAnswer, user_agents: Sequence[UserAgent]) -> None:
    """Ask until the rules have built all that they build."""
    for path in ASKED * 20:
        url = f"{answer.origin}{path}"
        for user_agent in user_agents:
            assert answer.verdict(url, user_agent).allowed == answer.allowed(url, user_agent)
            answer.preferences(url, user_agent)


@table(
    "lines, many, user_agents",
    row("ordinary", ["disallow: /{0}/"], 10, 1),
    row("no-rules-for-many-agents", ["# {0}"], 1, 60, marks=pytest.mark.slow),
    row("many-mixed-rules", MIXED, 150, 1),
    row("wildcards-for-three-agents", ["disallow: /*{0}*{1}"], 20, 3),
    row("index-pages", ["allow: /{0}/index.html"], 60, 1),
    row("paths-of-preferences", ["content-usage: /{0} train-ai=n"], 60, 1),
    row("preferences", ["content-usage: ai-use=n", "content-signal: search=no"], 500, 1),
)
def test_cached_answers_take_no_more_than_the_bound(
    lines: list[str], many: int, user_agents: int
) -> None:
    source = random.Random(many)
    crawlers = [
        UserAgent.of("bot" + ascii_lowercase[number % 26] * (1 + number // 26))
        for number in range(user_agents)
    ]
    bodies = [body_of(lines, many, source) for _ in range(60)]

    def asked(number: int) -> CachedAnswer:
        answer, _ = fetched(number, bodies[number % 60], crawlers)
        ask(answer, crawlers)
        return answer

    asked(0)  # imports modules, and fills caches of others
    cache, number = AnswerCache(10_000, BOUND), 0
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    weight = 0
    while weight <= BOUND:  # until one must go
        cache.put(newest := asked(number))
        weight += newest.weight
        number += 1
    gc.collect()
    measured = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert number > 3
    assert BOUND / 5 < measured < 1.2 * BOUND


def test_host_that_is_done_is_five_objects_to_the_garbage_collector() -> None:
    """It looks at all of them again and again: a crawl of 10,000 hosts spends half of its time so."""
    cache, counts = AnswerCache(10_000), CrawlCounts(get_crawler())
    crawler = UserAgent.of("a")

    def crawl(number: int) -> None:
        url = f"https://host-{number}.example/"
        answer, copy = fetched(number, b"user-agent: *\ndisallow: /no", [crawler])
        cache.put(answer)
        counts.count_answer(answer, copy)
        asked = cache.get(Origin.of(url))
        assert asked is not None
        assert asked.allowed(url, crawler)

    crawl(0)
    gc.collect()
    before = len(gc.get_objects())
    for number in range(1, 1001):
        crawl(number)
    gc.collect()
    assert round((len(gc.get_objects()) - before) / 1000) == 5
