"""Overrides in real crawls: what each does, what is fetched and counted, and how wrong ones stop a crawl."""

import time
from contextlib import ExitStack
from datetime import datetime, timezone
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_gbot_robots import Origin, UserAgent
from scrapy_gbot_robots.answers.answer import CachedAnswer
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.policy.overrides import decision_by, read_overrides
from scrapy_gbot_robots.signals import override_used

from ..support.clock import DAY, Clock
from ..support.crawls import Pages, as_scrapy_runs_it, crawl, in_reactor, own_warnings, pages, stats
from ..support.rows import row, table
from ..support.sitemap_web import Hosts
from ..support.visits import visiting
from ..support.web import Reply, Site, redirect

RULES = b"user-agent: otherbot\ndisallow: /other\n\nuser-agent: *\ndisallow: /no\ncrawl-delay: 3\n"
PATHS = ("/yes", "/no", "/other", "/own")


def paths_of(crawler: Crawler, site: Site) -> set[str]:
    here = site.url("")
    return {url.removeprefix(here) for url in pages(crawler).crawled if url.startswith(here)}


@in_reactor
async def test_each_host_obeys_its_override_and_is_not_asked_for_its_robots_txt() -> None:
    with ExitStack() as stack:
        hosts = [f"127.0.0.{number}" for number in (1, 2, 3, 6, 9)]
        ignored, never, text, late, below = sites = [
            stack.enter_context(Site({"/robots.txt": RULES, "*": b"ok"}, host=host))
            for host in hosts
        ]
        late.pages["/robots.txt"] = below.pages["/robots.txt"] = Reply(503)
        overrides = {
            ignored.url(""): {"rules": "ignore", "reason": "contract", "until": "2999-12-31"},
            "127.0.0.2": {"rules": "disallow", "reason": "asked us to stop"},
            text.url("/"): {"rules": "User-agent: *\nDisallow: /own", "reason": "served too late"},
            "127.0.0.6": {"rules": "User-agent: *\nDisallow: /own", "reason": "often away"},
            "127.0.0.9": {"rules": "ignore", "reason": "partner"},
            "127.0.0.7": {"rules": "ignore", "reason": "nobody is there"},
        }
        settings = {
            "GBOT_ROBOTS_OVERRIDES": overrides,
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 3600,  # which no request of these hosts waits
        }
        uses: list[tuple[str, bool]] = []
        hears: dict[object, Any] = {
            override_used: lambda override, refusal: uses.append(
                (override.key, refusal is not None)
            )
        }
        urls = [site.url(path) for site in sites for path in PATHS]
        crawler = await crawl(Pages, settings, hears=hears, urls=urls)
        assert [paths_of(crawler, site) for site in sites] == [
            {"/yes", "/no", "/other", "/own"},
            set(),
            {"/yes", "/no", "/other"},
            {"/yes", "/no", "/other"},
            {"/yes", "/no", "/other", "/own"},
        ]
        assert never.paths() == []
        assert not any("/robots.txt" in site.paths() for site in sites)
        assert stats(crawler, "gbot_robots/override/") == {
            "ignored": 8,
            "disallowed": 4,
            "rules": 8,
        }
        assert stats(crawler, "gbot_robots/origins/") == {}  # they count robots.txt files
        assert "gbot_robots/requests/held" not in stats(crawler)
        said = {url: str(error.verdict) for url, error in refusals(crawler).items()}
        assert said[never.url("/yes")] == "disallowed: override for 127.0.0.2 (asked us to stop)"
        assert said[late.url("/own")] == (
            'disallowed by "Disallow: /own" (line 2, group "*"): override for 127.0.0.6 (often away)'
        )
        assert len(uses) == 20
        assert {key for key, refused in uses if refused} == {
            "127.0.0.2", text.url("/"), "127.0.0.6"
        }  # fmt: skip


@as_scrapy_runs_it
async def test_override_that_runs_out_leaves_the_site_to_its_robots_txt(
    site: Site, clock: Clock
) -> None:
    today = datetime.fromtimestamp(time.time(), timezone.utc).date()
    ends = {"rules": "disallow", "reason": "asked us to stop", "until": str(today)}
    async with visiting(GBOT_ROBOTS_OVERRIDES={"127.0.0.1": ends}) as visitor:
        assert not await visitor.may(site.url("/yes"))
        clock.goes_on(DAY)
        assert await visitor.may(site.url("/yes"))
        assert not await visitor.may(site.url("/no"))
    assert stats(visitor.crawler, "gbot_robots/origins/") == {"rules": 1}


