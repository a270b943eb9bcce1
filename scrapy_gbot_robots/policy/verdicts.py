"""The verdict on a URL by its site's robots.txt, by the state of that file, and by an override.

Pure: the caller has looked up the decision on the robots.txt and the override of the site.
Source: RFC 9309 2.2.2 (a robots.txt itself is never disallowed).
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

    The URL of a robots.txt is always allowed. Otherwise an override that replaces the robots.txt
    decides, or else the robots.txt with the paths that an override allows.

    Args:
        url: an absolute URL.
        decision: the decision on the robots.txt of the URL's origin.
        rules: the rules for one user agent, which count if the state is RULES. They come from an
            override that has its own rules, or else from the robots.txt.
        override: the override that counts for the origin; None if there is none.
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
    """Return the verdict on a URL that a site disallows, if `override` allows some paths.

    The patterns of the override count as if they stood in the group of the robots.txt. So the
    longest pattern decides, and of two equally long ones the pattern that allows. Do not call this
    while the robots.txt is unreachable, because an outage also forbids agreed paths.

    Args:
        url: an absolute URL.
        verdict: the site's verdict, which disallows the URL. It is returned if the override does
            not change it.
        rules: the site's rules; None if everything is disallowed, as by `Disallow: /`.
        override: an override that allows paths.
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
