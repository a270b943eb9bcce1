"""Columns of URLs and robots.txt files in, columns of answers out."""

import random
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest

from scrapy_gbot_robots import Origin, RobotsTxt, UserAgent
from scrapy_gbot_robots.bulk import judge
from scrapy_gbot_robots.bulk.judging import Judge, decision_on
from scrapy_gbot_robots.core.robots import groups_of
from scrapy_gbot_robots.core.url_forms import other_forms
from scrapy_gbot_robots.core.urls import origin_of_robots_txt
from scrapy_gbot_robots.policy.outages import Decision, Policy, State
from scrapy_gbot_robots.policy.overrides import read_overrides

from ..support.bounds import memory_below
from ..support.oracle import verdict_of
from ..support.rows import table

RULES = Decision(State.RULES, "", False, 1.0, 1.0)
ROBOTS = (
    b"user-agent: *\ndisallow: /no\nallow: /no/but\n\nuser-agent: googlebot\ndisallow: /google\n"
)


def test_each_crawler_has_a_column_and_falls_back_as_it_does_in_a_crawl() -> None:
    urls = ["https://a.example/no", "https://a.example/google"]
    header = "otherbot/2.0 (+https://other.example)"
    crawlers: list[Any] = ["Googlebot-Image/1.0", header, UserAgent.of("AdsBot-Google")]
    answers = judge(urls, {"https://a.example/": ROBOTS}, crawlers)
    assert answers == {"Googlebot-Image": [1, 0], "otherbot": [0, 1], "AdsBot-Google": [1, 1]}


def test_words_mean_what_the_settings_of_their_names_mean() -> None:
    ill: Any = [(500, b"<title>Page not found</title>")]
    assert judge(["https://a.example/"], ill, "a") == {"a": [1]}
    assert judge(["https://a.example/"], ill, "a", soft_404=False) == {"a": [2]}
    assert judge(["https://a.example/"], [(503, b"")], "a") == {"a": [2]}
    assert judge(["https://a.example/"], [(503, b"")], "a", unreachable="allow") == {"a": [1]}
    assert judge(["https://a.example/"], [(301, b"")], "a") == {"a": [1]}
    assert judge(["https://a.example/"], [(403, b"")], "a") == {"a": [1]}
    assert judge(["https://a.example/"], [(403, b"")], "a", access_denied="disallow") == {"a": [0]}


@table(
    "robots, no",
    ({}, 2),
    ({"https://a.example": None}, 2),
    ({"https://a.example": (None, b"")}, 2),
    ({"https://a.example": b"user-agent: *\ndisallow: /"}, 0),
)
def test_robots_txt_itself_is_never_disallowed(robots: Any, no: int) -> None:
    paths = ("", "robots.txt", "robots.txt#x", "robots.txt?x", "robots.txt.gz")
    urls = [f"https://a.example/{path}" for path in paths]
    assert judge(urls, robots, "a") == {"a": [no, 1, 1, no, no]}


def test_origin_is_one_in_every_spelling() -> None:
    urls = [
        "https://a.example/no",
        "HTTPS://A.Example/no",
        "https://a.example:443/no",
        "https://user:pass@a.example/no",
        "https://a.example",
        "https://a.example?no",
        "http://a.example/no",
        "https://a.example.:443/no",
    ]
    answers = judge(urls, {Origin.of("https://a.example"): ROBOTS}, "a")
    assert answers == {"a": [0, 0, 0, 0, 1, 1, 2, 2]}


@pytest.mark.parametrize("robots", [{"https://a.example": ROBOTS}, [ROBOTS] * 9])
def test_text_that_is_no_url_gets_no_answer_and_changes_no_other(robots: Any) -> None:
    no = ["mailto:a@a.example", None, "", "/no", "https://", "ü", "file://a.example/no"]
    urls = ["https://a.example/no", *no, b"https://a.example/no\xff"]
    assert judge(urls, robots, "a") == {"a": [0, *[None] * 7, 0]}


def test_urls_are_a_list() -> None:
    for urls, kind in ((None, "NoneType"), ("https://a.example/", "str")):
        with pytest.raises(TypeError, match=f"^urls is a list of URLs, not one {kind}$"):
            judge(urls, {}, "a")  # type: ignore[arg-type]


