"""Decide whether a crawl may fetch a URL.

The verdict depends on the rules in the robots.txt of the site, on whether this file could be
fetched (outages.py), and on the user's override for the site, if there is one (overrides.py). The
caller passes in all three.

The source is RFC 9309 2.2.2 (a robots.txt itself is never disallowed).
"""

from __future__ import annotations

from ..core.rules import Rules
from ..core.url_forms import other_forms, verdict_on_all_forms
from ..core.urls import origin_of_robots_txt
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from .outages import Decision, State
from .overrides import Override, decision_by


def judge_url(
    url: str, decision: Decision, rules: Rules, override: Override | None = None
) -> Verdict:
    """Return whether a crawl may fetch `url`, and why.

    The URL of a robots.txt is always allowed. For any other URL, an override that replaces the
    robots.txt decides. Without such an override, the robots.txt decides, together with the paths
    that an override allows.

    Args:
        url: an absolute URL.
        decision: what the robots.txt of the URL's origin means now.
        rules: the rules for the crawl's user agent. If `override` contains rules, they are the
            rules of the override. Otherwise they are the rules of the robots.txt.
        override: the override that applies to the origin; None if there is none.
    """
    if origin_of_robots_txt(url) is not None:
        return Verdict(True, None, ROBOTS_TXT_ITSELF)
    if override is not None and override.replaces:
        decision = decision_by(override)
    verdict = Verdict(decision.state is State.FULL_ALLOW, None, decision.why)
    if decision.state is State.RULES:
        verdict = verdict_on_all_forms(rules, url)
    if override is not None and override.replaces:
        return override.named(verdict)
    if override is not None and not verdict.allowed and not decision.temporary:
        by_rules = rules if decision.state is State.RULES else None
        return agreed(url, verdict, by_rules, override)
    return verdict


def agreed(url: str, verdict: Verdict, rules: Rules | None, override: Override) -> Verdict:
    """Return the verdict on a URL that the robots.txt disallows, but an override might allow.

    The longest pattern that matches the URL decides. If a pattern of the override and a rule of the
    site are equally long, the override decides.

    Do not call this function while the robots.txt is unreachable. During this time, the override
    allows nothing.

    Args:
        url: an absolute URL.
        verdict: the verdict of the robots.txt on `url`. It is returned if the override does not
            allow `url`.
        rules: the site's rules; None if the site disallows everything, as the rule "Disallow: /"
            does.
        override: an override that allows some paths (with the action ALLOW).
    """
    for form in (url, *other_forms(url)):
        disallowed = len("/")
        if rules is not None:
            by_site = rules.verdict(form)
            if by_site.allowed or by_site.rule is None:
                continue
            disallowed = len(by_site.rule.pattern)
        if override.agreed_length(form) < disallowed:
            return verdict
    return Verdict(True, None, override.why, verdict.group, override.key)
