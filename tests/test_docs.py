"""The documentation, as its readers use it. Each block of each page is run by its kind.

`pycon` is a doctest. `python` is imported as a module; then a crawl runs with each spider, each middleware and the settings
in it; an example for a data engine runs as printed (`nox -s engines` installs the engines). `sh` runs in an empty directory
that has the page's files, by `documented_shell`; test_site.py runs docs/tutorial.md, whose commands build on each other. `console`
is the output of `scrapy robots`, only in docs/command.md and docs/many-at-once.md, for commands/test_docs.py. Nothing is done with `text`.
`support.documentation` has the comments above a block that only a test needs.
"""

import ast
import contextlib
import doctest
import gzip
import importlib
import importlib.util
import json
import os
import re
import runpy
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy import Spider

from scrapy_gbot_robots import GbotRobotsTxtMiddleware, signals
from scrapy_gbot_robots.core.known_crawlers import KNOWN_CRAWLERS

from .support.crawls import Pages, crawl, errors, in_reactor, pages, stats
from .support.documentation import HOME, PAGES, Block, blocks, text_of
from .support.documented_shell import run_block
from .support.processes import run
from .support.redis_server import redis_server
from .support.sitemap_web import urlset
from .support.web import Reply, Site
from .support.zyte_api import ZyteApi
from .test_doors import DOORS

KINDS = {"console", "pycon", "python", "sh", "text"}


def all_blocks(kind: str) -> pytest.MarkDecorator:
    found = [block for page in PAGES if page.name != "tutorial.md" for block in blocks(page, kind)]
    # Examples for engines, and tests, have a test of their own.
    found = [block for block in found if not block.engine and block.text[:7] != "# test_"]
    return pytest.mark.parametrize("block", found, ids=[block.id for block in found])


every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HOME)))


@every_page
def test_every_block_is_of_a_kind_that_is_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(list(blocks(page)))
    hidden = [(bool(block.before), bool(block.exit)) for block in blocks(page)]
    assert text.count("<!-- before:") + text.count("<!-- exit:") == sum(map(sum, hidden))
    assert {block.kind for block in blocks(page)} <= KINDS
    assert page.name in {"command.md", "many-at-once.md"} or not list(blocks(page, "console"))


@every_page
def test_sessions_run_as_printed(page: Path) -> None:
    if ">>> import pyarrow" in page.read_text(encoding="utf-8"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@every_page
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    links = r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)"
    for target, heading in re.findall(links, page.read_text(encoding="utf-8")):
        file = page.parent / target if target else page
        assert file.exists(), target
        if heading:
            lines = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            names = {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in lines}
            assert heading in names, heading


def test_every_page_is_listed() -> None:
    listed = re.findall(r"^\| \[.*?\]\(([\w./-]+)\)", text_of("docs/README.md"), re.MULTILINE)
    assert {page.name for page in (HOME / "docs").glob("*.md")} - {"README.md"} <= set(listed)


def test_changelog_of_the_first_version_is_short() -> None:
    assert len(text_of("CHANGELOG.md").split("\n## ")[1].splitlines()) <= 40


def test_promises_of_the_security_page_are_held_by_tests_that_exist() -> None:
    named = re.findall(r"`(\w+(?:/\w+)*): ([^`]+)`", text_of("docs/security.md"))
    assert len(named) > 30
    for module, tests in named:
        text = text_of(f"tests/{module}.py")
        for test in tests.split(", "):
            assert re.search(rf"def test_{test}\b", text) or f'"{test}"' in text, (module, test)


def test_modules_and_classes_that_the_architecture_names_exist() -> None:
    page = text_of("ARCHITECTURE.md")
    for module, name in re.findall(r"^\| [^|]+ \| `([\w.]+)\.([A-Z]\w+)` \|", page, re.MULTILINE):
        assert hasattr(importlib.import_module(f"scrapy_gbot_robots.{module}"), name), name
    rows = re.findall(r"^\| .*\? \|.*", page, re.MULTILINE)
    assert len(rows) == len(set(rows))
    named = {HOME / name for name in re.findall(r"`((?:\w+/)*\w+\.py)`", page)}
    assert len(named) > 20
    package = HOME / "scrapy_gbot_robots"
    inside = {package / name.relative_to(HOME) for name in named if not name.exists()}
    assert [name for name in inside if not name.exists()] == []
    for module, name in re.findall(r"`(\w+/\w+\.py)`, `(\w+)`", page):
        assert re.search(rf"def {name}\b", (package / module).read_text(encoding="utf-8")), name


