"""Provenance: which robots.txt allowed a page."""

import re
import runpy
from collections.abc import Iterator
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response

from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.documentation import HOME
from ..support.web import Reply, Site, redirect

RULES = b"user-agent: testbot\nallow: /yes\ndisallow: /no\n"
ON = {"GBOT_ROBOTS_PROVENANCE": True}


@in_reactor
async def test_response_says_which_robots_txt_allowed_it() -> None:
    before = datetime.now(timezone.utc).replace(microsecond=0)
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site, Site({"/a": b"ok"}) as free:
        crawler = await crawl(
            Pages, ON, urls=[site.url("/yes"), site.url("/free"), site.url("/no"), free.url("/a")]
        )
        crawled = pages(crawler).crawled
        found = crawled[site.url("/yes")].meta["gbot_robots"]
        fetched = datetime.fromisoformat(found.pop("fetched"))
        assert before <= fetched <= datetime.now(timezone.utc)
        digest = sha256(RULES).hexdigest()
        allowed = {"line": 2, "group": "testbot", "override": None}
        assert found == {"robots": digest, "status": 200, **allowed}
        no_rule = crawled[site.url("/free")].meta["gbot_robots"]
        assert (no_rule["robots"], no_rule["line"], no_rule["group"]) == (digest, None, "testbot")
        none = crawled[free.url("/a")].meta["gbot_robots"]
        assert [none[key] for key in ("robots", "status", "line", "group")] == [
            None,
            404,
            None,
            None,
        ]


@in_reactor
async def test_proof_is_about_what_is_read_of_the_file_and_names_a_rule_without_a_path() -> None:
    body = b"user-agent: testbot\nallow:\n" + b"#" * 99
    with Site({"/robots.txt": body, "*": b"ok"}) as site:
        settings = {**ON, "GBOT_ROBOTS_MAX_BYTES": 50}
        crawler = await crawl(Pages, settings, urls=[site.url("/yes")])
    found = pages(crawler).crawled[site.url("/yes")].meta["gbot_robots"]
    assert (found["robots"], found["line"]) == (sha256(body[:50]).hexdigest(), 2)


@in_reactor
async def test_without_the_setting_meta_stays_as_it_is() -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(Pages, urls=[site.url("/yes")])
        assert "gbot_robots" not in pages(crawler).crawled[site.url("/yes")].meta


@in_reactor
async def test_provenance_is_about_the_url_that_answered() -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site, Site({"*": b"ok"}) as other:
        other.pages["/moved"] = redirect(site.url("/yes"))
        stale = {"gbot_robots": {"line": 99}, "dont_obey_robotstxt": True}
        unasked = Request(site.url("/unasked"), meta=stale, dont_filter=True)
        crawled = pages(await crawl(Pages, ON, urls=[other.url("/moved"), unasked])).crawled
        assert crawled[site.url("/yes")].meta["gbot_robots"]["line"] == 2
        assert "gbot_robots" not in crawled[site.url("/unasked")].meta


@pytest.mark.parametrize(
    ("override", "line", "group"),
    [
        pytest.param({"rules": "ignore"}, None, None, id="ignore"),
        pytest.param({"rules": "user-agent: *\n\nallow: /no"}, 3, "*", id="rules"),
    ],
)
@in_reactor
async def test_override_is_named_and_no_robots_txt_is(
    override: Any, line: int | None, group: str | None
) -> None:
    overrides = {"127.0.0.1": {**override, "reason": "contract"}}
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(
            Pages, {**ON, "GBOT_ROBOTS_OVERRIDES": overrides}, urls=[site.url("/no")]
        )
        found = pages(crawler).crawled[site.url("/no")].meta["gbot_robots"]
        assert (found["override"], found["line"], found["group"]) == ("127.0.0.1", line, group)
        assert (found["robots"], found["fetched"], found["status"]) == (None, None, None)


@in_reactor
async def test_unreachable_robots_txt_that_allows_is_said_to_be_none() -> None:
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as site:
        crawler = await crawl(
            Pages, {**ON, "GBOT_ROBOTS_UNREACHABLE": "allow"}, urls=[site.url("/yes")]
        )
        found = pages(crawler).crawled[site.url("/yes")].meta["gbot_robots"]
        assert (found["robots"], found["fetched"], found["status"]) == (None, None, 503)


@in_reactor
async def test_spider_middleware_of_the_recipes_puts_it_into_items(tmp_path: Path) -> None:
    page = (HOME / "docs" / "how-to.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n((?:(?!```).)*class WithProof.*?)```", page, re.DOTALL)
    file = tmp_path / "middlewares.py"
    file.write_text(block)
    settings = {**ON, "SPIDER_MIDDLEWARES": {runpy.run_path(str(file))["WithProof"]: 0}}

    class Items(Pages):
        def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
            self.items: list[dict[str, Any]] = [{"url": response.url}]
            yield from self.items

    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(Items, settings, urls=[site.url("/yes")])
    assert isinstance(crawler.spider, Items)
    (item,) = crawler.spider.items
    assert (item["robots"]["line"], item["robots"]["robots"]) == (2, sha256(RULES).hexdigest())
