"""Which answers are a bot wall's, and what they mean."""

import gzip
import os
import tarfile
from pathlib import Path

import pytest

from scrapy_gbot_robots.policy.outages import DAY, Policy, State, decide, renew
from scrapy_gbot_robots.policy.outcome import Fetched, Outcome, Unavailable, Unreachable, outcome_of
from scrapy_gbot_robots.policy.web_pages import wall_of

URL = "https://example.com/robots.txt"
RULES = b"user-agent: *\ndisallow: /page\n"
PAGE = b"<!doctype html><html><head><title>%s</title></head><body>wait</body></html>"
MOMENT = PAGE % b"Just a moment..."
CLOUDFLARE = {"cf-mitigated": "challenge"}


def answer(status: int, headers: dict[str, str], body: bytes) -> Outcome:
    return outcome_of(status, URL, body, soft_404=True, proxied=False, headers=headers)


@pytest.mark.parametrize(
    ("status", "headers", "body", "whose"),
    [
        pytest.param(403, CLOUDFLARE, b"", "Cloudflare", id="cf-mitigated"),
        pytest.param(200, {"cf-mitigated": " Challenge "}, MOMENT, "Cloudflare", id="in-capitals"),
        pytest.param(202, {"x-amzn-waf-action": "challenge"}, b"", "AWS WAF", id="aws-waf"),
        pytest.param(202, {"sg-captcha": "challenge"}, b"", "SiteGround", id="siteground"),
        pytest.param(300, CLOUDFLARE, b"", "Cloudflare", id="300"),
        pytest.param(404, {}, MOMENT, "Cloudflare", id="title-of-a-404"),
        pytest.param(403, {}, MOMENT + RULES, "Cloudflare", id="rules-in-a-403"),
        pytest.param(
            200,
            {},
            PAGE % "Making sure you\N{RIGHT SINGLE QUOTATION MARK}re not a bot!".encode(),
            "Anubis",
            id="quote",
        ),
        pytest.param(
            200,
            {},
            PAGE % b"\n JUST  A\tMOMENT... | \xff\xfe",
            "Cloudflare",
            id="blanks-and-no-utf-8",
        ),
        pytest.param(
            200, {}, b"\xef\xbb\xbf\n" + PAGE % b"Request Rejected", "F5", id="byte-order-mark"
        ),
        pytest.param(
            200, {}, MOMENT + b"<!-- navigator.userAgent -->" * 20_000, "Cloudflare", id="long"
        ),
    ],
)
def test_wall_is_known_by_its_marks(
    status: int, headers: dict[str, str], body: bytes, whose: str
) -> None:
    assert whose in wall_of(status, headers, body)
    outcome = answer(status, headers, body)
    assert isinstance(outcome, Unavailable)
    assert outcome.why == f"HTTP {status} of {outcome.wall}"


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        pytest.param(200, {}, b"Just a moment...", id="text"),
        pytest.param(200, {}, b"# " + MOMENT, id="title-in-a-text"),
        pytest.param(403, {}, b"<!-- %s -->" % MOMENT, id="title-in-a-comment"),
        pytest.param(200, {}, MOMENT + b"\r \tUSERAGENT *", id="typo-of-google"),
        pytest.param(
            200, {}, MOMENT + b"\nSitemap: https://example.com/s.xml", id="page-before-a-sitemap"
        ),
        pytest.param(202, {}, b"\xef\xbb\xbfuser-agent: *", id="202-with-rules"),
        pytest.param(202, {}, b"", id="202-without-a-mark"),
        pytest.param(200, CLOUDFLARE, RULES, id="header-and-rules"),
        pytest.param(200, {"cf-mitigated": "block"}, b"", id="another-value"),
        pytest.param(403, {"accept-signature": "sig=()"}, b"", id="accept-signature"),
        pytest.param(200, {}, PAGE % b"Welcome. Just a moment...", id="another-title"),
        pytest.param(200, {}, b"<!--" + b" " * 17_000 + b"-->" + MOMENT, id="too-far-down"),
        pytest.param(429, CLOUDFLARE, MOMENT, id="429"),
        pytest.param(503, CLOUDFLARE, MOMENT, id="503"),
    ],
)
def test_what_is_the_sites_own_is_no_wall(
    status: int, headers: dict[str, str], body: bytes
) -> None:
    outcome = answer(status, headers, body)
    assert not (isinstance(outcome, Unavailable) and outcome.wall)
    assert isinstance(
        outcome, Fetched if status < 300 else Unreachable if status in {429, 503} else Unavailable
    )


@pytest.mark.parametrize(
    ("status", "body", "refused"),
    [
        pytest.param(403, RULES, True, id="403-with-rules"),
        pytest.param(200, MOMENT, True, id="wall"),
        pytest.param(404, b"", False, id="404"),
        pytest.param(200, b"", False, id="empty"),
    ],
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
