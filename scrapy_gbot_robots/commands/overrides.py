"""`scrapy robots overrides`: the project's overrides, what each does, why, and whether it is still in force."""

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
    every = overrides_checked(settings).values()
    found = [
        {**override_facts(override), "state": override.standing(now).value} for override in every
    ]
    out.rows(found, {name: name for name in ("key", "what", "reason", "until", "state")})
    run_out = sum(facts["state"] == Standing.RUN_OUT.value for facts in found)
    out.say(count(len(found), "override"), f", {run_out:,} run out" if found else "")
    return FOUND if run_out else FINE


def override_facts(override: Override) -> dict[str, object]:
    """Return what an override says, for programs."""
    return {
        "key": override.key,
        "what": override.what,
        "rules": override.action.value,
        "as": None if override.crawler is None else override.crawler.name,
        "crawl_delay": override.crawl_delay,
        "reason": override.reason,
        "until": None if override.until is None else override.until.isoformat(),
    }
