"""Bot walls and refusals in real crawls, by `GBOT_ROBOTS_ACCESS_DENIED`."""

import gzip
from contextlib import ExitStack

import pytest

from scrapy_gbot_robots.answers import events

from ..support.crawls import Pages, crawl, in_reactor, own_warnings, pages, stats
from ..support.web import Content, Reply, Site, redirect
from .scenarios import RULES

MOMENT = b"<!doctype html><title>Just a moment...</title><p>wait"
BIG = MOMENT + b"<p>wait" * 1_500_000

# What answers, whether it is a wall, and whether "disallow" refuses it.
SERVERS: dict[str, tuple[Content, bool, bool]] = {
    "cloudflare": (Reply(403, MOMENT, {"cf-mitigated": "challenge"}), True, True),
    "cloudflare-200": (Reply(200, MOMENT), True, True),
    "aws-waf": (Reply(202, b"", {"x-amzn-waf-action": "challenge"}), True, True),
    "aws-waf-captcha": (Reply(405, b"", {"x-amzn-waf-action": "captcha"}), True, True),
    "siteground": (Reply(202, b"<meta>", {"sg-captcha": "challenge"}), True, True),
    "anubis": (Reply(200, b"<html><title>Making sure you&#39;re not a bot!</title>"), True, True),
    "signatures": (Reply(401, b"", {"Accept-Signature": "sig=()"}), False, True),
    "behind-a-redirect": (redirect("/wall"), True, True),
    "10-mb": (Reply(200, BIG), True, True),
    "10-mb-gzip": (Reply(200, gzip.compress(BIG), {"Content-Encoding": "gzip"}), True, True),
    "401": (Reply(401), False, True),
    "402": (Reply(402), False, True),
    "403-with-rules": (Reply(403, RULES), False, True),
    "451": (Reply(451), False, True),
    "404": (Reply(404), False, False),
    "rules-after-a-page": (Reply(200, MOMENT + b"\nuser-agent: *\nallow: /"), False, False),
    "comment": (Reply(200, b"# Just a moment...\nuser-agent: *\nallow: /"), False, False),
}


@pytest.mark.parametrize("refused", ["allow", "disallow"])
@in_reactor
async def test_wall_and_refusal_mean_what_the_setting_says(
    refused: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_WARNED", 99)
    caplog.set_level("INFO")
    settings = {"GBOT_ROBOTS_ACCESS_DENIED": refused, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 30}
    with ExitStack() as stack:
        sites: dict[str, Site] = {}
        for name, (answer, _, _) in SERVERS.items():
            site = Site({"/robots.txt": answer, "/wall": Reply(200, MOMENT), "*": b"ok"})
            sites[name] = stack.enter_context(site)
        crawler = await crawl(Pages, settings, urls=[site.url("/free") for site in sites.values()])
    crawled = {name for name, site in sites.items() if site.url("/free") in pages(crawler).crawled}
    refusals = {name for name, (_, _, is_refused) in SERVERS.items() if is_refused}
    if refused == "allow":
        refusals.clear()
    assert crawled == SERVERS.keys() - refusals
    assert "gbot_robots/forbidden/unreachable" not in stats(crawler)  # nothing waits
    said = [line for line in own_warnings(caplog) if "bot wall" in line]
    warned = {
        name
        for name, site in sites.items()
        if site.url("/robots.txt was answered") in " ".join(said)
    }
    assert warned == {name for name, (_, is_wall, _) in SERVERS.items() if is_wall}
    assert stats(crawler)["gbot_robots/walls"] == len(said) == len(warned)
    assert all(f"GBOT_ROBOTS_ACCESS_DENIED = {refused!r}" in line for line in said)
    summary = f"{len(said)} answers of bot walls, not of the sites; GBOT_ROBOTS_ACCESS_DENIED decides what that means"
    assert summary in caplog.text
