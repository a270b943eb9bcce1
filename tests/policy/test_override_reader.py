"""Reading overrides from the setting: rules out of files, and wrong values named with the setting, the rule and the value."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.policy.override_reader import read_overrides

if TYPE_CHECKING:
    from scrapy_gbot_robots.policy.overrides import Overrides

IGNORE = {"rules": "ignore", "reason": "contract"}
WRONG_KEYS = (
    " * *. *.*.example a.example:8443 a.example/x https://a.example/x https://a.example?x https://u@a.example "
    "gopher://a.example https:// http://a.example:99999 a\\b ::1 *.a.example:80"
)


def no_file(path: str) -> bytes:
    raise FileNotFoundError(2, "No such file or directory", path)


def read(value: Any) -> Overrides:
    return read_overrides(value, no_file)


def test_rules_may_come_from_a_file() -> None:
    asked = []

    def file(path: str) -> bytes:
        asked.append(path)
        return b"user-agent: *\ndisallow: /x"

    (override,) = read_overrides({"a.example": {"rules": "file:robots/shop.txt", "reason": "mail"}}, file)
    assert asked == ["robots/shop.txt"]
    assert override.what == "file:robots/shop.txt"
    assert override.robotstxt is not None
    assert not override.robotstxt.allowed("/x", "mybot")


def test_reading_of_rules_is_the_caller_s() -> None:
    value = {"a.example": {"rules": "user-agent: *\ndisalow: /x", "reason": "mail"}}
    (override,) = read_overrides(value, no_file, lambda body: RobotsTxt.parse(body, strict=True))
    assert override.robotstxt is not None
    assert override.robotstxt.allowed("/x", "mybot")


@pytest.mark.parametrize("key", ["", "a b.example", "é" * 2_000, *WRONG_KEYS.split()])
def test_wrong_key_is_named_with_the_rule(key: str) -> None:
    with pytest.raises(ValueError, match=r"^a key of GBOT_ROBOTS_OVERRIDES must be an origin \(.*, a host") as error:
        read({key: IGNORE})
    assert str(error.value).endswith(f"got {key!r}")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"rules": "ignore"}, "['reason'] must be a text that says why, got None", id="no-reason"),
        pytest.param({**IGNORE, "reason": " "}, "['reason'] must be a text that says why, got ' '", id="empty-reason"),
        pytest.param({**IGNORE, "reason": 17}, "['reason'] must be a text that says why, got 17", id="reason-no-text"),
        pytest.param({"reason": "x"}, " must have rules, as or crawl_delay, got {'reason': 'x'}", id="nothing"),
        pytest.param(
            {**IGNORE, "untill": 1},
            " must have no keys but rules, as, crawl_delay, reason, until, got 'untill'; did you mean 'until'?",
            id="unknown-field",
        ),
        pytest.param({**IGNORE, "x": 1}, "reason, until, got 'x'", id="unknown-field-near-none"),
        pytest.param({**IGNORE, "rules": "ingore"}, '[\'rules\'] must be "ignore", "disallow"', id="misspelt-word"),
        pytest.param({**IGNORE, "rules": ""}, "['rules'] must be \"ignore\"", id="empty-rules"),
        pytest.param({**IGNORE, "rules": "disallow: /x"}, "with a User-agent line, got", id="rules-without-group"),
        pytest.param({**IGNORE, "rules": True}, "with a User-agent line, got True", id="rules-no-text"),
        pytest.param(
            {**IGNORE, "rules": "file:x.txt"},
            "['rules'] must name a file that can be read, got 'file:x.txt': [Errno 2] No such file",
            id="missing-file",
        ),
        pytest.param(
            {**IGNORE, "until": "31.3.2027"}, "['until'] must be a date such as \"2027-03-31\"", id="date-form"
        ),
        pytest.param({**IGNORE, "until": "2027-02-30"}, "got '2027-02-30'", id="no-such-day"),
        pytest.param({**IGNORE, "until": 20270331}, "got 20270331", id="date-as-number"),
        pytest.param({**IGNORE, "until": datetime(2027, 3, 31)}, "got datetime.datetime(2027", id="datetime"),
        pytest.param({"as": "7", "reason": "x"}, "['as'] must be the product token of a crawler", id="no-token"),
        pytest.param({"as": ["a"], "reason": "x"}, "got ['a']", id="as-list"),
        pytest.param({"crawl_delay": "10", "reason": "x"}, "['crawl_delay'] must be a number of seconds", id="text"),
        pytest.param({"crawl_delay": -1, "reason": "x"}, "got -1", id="negative-delay"),
        pytest.param({"crawl_delay": float("nan"), "reason": "x"}, "got nan", id="nan-delay"),
        pytest.param({"crawl_delay": float("inf"), "reason": "x"}, "got inf", id="endless-delay"),
        pytest.param({"crawl_delay": 10**400, "reason": "x"}, "got 1000", id="delay-too-large"),
        pytest.param({"crawl_delay": True, "reason": "x"}, "got True", id="flag-delay"),
        pytest.param("ignore", " must be a dict, or a .toml or .json file of one, got 'ignore'", id="no-dict"),
    ],
)
def test_wrong_override_is_named_with_setting_rule_and_value(fields: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r"^GBOT_ROBOTS_OVERRIDES\['a.example'\]") as error:
        read({"a.example": fields})
    assert said in str(error.value)


@pytest.mark.parametrize("value", [["a.example"], {7: IGNORE}, None])
def test_what_is_no_dict_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^GBOT_ROBOTS_OVERRIDES must be a dict, or a .toml or .json file of one"):
        read(value)
