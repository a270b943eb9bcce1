"""Settings: defaults, what may be set, and errors that name the setting, the rule and the value."""

import ast
import os
import re
from dataclasses import fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_gbot_robots.settings import GbotSettings, mistakes, record_named

from .support.rows import table


def read(**settings: Any) -> GbotSettings:
    named = {f"GBOT_ROBOTS_{name}": value for name, value in settings.items()}
    return GbotSettings.of(Settings(named))


@table(
    "name, value, read_as",
    ("SOFT_404", "1", True),  # from the command line, settings are text
    ("CACHE_ORIGINS", "5", 5),
    ("MAX_AGE_SECS", "0.5", 0.5),
    ("MAX_AGE_SECS", 0, 0),
    ("UNREACHABLE_WAIT_SECS", 0, 0),
    ("MAX_SITEMAPS", 0, 0),
    ("SITEMAPS_AHEAD", "0", 0),
    ("CRAWL_DELAY", False, 0),
    ("CRAWL_DELAY", "false", 0),
    ("CRAWL_DELAY", True, 60),
    ("CRAWL_DELAY", 20, 20),
    ("CRAWL_DELAY", "1", 1),
    ("CRAWL_DELAY", "0.5", 0.5),
    ("CRAWL_DELAY", 0, 0),
    ("META_KEYS", "proxy, playwright", ("proxy", "playwright")),
    ("META_KEYS", [], ()),
    ("META_KEYS", '["proxy", "playwright"]', ("proxy", "playwright")),
    ("REPORT", "R.HTM", Path("R.HTM")),
    ("REPORT", "", None),
    ("RECORD", "", None),
)
def test_values_are_read(name: str, value: object, read_as: object) -> None:
    assert getattr(read(**{name: value}), name.lower()) == read_as


def test_crawlers_are_settings() -> None:
    assert read().asked_as is None
    assert read(USER_AGENTS=["a", "b"]).asked_as == ("a, b", ("a", "b"), True)
    assert read(USER_AGENTS="a,b").asked_as == ("a, b", ("a", "b"), True)
    assert read(USER_AGENTS={"a"}).asked_as == ("a", ("a",), True)
    header = "a/1.0 (X11, like b; c, d)"  # the commas in a comment are no commas of a list
    assert read(USER_AGENTS=f"{header}, e").user_agents == (header, "e")


SQLITE_RULE = 'the path of a file, not of a directory; GBOT_ROBOTS_STORAGE = "memory" needs none'
REDIS_SCHEMES = "redis:// or rediss:// or unix://"
REDIS_RULE = f"a URL that begins with {REDIS_SCHEMES}, which is also true for REDIS_URL"
NO_PERCENT = "without % in its name except in %(time)s and %(name)s"
ARCHIVE_RULE = f"the path of a .jsonl.gz or .jsonl file, not of a directory, {NO_PERCENT}"
AGENTS_RULE = "a list of product tokens or User-Agent headers, each of which names a crawler"
DELAY_RULE = "True, False or the longest crawl-delay in seconds, >= 0"
REPORT_RULE = "the path of a .html or .htm file, without %(...)s"
INF, NAN, HUGE = float("inf"), float("nan"), 10**400
STORAGE_RULE = (
    '"memory", "sqlite" (GBOT_ROBOTS_SQLITE_PATH names its file), "redis" (GBOT_ROBOTS_REDIS_URL names '
    "its server) or the dotted path of a class"
)
WRONG_STORAGES = "mysql /var/robots.sqlite robots.sqlite redis://a.example a.b.db".split()
WRONG_KEYS = (7, "proxy bindaddress", "['proxy']", '{"proxy": 1}')
WRONG_REPORTS = "r.pdf report r.html.gz .html s3://bucket/r.html %(name)s.html".split()
WRONG_ARCHIVES = "r.txt r.warc.gz r-%(host)s.jsonl.gz 100%.jsonl r-%s.jsonl".split()
NO_DICTS = ("o.json", 7, "[1]", '{"a": 1} x', '{"a": ' * 100_000)
WRONG_AGENTS = (["google", ""], ["*"], ["a", "123"], [" "], ["google bot"], ["bot2000"], "None")
WRONG_FILES = (7, os.sep, "data/", ":memory:", "sqlite:///a.db", "~nobody-here/x", "None")


