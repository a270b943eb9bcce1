"""The verdict on a URL, by all that may decide about it.

Pure: the caller has looked up the decision on the robots.txt and the override of the site.
Source: RFC 9309 2.2.2 (a robots.txt itself is never disallowed).
"""

from __future__ import annotations

from ..core.rules import Rules
from ..core.url_forms import verdict_on_all_forms
from ..core.urls import origin_of_robots_txt
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from .outages import Decision, State
from .overrides import Override, decision_by


def judge_url(
    url: str, decision: Decision, rules: Rules, override: Override | None = None
) -> Verdict:
    """Return whether a crawl may fetch `url`, and why, in the order in which things count.

    Args:
        url: an absolute URL.
        decision: that on the robots.txt of its origin.
        rules: those of one crawler, for the case that rules decide: the override's own, or else
            those of the robots.txt.
        override: the override that counts for the origin.
    """
    if origin_of_robots_txt(url) is not None:
        return Verdict(True, None, ROBOTS_TXT_ITSELF)
    if override is not None:
        decision = decision_by(override)
    verdict = Verdict(decision.state is State.FULL_ALLOW, None, decision.why)
    if decision.state is State.RULES:
        verdict = verdict_on_all_forms(rules, url)
    if override is not None:
        verdict = override.named(verdict)
    return verdict
