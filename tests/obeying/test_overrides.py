"""Overrides in real crawls: what each does, what is fetched and counted, and how wrong ones stop a crawl."""

import sys
from collections import Counter
from contextlib import ExitStack
from datetime import date, timedelta
from pathlib import Path
from socket import socket
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from typing_extensions import Self

from scrapy_gbot_robots import RobotsSitemapSpider
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.obeying import middleware, queue
from scrapy_gbot_robots.obeying.overrides import overrides_of
from scrapy_gbot_robots.policy.overrides import Overrides
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.signals import override_used

from ..support.crawls import Pages, crawl, in_reactor, own_warnings, pages, stats
from ..support.until import until
from ..support.visits import Gate, Opening, Visitor, visit
from ..support.web import Reply, Site

RULES = b"user-agent: otherbot\ndisallow: /other\n\nuser-agent: *\ndisallow: /no\ncrawl-delay: 3\n"
PATHS = ("/yes", "/no", "/other", "/own")


class Watched(Pages):
    """Remembers the uses of overrides."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.uses = []  # type: ignore[attr-defined]
        crawler.signals.connect(spider._used, override_used)
        return spider

    def _used(self, **use: Any) -> None:
        self.uses.append(use)  # type: ignore[attr-defined]


def paths_of(crawler: Crawler, site: Site) -> set[str]:
    return {
        url.removeprefix(site.url(""))
        for url in pages(crawler).crawled
        if url.startswith(site.url(""))
    }


@in_reactor
async def test_seven_hosts_each_with_an_override_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.txt").write_text("user-agent: *\ndisallow: /own")
    with ExitStack() as stack:
        hosts = [f"127.0.0.{number}" for number in (1, 2, 3, 4, 5, 6, 9)]
        ignored, never, text, file, other, late, below = sites = [
            stack.enter_context(Site({"/robots.txt": RULES, "*": b"ok"}, host=host))
            for host in hosts
        ]
        late.pages["/robots.txt"] = below.pages["/robots.txt"] = Reply(503)
        overrides = {
            ignored.url(""): {"rules": "ignore", "reason": "contract", "until": "2999-12-31"},
            "127.0.0.2": {"rules": "disallow", "reason": "asked us to stop"},
            text.url("/"): {"rules": "User-agent: *\nDisallow: /own", "reason": "served too late"},
            "127.0.0.4": {"rules": "file:shop.txt", "reason": "agreed by mail"},
            "127.0.0.5": {"as": "otherbot", "crawl_delay": 0.05, "reason": "their wish"},
            "127.0.0.6": {"rules": "User-agent: *\nDisallow: /own", "reason": "often away"},
            "*.0.0.9": {"rules": "ignore", "reason": "partner"},
            "127.0.0.7": {"rules": "ignore", "reason": "nobody is there"},
        }
        settings = {
            "GBOT_ROBOTS_OVERRIDES": overrides,
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 3600,  # which no request of these hosts waits
        }
        crawler = await crawl(
            Watched, settings, urls=[site.url(path) for site in sites for path in PATHS]
        )
        assert [paths_of(crawler, site) for site in sites] == [
            {"/yes", "/no", "/other", "/own"},
            set(),
            {"/yes", "/no", "/other"},
            {"/yes", "/no", "/other"},
            {"/yes", "/no", "/own"},
            {"/yes", "/no", "/other"},
            {"/yes", "/no", "/other", "/own"},
        ]
        assert never.paths() == []  # not its robots.txt either
        assert all("/robots.txt" in site.paths() for site in sites if site is not never)
        assert stats(crawler, "gbot_robots/override/") == {
            "gbot_robots/override/ignored": 8,
            "gbot_robots/override/disallowed": 4,
            "gbot_robots/override/rules": 12,
            "gbot_robots/override/kept": 4,
            "gbot_robots/override/against_robotstxt": 3,  # /no of three hosts
        }
        assert "gbot_robots/held" not in stats(crawler)
        assert stats(crawler, "gbot_robots/crawl_delay") == {"gbot_robots/crawl_delay": 1}
        said = {url: str(error.verdict) for url, error in refusals(crawler).items()}
        assert said[never.url("/yes")] == "disallowed: override for 127.0.0.2 (asked us to stop)"
        assert said[file.url("/own")] == (
            'disallowed by "Disallow: /own" (line 2, group "*"): override for 127.0.0.4 (agreed by mail)'
        )
        assert said[other.url("/other")] == (
            'disallowed by "Disallow: /other" (line 2, group "otherbot"): override for 127.0.0.5 (their wish)'
        )
        uses = crawler.spider.uses  # type: ignore[union-attr]
        assert len(uses) == 28
        assert {use["override"].key for use in uses if use["against_robotstxt"]} == {
            ignored.url(""), text.url("/"), "127.0.0.4"
        }  # fmt: skip


@in_reactor
async def test_origin_of_a_request_is_found_once_and_its_override_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The override is looked for as the request waits, and as it is judged: it may have run out meanwhile."""
    counts = Counter[str]()

    def counted(of: Any, name: str) -> None:
        plain = getattr(of, name)

        def count(*args: Any) -> Any:
            counts[name] += 1
            return plain(*args)

        monkeypatch.setattr(of, name, count)

    counted(queue, "origin_of")
    counted(middleware, "origin_of")
    counted(Overrides, "of")
    with Site({"*": b"ok"}, host="0.0.0.0") as site:
        urls = [f"http://127.0.2.{last}:{site.port}/" for last in range(1, 31)]
        overrides = {"127.0.2.1": {"rules": "ignore", "reason": "contract"}}
        crawler = await crawl(Pages, {"GBOT_ROBOTS_OVERRIDES": overrides}, urls=urls)
    assert set(pages(crawler).crawled) == set(urls)
    assert counts == {"origin_of": 30, "of": 60}