@table(
    "name, rule, values",
    ("MAX_AGE_SECS", "a number of seconds >= 0", ("1d", NAN, HUGE, INF)),
    ("TIMEOUT_SECS", "a number of seconds > 0", (0, INF)),
    ("CACHE_ORIGINS", "a whole number >= 1", (0, True, "many")),
    ("SOFT_404", "True or False", ("maybe",)),
    ("CRAWL_DELAY", DELAY_RULE, (-1, "yes", INF, NAN, "1d", [20], HUGE)),
    ("UNREACHABLE", "one of 'google', 'google-2026', 'rfc9309', 'allow'", ("bing",)),
    ("STORAGE", STORAGE_RULE, WRONG_STORAGES),
    ("META_KEYS", "a list of request.meta keys", WRONG_KEYS),
    ("SQLITE_PATH", SQLITE_RULE, WRONG_FILES),
    ("REDIS_URL", REDIS_RULE, ("redis+cluster://a",)),
    ("REDIS_CLIENT", "the dotted path of a callable that returns a redis-py client", ("client",)),
    ("REPORT", REPORT_RULE, WRONG_REPORTS),
    ("RECORD", ARCHIVE_RULE, (7, *WRONG_ARCHIVES)),
    ("USER_AGENTS", AGENTS_RULE, (*WRONG_AGENTS, {"a", "b"})),  # a set has no first name
    ("OVERRIDES", "a dict", NO_DICTS),
)
def test_wrong_value_is_named_with_rule(name: str, rule: str, values: tuple[object, ...]) -> None:
    for value in values:
        with pytest.raises(ValueError, match=f"^GBOT_ROBOTS_{name} must be ") as error:
            read(**{name: value})
        assert str(error.value) == f"GBOT_ROBOTS_{name} must be {rule}, got {value!r}"


@table(
    "url, told",
    ("localhost:6379", "localhost:6379"),
    ("redsi://me:top/secret@localhost/0", "redsi://localhost/0"),
)
def test_wrong_url_of_scrapy_redis_is_named_without_its_password(url: str, told: str) -> None:
    wrong = f" which is also true for REDIS_URL, got '{told}'$"
    with pytest.raises(ValueError, match=wrong):
        GbotSettings.of(Settings({"REDIS_URL": url, "GBOT_ROBOTS_STORAGE": "redis"}))
    assert GbotSettings.of(Settings({"REDIS_URL": url})).storage == "sqlite"  # it is not needed


def test_directory_is_no_archive(tmp_path: Path) -> None:
    directory = tmp_path / "robots.jsonl"
    directory.mkdir()
    with pytest.raises(ValueError, match="^GBOT_ROBOTS_RECORD must be .*, not of a directory, "):
        read(RECORD=str(directory))
    assert read(RECORD=str(directory / "a.jsonl")).record == directory / "a.jsonl"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Scrapy project, and the working directory in it."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = nowhere.settings\n")
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    monkeypatch.delitem(os.environ, "SCRAPY_SETTINGS_MODULE", raising=False)
    return tmp_path


