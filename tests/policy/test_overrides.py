"""Overrides by host: which one counts, what it says, when it ends, and how wrong ones are named."""

import math
from datetime import date, datetime, timezone
from typing import Any

import pytest

from scrapy_gbot_robots import Origin, RobotsTxt, UserAgent
from scrapy_gbot_robots.core.verdict import MOST_SPECIFIC, Verdict
from scrapy_gbot_robots.policy.overrides import Action, Override
from scrapy_gbot_robots.policy.overrides import read_overrides as read

from ..support.instructions import instructions
from ..support.rows import row, table

NOW = datetime(2027, 3, 10, 12, tzinfo=timezone.utc).timestamp()
IGNORE = {"rules": "ignore", "reason": "contract"}
WRONG_KEYS = (
    " * *. *.*.example a.example:8443 a.example/x https://a.example/x https://a.example?x https://u@a.example "
    "gopher://a.example https:// http://a.example:99999 a\\b ::1 *.a.example:80 "
    # these can match nothing
    ".shop.example *..shop.example a..example https://.a.example *.127.0.0.1 *.[::1] "
    "*..example 256.1.1.1 1.2.3.4.5 a.0x *.a.7 https://300.1"
)


def one(**fields: Any) -> Override:
    return read({"a.example": {"reason": "contract", **fields}})["a.example"]


@table(
    "url, key",
    row("origin", "https://a.example/x", "https://a.example"),
    row("host-in-any-case", "http://a.example/", "A.Example"),
    row("host-whatever-scheme-and-port", "ftp://a.example:2121/", "A.Example"),
    row("subdomain", "http://b.a.example/", "*.a.example"),
    row("nearest-domain", "http://deep.below.b.a.example/", "*.b.a.example"),
    row("domain-itself-is-not-below-itself", "http://b.a.example:81/", "*.a.example"),
    row("idn", "http://xn--bcher-kva.example/", "bücher.example"),
    row("ipv6", "http://[::1]:80/", "[0:0::1]"),
    row("final-dot", "http://a.example./", "A.Example"),
    row("final-dot-below-a-domain", "http://c.a.example./", "*.a.example"),
    row("final-dot-in-the-key", "http://c.example/", "c.example."),
    *(row(host, f"http://{host}/", "127.0.0.1") for host in ("127.1", "0x7f000001", "127.0.0.1.")),
    row("above", "http://example/", None),
    row("domain-of-one-label", "http://b.a.test/", "*.test"),
)
def test_most_specific_override_counts(url: str, key: str | None) -> None:
    keys = ["https://a.example", "A.Example", "*.a.example", "*.b.a.example", "bücher.example"]
    keys += ["[0:0::1]", "c.example.", "127.0.0.1", "*.test"]
    overrides = read(dict.fromkeys(keys, IGNORE))
    assert len(overrides) == len(keys)
    found = overrides.of(Origin.of(url), NOW)
    assert (found.key if found else None) == key


def test_one_that_has_run_out_leaves_its_place_to_the_next() -> None:
    past = {**IGNORE, "until": "2027-03-09"}
    overrides = read({"https://a.example": past, "a.example": IGNORE, "*.example": past})
    found = overrides.of(Origin.of("https://a.example"), NOW)
    assert found is not None
    assert found.key == "a.example"
    assert overrides.of(Origin.of("https://b.example"), NOW) is None
    assert read({}).of(Origin.of("https://a.example"), NOW) is None


@pytest.mark.parametrize("until", ["2027-03-10", date(2027, 3, 10)], ids=["text", "date"])
def test_last_day_counts_in_utc_to_its_last_second(until: Any) -> None:
    ends_at = datetime(2027, 3, 11, tzinfo=timezone.utc).timestamp()
    assert one(rules="ignore", until=until).ends_at == ends_at
    overrides = read({"a.example": {**IGNORE, "until": until}})
    origin = Origin.of("https://a.example")
    assert overrides.of(origin, ends_at - 1) is overrides["a.example"]
    assert overrides.of(origin, ends_at) is None


@pytest.mark.parametrize("until", [None, "9999-12-31"])
def test_override_without_an_end_never_runs_out(until: str | None) -> None:
    assert one(rules="ignore", until=until).ends_at == math.inf