def refusals(crawler: Crawler) -> dict[str, ForbiddenByRobotsTxt]:
    return {
        url: error
        for url, error in pages(crawler).refused.items()
        if isinstance(error, ForbiddenByRobotsTxt)
    }


@in_reactor
async def test_robots_txt_that_does_not_come_holds_no_request_of_an_overridden_host(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_gbot_robots.obeying.overrides.WAIT_SECS", 0.1)
    site.pages["/robots.txt"] = gate = Gate("")
    overrides = {"127.0.0.1": {"rules": "ignore", "reason": "contract"}}
    crawler = await crawl(
        Opening, {"GBOT_ROBOTS_OVERRIDES": overrides}, urls=[site.url("/yes")], gate=gate, after=1
    )
    assert paths_of(crawler, site) == {"/yes"}
    assert (
        stats(crawler)["elapsed_time_seconds"] < 20
    )  # after which this robots.txt comes by itself


@in_reactor
async def test_robots_txt_that_comes_late_is_used_by_later_requests_of_an_overridden_host(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_gbot_robots.obeying.overrides.WAIT_SECS", 0.1)
    site.pages["/robots.txt"] = gate = Gate("user-agent: *\ndisallow: /no\ncrawl-delay: 9")

    async def script(visitor: Visitor) -> None:
        assert await visitor.may(site.url("/yes"))
        gate.open()
        await until(lambda: "robotstxt/response_count" in stats(visitor.crawler))
        assert await visitor.may(site.url("/no"))

    overrides = {"127.0.0.1": {"rules": "ignore", "reason": "contract"}}
    crawler = await visit(
        script,
        GBOT_ROBOTS_OVERRIDES=overrides,
        GBOT_ROBOTS_CRAWL_DELAY=0.01,
    )
    assert stats(crawler)["gbot_robots/override/against_robotstxt"] == 1
    assert stats(crawler)["gbot_robots/crawl_delay/capped"] == 1


@in_reactor
async def test_spider_s_own_request_for_a_robots_txt_gets_the_site_s_own_and_a_disallowed_host_is_asked_for_nothing(
    site: Site,
) -> None:
    with Site({"*": b"ok"}, host="127.0.0.2") as never:
        overrides = {
            "127.0.0.1": {"rules": "user-agent: *\ndisallow: /own", "reason": "late"},
            "127.0.0.2": {"rules": "disallow", "reason": "asked us to stop"},
        }
        settings, urls = (
            {"GBOT_ROBOTS_OVERRIDES": overrides},
            [each.url("/robots.txt") for each in (site, never)],
        )
        crawler = await crawl(Pages, settings, urls=urls)
        await crawl(ByHost, settings, hosts=f"127.0.0.2:{never.port}")  # by no scheme
        assert never.asked == []
    assert pages(crawler).crawled[urls[0]].body == RULES
    assert str(refusals(crawler)[urls[1]]).endswith(
        "disallowed: override for 127.0.0.2 (asked us to stop)"
    )


class ByHost(RobotsSitemapSpider):
    name = "by-host"


@in_reactor
async def test_crawl_delay_of_an_ignored_robots_txt_is_kept_if_that_is_on(site: Site) -> None:
    overrides = {"127.0.0.1": {"rules": "ignore", "reason": "contract"}}
    settings = {"GBOT_ROBOTS_CRAWL_DELAY": 0.01}
    crawler = await crawl(
        Pages, {"GBOT_ROBOTS_OVERRIDES": overrides, **settings}, urls=[site.url("/no")]
    )
    assert stats(crawler)["gbot_robots/crawl_delay/capped"] == 1


@in_reactor
async def test_override_that_has_run_out_is_not_applied_and_one_warning(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    overrides = {"127.0.0.1": {"rules": "ignore", "reason": "contract 17", "until": "2020-02-29"}}
    crawler = await crawl(
        Pages, {"GBOT_ROBOTS_OVERRIDES": overrides}, urls=[site.url("/no"), site.url("/no/2")]
    )
    assert len(refusals(crawler)) == 2
    assert own_warnings(caplog) == [
        "GBOT_ROBOTS_OVERRIDES: 1 run out and not applied: '127.0.0.1' on 2020-02-29 (contract 17)"
    ]


@in_reactor
async def test_override_that_is_about_to_run_out_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    day = str(date.today() + timedelta(days=3))
    soon = {"rules": "ignore", "reason": "contract 17", "until": day}
    await crawl(Pages, {"GBOT_ROBOTS_OVERRIDES": {"a.example": soon}})
    told = f"GBOT_ROBOTS_OVERRIDES: 1 about to run out: 'a.example' on {day} (contract 17)"
    assert ("INFO", told) in [(record.levelname, record.getMessage()) for record in caplog.records]


@in_reactor
async def test_log_names_some_of_many_overrides_that_have_run_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    past = {"rules": "ignore", "reason": "x", "until": "2020-02-29"}
    await crawl(Pages, {"GBOT_ROBOTS_OVERRIDES": {f"h{n}.example": past for n in range(1_000)}})
    (warning,) = own_warnings(caplog)
    assert (
        "OVERRIDES: 1000 run out and not applied: 'h0.example' on 2020-02-29 (x), 'h1.example' on"
        in warning
    )
    assert len(warning) < 3_000


def settings_of(**settings: Any) -> GbotSettings:
    return GbotSettings.of(
        Settings({f"GBOT_ROBOTS_{name}": value for name, value in settings.items()})
    )


JSON = '{"a.example": {"rules": "ignore", "reason": "x", "until": "2999-01-01"}}'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("o.json", JSON, id="json"),
        pytest.param("", JSON, id="command-line"),
        pytest.param("o.json", "\ufeff" + JSON, id="byte-order-mark"),
        pytest.param(
            "o.toml",
            '["a.example"]\nrules = "ignore"\nreason = "x"\nuntil = 2999-01-01\n',
            id="toml",
            marks=pytest.mark.skipif(
                sys.version_info < (3, 11), reason="Python 3.10 has no tomllib"
            ),
        ),
    ],
)
def test_overrides_may_stand_in_a_file_or_on_the_command_line(
    name: str, text: str, tmp_path: Path
) -> None:
    if name:
        (tmp_path / name).write_text(text, encoding="utf-8")
    (override,) = overrides_of(
        settings_of(OVERRIDES=str(tmp_path / name) if name else text)
    ).values()
    assert (override.key, override.what, str(override.until)) == (
        "a.example",
        "ignore",
        "2999-01-01",
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        pytest.param("gone.json", None, "No such file or directory", id="missing"),
        pytest.param("o.json", b"{", "Expecting property name", id="no-json"),
        pytest.param("o.json", b"\xff", "can't decode byte", id="no-utf-8"),
        pytest.param("o.toml", b"a = = b", "", id="no-toml"),
        pytest.param("o.toml", b"a = " + b"[" * 100_000, "", id="toml-too-deep"),
    ],
)
def test_file_that_cannot_be_read_stops_the_crawl(
    name: str, content: Any, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(
        ValueError, match="^GBOT_ROBOTS_OVERRIDES must name a file that can be read, got "
    ) as error:
        overrides_of(settings_of(OVERRIDES=str(path)))
    assert str(path) in str(error.value)
    assert said in str(error.value)


def test_toml_without_a_reader_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomllib", None)
    (tmp_path / "o.toml").write_text("")
    with pytest.raises(
        ValueError, match="GBOT_ROBOTS_OVERRIDES must name a file that can be read, .* tomllib"
    ):
        overrides_of(settings_of(OVERRIDES=str(tmp_path / "o.toml")))


@pytest.mark.parametrize("value", ["o.yaml", 7, "[1]", '{"a": 1} x'])
def test_value_that_is_neither_a_dict_nor_a_file_of_one_is_refused(value: Any) -> None:
    with pytest.raises(
        ValueError,
        match="^GBOT_ROBOTS_OVERRIDES must be a dict, or the path of a .toml or .json file",
    ):
        settings_of(OVERRIDES=value)


@pytest.mark.parametrize("name", ["\0", "", "https://a.example/robots.txt"])
def test_file_with_an_impossible_name_is_named_with_its_setting(name: str) -> None:
    fields = {"rules": f"file:{name}", "reason": "x"}
    with pytest.raises(
        ValueError, match=r"^GBOT_ROBOTS_OVERRIDES\['a.example'\]\['rules'\] must name a file"
    ):
        overrides_of(settings_of(OVERRIDES={"a.example": fields}))


@in_reactor
async def test_wrong_override_stops_the_crawl_at_its_start() -> None:
    with pytest.raises(
        ValueError, match=r"\['127.0.0.1'\]\['reason'\] must be a text that says why, got None"
    ):
        await crawl(Pages, {"GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": {"rules": "ignore"}}})


