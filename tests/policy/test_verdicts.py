"""What decides about a URL: a robots.txt itself, else an override, else the decision, else the rules."""

import random
from typing import Any

import pytest

from scrapy_gbot_robots.core.robots import RobotsTxt
from scrapy_gbot_robots.policy.outages import Decision, State
from scrapy_gbot_robots.policy.overrides import Override, read_overrides
from scrapy_gbot_robots.policy.verdicts import judge_url

from ..support.rows import row, table

URL, ROBOTS = "https://a.example/no", "https://a.example/robots.txt"
OF_SITE = RobotsTxt.parse(b"user-agent: *\ndisallow: /no\n")
OWN = "user-agent: *\nallow: /no\n"
OF_OVERRIDE = RobotsTxt.parse(OWN.encode())
RULES, ALLOW, DISALLOW = State.RULES, State.FULL_ALLOW, State.FULL_DISALLOW


def override(rules: Any) -> Override:
    found = read_overrides({"a.example": {"rules": rules, "reason": "agreed"}}, RobotsTxt.parse)
    (only,) = found.values()
    return only


@table(
    "url, state, rules, agreed, allowed, reason",
    row("rules", URL, RULES, OF_SITE, None, False, "most specific rule"),
    row("full-allow", URL, ALLOW, OF_SITE, None, True, "why"),
    row("full-disallow", URL, DISALLOW, OF_SITE, None, False, "why"),
    row("itself", ROBOTS, DISALLOW, OF_SITE, None, True, "a robots.txt itself is never disallowed"),
    row("itself-override", ROBOTS, RULES, OF_SITE, "disallow", True, "a robots.txt itself is"),
    row("ignore", URL, DISALLOW, OF_SITE, "ignore", True, "override for a.example (agreed)"),
    row("disallow", URL, ALLOW, OF_SITE, "disallow", False, "override for a.example (agreed)"),
    row("own-rules", URL, DISALLOW, OF_OVERRIDE, OWN, True, "override for a.example"),
)
def test_first_of_these_that_counts_decides(
    url: str, state: State, rules: RobotsTxt, agreed: str | None, allowed: bool, reason: str
) -> None:
    decision = Decision(state, "why", False, 0.0, 0.0)
    counts = override(agreed) if agreed else None
    verdict = judge_url(url, decision, rules.rules_for("any"), counts)
    assert (verdict.allowed, verdict.reason[: len(reason)]) == (allowed, reason)


def allowing(*paths: str) -> Override:
    value = {"a.example": {"allow": [*paths], "reason": "agreed"}}
    (only,) = read_overrides(value, RobotsTxt.parse).values()
    return only


PIECES = ["/", "/a", "/a/b", "/a*", "/*b", "/a/$", "/a$", "/%7ea", "/index.html", "/a/index.html"]
URLS = ["/", "/a", "/a/", "/a/b", "/b", "/ab", "/~a", "/x/../a/b", "/%61", "/a/index.html", "/a;"]


@pytest.mark.parametrize("seed", range(40))
def test_allowed_paths_count_as_if_they_stood_in_the_robots_txt(seed: int) -> None:
    some = random.Random(seed)
    fields = some.choices(["Allow", "Disallow", "Disallow"], k=5)
    lines = [f"{field}: {some.choice(PIECES)}\n" for field in fields]
    paths = some.sample(PIECES, 2)
    of_site = RobotsTxt.parse(("User-agent: *\n" + "".join(lines)).encode())
    added = [f"Allow: {path}\n" for path in paths]
    both = RobotsTxt.parse(("User-agent: *\n" + "".join([*lines, *added])).encode())
    decision = Decision(RULES, "why", False, 0.0, 0.0)
    for path in URLS:
        url = f"https://a.example{path}"
        by_site = judge_url(url, decision, of_site.rules_for("any"))
        expected = judge_url(url, decision, both.rules_for("any"))
        verdict = judge_url(url, decision, of_site.rules_for("any"), allowing(*paths))
        assert verdict.allowed is expected.allowed
        is_changed = verdict.allowed is not by_site.allowed
        assert verdict.override == ("a.example" if is_changed else None)
        if not is_changed:
            assert verdict == by_site


@table(
    "state, temporary, path, allowed",
    row("full-disallow", DISALLOW, False, "/no", True),
    row("another-path", DISALLOW, False, "/other", False),
    row("outage", DISALLOW, True, "/no", False),
    row("full-allow", ALLOW, False, "/other", True),
)
def test_what_agreed_paths_mean_without_rules(
    state: State, temporary: bool, path: str, allowed: bool
) -> None:
    decision = Decision(state, "why", temporary, 0.0, 0.0)
    url = f"https://a.example{path}"
    verdict = judge_url(url, decision, OF_SITE.rules_for("any"), allowing("/no"))
    assert verdict.allowed is allowed
    assert (verdict.override is not None) == (state is DISALLOW and allowed)