def test_every_room_is_in_the_architectures_table_of_rooms() -> None:
    table = text_of("ARCHITECTURE.md").partition("| room | its job |")[2].partition("\n\n")[0]
    rows = "".join(re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", rows)) == set(DOORS)


def test_site_owners_find_the_names_of_all_crawlers_by_purpose() -> None:
    listed: dict[str, list[str]] = {}
    for known in KNOWN_CRAWLERS:
        listed.setdefault(known.purpose, []).append(known.tokens[0])
    _, _, section = text_of("docs/site-owners.md").partition("### Which names are there?")
    table = section.partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", table, re.MULTILINE)
    assert {purpose: names.split(", ") for purpose, names in rows[1:]} == listed


def documented_stats() -> re.Pattern[str]:
    """A pattern of all stats that the pages name. A part in capital letters stands for anything."""
    text = "".join(page.read_text(encoding="utf-8") for page in (HOME / "docs").glob("*.md"))
    names: set[str] = set()
    last = ""  # `robotstxt/request_count`, `.../response_count`
    for name in re.findall(r"`((?:gbot_robots|robotstxt|\.\.\.)/[^`\s]+)`", text):
        last = name.replace("...", last.rpartition("/")[0])
        names.add(last)
    below_a_prefix = r"below `(gbot_robots/[\w/]+/)`(.*?)(?=\n#|\Z)"
    for prefix, table in re.findall(below_a_prefix, text, re.DOTALL):
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
            names |= {prefix + name for name in re.findall(r"`([^`]+)`", row)}
    any_part = (re.sub(r"(?<=/)[A-Z]\b", ".+", re.escape(name)) for name in sorted(names))
    return re.compile("|".join(any_part))


def test_every_stat_that_the_code_names_is_documented() -> None:
    package = HOME / "scrapy_gbot_robots"
    texts = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"\"(gbot_robots/[\w/]+\w)\"", text)}
    assert len(named) > 15
    documented = documented_stats()
    assert [name for name in sorted(named) if not documented.fullmatch(name)] == []


def test_signals_and_their_arguments_are_those_of_the_module() -> None:
    source = text_of("scrapy_gbot_robots/signals.py")
    described = dict(re.findall(r'^"""`(\w+)\((.*?)\)` is sent', source, re.MULTILINE))
    assert set(described) == {name for name in vars(signals) if name[0] != "_"} - {"annotations"}
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", text_of("docs/stats.md"), re.MULTILINE)
    in_table = {name: re.findall(r"`([a-z]\w+)`", arguments) for name, arguments in rows}
    assert in_table == {name: arguments.split(", ") for name, arguments in described.items()}


# Python


def imported(block: Block, directory: Path) -> dict[str, Any]:
    """The names of the block, run as a file of its own: it has to be complete."""
    file = directory / f"documented_{block.page.stem}_{block.line}.py"
    file.write_text(block.script)
    names = runpy.run_path(str(file), run_name=file.stem)
    assert [name for name in names if not name.startswith("__")]
    return names


def classes(names: dict[str, Any], base: type) -> list[type]:
    found = [value for value in names.values() if isinstance(value, type)]
    return [cls for cls in found if issubclass(cls, base) and cls.__module__ == names["__name__"]]


@contextlib.contextmanager
def surroundings(block: Block) -> Iterator[dict[str, Any]]:
    """Settings for a server on loopback in place of each service that the block names."""
    with contextlib.ExitStack() as stack:
        settings: dict[str, Any] = {}
        if "redis" in block.text:
            settings["REDIS_URL"] = stack.enter_context(redis_server()).url
        if "zyte_api" in block.text:
            url = stack.enter_context(ZyteApi()).endpoint
            settings |= {"ZYTE_API_URL": url, "ZYTE_API_KEY": "none"}
        yield settings


@pytest.fixture
def site() -> Iterator[Site]:
    """A site with a page that may be crawled, one that may not, and a sitemap of both."""
    with Site({"*": Reply(200, b"<html></html>", {"Content-Type": "text/html"})}) as site:
        site.pages["/robots.txt"] = f"user-agent: *\ndisallow: /no\nsitemap: {site.url('/s.xml')}"
        site.pages["/s.xml"] = urlset(site.url("/yes"), site.url("/no"))
        yield site


_WARNING = "scrapy.exceptions.ScrapyDeprecationWarning"