@in_reactor
async def test_file_is_read_once(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "overrides.json"
    path.write_text('{"127.0.0.1": {"rules": "disallow", "reason": "x"}}')

    def changing(connection: socket) -> None:
        path.write_text("{")
        Reply(200, b"")(connection)

    with Site({"/robots.txt": changing, "*": b"ok"}, host="127.0.0.2") as other:
        urls = [other.url("/yes"), site.url("/yes")]
        crawler = await crawl(
            Pages, {"GBOT_ROBOTS_OVERRIDES": str(path), "CONCURRENT_REQUESTS": 1}, urls=urls
        )
    assert set(pages(crawler).crawled) == {other.url("/yes")}
    assert path.read_text() == "{"


# Several crawlers

TWO = b"user-agent: otherbot\ndisallow: /other\n\nuser-agent: mybot\ndisallow: /mine\n\nuser-agent: *\ndisallow: /\n"


@in_reactor
async def test_rules_of_the_first_crawler_that_a_group_names_count(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"GBOT_ROBOTS_AGENTS": ["nobot", "mybot", "otherbot"], "USER_AGENT": "Mozilla/5.0"}
    site.pages["/robots.txt"] = TWO
    urls = [site.url(path) for path in ("/yes", "/mine", "/other")]
    crawler = await crawl(Pages, settings, urls=urls)
    assert paths_of(crawler, site) == {"/yes", "/other"}
    assert {url.rpartition("/")[2] for url in refusals(crawler)} == {"mine"}
    assert own_warnings(caplog) == []  # the User-Agent does not count, so nothing is said of it


def test_crawlers_are_settings() -> None:
    assert settings_of().asked_as is None
    assert settings_of(AGENTS=["a", "b"]).asked_as == ("a, b", ("a", "b"), True)
    assert settings_of(AGENTS="a,b").asked_as == ("a, b", ("a", "b"), True)
