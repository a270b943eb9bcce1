"""The add-on: one line of settings switches everything on, and what the user set wins."""

from typing import Any

import pytest
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import (
    Addon,
    GbotRobotParser,
    GbotRobotsTxtMiddleware,
    RobotsScheduler,
    components,
)
from scrapy_gbot_robots.sitemaps.discovery import SitemapDiscovery

from .support.crawls import Pages, crawl, in_reactor, own_warnings, pages, stats
from .support.rows import row, table
from .support.web import Site

STOCK = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"


def switched_on(**settings: Any) -> Crawler:
    return get_crawler(Pages, {"ADDONS": {"scrapy_gbot_robots.Addon": 500}, **settings})


def middlewares(crawler: Crawler) -> list[type]:
    """Robots.txt middlewares in the order that a crawl has them."""
    from scrapy.core.downloader.middleware import DownloaderMiddlewareManager

    manager = DownloaderMiddlewareManager.from_crawler(crawler)
    return [type(mw) for mw in manager.middlewares if isinstance(mw, RobotsTxtMiddleware)]


class DerivedReport(components.RobotsReport):
    """A component of a project, derived from the plugin's."""


@pytest.mark.parametrize("is_with_the_add_on", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "scrapy_gbot_robots.GbotRobotsTxtMiddleware",
        "scrapy_gbot_robots.RobotsReport",
        *(f"scrapy_gbot_robots.components.{name}" for name in components.__all__),
        DerivedReport,
    ],
)
def test_component_named_as_add_on_says_what_to_write_instead(
    name: Any, is_with_the_add_on: bool
) -> None:
    said = r'^ADDONS must not name .*: write ADDONS = {"scrapy_gbot_robots.Addon": 500}$'
    others = {"scrapy_gbot_robots.Addon": 400} if is_with_the_add_on else {}
    with pytest.raises(ValueError, match=said):
        switched_on(ADDONS={name: 500, **others})


def test_component_that_add_ons_switches_off_is_no_mistake() -> None:
    add_ons = {"scrapy_gbot_robots.Addon": 500, "scrapy_gbot_robots.RobotsReport": None}
    assert middlewares(switched_on(ADDONS=add_ons)) == [GbotRobotsTxtMiddleware]


def test_one_line_switches_everything_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "scrapy_gbot_robots"):
        crawler = switched_on()
    assert caplog.messages == []
    assert crawler.settings.getbool("ROBOTSTXT_OBEY")
    assert crawler.settings["ROBOTSTXT_PARSER"] is GbotRobotParser
    assert crawler.settings["SCHEDULER"] is RobotsScheduler
    assert middlewares(crawler) == [GbotRobotsTxtMiddleware]
    assert crawler.extensions is not None
    assert [ext for ext in crawler.extensions.middlewares if isinstance(ext, SitemapDiscovery)]


def test_scheduler_with_a_front_that_a_project_has_named_stays() -> None:
    class Own(RobotsScheduler):
        pass

    assert switched_on(SCHEDULER=Own).settings["SCHEDULER"] is Own


class OwnScheduler(BaseScheduler):
    """A scheduler of a project."""


@pytest.mark.parametrize("obey", [True, False])
def test_scheduler_of_a_project_gets_a_front_to_obey(
    obey: bool, caplog: pytest.LogCaptureFixture
) -> None:
    queue = "scrapy.pqueues.ScrapyPriorityQueue"
    own = {"SCHEDULER": OwnScheduler, "SCHEDULER_PRIORITY_QUEUE": queue}
    with caplog.at_level("INFO", "scrapy_gbot_robots"):
        settings = switched_on(**own, ROBOTSTXT_OBEY=obey).settings
    assert issubclass(settings["SCHEDULER"], OwnScheduler)
    assert (settings["SCHEDULER"] is OwnScheduler) is not obey
    assert settings["SCHEDULER_PRIORITY_QUEUE"] == queue, "as the project has it"
    assert "SCHEDULER_PRIORITY_QUEUE" not in caplog.text


