"""`--purpose`: what a crawl would be for, in the sub-commands that give verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..policy.purposes import PURPOSES, refusal

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence

    from ..core.preferences import Preferences
    from ..core.rules import Verdict


def add_argument(parser: ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--purpose",
        dest="purposes",
        action="append",
        default=[],
        choices=PURPOSES,
        help="what the crawl is for: a URL whose site refuses that is disallowed (experimental); may be repeated",
    )


def held_against(
    purposes: Sequence[str], verdict: Callable[[str], Verdict], said: Callable[[str], Preferences]
) -> Callable[[str], Verdict]:
    """Return what gives the verdict on a URL, with what is `said` about its use held against `purposes`."""
    if not purposes:
        return verdict

    def judge(url: str) -> Verdict:
        found = verdict(url)
        return (refusal(purposes, said(url)) or found) if found.allowed else found

    return judge