@table(
    "rules, action, words",
    ("ignore", Action.IGNORE, "ignore"),
    (" disallow ", Action.DISALLOW, "disallow"),
    *(
        (f"user-agent: *\n{rule}", Action.REPLACE, "own rules")
        for rule in ("disallow: /x", "disallow:", "crawl-delay: 3", "content-usage: train-ai=n")
    ),
)
def test_what_an_override_does_is_said_in_few_words(rules: str, action: Action, words: str) -> None:
    override = one(rules=rules)
    assert (override.action, override.action.value) == (action, words)
    assert (override.robotstxt is not None) == (action is Action.REPLACE)


def test_lists_for_the_log_have_those_first_that_run_out_first() -> None:
    value = {
        "a.example": {"rules": "user-agent: *\ndisallow: /x", "reason": "mail"},
        "b.example": {"rules": "ignore", "reason": "contract 17", "until": "2999-01-01"},
        "c.example": {"rules": "disallow", "reason": "x", "until": "1970-01-01"},
    }
    overrides = read(value)
    run_out = "run out and not applied: 'c.example': disallow until 1970-01-01 (x)"
    in_force = "'b.example': ignore until 2999-01-01 (contract 17), 'a.example': own rules (mail)"
    name = "GBOT_ROBOTS_OVERRIDES"
    lists = (f"{name}: 1 {run_out}", f"{name}: 2 in force: {in_force}")
    assert overrides.in_words(86_400.0) == lists
    assert read({}).in_words(0.0) == ("", "")


def test_verdicts_name_the_override() -> None:
    override = one(rules="user-agent: *\ndisallow: /x\nallow:")
    assert override.robotstxt is not None
    rules = override.robotstxt.rules_for(UserAgent.of("mybot"))
    refused, free = override.named(rules.verdict("/x")), override.named(rules.verdict("/y"))
    assert str(refused) == (
        'disallowed by "Disallow: /x" (line 2, group "*"): override for a.example (contract)'
    )
    assert free.reason == "override for a.example (contract): only a rule without a path matches"
    assert refused.override == free.override == "a.example"
    of_no_rule = override.named(Verdict(False, None, MOST_SPECIFIC))
    assert str(of_no_rule) == "disallowed: override for a.example (contract)"


def test_finding_one_of_many_does_not_go_through_them_all() -> None:
    overrides = read(dict.fromkeys((f"*.d{number}.example" for number in range(20_000)), IGNORE))
    last = Origin.of("https://www.d19999.example")
    assert overrides.of(last, NOW) is not None
    assert instructions(lambda: overrides.of(last, NOW)) < 2_000


# Reading the setting


def test_rules_are_read_as_the_caller_wants() -> None:
    value = {"a.example": {"rules": "user-agent: *\ndisallow: /x\ndisallow: /y", "reason": "mail"}}
    (override,) = read(value, lambda body: RobotsTxt.parse(body, max_bytes=27)).values()
    assert override.robotstxt is not None
    allowed = [override.robotstxt.allowed(path, "mybot") for path in ("/x", "/y")]
    assert allowed == [False, True]


@table(
    "value, said",
    (["a.example"], "GBOT_ROBOTS_OVERRIDES must be a dict, got "),
    ({7: IGNORE}, "GBOT_ROBOTS_OVERRIDES must be a dict, got "),
    (
        {"a.example": IGNORE, "A.EXAMPLE": IGNORE},
        "must be there once, got 'a.example' and 'A.EXAMPLE'",
    ),
)
def test_what_is_no_dict_or_names_a_place_twice_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(value)


RULE_OF_KEYS = r"^a key of GBOT_ROBOTS_OVERRIDES must be one origin \(.*, one host"
ODD_KEYS = (
    "(a.example) -a.example *.-a.example https://-a.example 'a.example' \"a.example\" `a.example` a.example! "
    "$HOST {host} a.example= a.example& a~b.example a+b.example a.example: “a.example” «a.example» "
    "http://(a.example)"
)


@pytest.mark.parametrize("key", ["", "é" * 2_000, *WRONG_KEYS.split(), *ODD_KEYS.split()])
def test_wrong_key_is_named_with_the_rule(key: str) -> None:
    with pytest.raises(ValueError, match=RULE_OF_KEYS) as error:
        read({key: IGNORE})
    assert str(error.value).endswith(f"got {key!r}")


