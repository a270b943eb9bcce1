"""RobotsTxt and Rules as objects: wrong types, many agents, many questions, their memory, and pickles."""

import copy
import gc
import pickle
import random
import tracemalloc
from collections.abc import Callable
from string import ascii_lowercase

import pytest

from scrapy_gbot_robots import RobotsTxt, Rules, UserAgent
from scrapy_gbot_robots.core.robots import lines_of
from scrapy_gbot_robots.core.rules import preferences_of, weight_of

from ..support.rows import row, table

BODY = b"user-agent: *\ndisallow: /*secret\ndisallow: /no\nallow: /no/but\nnonsense"


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_body_may_be_any_kind_of_bytes(kind: type) -> None:
    assert not RobotsTxt.parse(kind(BODY)).allowed("https://e.com/no", "a")


def test_body_must_be_bytes_and_user_agent_and_url_text_or_bytes() -> None:
    with pytest.raises(TypeError, match="a robots.txt is bytes, not str"):
        RobotsTxt.parse("user-agent: *")  # type: ignore[arg-type]
    robots = RobotsTxt.parse(BODY)
    with pytest.raises(TypeError, match="user agent"):
        robots.allowed("https://e.com/", 7)  # type: ignore[arg-type]
    for _ in range(30):  # before and after the index is built
        with pytest.raises(TypeError, match="a URL is str or bytes, not int"):
            robots.allowed(7, "a")  # type: ignore[arg-type]
        robots.allowed("/", "a")


@table(
    "url, allowed",
    ("https://e.com/yes", True),
    ("https://e.com/no", False),
    ("https://e.com/no/but", True),
    ("https://e.com/a/secret", False),
    ("https://e.com/a/s%65cret", True),  # nothing is decoded
    ("https://e.com/a#secret", True),
    ("https://e.com/x/../no", True),  # each URL is judged as given
    ("https://e.com/caf\xe9/secret", False),
    (b"https://e.com/caf\xe9/secret", False),
    ("https://other.example/no", False),
)
def test_first_and_later_questions_get_the_same_answer(url: str | bytes, allowed: bool) -> None:
    rules = RobotsTxt.parse(BODY).rules_for(UserAgent.of("a"))
    answers = [rules.allowed(url) for _ in range(300)]  # at first the rules are tried one by one
    assert answers == [allowed] * 300
    others = RobotsTxt.parse(BODY).rules_for(UserAgent.of("a"))
    # by this the rules know how URLs of this origin begin
    assert all(others.allowed("https://e.com/yes") for _ in range(300))
    assert others.allowed(url) == allowed
    assert [rules.verdict(url).allowed for _ in range(3)] == [allowed] * 3


@pytest.mark.parametrize("many", [5, 30, 200])
@table(
    "rule",
    row("short", "disallow: /{0}"),
    row("long", "disallow: /{0}/{1}{1}{1}{1}{1}{1}{1}{1}"),
    row("needle", "disallow: /*{1}*{0}"),
    row("short-needle", "disallow: /*{0}"),
    row("hung", "disallow: /{1}/*{0}$"),
    row("index-page", "allow: /{1}/index.html"),
    row("allow", "allow: /{1}/*x*"),
    row("both", "allow: /{0}\ndisallow: /{0}"),
    row("no-rules", "# {0}"),
    row("paths-of-preferences", "content-usage: /{0} train-ai=n"),
    row("wildcards-of-preferences", "content-usage: /*{0}*{1} train-ai=n"),
    row("preferences", "content-usage: train-ai=n"),
    row("signals", "content-signal: search=no"),
)
def test_weight_is_the_memory_that_questions_and_verdicts_come_to(rule: str, many: int) -> None:
    source = random.Random(many)
    names = ["".join(source.choices(ascii_lowercase, k=12)) for _ in range(many)]
    lines = [rule.format(name[:4], name[4:]) for name in names]
    body = "\n".join(["user-agent: *", *lines]).encode()

    def asked() -> Rules:
        rules = RobotsTxt.parse(body).rules_for("a")
        for path in ["/nothing", f"/{names[0][4:]}/x{names[0][:4]}"] * 13:
            rules.allowed(f"https://e.com{path}")
            rules.verdict(f"https://e.com{path}")
        return rules

    def memory(make: Callable[[], object]) -> int:
        """The bytes that are allocated while `make` runs, and stay as long as what it returns."""
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        kept = make()
        gc.collect()
        measured = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        del kept
        return measured

    # The measurement itself takes memory, too: hypothesis, once it has run, notes the time of each
    # collection. And what a tracer notes of a file, it notes once: the least of three is without it.
    gc.collect()
    gc.freeze()  # to collect what is allocated from here on takes no time
    without = min(memory(object) for _ in range(3))
    measured = min(memory(asked) for _ in range(3)) - without
    assert 0.9 * measured < weight_of(asked()) < 4 * measured


