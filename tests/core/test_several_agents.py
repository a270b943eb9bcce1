"""Several names of a crawler: the first that a group names counts."""

from typing import Any

import pytest

from scrapy_gbot_robots import Crawler, RobotsTxt

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
        pytest.param([b"Mozilla/5.0 (compatible; mybot/1; +url)", "googlebot"], "mybot", id="headers"),
        pytest.param(["AdsBot-Google", "nobot"], "*", id="one-of-them-heeds-star"),
        pytest.param(["AdsBot-Google"], None, id="none-heeds-star"),
    ],
)  # fmt: skip
def test_first_of_several_names_that_has_a_group_is_followed(
    names: list[str | bytes], group: str | None
) -> None:
    assert ROBOTS.verdict("/x", Crawler.of(names)).group == group


def test_crawl_delay_is_that_of_the_group_that_is_followed() -> None:
    assert ROBOTS.crawl_delay(Crawler.of(["nobot", "googlebot", "mybot"])) == 2


def test_several_names_are_a_value_that_can_be_a_key() -> None:
    assert Crawler.of(["Googlebot-News"]) == Crawler.of("Googlebot-News")
    assert Crawler.of(("a", "b", "A")) == Crawler("a, b, A", ("a", "b"))


@pytest.mark.parametrize(
    ("names", "error", "text"),
    [([], ValueError, "no crawler is named"), (7, TypeError, "not int")],
)
def test_no_name_and_what_is_no_name_are_refused(
    names: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Crawler.of(names)
