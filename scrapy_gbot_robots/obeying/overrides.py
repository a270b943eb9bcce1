"""`GBOT_ROBOTS_OVERRIDES` in a crawl: read once, then each is the answer of the origins it is for.

`policy.overrides` says which override counts. Where one does, the look-up gives its answer and asks
neither the storage nor the site: no request waits there, and the site's own robots.txt, with its
sitemaps and its crawl-delay, is not fetched.
"""

from __future__ import annotations

import logging
import time

from ..core.urls import Origin, shown
from ..policy.outages import Decision, State
from ..policy.overrides import SETTING, Action, Override, Overrides, read_overrides
from ..settings import GbotSettings
from .answer import CachedAnswer, Source

_LONGEST_LIST = 2_000  # characters of a list of overrides in the log

_STATES = {
    Action.IGNORE: State.FULL_ALLOW,
    Action.REPLACE: State.RULES,
    Action.DISALLOW: State.FULL_DISALLOW,
}

logger = logging.getLogger(__name__)


def overrides_of(settings: GbotSettings) -> Overrides:
    """Read the overrides of a crawl.

    Raises:
        ValueError: an override is wrong; the message names the setting, the rule and the value.
    """
    return read_overrides(settings.overrides, settings.parse)


def tell_of(overrides: Overrides) -> None:
    """Log which overrides have run out, and which count, those first that run out first."""
    now = time.time()
    run_out: list[str] = []
    in_force: list[str] = []
    for override in sorted(overrides.values(), key=lambda override: override.ends_at):
        until = ""
        if override.until is not None:
            until = f" until {override.until}"
        entry = f"{override.key!r}: {override.action.value}{until} ({override.reason})"
        if override.ends_at <= now:
            run_out.append(entry)
        else:
            in_force.append(entry)
    for level, entries, words in (
        (logging.WARNING, run_out, "run out and not applied"),
        (logging.INFO, in_force, "in force"),
    ):
        if entries:
            listed = shown(", ".join(entries), _LONGEST_LIST)
            logger.log(level, "%s: %d %s: %s", SETTING, len(entries), words, listed)


def answer_of(override: Override, origin: Origin) -> CachedAnswer:
    """Return the answer of `override` for `origin`; it does not know the rules of a crawler yet."""
    ends_at = override.ends_at
    decision = Decision(_STATES[override.action], override.why, False, ends_at, ends_at)
    return CachedAnswer(origin, decision, source=Source.OVERRIDE, override=override)
