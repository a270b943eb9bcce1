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
        decision: the decision on the robots.txt of the URL's origin.
        rules: the rules of the crawl's user agent. They are used only if the state of `decision` is
            RULES. They come from an override that contains rules, or otherwise from the robots.txt.
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
    """Return the verdict on a URL that the robots.txt disallows, but an override may allow.

    The patterns of the override are compared with the rules as if they were allow rules in the
    group of the robots.txt. So the longest pattern decides. If two patterns are equally long, the
    pattern of the override decides. Do not call this function while the robots.txt is unreachable,
    because an outage also forbids the paths that the override allows.

    Args:
        url: an absolute URL.
        verdict: the verdict of the robots.txt, which disallows the URL. It is returned if the
            override does not allow the URL.
        rules: the site's rules. None counts as the rule "Disallow: /", and means that everything is
            disallowed.
        override: an override that allows some paths in addition to the site's rules.
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