@table(
    "path, whole",
    ("deep/here.html", "{project}/deep/here.html"),
    ("/else/where.html", "/else/where.html"),
    ("~/here.html", "/home/of/mine/here.html"),
)
def test_paths_begin_at_the_project(path: str, whole: str, project: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HOME", "/home/of/mine")
    assert read(REPORT=path).report == Path(whole.format(project=project))


LOCAL = "redis://localhost:6379/0"
OF_SCRAPY_REDIS = "scrapy_redis.connection.get_redis_from_settings"


@table(
    "settings, url, client",
    ({}, LOCAL, None),
    ({"REDIS_URL": "unix:///r.sock?db=3"}, "unix:///r.sock?db=3", None),
    ({"REDIS_HOST": "a"}, LOCAL, OF_SCRAPY_REDIS),
    ({"REDIS_URL": "redis://a", "REDIS_PARAMS": {"db": 2}}, "redis://a", OF_SCRAPY_REDIS),
    ({"GBOT_ROBOTS_REDIS_URL": "redis://own/1", "REDIS_HOST": "a"}, "redis://own/1", None),
    ({"GBOT_ROBOTS_REDIS_CLIENT": "own.client", "REDIS_HOST": "a"}, LOCAL, "own.client"),
)
def test_redis_is_that_of_scrapy_redis(settings: Any, url: str, client: str | None) -> None:
    own = GbotSettings.of(Settings(settings))
    assert (own.redis_url, own.redis_client) == (url, client)


def test_every_setting_is_documented_with_its_default_and_a_valid_example() -> None:
    page = (Path(__file__).parent.parent / "docs/settings.md").read_text(encoding="utf-8")
    rows = r"^#### `GBOT_ROBOTS_(.*)`\n\n\* Type: .+\n\* Default: (.*)\n\* Example: `(.*)`\n\* See also: .+$"
    documented = {name: rest for name, *rest in re.findall(rows, page, re.MULTILINE)}
    defaults = {row.name.upper(): row.metadata["default"] for row in fields(GbotSettings)}
    assert documented.keys() == defaults.keys()
    for name, default in defaults.items():
        shown, example = documented[name]
        assert callable(default) or ast.literal_eval(shown.strip("`")) == default, name
        setting, _, value = example.partition(" = ")
        assert setting == f"GBOT_ROBOTS_{name}"
        changed = GbotSettings.of({setting: ast.literal_eval(value)})
        assert changed != GbotSettings.of({}), name


MEANT = ": ignored. Did you mean GBOT_ROBOTS_"
OFF = ": ignored. To switch the add-on off, set GBOT_ROBOTS_ENABLED = False"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0"
WITHOUT = " has no effect without GBOT_ROBOTS_"
WITH = " has no effect with GBOT_ROBOTS_"
OWN_KEY = ", which has no effect, because the plugin sets this key itself"
OR_SET = ". Remove it, or set GBOT_ROBOTS_"


@table(
    "settings, said",
    ({}, ""),
    ({"GBOT_ROBOTS_USER_AGENTS": ["GPTBot", "ourbot"]}, ""),
    (
        {"GBOT_ROBOTS_USER_AGENTS": ["mybot", CHROME]},
        f"USER_AGENTS has '{CHROME}', which names a browser and no crawler",
    ),
    ({"GBOT_ROBOTS_USER_AGENTS": 7}, ""),
    # The robots.txt request has keys of its own.
    (
        {"GBOT_ROBOTS_META_KEYS": ["proxy", "download_timeout"]},
        f"META_KEYS has 'download_timeout'{OWN_KEY}. Set GBOT_ROBOTS_TIMEOUT_SECS",
    ),
    ({"GBOT_ROBOTS_META_KEYS": ["dont_retry"]}, f"META_KEYS has 'dont_retry'{OWN_KEY}"),
    ({"GBOT_ROBOTS_META_KEYS": ["proxy", "playwright", "my_key"]}, ""),
    ({"GBOT_ROBOTS_META_KEYS": 7}, ""),
    ({"REDIS_URL": "redis://a"}, ""),
    # It is misspelt, and the most similar one is named.
    ({"GBOT_ROBOTS_MAX_AGE": "1"}, f"unknown setting GBOT_ROBOTS_MAX_AGE{MEANT}MAX_AGE_SECS?"),
    ({"GBOT_ROBOT_REPORT": "1"}, f"unknown setting GBOT_ROBOT_REPORT{MEANT}REPORT?"),
    ({"GBOTROBOTS_REPRT": "1"}, f"unknown setting GBOTROBOTS_REPRT{MEANT}REPORT?"),
    ({"gbot-robots_report": "1"}, f"unknown setting gbot-robots_report{MEANT}REPORT?"),
    ({"GBOT_ROBOTS_DISABLED": "1"}, f"unknown setting GBOT_ROBOTS_DISABLED{MEANT}ENABLED?"),
    ({"GBOT_ROBOTS_OBEY": "0"}, f"unknown setting GBOT_ROBOTS_OBEY{OFF}"),
    ({"GBOT_ROBOTS_COLOUR": "1"}, f"unknown setting GBOT_ROBOTS_COLOUR{OFF}"),
    # It does nothing, since another one is not set.
    (
        {"GBOT_ROBOTS_PAGE_RULES_DROP": ["noindex"]},
        "PAGE_RULES_DROP" + WITHOUT + "PAGE_RULES = True",
    ),
    ({"GBOT_ROBOTS_PAGE_RULES_DROP": "x", "GBOT_ROBOTS_PAGE_RULES": "1"}, ""),
    (
        {"GBOT_ROBOTS_PAGE_RULES_DROP": "x", "GBOT_ROBOTS_PAGE_RULES": "0"},
        f"PAGE_RULES_DROP{WITH}PAGE_RULES = False{OR_SET}PAGE_RULES = True",
    ),
    ({"GBOT_ROBOTS_PAGE_RULES_DROP": []}, ""),
    (
        {"GBOT_ROBOTS_PURPOSES_ACTION": "refuse"},
        "PURPOSES_ACTION" + WITHOUT + 'PURPOSES = ["train-ai"], for example',
    ),
    ({"GBOT_ROBOTS_PURPOSES_ACTION": "refuse", "GBOT_ROBOTS_PURPOSES": ["search"]}, ""),
    (
        {"GBOT_ROBOTS_PURPOSES_ACTION": "refuse", "GBOT_ROBOTS_PURPOSES": ""},
        f'PURPOSES_ACTION{WITH}PURPOSES = []{OR_SET}PURPOSES = ["train-ai"], for example',
    ),
    ({"GBOT_ROBOTS_REDIS_URL": "redis://a"}, "REDIS_URL" + WITHOUT + 'STORAGE = "redis"'),
    ({"GBOT_ROBOTS_REDIS_CLIENT": "a.b"}, "REDIS_CLIENT" + WITHOUT + 'STORAGE = "redis"'),
    (
        {"GBOT_ROBOTS_REDIS_URL": "redis://a", "GBOT_ROBOTS_STORAGE": "sqlite"},
        f"REDIS_URL{WITH}STORAGE = 'sqlite'{OR_SET}STORAGE = \"redis\"",
    ),
    (
        {"GBOT_ROBOTS_REDIS_CLIENT": "a.b", "GBOT_ROBOTS_STORAGE": "memory"},
        f"REDIS_CLIENT{WITH}STORAGE = 'memory'{OR_SET}STORAGE = \"redis\"",
    ),
    (
        {"GBOT_ROBOTS_SQLITE_PATH": "a.db", "GBOT_ROBOTS_STORAGE": "redis"},
        f"SQLITE_PATH{WITH}STORAGE = 'redis'{OR_SET}STORAGE = \"sqlite\"",
    ),
    (
        {"GBOT_ROBOTS_SQLITE_PATH": Path("a.db"), "GBOT_ROBOTS_STORAGE": "memory"},
        f"SQLITE_PATH{WITH}STORAGE = 'memory'{OR_SET}STORAGE = \"sqlite\"",
    ),
    ({"GBOT_ROBOTS_SQLITE_PATH": "a.db"}, ""),
    ({"GBOT_ROBOTS_SQLITE_PATH": "a.db", "GBOT_ROBOTS_STORAGE": "sqlite"}, ""),
    ({"GBOT_ROBOTS_REDIS_URL": "redis://a", "GBOT_ROBOTS_STORAGE": "redis"}, ""),
    # Requests wait only while everything is disallowed.
    (
        {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 300, "GBOT_ROBOTS_UNREACHABLE": "allow"},
        f"UNREACHABLE_WAIT_SECS{WITH}UNREACHABLE = 'allow'{OR_SET}UNREACHABLE = \"google\"",
    ),
    ({"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60, "GBOT_ROBOTS_UNREACHABLE": "allow"}, ""),
    ({"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 300}, ""),
    (
        {
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 300,
            "GBOT_ROBOTS_UNREACHABLE": "allow",
            "GBOT_ROBOTS_ACCESS_DENIED": "disallow",
        },
        "",
    ),
    # A class of the user's own may read these settings, and so may the function of a client.
    ({"GBOT_ROBOTS_SQLITE_PATH": "a.db", "GBOT_ROBOTS_STORAGE": "own.Storage"}, ""),
    ({"GBOT_ROBOTS_REDIS_URL": "redis://a", "GBOT_ROBOTS_STORAGE": "own.Storage"}, ""),
    # The user has written out a default.
    ({"GBOT_ROBOTS_PURPOSES_ACTION": "annotate", "GBOT_ROBOTS_PURPOSES": []}, ""),
    ({"GBOT_ROBOTS_REDIS_URL": LOCAL, "GBOT_ROBOTS_STORAGE": "sqlite"}, ""),
    # Wrong values are errors, which `GbotSettings.of` raises.
    ({"GBOT_ROBOTS_PAGE_RULES_DROP": "x", "GBOT_ROBOTS_PAGE_RULES": "maybe"}, ""),
)
def test_what_is_probably_a_mistake_is_said(settings: dict[str, Any], said: str) -> None:
    texts = [text.removeprefix("GBOT_ROBOTS_") for text in mistakes(Settings(settings))]
    assert texts == [said] * bool(said)


@table(
    "path_from, storage_from, is_said",
    ("project", "project", True),
    ("project", "cmdline", False),  # `-s GBOT_ROBOTS_STORAGE=memory` is for one run
    ("project", "spider", False),
    ("spider", "project", True),
    ("cmdline", "cmdline", True),
)
def test_storage_that_is_changed_for_one_run_makes_no_other_setting_a_mistake(
    path_from: str, storage_from: str, is_said: bool
) -> None:
    settings = Settings()
    settings.set("GBOT_ROBOTS_SQLITE_PATH", "a.db", path_from)
    settings.set("GBOT_ROBOTS_STORAGE", "memory", storage_from)
    assert bool([*mistakes(settings)]) == is_said


def test_settings_of_the_command_alone_have_no_priorities() -> None:
    words = {"GBOT_ROBOTS_SQLITE_PATH": "a.db", "GBOT_ROBOTS_STORAGE": "memory"}
    assert len([*mistakes(words)]) == 1


@table(
    "path, spider, name",
    ("at/%(name)s.jsonl", "a:b\\c", "at/a-b-c.jsonl"),
    ("at/%(name)s.jsonl", "../up", "at/--up.jsonl"),
    ("at/%(name)s.jsonl", "..", "at/-.jsonl"),
    ("%(name)s.jsonl", "shop.example", "shop.example.jsonl"),
    ("100% real/%(time)s.jsonl", "a", "100% real/2026-11-01T12-00-00.jsonl"),
)
def test_spider_s_name_leads_to_no_other_directory(path: str, spider: str, name: str) -> None:
    now = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
    assert record_named(Path(path), spider, now) == Path(name)