@in_reactor
async def test_own_rules_are_read_for_each_user_agent_that_asks() -> None:
    rules = "user-agent: otherbot\ndisallow: /x\n\nuser-agent: *\ndisallow: /y"
    overrides = {"127.0.0.1": {"rules": rules, "reason": "agreed"}}
    with Site({"*": b"ok"}) as site:
        urls = [
            Request(site.url(f"/{path}?{user_agent}"), headers={"User-Agent": user_agent})
            for user_agent in ("otherbot", "mybot")
            for path in ("x", "y")
        ]
        settings = {"GBOT_ROBOTS_OVERRIDES": overrides, "ROBOTSTXT_USER_AGENT": None}
        crawler = await crawl(Pages, settings, urls=urls)
        assert paths_of(crawler, site) == {"/y?otherbot", "/x?mybot"}


def refusals(crawler: Crawler) -> dict[str, ForbiddenByRobotsTxt]:
    refused = pages(crawler).refused.items()
    return {url: error for url, error in refused if isinstance(error, ForbiddenByRobotsTxt)}


@in_reactor
async def test_spider_s_own_request_for_a_robots_txt_gets_the_site_s_own_and_a_disallowed_host_is_asked_for_nothing(
    site: Site,
) -> None:
    with Site({"*": b"ok"}, host="127.0.0.2") as never:
        overrides = {
            "127.0.0.1": {"rules": "user-agent: *\ndisallow: /own", "reason": "late"},
            "127.0.0.2": {"rules": "disallow", "reason": "asked us to stop"},
        }
        settings = {"GBOT_ROBOTS_OVERRIDES": overrides}
        urls = [each.url("/robots.txt") for each in (site, never)]
        crawler = await crawl(Pages, settings, urls=urls)
        await crawl(Hosts, settings, hosts=f"127.0.0.2:{never.port}")  # by no scheme
        assert never.asked == []
    assert pages(crawler).crawled[urls[0]].body == RULES
    refusal = str(refusals(crawler)[urls[1]])
    assert refusal.endswith("disallowed: override for 127.0.0.2 (asked us to stop)")


@in_reactor
async def test_crawl_delay_of_own_rules_counts_if_that_is_on(site: Site) -> None:
    rules = "user-agent: *\ncrawl-delay: 9"
    overrides = {"127.0.0.1": {"rules": rules, "reason": "their wish"}}
    settings = {"GBOT_ROBOTS_OVERRIDES": overrides, "GBOT_ROBOTS_CRAWL_DELAY": 0.01}
    crawler = await crawl(Pages, settings, urls=[site.url("/no")])
    assert stats(crawler)["gbot_robots/crawl_delay"] == 1


PAST = {"rules": "ignore", "reason": "x", "until": "2020-02-29"}


@in_reactor
async def test_log_names_at_the_start_what_is_in_force_and_what_has_run_out_and_is_not_applied(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "scrapy_gbot_robots.answers.events")
    overrides = {
        "a.example": {"rules": "user-agent: *\ndisallow: /x", "reason": "mail"},
        "b.example": {"rules": "ignore", "reason": "contract 17", "until": "2999-01-01"},
        "127.0.0.1": PAST,
    }
    settings = {"GBOT_ROBOTS_OVERRIDES": overrides}
    crawler = await crawl(Pages, settings, urls=[site.url("/no"), site.url("/no/2")])
    assert len(refusals(crawler)) == 2
    told = [record for record in caplog.records if "OVERRIDES" in record.getMessage()]
    assert [(record.levelname, record.getMessage()) for record in told] == [
        (
            "WARNING",
            "GBOT_ROBOTS_OVERRIDES: 1 run out and not applied: "
            "'127.0.0.1': ignore until 2020-02-29 (x)",
        ),
        (
            "INFO",  # those first that run out first
            "GBOT_ROBOTS_OVERRIDES: 2 in force: 'b.example': ignore until 2999-01-01 "
            "(contract 17), 'a.example': own rules (mail)",
        ),
    ]
    caplog.clear()
    await crawl(Pages, {"GBOT_ROBOTS_OVERRIDES": {f"h{n}.example": PAST for n in range(1_000)}})
    (warning,) = own_warnings(caplog)
    assert "1000 run out and not applied: 'h0.example': ignore until 2020-02-29 (x), 'h1" in warning
    assert len(warning) < 3_000