# What scrapy-redis does.
@pytest.mark.filterwarnings(f"ignore:Passing a 'spider' argument:{_WARNING}")
@pytest.mark.filterwarnings(f"ignore:scrapy_redis.spiders.RedisMixin:{_WARNING}")
@pytest.mark.filterwarnings(f"ignore:scrapy.http.FormRequest:{_WARNING}")
@pytest.mark.slow
@all_blocks("python")
@in_reactor
async def test_python_does_what_it_is_shown_for(
    block: Block, site: Site, tmp_path: Path, monkeypatch: Any, log: Any, pytestconfig: Any
) -> None:
    if "zyte_api" in block.text and pytestconfig.getoption("--reactor") != "asyncio":
        pytest.skip("needs the asyncio reactor")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["example.py"])
    names = imported(block, tmp_path)
    settings = {name: value for name, value in names.items() if name.isupper()}
    urls = [site.url("/yes"), site.url("/no")]
    with surroundings(block) as overlay:
        for cls in classes(names, Spider):
            await _crawl_with_spider(cls, site, overlay)
        for cls in classes(names, GbotRobotsTxtMiddleware):
            crawler = await crawl(Pages, {"DOWNLOADER_MIDDLEWARES": {cls: 100}}, urls=urls)
            assert set(pages(crawler).refused) == {site.url("/no")}
        if settings:
            addon = {"ADDONS": {"scrapy_gbot_robots.Addon": 500}}
            settings = {"DOWNLOAD_HANDLERS": {}, **addon, **settings, **overlay}
            crawler = await crawl(Pages, settings, addon=False, urls=urls)
            assert set(pages(crawler).crawled) == {site.url("/yes")}
            assert set(pages(crawler).refused) == {site.url("/no")}
    assert errors(log) == []


async def _crawl_with_spider(cls: type[Spider], site: Site, overlay: dict[str, Any]) -> None:
    """Crawl `site` with a spider of the documentation. The site is put into every attribute that a spider starts from."""
    start = {
        "allowed_domains": ["127.0.0.1"],
        "hosts": site.url(),
        "start_urls": [site.url("/yes"), site.url("/no")],
    }
    key = getattr(cls, "redis_key", None)
    if key:
        import redis

        with redis.Redis.from_url(overlay["REDIS_URL"]) as client:
            client.rpush(key, json.dumps({"url": site.url("/yes")}))
        overlay = {**overlay, "CLOSESPIDER_TIMEOUT": 10}  # it would wait for more without end
    crawler = await crawl(type(cls.__name__, (cls,), start), overlay)
    assert "spider_exceptions/count" not in stats(crawler)
    assert "/yes" in site.paths()
    assert "/no" not in site.paths()


@pytest.mark.slow
def test_unit_test_of_a_spider_passes_as_shown(tmp_path: Path) -> None:
    """Without a reactor, which Scrapy needs before 2.15."""
    if scrapy.version_info < (2, 15):
        pytest.skip("this Scrapy has no crawls without a reactor")
    shown = blocks(HOME / "docs" / "run-it.md", "python")
    (test,) = (block.text for block in shown if block.text.startswith("# test_shop.py"))
    (tmp_path / "test_shop.py").write_text(test)
    (tmp_path / "scrapy.cfg").touch()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:twisted", "test_shop.py"]
    done = run(command, tmp_path, {**os.environ, "PYTHONPATH": str(HOME)})
    assert "2 passed" in done.stdout, done.stdout
    # Otherwise the next crawl of this project would obey the rules of the test.
    assert not (tmp_path / ".scrapy" / "gbot_robots").exists()


EXAMPLES = [block for page in PAGES for block in blocks(page, "python") if block.engine]
NEEDED = {
    "duckdb": ["duckdb", "numpy"],
    "polars": ["polars"],
    "pyarrow": ["pyarrow"],
    "pyspark": ["pyspark", "pandas"],
    "warcio": ["warcio"],
}


