"""The types of the public API, as a user's type checker sees them: mypy checks this file, and pytest runs the test.

A line that must not pass carries a `type: ignore` with the error it has to give; mypy complains when it gives none.
"""

from collections.abc import Mapping

import pytest
from scrapy import Request
from scrapy.http import Response
from typing_extensions import assert_type

from scrapy_gbot_robots import (
    GbotRobotParser,
    GbotRobotsTxtMiddleware,
    Origin,
    RobotsSitemapSpider,
    RobotsTxt,
    Rule,
    Rules,
    SitemapDiscovery,
    UserAgent,
    Verdict,
)
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.policy.outages import State

ROBOTS = b"user-agent: a\ndisalow: /x\ncrawl-delay: 5\nsitemap: https://example.com/s.xml"
URL = "https://example.com/x"


def test_public_values_have_their_types() -> None:
    robots = assert_type(RobotsTxt.parse(bytearray(ROBOTS), max_bytes=None), RobotsTxt)
    assert_type(robots.allowed(URL.encode(), b"a"), bool)
    assert_type(robots.sitemaps, tuple[str, ...])
    assert_type(robots.crawl_delay("a"), "float | None")
    assert [assert_type(remark.text, str) for remark in robots.remarks]
    crawler = assert_type(UserAgent.of(b"Googlebot-Image/1.0"), UserAgent)
    assert_type(crawler.tokens, tuple[str, ...])
    rules = assert_type(robots.rules_for(UserAgent.of("a/1.0")), Rules)
    verdict = assert_type(rules.verdict(URL), Verdict)
    assert assert_type(verdict.rule, "Rule | None") == Rule(allow=False, pattern="/x", line=2)
    assert_type(verdict.group, "str | None")
    assert_type(verdict.reason, str)
    error = ForbiddenByRobotsTxt(verdict, Origin.of(URL), State.RULES)
    assert_type(error.verdict, Verdict)
    assert assert_type(error.origin, "Origin | None") == Origin.of(URL)
    assert assert_type(error.state, "State | None") is State.RULES
    assert_type(error.unreachable, bool)
    assert_type(GbotRobotParser(robots).allowed(URL, "a"), bool)


def test_what_is_wrong_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        RobotsTxt.parse("user-agent: *")  # type: ignore[arg-type]  # a robots.txt is bytes
    with pytest.raises(TypeError):
        RobotsTxt.parse(ROBOTS, True)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        RobotsTxt.parse(ROBOTS).verdict(URL, "a").allowed = True  # type: ignore[misc]  # a verdict does not change


async def check_what_a_crawl_makes(
    middleware: GbotRobotsTxtMiddleware,
    discovery: SitemapDiscovery,
    spider: RobotsSitemapSpider,
    request: Request,
) -> None:
    """Only the type checker looks at this."""
    _ = assert_type(await middleware.process_request(request), Request | Response | None)
    _ = assert_type(discovery.found, Mapping[str, list[str]])
    spider.on_host_without_sitemap("example.com", 404)  # type: ignore[arg-type]  # why is text
