"""Numbers and lengths of time in words, for the report and the command."""

from __future__ import annotations

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def count(number: int, noun: str, nouns: str = "", *, exact: bool = True) -> str:
    """Return a number with its noun: "1 URL", "2 URLs"; `nouns` is another plural. Unless `exact`: "more than 2 URLs"."""
    return f"{amount(number, exact=exact)} {noun if number == 1 and exact else nouns or f'{noun}s'}"


def amount(number: int, *, exact: bool = True) -> str:
    """Return a number; "more than" stands before it unless it is `exact`."""
    return f"{'' if exact else 'more than '}{number:,}"


def span(secs: float) -> str:
    """Return a length of time in its largest unit, rounded down; `secs` are seconds."""
    size, unit = next((each for each in _UNITS if secs >= each[0]), (1, "s"))
    return f"{secs // size:.0f} {unit}"