@in_reactor
async def test_wrong_override_stops_the_crawl_at_its_start() -> None:
    wrong = r"\['127.0.0.1'\]\['reason'\] must be a text that says why, got None"
    with pytest.raises(ValueError, match=wrong):
        await crawl(Pages, {"GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": {"rules": "ignore"}}})


# Several crawlers

TWO = b"user-agent: otherbot\ndisallow: /other\n\nuser-agent: mybot\ndisallow: /mine\n\nuser-agent: *\ndisallow: /\n"


@in_reactor
async def test_first_crawler_that_a_group_names_counts(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {
        "GBOT_ROBOTS_USER_AGENTS": ["nobot", "mybot", "otherbot"],
        "USER_AGENT": "Mozilla/5.0",
    }
    site.pages["/robots.txt"] = TWO
    urls = [site.url(path) for path in ("/yes", "/mine", "/other")]
    crawler = await crawl(Pages, settings, urls=urls)
    assert paths_of(crawler, site) == {"/yes", "/other"}
    assert {url.rpartition("/")[2] for url in refusals(crawler)} == {"mine"}
    assert own_warnings(caplog) == []  # the User-Agent does not count, so nothing is said of it


def test_rules_of_an_override_that_has_run_out_are_not_those_of_the_next_one() -> None:
    origin, crawler = Origin.of("https://a.example"), UserAgent.of("mybot")
    fields = {"reason": "a contract"}
    overrides = read_overrides(
        {
            "https://a.example": {"rules": "user-agent: *\ndisallow: /old", **fields},
            "a.example": {"rules": "user-agent: *\ndisallow: /new", **fields},
        }
    )
    now = None
    for override in overrides.values():
        now = CachedAnswer(origin, decision_by(override), override=override, before=now)
        assert override.robotstxt is not None
        now.add_rules(override.robotstxt, [crawler])
    assert now is not None
    urls = ("https://a.example/old", "https://a.example/new")
    assert [now.allowed(url, crawler) for url in urls] == [True, False]


@in_reactor
async def test_redirect_to_a_site_that_an_override_disallows_is_not_followed(log: Any) -> None:
    asked_to_stop = {"rules": "disallow", "reason": "asked us to stop"}
    with Site({"*": b"ok"}) as site, Site({"/robots.txt": b"", "*": b"ok"}) as never:
        site.pages["/robots.txt"] = redirect(never.url("/robots.txt"))
        settings = {
            "GBOT_ROBOTS_OVERRIDES": {never.url("").rstrip("/"): asked_to_stop},
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600,
            "CLOSESPIDER_TIMEOUT": 60,  # It ends much sooner, because it does not wait.
        }
        crawler = await crawl(Pages, settings, urls=[site.url("/page"), site.url("/page?2")])
        assert never.paths() == []
        assert site.paths() == ["/robots.txt"]  # No second try: the override would end it, too.
    (error, _) = pages(crawler).refused.values()
    assert isinstance(error, ForbiddenByRobotsTxt)
    assert error.unreachable
    (text,) = [each for each in own_warnings(log) if "Could not fetch" in each]
    assert (
        f"an override disallows the site to which it redirects ({never.url('/robots.txt')}" in text
    )


@in_reactor
async def test_redirect_to_a_site_with_another_override_is_followed() -> None:
    agreed = {"rules": "ignore", "reason": "contract"}
    with Site({"*": b"ok"}) as site, Site({"/robots.txt": SHOP}) as other:
        site.pages["/robots.txt"] = redirect(other.url("/robots.txt"))
        settings = {"GBOT_ROBOTS_OVERRIDES": {other.url("").rstrip("/"): agreed}}
        crawler = await crawl(Pages, settings, urls=[site.url("/cart"), site.url("/free")])
        assert paths_of(crawler, site) == {"/free"}


SHOP = b"user-agent: *\ndisallow: /internal/\ndisallow: /cart\ndisallow: /*?sort=\ncrawl-delay: 3\n"
FEED = {"allow": ["/internal/feed/"], "reason": "mail of the owner", "until": "2999-12-31"}


@in_reactor
async def test_agreed_path_is_fetched_and_the_rules_of_the_site_go_on_counting(log: Any) -> None:
    forbidden = ("/cart/1", "/internal/admin", "/products/?sort=price", "/internal/feed")
    free = ("/products/1", "/internal/feed/1", "/internal/feed/2")
    uses: list[tuple[str, Any]] = []
    hears: dict[object, Any] = {
        override_used: lambda override, refusal: uses.append((override.reason, refusal))
    }
    with Site({"/robots.txt": SHOP, "*": b"ok"}) as site:
        settings = {
            "GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": FEED},
            "GBOT_ROBOTS_PROVENANCE": True,
        }
        urls = [site.url(path) for path in (*free, *forbidden)]
        crawler = await crawl(Pages, settings, hears=hears, urls=urls)
        assert paths_of(crawler, site) == set(free)
        assert site.paths().count("/robots.txt") == 1
        proofs = {
            page.url.removeprefix(site.url("")): page.meta["gbot_robots"]
            for page in pages(crawler).crawled.values()
        }
    assert stats(crawler, "gbot_robots/override/") == {"allowed": 2}
    assert uses == [("mail of the owner", None)] * 2
    assert proofs["/products/1"]["override"] is None
    of_feed = proofs["/internal/feed/1"]
    assert (of_feed["override"], of_feed["line"], of_feed["group"]) == ("127.0.0.1", None, "*")
    assert of_feed["robots"] == proofs["/products/1"]["robots"] is not None
    assert own_warnings(log) == []


