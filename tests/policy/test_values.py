"""What this room hands on are values: the memory storage gives the same entry to all that ask."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from scrapy_gbot_robots.policy.outages import Copy, Decision, Entry, Kind, Meaning, Outage, Policy, Rung, State
from scrapy_gbot_robots.policy.outcome import Fetched, Unavailable, Unreachable

VALUES = [
    Copy(Kind.NONE, 404, "http://e/robots.txt", b"", False, "HTTP 404", 0.0, 0.0),
    Outage(0.0, 1, None, "down", 0.0),
    Entry(),
    Fetched(200, "http://e/robots.txt", b""),
    Unavailable(404, "http://e/robots.txt", "HTTP 404"),
    Unreachable("down"),
    Policy(),
    Rung(0.0, Meaning.ALLOW),
    Decision(State.FULL_ALLOW, "", False, 0.0, 0.0),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_nothing_can_change_a_value_or_add_to_it(value: object) -> None:
    for field in fields(value):  # type: ignore[arg-type]
        with pytest.raises(FrozenInstanceError):
            setattr(value, field.name, None)
    assert not hasattr(value, "__dict__")  # a crawl has many of them
    assert value == type(value)(**{field.name: getattr(value, field.name) for field in fields(value)})  # type: ignore[arg-type]


def test_defaults_are_what_google_does() -> None:
    assert (Policy().ladder, Policy().soft_404) == ("google", True)
    assert not Outage(0.0, 1, None, "down", 0.0).site_available  # no page has answered
    assert not Fetched(200, "http://e/robots.txt", b"").cut
