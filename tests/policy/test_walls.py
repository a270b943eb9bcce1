"""Which answers are a bot wall's, and what they mean."""

import gzip
import os
import tarfile
from pathlib import Path

import pytest

from scrapy_gbot_robots.policy.outages import DAY, Policy, State, decide, renew
from scrapy_gbot_robots.policy.outcome import Fetched, Outcome, Unavailable, Unreachable, outcome_of
from scrapy_gbot_robots.policy.web_pages import wall_of

from ..support.rows import row, table

URL = "https://example.com/robots.txt"
RULES = b"user-agent: *\ndisallow: /page\n"
PAGE = b"<!doctype html><html><head><title>%s</title></head><body>wait</body></html>"
MOMENT = PAGE % b"Just a moment..."
CLOUDFLARE = {"cf-mitigated": "challenge"}


def answer(status: int, headers: dict[str, str], body: bytes) -> Outcome:
    return outcome_of(status, URL, body, soft_404=True, proxied=False, headers=headers)


@table(
    "status, headers, body, whose",
    row("cf-mitigated", 403, CLOUDFLARE, b"", "Cloudflare"),
    row("in-capitals", 200, {"cf-mitigated": " Challenge "}, MOMENT, "Cloudflare"),
    row("aws-waf", 202, {"x-amzn-waf-action": "challenge"}, b"", "AWS WAF"),
    row("siteground", 202, {"sg-captcha": "challenge"}, b"", "SiteGround"),
    row("300", 300, CLOUDFLARE, b"", "Cloudflare"),
    row("title-of-a-404", 404, {}, MOMENT, "Cloudflare"),
    row("rules-in-a-403", 403, {}, MOMENT + RULES, "Cloudflare"),
    row(
        "quote",
        200,
        {},
        PAGE % "Making sure you\N{RIGHT SINGLE QUOTATION MARK}re not a bot!".encode(),
        "Anubis",
    ),
    row("blanks-and-no-utf-8", 200, {}, PAGE % b"\n JUST  A\tMOMENT... | \xff\xfe", "Cloudflare"),
    row("byte-order-mark", 200, {}, b"\xef\xbb\xbf\n" + PAGE % b"Request Rejected", "F5"),
    row("long", 200, {}, MOMENT + b"<!-- navigator.userAgent -->" * 20_000, "Cloudflare"),
)
def test_wall_is_known_by_marks(
    status: int, headers: dict[str, str], body: bytes, whose: str
) -> None:
    assert whose in wall_of(status, headers, body)
    outcome = answer(status, headers, body)
    assert isinstance(outcome, Unavailable)
    assert outcome.why == f"HTTP {status} of {outcome.wall}"


@table(
    "status, headers, body",
    row("text", 200, {}, b"Just a moment..."),
    row("title-in-a-text", 200, {}, b"# " + MOMENT),
    row("title-in-a-comment", 403, {}, b"<!-- %s -->" % MOMENT),
    row("typo-of-google", 200, {}, MOMENT + b"\r \tUSERAGENT *"),
    row("page-before-a-sitemap", 200, {}, MOMENT + b"\nSitemap: https://example.com/s.xml"),
    row("202-with-rules", 202, {}, b"\xef\xbb\xbfuser-agent: *"),
    row("202-without-a-mark", 202, {}, b""),
    row("header-and-rules", 200, CLOUDFLARE, RULES),
    row("another-value", 200, {"cf-mitigated": "block"}, b""),
    row("accept-signature", 403, {"accept-signature": "sig=()"}, b""),
    row("another-title", 200, {}, PAGE % b"Welcome. Just a moment..."),
    row("too-far-down", 200, {}, b"<!--" + b" " * 17_000 + b"-->" + MOMENT),
    row("429", 429, CLOUDFLARE, MOMENT),
    row("503", 503, CLOUDFLARE, MOMENT),
)
def test_what_is_a_sites_own_is_no_wall(status: int, headers: dict[str, str], body: bytes) -> None:
    outcome = answer(status, headers, body)
    assert not (isinstance(outcome, Unavailable) and outcome.wall)
    kinds = {200: Fetched, 202: Fetched, 403: Unavailable, 429: Unreachable, 503: Unreachable}
    assert isinstance(outcome, kinds[status])


@table(
    "status, body, refused",
    row("403-with-rules", 403, RULES, True),
    row("wall", 200, MOMENT, True),
    row("404", 404, b"", False),
    row("empty", 200, b"", False),
)
def test_refusal_means_what_the_policy_says_for_as_long_as_the_answer_is_fresh(
    status: int, body: bytes, refused: bool
) -> None:
    allowing, strict = Policy(), Policy(refused="disallow")
    entry = renew(None, answer(status, {}, body), 0.0, strict)
    assert decide(entry, 1.0, allowing).state in {State.FULL_ALLOW, State.RULES}
    decision = decide(entry, 1.0, strict)
    assert (decision.state is State.FULL_DISALLOW, decision.temporary) == (refused, False)
    assert decision.ask_at == DAY


@pytest.mark.skipif(
    "GBOT_ROBOTS_REFERENCE" not in os.environ, reason="GBOT_ROBOTS_REFERENCE is not set"
)
def test_of_the_real_files_only_refusals_of_a_firewall_are_walls() -> None:
    found: dict[str, str] = {}
    with tarfile.open(Path(os.environ["GBOT_ROBOTS_REFERENCE"], "robots-bodies.tar.gz")) as files:
        for member in files:
            body = (files.extractfile(member) or gzip.GzipFile()).read() if member.isfile() else b""
            if wall := wall_of(200, {}, body):
                found[member.name] = wall
    assert set(found.values()) == {"F5 BIG-IP, by its title"}
    assert len(found) == 4
