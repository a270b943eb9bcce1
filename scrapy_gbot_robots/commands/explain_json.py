"""A verdict explained to programs: what `explain` says, as a dict for JSON. Times are in seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..core.agents import AllOf
from ..policy.purposes import word_on

if TYPE_CHECKING:
    from ..policy.overrides import Override
    from ..settings import GbotSettings
    from .explain import Check
    from .session import Known


def as_json(check: Check, gbot: GbotSettings) -> dict[str, Any]:
    """Return the facts of a check."""
    decided, crawler, rule = check.decided, check.crawler, check.verdict.rule
    facts: dict[str, Any] = {
        "url": check.url,
        "allowed": decided.allowed,
        "reason": decided.reason,
        "rule": None if rule is None else {"line": rule.line, "allow": rule.allow, "pattern": rule.pattern},
        "group": check.verdict.group,
        "group_line": check.group_line,
        "crawler": {"name": crawler.name, "tokens": crawler.tokens, "heeds_global": crawler.heeds_global},
        "robots_txt": {"url" if check.known else "file": check.where},
    }
    if check.override is not None:
        facts["override"] = _override(check.override)
        facts["robots_txt"] |= {"allowed": check.verdict.allowed, "reason": check.verdict.reason}
    if isinstance(check.asker.crawler, AllOf):
        facts["crawlers"] = [each.name for each in check.asker.crawler]
    if check.purposes:
        words = {purpose: word_on(purpose, check.said) for purpose in check.purposes}
        facts["preferences"] = {**words, "use": check.said.use, "lines": list(check.said.lines)}
    if check.known is not None:
        facts["robots_txt"] |= _known(check.known, gbot, time.time())
    return facts


def _override(override: Override) -> dict[str, Any]:
    return {
        "key": override.key,
        "what": override.what,
        "reason": override.reason,
        "until": None if override.until is None else override.until.isoformat(),
    }


def _known(known: Known, gbot: GbotSettings, now: float) -> dict[str, Any]:
    """Return what is known of a site's robots.txt."""
    decision, copy, outage = known.decision, known.entry.copy, known.entry.outage
    return {
        "state": decision.state.value,
        "temporary": decision.temporary,
        "why": decision.why,
        "status": known.answer.status,
        "served_by": copy.url if copy else None,
        "hops": [{"status": status, "url": url} for status, url in known.hops],
        "from_cache": not known.fetched,
        "storage": None if known.fetched else gbot.storage,
        "age_secs": max(0.0, now - copy.fetched_at) if copy else None,
        "fetched_at": copy.fetched_at if copy else None,
        "unreachable_since": outage.since if outage else None,
        "fresh_secs": max(0.0, decision.ask_at - now),
    }