BLANKS = (" a.example", "a.example ", "a.example\n", "\ta.example", "a.example\xa0")


@pytest.mark.parametrize("key", BLANKS)
def test_key_with_white_space_around_it_is_wrong(key: str) -> None:
    with pytest.raises(ValueError, match=RULE_OF_KEYS):
        read({key: IGNORE})


SEVERAL = (
    "a.example,b.example a.example, a.example; a.example;b.example a.example|b.example "
    "http://a.example,b.example"
).split()


@pytest.mark.parametrize("key", ["a.example, b.example", "a b.example", *SEVERAL])
def test_key_with_several_hosts_is_wrong_and_the_text_helps(key: str) -> None:
    with pytest.raises(ValueError, match=RULE_OF_KEYS) as error:
        read({key: IGNORE})
    help_text = "If it names several hosts, write a key for each of them"
    assert str(error.value).endswith(f"got {key!r}. {help_text}")


@table(
    "key, url",
    ("localhost", "http://localhost:8000/"),
    ("my_host", "http://my_host/"),
    ("_dmarc.a.example", "http://_dmarc.a.example/"),
    ("a.example.", "http://a.example/"),
    ("a-.example", "http://a-.example/"),
    ("r3---sn-4g5e.example", "http://r3---sn-4g5e.example/"),
    ("3.a.example", "http://3.a.example/"),
    ("xn--bcher-kva.example", "http://bücher.example/"),
    ("https://bücher.example:8443/", "https://xn--bcher-kva.example:8443/"),
    ("例え。テスト", "http://例え.テスト/"),
    ("col·lecció.example", "http://col·lecció.example/"),
    ("データ・ベース.example", "http://データ・ベース.example/"),
    ("💩.example", "http://💩.example/"),
    ("faß.example", "http://faß.example/"),
    ("*.рф", "http://a.рф/"),
    ("10.0.0.1", "http://10.0.0.1:81/"),
    ("[2001:db8::1]", "http://[2001:db8:0::1]/"),
    ("http://[2001:db8::1]:8080", "http://[2001:db8::1]:8080/"),
    ("HTTPS://A.Example:443", "https://a.example/"),
)
def test_key_may_be_any_host_that_a_request_can_have(key: str, url: str) -> None:
    found = read({key: IGNORE}).of(Origin.of(url), NOW)
    assert found is not None
    assert found.key == key


AS_IN_A_FILE = 'as in a robots.txt, such as ["/feed/", "/*.json$"], got '


@table(
    "fields, said",
    ({"rules": "ignore"}, "['reason'] must be a text that says why, got None"),
    ({**IGNORE, "reason": " "}, "['reason'] must be a text that says why, got ' '"),
    ({"reason": "x"}, '[\'rules\'] must be "ignore", "disallow" or the text of a robots.txt'),
    ({**IGNORE, "untill": 1}, " must have no keys but rules, allow, reason, until, got 'untill'"),
    ({**IGNORE, "as": "b"}, "but rules, allow, reason, until, got 'as'"),
    ({**IGNORE, "until": "31.3.2027"}, "['until'] must be a date such as \"2027-03-31\""),
    ("ignore", " must be a dict, got 'ignore'"),
    ({**IGNORE, "allow": ["/a"]}, ' must have "rules" or "allow", not both'),
    *(
        ({"allow": value, "reason": "x"}, f"['allow'] must be a list of patterns {AS_IN_A_FILE}")
        for value in ([], "/a", ["a"], ["/a", ""], [7], ["/a\n/b"], ["/a # b"], None, {"/a": 1})
    ),
    ({"allow": ["/a"]}, "['reason'] must be a text that says why, got None"),
    ({"allow": ["/a"], "reason": "x", "until": "soon"}, "['until'] must be a date"),
)
def test_wrong_override_is_named_with_setting_rule_and_value(fields: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r"^GBOT_ROBOTS_OVERRIDES\['a.example'\]") as error:
        read({"a.example": fields})
    assert said in str(error.value)


_UNKNOWN = 'unknown field "disalllow", so the line is ignored; did you mean "disallow"?'