def test_each_component_has_the_place_that_the_page_gives() -> None:
    settings = switched_on().settings
    for name, places in {
        "EXTENSIONS": {"RobotsRecord": 0, "RobotsReport": 0, "SitemapDiscovery": 0},
        "SPIDER_MIDDLEWARES": {"PageRulesMiddleware": 940, "SitemapSpiderMiddleware": 950},
        "DOWNLOADER_MIDDLEWARES": {
            "GbotRobotsTxtMiddleware": 100,
            "SitemapDownloaderMiddleware": 90,
        },
    }.items():
        every = settings.getdict(name).items()
        ours = {cls.__name__: at for cls, at in every if "gbot" in getattr(cls, "__module__", "")}
        assert ours == places


class OfAProject(RobotsTxtMiddleware):
    """A middleware that a project has derived from Scrapy's."""


OURS = "scrapy_gbot_robots.GbotRobotsTxtMiddleware"


class OfTheUser(GbotRobotsTxtMiddleware):
    """A subclass, as the documentation shows one for another robots.txt request."""


@table(
    "given, expected, said",
    ({OURS: 90, STOCK: None}, [GbotRobotsTxtMiddleware], ""),
    ({OURS: 90}, [GbotRobotsTxtMiddleware], ""),
    ({STOCK: 90}, [GbotRobotsTxtMiddleware], ""),
    ({RobotsTxtMiddleware: 90}, [GbotRobotsTxtMiddleware], ""),
    ({OfTheUser: 100}, [OfTheUser], ""),
    ({OfTheUser: 150, STOCK: None}, [OfTheUser], ""),
    ({OfTheUser: 90, STOCK: 90}, [OfTheUser], ""),
    ({OURS: None}, [RobotsTxtMiddleware], "so robots.txt is obeyed as Scrapy alone does"),
    ({STOCK: None}, [], "so robots.txt is not obeyed"),
    ({STOCK: None, OfAProject: None}, [], "so robots.txt is not obeyed"),
    ({STOCK: None, OfAProject: 100}, [OfAProject], f"as {__name__}.OfAProject does"),
)
def test_middleware_settings_are_respected(given: Any, expected: Any, said: str, log: Any) -> None:
    assert middlewares(switched_on(DOWNLOADER_MIDDLEWARES=given)) == expected
    assert [said in warning for warning in own_warnings(log)] == [True] * bool(said)


@pytest.mark.parametrize("stock", [STOCK, RobotsTxtMiddleware])
def test_our_middleware_takes_the_place_that_the_user_has_given_scrapys(stock: Any) -> None:
    settings = switched_on(DOWNLOADER_MIDDLEWARES={stock: 90}).settings
    assert settings.getdict("DOWNLOADER_MIDDLEWARES")[GbotRobotsTxtMiddleware] == 90


