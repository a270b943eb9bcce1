"""What a crawl is for, held against what a site says about the use of a page. Pure, and experimental as the drafts are.

A purpose is a label of the drafts, such as "train-ai". It is refused only if the site says so.
Source: the drafts that `core.preferences` names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..core.preferences import LABELS
from ..core.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..core.preferences import Preferences

ATTRIBUTES: Final = {key.decode(): attribute for attribute, key, _ in LABELS}  # of `Preferences`, by purpose
PURPOSES: Final = tuple(ATTRIBUTES)

GRANTED, REFUSED, UNSAID = "granted", "refused", "unsaid"


def word_on(purpose: str, said: Preferences) -> str:
    """Whether `said` grants or refuses a purpose: "granted", "refused" or "unsaid"."""
    return {True: GRANTED, False: REFUSED}.get(getattr(said, ATTRIBUTES[purpose]), UNSAID)


def refusal(purposes: Iterable[str], said: Preferences, who: str = "the site") -> Verdict | None:
    """Return why a page may not be used for `purposes`, None if it may. `who` names the author of `said`."""
    refused = [purpose for purpose in purposes if word_on(purpose, said) == REFUSED]
    if not refused:
        return None
    where = f" (line {', '.join(map(str, said.lines))})" if said.lines else ""
    return Verdict(allowed=False, rule=None, reason=f"{who} refuses {', '.join(refused)}{where}")