def _write_archive(home: Path) -> None:
    """Write the files of the examples: what two origins served, and a list of URLs."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    rules = b"User-agent: *\nDisallow: /cart\n"
    served = {
        "url": ["https://shop.example/robots.txt", "https://ill.example/robots.txt"],
        "status": [200, 503],
        "body": [rules, b""],
    }
    urls = ["https://shop.example/cart", "https://shop.example/", "https://ill.example/"]
    urls.append("https://new.example/")
    pq.write_table(pa.table(served), home / "robots.parquet")
    pq.write_table(pa.table({"url": urls}), home / "urls.parquet")
    (home / "urls.txt").write_text("\n".join(urls))
    with (home / "robots.warc.gz").open("wb") as file:
        for url, status, body in zip(*served.values(), strict=True):
            block = f"HTTP/1.1 {status} Whatever\r\n\r\n".encode() + body
            head = (
                f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
                "WARC-Date: 2026-01-02T03:04:05Z\r\n"
                "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n"
                "Content-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(block)}\r\n\r\n"
            )
            file.write(gzip.compress(head.encode() + block + b"\r\n\r\n"))


@pytest.mark.engine
@pytest.mark.parametrize("name", NEEDED)
def test_each_engine_has_an_example_that_runs(name: str, tmp_path: Path) -> None:
    (block,) = [example for example in EXAMPLES if example.engine == name]
    for needed in NEEDED[name]:
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed: the nox session `engines` installs it")
    assert len([line for line in block.text.splitlines() if line]) <= 20
    _write_archive(tmp_path)
    (tmp_path / "example.py").write_text(f"{block.text}\nprint(verdicts)\n")
    here = {**os.environ, "PYTHONPATH": str(HOME), "PYSPARK_PYTHON": sys.executable}
    done = run([sys.executable, "example.py"], tmp_path, here)
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout.splitlines()[-1]) == {
        "https://shop.example/cart": 0,
        "https://shop.example/": 1,
        "https://ill.example/": 2,
        "https://new.example/": 2,
    }


# Shell


@pytest.mark.slow
@all_blocks("sh")
def test_commands_run(block: Block, tmp_path: Path) -> None:
    begins = re.compile(r"# (\w+\.py)\n")  # a comment that says the file's name
    others = [(begins.match(other.text), other.text) for other in blocks(block.page, "python")]
    files = {named[1]: text for named, text in others if named}
    with surroundings(block) as settings:
        ended = run_block(block.script, tmp_path, files, settings)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_workflow_of_a_site_owner_passes_and_fails_for_a_closed_site(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    page = HOME / "docs" / "site-owners.md"
    text, _ = [block.text for block in blocks(page, "text") if "jobs:" in block.text]
    workflow = yaml.safe_load(text)
    assert workflow[True] == ["push", "pull_request"]  # YAML 1.1 reads "on" as true
    steps = steps_of(workflow)
    matcher = json.loads(next(block.text for block in blocks(page, "text") if block.text[0] == "{"))
    (pattern,) = matcher["problemMatcher"][0]["pattern"]
    script = "\n".join(step["run"] for step in steps if "run" in step)
    for number, (path, passes) in enumerate([("/cart/", True), ("/", False)]):
        folder = tmp_path / str(number)
        (folder / "public").mkdir(parents=True)
        (folder / "public" / "robots.txt").write_text(f"User-agent: *\nDisallow: {path}\n")
        (folder / "robots.expected").write_text("allow Googlebot /\n")
        ended = run_block(script, folder, {}, {})
        assert (ended.returncode == 0) is passes, ended.stderr
    found = re.match(pattern["regexp"], ended.stdout.splitlines()[0])
    assert found
    assert found.groups()[:3] == ("public/robots.txt", "2", "warning")


@pytest.mark.slow
def test_daily_workflow_of_a_site_owner_checks_what_the_server_sends(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    page = HOME / "docs" / "site-owners.md"
    _, text = [block.text for block in blocks(page, "text") if "jobs:" in block.text]
    workflow = yaml.safe_load(text)
    assert workflow[True]["schedule"] == [{"cron": "15 3 * * *"}]
    install, lint, test = [step["run"] for step in steps_of(workflow) if "run" in step]
    assert "--no-deps" not in install, "lint needs Scrapy to fetch a file"
    cases = product((lint, test), [("/cart/", True), ("/", False)])
    for number, (command, (path, passes)) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "robots.expected").write_text("allow Googlebot /\n")
        with Site({"/robots.txt": f"User-agent: *\nDisallow: {path}\n".encode()}) as site:
            ended = run_block(command.replace("https://shop.example/", site.url()), folder, {}, {})
        assert (ended.returncode == 0) is passes, ended.stderr


def steps_of(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    """The steps of the only job of a workflow, which begins with a checkout and with Python."""
    (job,) = workflow["jobs"].values()
    steps: list[dict[str, Any]] = job["steps"]
    assert [step["uses"].split("@")[0] for step in steps if "uses" in step] == [
        "actions/checkout",
        "actions/setup-python",
    ]
    return steps


@pytest.mark.parametrize(("line", "passes"), [("true", 0), ("exit 2", 0), ("(exit 1)", 1)])
def test_block_passes_if_its_last_line_ends_with_the_status_in_its_comment(
    line: str, passes: int, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"<!-- before: x=1 -->\n<!-- exit: 1 -->\n```sh\ntest $x = 1\n{line}\n```\n")
    (block,) = blocks(page)
    assert (run_block(block.script, tmp_path, {}, {}).returncode == 0) is bool(passes)