@pytest.mark.parametrize("name", ["scrapy.downloadermiddlewares.robotstxt.Gone", "NoDot"])
@pytest.mark.parametrize("setting", ["DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "EXTENSIONS"])
def test_component_that_is_off_need_not_exist(setting: str, name: str) -> None:
    assert middlewares(switched_on(**{setting: {name: None}})) == [GbotRobotsTxtMiddleware]


@pytest.mark.parametrize("by_spider", [False, True])
def test_obey_false_is_a_warning_unless_by_the_spider(by_spider: bool, log: Any) -> None:
    class Free(Pages):
        custom_settings = {"ROBOTSTXT_OBEY": False} if by_spider else None

    crawler = get_crawler(Free, {"ADDONS": {Addon: 500}, "ROBOTSTXT_OBEY": False})
    assert middlewares(crawler) == []
    assert "ROBOTSTXT_OBEY is False" in log.text
    assert len(own_warnings(log)) == (not by_spider)


@pytest.mark.parametrize(
    ("more", "end"),
    [
        ({}, "add-on is on"),
        ({"GBOT_ROBOTS_PROVENANCE": "0"}, "add-on is on"),
        (
            {"GBOT_ROBOTS_PROVENANCE": "1", "GBOT_ROBOTS_RECORD": "record.jsonl"},
            "The crawl ignores GBOT_ROBOTS_RECORD and GBOT_ROBOTS_PROVENANCE",
        ),
    ],
)
def test_obey_false_names_settings_that_have_no_effect_then(
    more: dict[str, Any], end: str, log: Any
) -> None:
    get_crawler(Pages, {"ADDONS": {Addon: 500}, "ROBOTSTXT_OBEY": False, **more})
    (line,) = [text for text in log.messages if text.startswith("ROBOTSTXT_OBEY is False")]
    assert line.endswith(end)


@pytest.mark.parametrize("name", ["SitemapDiscovery", "RobotsReport"])
def test_extension_of_the_user_keeps_its_place(name: str) -> None:
    crawler = switched_on(EXTENSIONS={f"scrapy_gbot_robots.{name}": None})
    assert crawler.extensions is not None
    assert name not in {type(extension).__name__ for extension in crawler.extensions.middlewares}


def test_wrong_setting_comes_up_at_start() -> None:
    with pytest.raises(ValueError, match="^GBOT_ROBOTS_CACHE_ORIGINS must be a whole number >= 1"):
        switched_on(GBOT_ROBOTS_CACHE_ORIGINS="many")


@table(
    "more",
    row("obeyed", {}),
    row("not-obeyed", {"ROBOTSTXT_OBEY": False}),
    row("no-place", {"DOWNLOADER_MIDDLEWARES": {GbotRobotsTxtMiddleware: None}}),
)
def test_misspelt_setting_is_named_once(
    more: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    middlewares(switched_on(GBOT_ROBOT_STORAGE=1, MY_GBOT_ROBOTS=1, **more))
    assert [text for text in caplog.messages if "unknown setting" in text] == [
        "unknown setting GBOT_ROBOT_STORAGE: ignored. Did you mean GBOT_ROBOTS_STORAGE?"
    ]


BEFORE = {"SPIDER_MIDDLEWARES", "EXTENSIONS", "SCHEDULER", "ROBOTSTXT_PARSER"}


ALONE = "obeys robots.txt as Scrapy alone does"
NOT_OBEYED = (
    "does not obey robots.txt, because DOWNLOADER_MIDDLEWARES switches Scrapy's "
    "RobotsTxtMiddleware off"
)


@pytest.mark.parametrize("value", [False, "False", "0"])
@table(
    "given, expected, how",
    ({}, [RobotsTxtMiddleware], ALONE),
    ({GbotRobotsTxtMiddleware: 150}, [RobotsTxtMiddleware], ALONE),
    ({OfTheUser: 150}, [RobotsTxtMiddleware], ALONE),
    ({OfTheUser: 150, STOCK: None}, [RobotsTxtMiddleware], ALONE),
    ({OfTheUser: 150, RobotsTxtMiddleware: None}, [RobotsTxtMiddleware], ALONE),
    ({OfTheUser: None, STOCK: None}, [], NOT_OBEYED),
    ({STOCK: None}, [], NOT_OBEYED),
    (
        {OfAProject: 100, STOCK: None},
        [OfAProject],
        f"obeys robots.txt as {__name__}.OfAProject does",
    ),
    ({OfAProject: None}, [RobotsTxtMiddleware], ALONE),
)
def test_add_on_that_is_off_leaves_robots_txt_to_scrapy(
    given: Any, expected: Any, how: str, value: object, log: Any
) -> None:
    own = {"DOWNLOADER_MIDDLEWARES": given, "ROBOTSTXT_OBEY": True}
    wrong = {"GBOT_ROBOTS_CACHE_ORIGINS": "many"}  # nothing else is read
    crawler = switched_on(GBOT_ROBOTS_ENABLED=value, **own, **wrong)
    without = get_crawler(Pages, own)
    assert middlewares(crawler) == expected
    for name in BEFORE:
        assert crawler.settings[name] == without.settings[name]
    assert f"this crawl {how}" in log.text
    assert len(own_warnings(log)) == (not expected)


PARTS = [
    ("EXTENSIONS", "RobotsReport"),
    ("EXTENSIONS", "SitemapDiscovery"),
    ("EXTENSIONS", "components.RobotsRecord"),
    ("SPIDER_MIDDLEWARES", "components.PageRulesMiddleware"),
    ("SPIDER_MIDDLEWARES", "SitemapSpiderMiddleware"),
    ("DOWNLOADER_MIDDLEWARES", "SitemapDownloaderMiddleware"),
]


@table("setting, name", *PARTS)
def test_part_that_the_project_names_is_off_with_the_add_on(setting: str, name: str) -> None:
    path = f"scrapy_gbot_robots.{name}"
    own: dict[str, Any] = {setting: {path: 7, "scrapy.extensions.memusage.MemoryUsage": None}}
    crawler = switched_on(GBOT_ROBOTS_ENABLED=False, ROBOTSTXT_OBEY=True, **own)
    assert crawler.settings.getdict(setting) == {**own[setting], path: None}
    assert switched_on(**own).settings.getdict(setting)[path] == 7


@in_reactor
async def test_crawl_with_all_parts_named_is_one_of_scrapy_alone_with_the_add_on_off(
    tmp_path: Any,
) -> None:
    record, report = tmp_path / "record.jsonl", tmp_path / "report.html"
    settings: dict[str, Any] = {
        "GBOT_ROBOTS_ENABLED": False,
        "GBOT_ROBOTS_RECORD": record,
        "GBOT_ROBOTS_REPORT": report,
        "GBOT_ROBOTS_PAGE_RULES": True,
        "GBOT_ROBOTS_MAX_BYTES": "many",  # It is wrong, and nothing reads it.
        "ROBOTSTXT_OBEY": True,
        "SCHEDULER": "scrapy_gbot_robots.RobotsScheduler",
    }
    for setting, name in PARTS:
        settings.setdefault(setting, {})[f"scrapy_gbot_robots.{name}"] = 50
    settings["DOWNLOADER_MIDDLEWARES"][GbotRobotsTxtMiddleware] = 100
    with Site({"/robots.txt": b"user-agent: *\ndisallow: /no", "*": b"ok"}) as site:
        urls = [site.url("/yes"), site.url("/no")]
        crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).crawled) == {urls[0]}
    assert not any("gbot" in str(name) for name in stats(crawler))
    assert not record.exists()
    assert not report.exists()


@pytest.mark.parametrize("enabled", [True, False])
def test_spider_that_switches_robots_txt_off_is_no_mistake(enabled: bool, log: Any) -> None:
    class Free(Pages):
        custom_settings: dict[str, Any] = {"ROBOTSTXT_OBEY": False}  # noqa: RUF012

    add_on = {"ADDONS": {Addon: 500}, "GBOT_ROBOTS_ENABLED": enabled}
    get_crawler(Free, add_on)
    assert "robots.txt" in log.text
    assert own_warnings(log) == []


def test_scrapys_own_middleware_takes_the_place_of_a_subclass_when_the_add_on_is_off() -> None:
    own = {"GBOT_ROBOTS_ENABLED": False, "DOWNLOADER_MIDDLEWARES": {OfTheUser: 150}}
    settings = switched_on(**own).settings
    assert settings.getdict("DOWNLOADER_MIDDLEWARES") == {OfTheUser: None, STOCK: 150}


def test_add_on_that_is_off_and_robots_txt_that_nobody_obeys_is_warned_of(log: Any) -> None:
    crawler = switched_on(GBOT_ROBOTS_ENABLED=False)
    assert middlewares(crawler) == []
    (text,) = own_warnings(log)
    assert "does not obey robots.txt, because ROBOTSTXT_OBEY is not True" in text


def test_switch_of_the_add_on_has_a_wrong_value() -> None:
    with pytest.raises(ValueError, match="^GBOT_ROBOTS_ENABLED must be True or False, got 'no'"):
        switched_on(GBOT_ROBOTS_ENABLED="no")
