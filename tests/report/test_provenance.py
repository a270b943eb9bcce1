"""Provenance: which robots.txt allowed a page."""

from datetime import datetime, timezone
from hashlib import sha256
from typing import Any

from scrapy import Request

from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.rows import row, table
from ..support.web import Reply, Site, redirect

RULES = b"user-agent: testbot\nallow: /yes\ndisallow: /no\n"
ON = {"GBOT_ROBOTS_PROVENANCE": True}


DIGEST = sha256(RULES).hexdigest()
LONG = b"user-agent: testbot\nallow:\n" + b"#" * 99  # and a rule without a path
DIGEST_OF_50 = sha256(LONG[:50]).hexdigest()
CUT = {"GBOT_ROBOTS_MAX_BYTES": 50}
OPEN = {"GBOT_ROBOTS_UNREACHABLE": "allow"}


def overridden(rules: str) -> dict[str, Any]:
    return {"GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": {"rules": rules, "reason": "contract"}}}


IGNORED, OWN = overridden("ignore"), overridden("user-agent: *\n\nallow: /no")


@table(
    "served, own, path, proof",
    row("rule", RULES, {}, "/yes", (DIGEST, 200, 2, "testbot", None)),
    row("no-rule", RULES, {}, "/free", (DIGEST, 200, None, "testbot", None)),
    row("cut", LONG, CUT, "/yes", (DIGEST_OF_50, 200, 2, "testbot", None)),
    row("none", Reply(404), {}, "/yes", (None, 404, None, None, None)),
    row("unreachable", Reply(503), OPEN, "/yes", (None, 503, None, None, None)),
    row("ignored", RULES, IGNORED, "/no", (None, None, None, None, "127.0.0.1")),
    row("own-rules", RULES, OWN, "/no", (None, None, 3, "*", "127.0.0.1")),
)
@in_reactor
async def test_response_says_what_allowed_it(served: Any, own: Any, path: str, proof: Any) -> None:
    before = datetime.now(timezone.utc).replace(microsecond=0)
    with Site({"/robots.txt": served, "*": b"ok"}) as site:
        crawler = await crawl(Pages, {**ON, **own}, urls=[site.url(path)])
    found = pages(crawler).crawled[site.url(path)].meta["gbot_robots"]
    fetched = found.pop("fetched")
    fields = ("robots", "status", "line", "group", "override")
    assert found == dict(zip(fields, proof, strict=True))
    if found["status"] in {None, 503}:
        assert fetched is None
    else:
        assert before <= datetime.fromisoformat(fetched) <= datetime.now(timezone.utc)


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
