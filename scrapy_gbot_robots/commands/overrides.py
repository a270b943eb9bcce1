"""`scrapy robots overrides`: the project's overrides, what each does, why, and until when."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from scrapy.settings import Settings

from ..policy.overrides import Override, Standing
from ..report.summary import count
from .command import FINE, FOUND
from .inputs import add_shared, overrides_checked
from .output import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    add_shared(parser, "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """List the overrides; return the exit status: FOUND if one has run out."""
    now = time.time()
    rows = []
    run_out = 0
    for override in overrides_checked(settings).values():
        standing = override.standing(now)
        run_out += standing is Standing.RUN_OUT
        rows.append({**override_facts(override), "state": standing.value})
    out.rows(rows, {name: name for name in ("key", "what", "reason", "until", "state")})
    summary = count(len(rows), "override")
    if rows:
        summary += f", {run_out:,} run out"
    out.say(summary)
    if run_out:
        return FOUND
    return FINE


def override_facts(override: Override) -> dict[str, object]:
    """Return what an override says, for programs."""
    crawler, until = None, None
    if override.crawler is not None:
        crawler = override.crawler.name
    if override.until is not None:
        until = override.until.isoformat()
    return {
        "key": override.key,
        "what": override.what,
        "rules": override.action.value,
        "as": crawler,
        "crawl_delay": override.crawl_delay,
        "reason": override.reason,
        "until": until,
    }
