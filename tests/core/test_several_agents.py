"""Several crawlers at once: the first that a group names, or all of them."""

import pickle
from typing import Any

import pytest

from scrapy_gbot_robots import Crawler, RobotsTxt
from scrapy_gbot_robots.core.crawlers import AllOf
from scrapy_gbot_robots.core.rules import takes_long, weight_of

BODY = (
    b"user-agent: googlebot\ndisallow: /google\ncrawl-delay: 2\n\n"
    b"user-agent: mybot\ndisallow: /mine\ncrawl-delay: 5\n\n"
    b"user-agent: *\ndisallow: /all\n"
)
ROBOTS = RobotsTxt.parse(BODY)


@pytest.mark.parametrize(
    ("names", "group"),
    [
        pytest.param(["mybot", "googlebot"], "mybot", id="first-named"),
        pytest.param(["nobot", "googlebot"], "googlebot", id="second-named"),
        pytest.param(["nobot", "otherbot"], "*", id="none-named"),
        pytest.param(["nobot", "Googlebot-Image"], "googlebot", id="google's-fall-back"),
        pytest.param(
            [b"Mozilla/5.0 (compatible; mybot/1; +url)", "googlebot"], "mybot", id="headers"
        ),
        pytest.param(["AdsBot-Google", "nobot"], "*", id="one-of-them-heeds-star"),
        pytest.param(["AdsBot-Google"], None, id="none-heeds-star"),
    ],
)
def test_first_of_several_names_that_has_a_group_is_followed(
    names: list[str | bytes], group: str | None
) -> None:
    assert ROBOTS.verdict("/x", Crawler.of(names)).group == group


@pytest.mark.parametrize(
    ("path", "allowed", "crawler", "line"),
    [
        pytest.param("/x", True, None, None, id="refused-to-none"),
        pytest.param("/google", False, "Googlebot", 2, id="refused-to-one"),
        pytest.param("/mine", False, "mybot", 6, id="refused-to-the-other"),
        pytest.param("/all", False, "nobot", 10, id="refused-by-star"),
    ],
)
def test_url_is_refused_to_all_if_it_is_refused_to_any(
    path: str, allowed: bool, crawler: str | None, line: int | None
) -> None:
    agents = AllOf(["mybot", Crawler.of("googlebot"), "nobot"])
    verdict = ROBOTS.verdict(path, agents)
    assert (verdict.allowed, verdict.crawler) == (allowed, crawler)
    assert (verdict.rule.line if verdict.rule else None) == line
    assert ROBOTS.allowed(path, agents) is allowed
    for _ in range(6):  # also once rules are indexed
        assert ROBOTS.rules_for(agents).allowed(path) is allowed


def test_crawler_without_a_name_is_refused_as_a_star() -> None:
    assert ROBOTS.verdict("/all", AllOf(["*", "mybot"])).crawler == "*"


def test_crawl_delay_is_of_first_that_groups_and_of_all_the_largest() -> None:
    assert ROBOTS.crawl_delay(Crawler.of(["nobot", "googlebot", "mybot"])) == 2
    assert ROBOTS.crawl_delay(AllOf(["nobot", "googlebot", "mybot"])) == 5
    assert ROBOTS.crawl_delay(AllOf(["nobot"])) is None


def test_rules_of_all_take_long_if_those_of_one_do() -> None:
    hard = RobotsTxt.parse(
        b"user-agent: mybot\n"
        + b"disallow: /*a*a*a*a*a*a*b\n" * 3_000
        + b"user-agent: *\ndisallow: /"
    )
    url = "/" + "a" * 100
    assert [
        takes_long(hard.rules_for(AllOf(names)), url) for names in (["nobot"], ["nobot", "mybot"])
    ] == [False, True]


def test_several_crawlers_are_a_value_that_can_be_a_key_and_pickled() -> None:
    assert {AllOf(["a", "b", "a"]): 1}[AllOf([b"a", Crawler.of("b")])] == 1
    assert AllOf(["a", "b"]).name == "a, b"
    assert Crawler.of(["Googlebot-News"]) == Crawler.of("Googlebot-News")
    assert Crawler.of(("a", "b", "A")) == Crawler("a, b, A", ("a", "b"))
    rules = ROBOTS.rules_for(AllOf(["mybot", "googlebot"]))
    assert weight_of(rules) > weight_of(ROBOTS.rules_for("mybot"))
    assert str(pickle.loads(pickle.dumps(rules)).verdict("/google")) == (  # noqa: S301
        'disallowed for Googlebot by "Disallow: /google" (line 2, group "googlebot")'
    )


@pytest.mark.parametrize(
    ("make", "value", "error", "said"),
    [
        (AllOf, [], ValueError, "no crawler is named"),
        (Crawler.of, [], ValueError, "no crawler is named"),
        (AllOf, "mybot", TypeError, "AllOf takes a list of crawlers, not one"),
        (Crawler.of, 7, TypeError, "not int"),
        (AllOf, [7], TypeError, "not int"),
    ],
)
def test_no_name_and_one_name_are_refused(
    make: Any, value: object, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        make(value)
