"""`--purpose`, an option of the sub-commands that give verdicts: what a crawl would be for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..policy.purposes import PURPOSES, refusal

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence

    from ..core.preferences import Preferences
    from ..core.verdict import Verdict


def add_argument(parser: ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--purpose",
        dest="purposes",
        action="append",
        default=[],
        choices=PURPOSES,
        help="what the crawl is for; a URL is disallowed if its site refuses that; may be repeated (experimental)",
    )


def held_against(
    purposes: Sequence[str], verdict: Callable[[str], Verdict], said: Callable[[str], Preferences]
) -> Callable[[str], Verdict]:
    """Return a function that gives the verdict on a URL. A URL is disallowed if its site refuses one of `purposes`.

    Args:
        purposes: what the crawl would be for.
        verdict: gives the verdict without purposes.
        said: gives what the robots.txt says about the use of a URL's content.
    """
    if not purposes:
        return verdict

    def judge(url: str) -> Verdict:
        found = verdict(url)
        return (refusal(purposes, said(url)) or found) if found.allowed else found

    return judge
