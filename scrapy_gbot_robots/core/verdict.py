"""Define the verdict on a URL, with the deciding rule and the reason.

The log, the exception, the stats and the commands all take their texts from one `Verdict`, so these
texts cannot disagree.
"""

from __future__ import annotations

from typing import NamedTuple

from .urls import shown

# The reasons of a verdict that comes from the rules of a robots.txt. The package `policy` adds
# other reasons, such as "robots.txt unreachable".
MOST_SPECIFIC = "most specific rule"
# This is the reason if an allow rule and a disallow rule match and are equally long.
LEAST_RESTRICTIVE = "least restrictive of equally long rules"
INDEX_OF_DIRECTORY = "an allowed index.htm allows its directory"
EMPTY_RULE = "only a rule without a path matches"
NO_MATCH = "no rule matches"
NO_GROUP = "no group for this user agent"
ROBOTS_TXT_ITSELF = "a robots.txt itself is never disallowed"  # RFC 9309 2.2.2
IGNORES_ROBOTS = "this crawler ignores robots.txt"


class Rule(NamedTuple):
    """An allow or disallow rule.

    Attributes:
        allow: True for an allow rule, False for a disallow rule.
        pattern: the path of the rule, percent-escaped, so that it is ASCII; "" for a rule without a
            path.
        line: the line number, from 1.
    """

    allow: bool
    pattern: str
    line: int

    def __str__(self) -> str:
        """Return the rule as a line of a robots.txt, printable and of bounded length."""
        field = "Disallow"
        if self.allow:
            field = "Allow"
        return f"{field}: {shown(self.pattern)}".rstrip(" ")


class Verdict(NamedTuple):
    """Whether a URL may be fetched, and why.

    Attributes:
        allowed: whether the URL may be fetched.
        rule: the rule that decides. If no rule decides, this is a rule that has no path, or None if
            the group has no such rule.
        reason: a short English phrase for people.
        group: the product token whose rules were used, in lower case; "*" for the global group;
            None if there is no group.
        override: the key of the override (setting GBOT_ROBOTS_OVERRIDES) that decided; None if no
            override decided.
    """

    allowed: bool
    rule: Rule | None = None
    reason: str = NO_MATCH
    group: str | None = None
    override: str | None = None

    def __str__(self) -> str:
        """Return the verdict as one line for a log.

        The line is printable and of bounded length, whatever the robots.txt contains.
        """
        answer = "allowed" if self.allowed else "disallowed"
        places = [] if self.rule is None else [f"line {self.rule.line}"]
        if self.group is not None:
            places.append(f'group "{shown(self.group)}"')
        where = f" ({', '.join(places)})" if places else ""
        if self.rule is None:
            return f"{answer}: {shown(self.reason)}{where}"
        why = "" if self.reason == MOST_SPECIFIC else f": {shown(self.reason)}"
        return f'{answer} by "{self.rule}"{where}{why}'