@table(
    "robots, error, said",
    ([ROBOTS], ValueError, "URLs is 2, and the number of responses is 1"),
    ({"nothing": ROBOTS}, ValueError, "not an absolute URL"),
    ({"https://a.example": 200}, TypeError, r"a response is \(status, body\), .* not 200"),
    ({"https://a.example": [200, ROBOTS]}, TypeError, r"a response is \(status, body\)"),
    ([(200, ROBOTS, "more")] * 2, TypeError, r"a response is \(status, body\)"),
    (ROBOTS, TypeError, "a mapping from origins to responses, .* it is not one bytes"),
    (None, TypeError, "a mapping from origins to responses, .* it is not one NoneType"),
    (
        iter([ROBOTS] * 2),
        TypeError,
        "a mapping from origins to responses, .* it is not one list_iterator",
    ),
    ([("OK", ROBOTS)] * 2, TypeError, "a status is a whole number .* not 'OK'"),
    ([("", ROBOTS)] * 2, TypeError, "a status is a whole number"),
    ([("2" * 5_000, ROBOTS)] * 2, TypeError, "a status is a whole number"),
    ([("٢٠٠", ROBOTS)] * 2, TypeError, "a status is a whole number .* not '٢٠٠'"),
    ([(200.5, ROBOTS)] * 2, TypeError, "a status is a whole number"),
    ([(True, ROBOTS)] * 2, TypeError, "a status is a whole number"),
    ([(200, "user-agent: *")] * 2, TypeError, r"a response is \(status, body\)"),
)
def test_what_does_not_fit_is_refused(robots: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        judge(["https://a.example/", "https://b.example/"], robots, "a")


def test_status_may_be_written_in_any_way_that_tables_have() -> None:
    nan = float("nan")

    rows: list[tuple[Any, int]] = [
        ((200, ROBOTS), 0),
        (("200", ROBOTS), 0),
        ((200.0, bytearray(ROBOTS)), 0),
        ((Decimal(200), ROBOTS), 0),
        (("404", None), 1),
        (("503", b""), 2),
        ((nan, nan), 2),
        (nan, 2),
    ]
    urls, robots = ["https://a.example/no"] * len(rows), [served for served, _ in rows]
    assert judge(urls, robots, "a") == {"a": [answer for _, answer in rows]}


def test_file_is_cut_at_its_limit() -> None:
    body = b"user-agent: *\ndisalow: /typo\n" + b"#" * 600_000 + b"\ndisallow: /late"
    robots = {"https://a.example": body}
    urls = ["https://a.example/typo", "https://a.example/late"]
    assert judge(urls, robots, "a") == {"a": [0, 1]}
    assert judge(urls, robots, "a", max_bytes=None) == {"a": [0, 0]}


def test_rules_are_kept_for_the_next_urls_as_far_as_memory_is_bounded() -> None:
    judge = Judge([UserAgent.of("a")])

    def judged(*numbers: int) -> None:
        for number in numbers:
            body = b"user-agent: a\n# %04d\n" % number + b"#" * 100_000
            judge.judged(["https://a.example/x"], decision_on(200, body, Policy()))

    with patch.object(RobotsTxt, "parse", wraps=RobotsTxt.parse) as parse:
        judged(1, 2, 1, 2, 1, 2, 1, 2)
    assert parse.call_count == 2
    with memory_below(6_000_000):  # of 20,000,000
        judged(*range(200))


def test_each_body_is_read_once_however_many_origins_serve_it() -> None:
    urls = [f"https://{number}.example/{path}" for number in range(50) for path in ("no", "yes")]
    robots = {f"https://{number}.example": ROBOTS for number in range(50)}
    with patch.object(RobotsTxt, "parse", wraps=RobotsTxt.parse) as parse:
        assert judge(urls, robots, "a") == {"a": [0, 1] * 50}
    assert parse.call_count == 1


@pytest.mark.parametrize("seed", range(12))
def test_urls_of_sites_that_share_files_get_the_answers_of_asking_one_by_one(seed: int) -> None:
    """Few words, so that rules begin, contain and outweigh one another, and paths come again."""
    source = random.Random(seed)
    words = ["a", "b", "ab", "ba", "a$", "a*b", "index.html", ""]
    shapes = ["/{}", "/{}", "/{}/{}", "/*{}", "/{}*{}$", "/{}$", "{}"]

    def line() -> str:
        kind = source.choice(["allow", "disallow", "disallow", "disallow"])
        return f"{kind}: {source.choice(shapes).format(*source.choices(words, k=2))}"

    def body() -> bytes:
        group = [line() for _ in range(source.choice([1, 2, 4, 50]))]
        group.append(source.choice(["disallow: /", ""]))
        return "\n".join(["user-agent: *", *group, "user-agent: b", line(), ""]).encode()

    bodies = [body() for _ in range(6)]
    groups = {body: groups_of(RobotsTxt.parse(body)) for body in bodies}
    odd = ["", "", "", "", "?", "/..", "#x", "%24", "\u00e9", "\n", "/robots.txt"]
    sites = ["https://1.example", "http://2.example:81", "ftp://3.example", "https://u@4.example"]
    sites += [" http://5.example", "https://6.example?"]
    served = {site.strip(" ?"): source.choice(bodies[:3]) for site in sites}
    urls = [
        f"{source.choice(sites)}/{source.choice(words)}{source.choice(['', '/', 'a'])}{source.choice(odd)}"
        for _ in range(300)
    ]
    urls += [f"{site}/robots.txt" for site in sites]

    def is_allowed(url: str, user_agents: tuple[bytes, ...], body: bytes) -> int:
        if origin_of_robots_txt(url) is not None:
            return 1
        forms = (url, *other_forms(url))
        return int(all(verdict_of(groups[body], form, user_agents).allowed for form in forms))

    def answers_by(files: list[bytes]) -> dict[str, list[int]]:
        rows = list(zip(urls, files, strict=True))
        return {
            "a": [is_allowed(url, (b"a", b"*"), body) for url, body in rows],
            "b": [is_allowed(url, (b"b", b"*"), body) for url, body in rows],
        }

    site_of = {url: next(site for site in sites if url.startswith(site)) for url in urls}
    by_site = answers_by([served[site_of[url].strip(" ?")] for url in urls])
    assert judge(urls, served, ["a", "b"]) == by_site
    raw = [url.encode() if number % 3 else url for number, url in enumerate(urls)]
    assert judge(raw, served, ["a", "b"]) == by_site
    beside = [source.choice(bodies) for _ in urls]
    assert judge(urls, beside, ["a", "b"]) == answers_by(beside)


def test_sites_with_one_body_get_what_was_decided_about_each() -> None:
    """A crawl may keep no body of a site that is refused, and an empty one of another."""
    closed = Decision(State.FULL_DISALLOW, "", False, 1.0, 1.0)
    decided = {1: RULES, 2: closed}
    for numbers in ((1, 2), (2, 1), (1, 2, 1)):
        urls = [f"https://{number}.example/x" for number in numbers]
        robots = {Origin.of(f"https://{number}.example"): decided[number] for number in numbers}
        (answers,) = Judge([UserAgent.of("a")]).judged(urls * 2, robots)
        assert list(answers) == [int(number == 1) for number in numbers] * 2


def test_columns_of_several_crawlers_and_their_reasons_stay_in_the_order_of_the_urls() -> None:
    urls = ["https://a.example/no", "no URL", "https://b.example/x", "https://a.example/google"]
    urls += ["https://a.example/robots.txt", "https://a.example/no/but", "HTTPS://a.example/no"]
    robots = {Origin.of("https://a.example"): decision_on(200, ROBOTS, Policy())}
    judge_of_both = Judge([UserAgent.of("a"), UserAgent.of("googlebot")])
    expected = [bytearray([0, 3, 2, 1, 1, 1, 0]), bytearray([1, 3, 2, 0, 1, 1, 1])]
    assert judge_of_both.judged(urls, robots) == expected
    explained = [judge_of_both.explained(url, robots) for url in urls]
    columns = zip(*expected, strict=True)
    assert [[answer for answer, _ in row] for row in explained] == list(map(list, columns))
    lines = [[verdict.rule and verdict.rule.line for _, verdict in row] for row in explained]
    none = [None, None]
    assert lines == [[2, None], none, none, [None, 6], none, [3, None], [2, None]]


def test_overrides_in_force_count_in_place_of_rules_and_are_named() -> None:
    agreed = {
        "a.example": {"rules": "User-agent: *\nDisallow: /own", "reason": "agreed"},
        "b.example": {"rules": "disallow", "reason": "asked to"},
        "c.example": {"rules": "ignore", "reason": "ours"},
        "e.example": {"rules": "disallow", "reason": "over", "until": "2020-01-01"},
    }
    expected = {
        "https://a.example/no": (1, "override for a.example (agreed): no rule matches"),
        "https://a.example/own": (0, "override for a.example (agreed)"),
        "https://a.example/robots.txt": (1, "a robots.txt itself is never disallowed"),
        "https://b.example/": (0, "override for b.example (asked to)"),
        "https://c.example/no": (1, "override for c.example (ours)"),
        "https://e.example/": (1, "no rule matches"),
        "https://e.example/no": (0, "most specific rule"),
    }
    judge_of_a = Judge([UserAgent.of("a")], overrides=read_overrides(agreed), now=1_790_000_000.0)
    served = decision_on(200, ROBOTS, Policy())
    (answers,) = judge_of_a.judged(list(expected), served)
    assert list(answers) == [answer for answer, _ in expected.values()]
    explained = [judge_of_a.explained(url, served) for url in expected]
    assert [(answer, verdict.reason) for ((answer, verdict),) in explained] == [*expected.values()]