@in_reactor
async def test_agreed_path_that_has_run_out_counts_no_more(log: Any) -> None:
    with Site({"/robots.txt": SHOP, "*": b"ok"}) as site:
        settings = {"GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": {**FEED, "until": "2020-01-01"}}}
        crawler = await crawl(Pages, settings, urls=[site.url("/internal/feed/1")])
    assert paths_of(crawler, site) == set()
    text, _ = own_warnings(log)
    assert "run out and not applied: '127.0.0.1': allow /internal/feed/ until 2020-01-01" in text


@in_reactor
async def test_agreed_path_waits_in_an_outage_and_is_free_where_there_is_no_robots_txt() -> None:
    settings = {"GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": FEED, "127.0.0.2": FEED, "127.0.0.3": FEED}}
    denied = {"GBOT_ROBOTS_ACCESS_DENIED": "disallow"}
    with Site({"*": b"ok"}) as ill, Site({"*": b"ok"}, host="127.0.0.2") as none:
        ill.pages["/robots.txt"], none.pages["/robots.txt"] = Reply(503), Reply(404)
        with Site({"/robots.txt": Reply(403), "*": b"ok"}, host="127.0.0.3") as closed:
            sites = (ill, none, closed)
            urls = [site.url(path) for site in sites for path in ("/internal/feed/1", "/cart")]
            crawler = await crawl(Pages, {**settings, **denied}, urls=urls)
            found = [paths_of(crawler, site) for site in sites]
    assert found == [set(), {"/internal/feed/1", "/cart"}, {"/internal/feed/1"}]
    assert stats(crawler, "gbot_robots/override/") == {"allowed": 1}


@in_reactor
async def test_rules_that_forbid_nothing_are_warned_of_at_the_start(log: Any) -> None:
    rules = "User-agent: *\nAllow: /internal/feed/"
    with Site({"/robots.txt": SHOP, "*": b"ok"}) as site:
        overrides = {"127.0.0.1": {"rules": rules, "reason": "mail of the owner"}}
        await crawl(Pages, {"GBOT_ROBOTS_OVERRIDES": overrides}, urls=[site.url("/cart")])
    (text,) = own_warnings(log)
    assert '"allow": ["/internal/feed/"]' in text
    assert '"ignore"' in text


@table(
    "settings, is_told",
    row("default", {}, True),
    row("named", {"ROBOTSTXT_USER_AGENT": "otherbot"}, False),
    row("asked-as", {"GBOT_ROBOTS_USER_AGENTS": ["a-bot", "otherbot"]}, False),
)
@in_reactor
async def test_rules_for_other_crawlers_alone_are_warned_of_at_the_start(
    settings: dict[str, Any], is_told: bool, log: Any
) -> None:
    rules = "User-agent: otherbot\nDisallow: /cart"
    overrides = {"127.0.0.1": {"rules": rules, "reason": "mail of the owner"}}
    with Site({"*": b"ok"}) as site:
        settings = {**settings, "GBOT_ROBOTS_OVERRIDES": overrides}
        crawler = await crawl(Pages, settings, urls=[site.url("/cart")])
    assert len(pages(crawler).crawled) == is_told
    warnings = [each for each in own_warnings(log) if "OVERRIDES" in each]
    assert len(warnings) == is_told
    for text in warnings:
        assert "have no group for testbot" in text
