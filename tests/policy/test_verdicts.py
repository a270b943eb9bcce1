"""What decides about a URL: a robots.txt itself, else an override, else the decision, else the rules."""

from typing import Any

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