@table(
    "rules, why",
    ("ingore", ""),
    ("", ""),
    ("file:x.txt", ""),
    ("user-agent: *", ""),
    ("user-agent: *\nhost: a", ""),
    ("disallow: /x", "; line 1: a rule before the first user-agent line is ignored"),
    ("user-agent: *\ndisalllow: /x", f"; line 2: {_UNKNOWN}"),
    ("user-agent: *\ndisallow: /a\ndisalllow: /x", f"; line 3: {_UNKNOWN}"),
)
def test_rules_that_do_not_do_what_they_say_are_refused(rules: str, why: str) -> None:
    with pytest.raises(ValueError, match=r"with a User-agent line and a rule, got '") as error:
        one(rules=rules)
    assert str(error.value).endswith(f", got {rules!r}{why}")


@table(
    "until",
    *("2027-3-1", "20270301", "2027-W09-1", "2027-03-01 ", "2027-02-30", ""),
    *(20270331, datetime(2027, 3, 31)),
)
def test_last_day_is_a_date_or_is_refused(until: Any) -> None:
    with pytest.raises(ValueError, match=r"\['until'\] must be a date such") as error:
        one(rules="ignore", until=until)
    assert str(error.value).endswith(f", got {until!r}")


@table(
    "rules, is_open, example",
    ("Allow: /internal/feed/", True, '"allow": ["/internal/feed/"]'),
    ("Allow: /a\nAllow: /b\nDisallow:", True, '"allow": ["/a", "/b"]'),
    ("Disallow:", True, '"allow": ["/path/"]'),
    ("Crawl-delay: 3", True, '"allow": ["/path/"]'),
    ("Disallow: cart\nAllow: feed", True, '"allow": ["/path/"]'),
    ("Allow: /internal/feed/\nDisallow: /internal/", False, ""),
    ("Disallow: *", False, ""),
)
def test_rules_that_forbid_nothing_are_told_with_what_to_write(
    rules: str, is_open: bool, example: str
) -> None:
    overrides = read({"a.example": {"rules": f"User-agent: *\n{rules}", "reason": "mail"}})
    told = [*overrides.open_by_mistake(0.0)]
    assert len(told) == is_open
    for text in told:
        assert text.startswith("GBOT_ROBOTS_OVERRIDES: the rules for 'a.example' forbid nothing")
        assert example in text
        assert '"rules": "ignore"' in text


def test_open_rules_that_have_run_out_are_not_told_again() -> None:
    rules = {"rules": "User-agent: *\nDisallow:", "reason": "mail", "until": "1970-01-01"}
    assert not [*read({"a.example": rules}).open_by_mistake(2 * 86_400.0)]


@table(
    "rules, user_agent, is_told",
    ("User-agent: otherbot\nDisallow: /x", "mybot/1.0", True),
    ("User-agent: otherbot\nDisallow: /x", "Otherbot/2.0", False),
    ("User-agent: otherbot\nDisallow: /x\n\nUser-agent: *\nDisallow: /y", "mybot", False),
    ("User-agent: otherbot\nUser-agent: mybot\nDisallow: /x", "mybot", False),
    ("User-agent: googlebot\nDisallow: /x", "Googlebot-Image", False),
    ("User-agent: *\nDisallow: /x", "AdsBot-Google", True),
    ("User-agent: *\nDisallow: /x", "Google-Safety", False),
    ("User-agent: otherbot\nDisallow: /x", "", True),
)
def test_rules_for_other_crawlers_alone_are_told(
    rules: str, user_agent: str, is_told: bool
) -> None:
    overrides = read({"a.example": {"rules": rules, "reason": "mail"}, "b.example": IGNORE})
    told = [*overrides.for_other_crawlers(0.0, UserAgent.of(user_agent))]
    assert len(told) == is_told
    for text in told:
        assert text.startswith("GBOT_ROBOTS_OVERRIDES: the rules for 'a.example' have no group for")
        assert UserAgent.of(user_agent).name in text
    ended = read({"a.example": {"rules": rules, "reason": "mail", "until": "1970-01-01"}})
    assert not [*ended.for_other_crawlers(2 * 86_400.0, UserAgent.of(user_agent))]


def test_paths_are_listed_at_the_start() -> None:
    value = {"a.example": {"allow": ["/feed/", "/*.json$"], "reason": "mail"}}
    _, in_force = read(value).in_words(0.0)
    assert in_force.endswith(" in force: 'a.example': allow /feed/ /*.json$ (mail)")