def test_what_is_printed_says_what_it_is() -> None:
    robots = RobotsTxt.parse(b"user-agent: a\nuser-agent: b\nallow: /x\ndisallow: /", max_bytes=40)
    for cut in (robots, RobotsTxt.parse(bytes(40), cut=True)):
        assert repr(cut) == "<RobotsTxt of 40 bytes, cut>"


def test_fields_are_told_with_their_group() -> None:
    body = b"License: https://e.com/l\nuser-agent: a\nuser-agent: b\nx: 1\nallow: /\nX : 2 # c\nuser-agent: c\nx 3"
    robots = RobotsTxt.parse(body)
    assert robots.fields("x") == ((4, "1", ("a", "b")), (6, "2", ("a", "b")), (8, "3", ("c",)))
    assert robots.fields("LICENSE") == ((1, "https://e.com/l", ()),)
    assert robots.fields("user-agent")[2] == (7, "c", ("c",))
    assert robots.fields("") == robots.fields("é") == ()


def test_fields_may_be_any_bytes() -> None:
    all_bytes = bytes(range(256)).replace(b"\n", b"")
    odd = RobotsTxt.parse(all_bytes + b"\nx: \xff\xfe\xed\xa0\x80a\nx:\xe9")
    assert [line.value for line in odd.fields("x")] == ["%FF%FE%ED%A0%80a", "%E9"]


# Pickles hold the rules or the bytes, and nothing that can be built again from them.

ROBOTS = b"user-agent: *\ncrawl-delay: 2\ndisallow: /no\nallow: /no/index.html\ndisalow: /typo\ndisallow: /*.php$\ncontent-usage: /typo search=n\n"
URLS = ["/", "/no", "/no/", "/no/x", "/typo", "/a.php", "/a.php?x"] * 200


@pytest.mark.parametrize("body", [ROBOTS, ROBOTS.replace(b"*\n", b"other\n"), b"\n" * 300 + ROBOTS])
@pytest.mark.parametrize("asked", [False, True], ids=["never asked", "with an index"])
def test_rules_say_the_same_after_a_journey(body: bytes, asked: bool) -> None:
    rules = RobotsTxt.parse(body).rules_for("a")
    if asked:
        _ = [rules.verdict(url) for url in URLS]
    for again in (pickle.loads(pickle.dumps(rules)), copy.deepcopy(rules)):  # noqa: S301
        assert isinstance(again, Rules)
        assert [again.verdict(url) for url in URLS] == [rules.verdict(url) for url in URLS]
        assert [again.allowed(url) for url in URLS] == [rules.allowed(url) for url in URLS]
        for url in URLS:
            assert preferences_of(again, url) == preferences_of(rules, url)
        assert (again.crawl_delay, weight_of(again)) == (rules.crawl_delay, weight_of(rules))


def test_robots_txt_says_the_same_after_a_journey() -> None:
    robots = RobotsTxt.parse(ROBOTS, max_bytes=60)
    again = pickle.loads(pickle.dumps(robots))  # noqa: S301
    assert (lines_of(again), again.remarks) == (lines_of(robots), robots.remarks)
    assert "cut" in {remark.kind for remark in again.remarks}
    assert [again.verdict(url, "a") for url in URLS] == [robots.verdict(url, "a") for url in URLS]


def test_pickle_is_small_however_much_was_asked() -> None:
    lines = b"".join(b"disallow: /%d/*/x\n" % number for number in range(1_000))
    robots = RobotsTxt.parse(b"user-agent: *\n" + lines)
    rules = robots.rules_for("a")
    _ = [rules.verdict(url) for url in URLS]
    assert len(pickle.dumps(rules)) < 1.2 * len(lines)
    assert len(pickle.dumps(robots)) < 1.2 * len(lines)
