"""The command as it is called: by which names, and what it says of what it cannot do and of wrong usage."""

import gzip
import shlex
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.commands import ScrapyHelpFormatter
from scrapy.settings import Settings

from scrapy_gbot_robots import __version__
from scrapy_gbot_robots.commands.command import SUBCOMMANDS
from scrapy_gbot_robots.commands.scrapy_command import RobotsCommand

from ..support.command import COMMAND, run, run_here
from ..support.rows import row, table
from ..support.systems import needs_posix
from ..support.web import Site

HOME = Path(__file__).parents[2]
CONSOLE = [sys.executable, "-c", "from scrapy_gbot_robots.__main__ import console; console()"]
OVERRIDE = """-s 'GBOT_ROBOTS_OVERRIDES={"a.example": {"rules": "ignore"}}'"""
WHY = "GBOT_ROBOTS_OVERRIDES['a.example']['reason'] must be a text that says why, got None"
NO_SUCH_FILE = "no: No such file or directory"
BY_URL = "a site is named by its URL, such as https://"
NO_REDIS = "-s GBOT_ROBOTS_STORAGE=redis -s GBOT_ROBOTS_REDIS_URL=redis://127.0.0.1:1"
FOREIGN = "-s GBOT_ROBOTS_SQLITE_PATH=e.txt"
STAYS = "is not a database of scrapy-gbot-robots, so it is not touched. Set GBOT_ROBOTS_SQLITE_PATH"


@needs_posix  # which has these messages, and these paths
@table(
    "line, said",
    ("check example.com/x", '"example.com/x" is not an absolute URL, such as https://'),
    ("check cart/1 --robots r.txt", '"cart/1" is not an absolute URL, or a path such as /a'),
    ("check ''", '"" is not an absolute URL'),
    ("check e.txt", "(a path, and a robots.txt in a file, need --robots FILE)\n"),
    ("agents /path", "such as https://example.com/ (a path, and a robots.txt in a file, need"),
    (f"check /x --robots {'a' * 300}", "File name too long"),
    ("check /x --robots loop", "loop: Too many levels of symbolic links"),
    ("check mailto://example.com", "not an http, https or ftp URL"),
    ("check / --robots r.txt --as 'Google Extended'", "; did you mean Google-Extended?"),
    (
        "check http://a/ --as 123",
        ': error: "123" does not name a crawler: a product token has letters',
    ),
    ("check http://a/ --robots no", NO_SUCH_FILE),
    ("check http://a/ --robots .", ".: Is a directory"),
    ("check http://a/ -s GBOT_ROBOTS_MAX_BYTES=x", "GBOT_ROBOTS_MAX_BYTES must be a whole"),
    (f"audit --urls - {OVERRIDE}", WHY),
    ("lint /dev/zero", "/dev/zero: longer than 64 MiB, so this is not a robots.txt\n"),
    ("test no --robots r.txt", NO_SUCH_FILE),
    ("test - --robots -", "it contains no expectation"),
    ("test - --robots r.txt", "it contains no expectation"),
    ("diff r.txt no", f"python -m scrapy_gbot_robots diff: error: {NO_SUCH_FILE}; {BY_URL}"),
    ("diff - -", '"-" cannot be both versions'),
    ("audit --urls no --robots r.txt", NO_SUCH_FILE),
    ("audit --urls - --diff r.txt no", NO_SUCH_FILE),
    ("audit --urls - --robots -", '"-" cannot be both the URLs and a robots.txt'),
    ("audit --urls - --diff - r.txt", '"-" cannot be both the URLs and a robots.txt'),
    ("audit --urls - --robots r.txt --as a,7", '"7" does not name a crawler'),
    ("audit --urls - --robots r.txt", "-: none of its lines is a URL: # nothing"),
    ("audit --urls u.csv --robots r.txt", "u.csv: none of its lines is a URL\n"),
    ("cache list -s GBOT_ROBOTS_STORAGE=memory", "nothing is stored between runs"),
    ("cache list -s GBOT_ROBOTS_STORAGE=no.such", "cannot be opened"),
    (f"cache list {FOREIGN}", "e.txt is not a database of scrapy-gbot-robots"),
    (f"cache list {NO_REDIS}", "error: cannot use Redis at 127.0.0.1:1"),
    (f"cache forget --all {FOREIGN}", STAYS),
    ("cache forget --all -s GBOT_ROBOTS_SQLITE_PATH=/proc/x", "/proc/x"),
    ("cache show mailto://x", "not an http, https or ftp URL"),
    ("cache forget", "forget needs an ORIGIN, or --all"),
    ("cache forget a.example --all", "nothing else takes --all"),
    ("cache list --all", "nothing else takes --all"),
)
def test_what_cannot_be_done_is_one_line_and_status_2(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "r.txt").touch()
    (tmp_path / "e.txt").write_text("allow * /")
    (tmp_path / "u.csv").write_text("id,url\n7,\n")
    (tmp_path / "loop").symlink_to("loop")
    before = set(tmp_path.iterdir())
    ended = run_here(*shlex.split(line), cwd=tmp_path, stdin=b"# nothing\n")
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert "error: " in ended.err
    assert ended.err.count("\n") == 1
    assert set(tmp_path.iterdir()) <= before | {tmp_path / "e.txt.lock"}


@table(
    "line",
    "check http://a/private/1 --robots odd",
    "check http://a/private/1 --robots -",
    "agents http://a/private/1 --robots odd",
    "diff odd r.txt",
    "diff r.txt odd",
    "test t.txt --robots odd",
    "audit --urls urls.txt --robots odd",
    "audit --urls urls.txt --diff odd r.txt",
)
def test_archive_is_not_read_as_rules_and_other_files_get_a_note(line: str, tmp_path: Path) -> None:
    rules = b"user-agent: *\ndisallow: /private\n"
    (tmp_path / "r.txt").write_bytes(rules)
    (tmp_path / "t.txt").write_text("allow * /private/1")
    (tmp_path / "urls.txt").write_text("http://a/private/1")

    def tried(body: bytes) -> tuple[int, str]:
        (tmp_path / "odd").write_bytes(body)
        ended = run_here(*line.split(), cwd=tmp_path, stdin=body)
        return ended.status, ended.err

    warc, parquet = b"WARC/1.0\r\nWARC-Type: response\r\n\r\n", b"PAR1\x15\x04"
    for body in (gzip.compress(rules), warc + rules, parquet + rules):
        status, said = tried(body)
        assert status == 2
        assert "this is an archive; take the robots.txt files out of it first" in said
    no_rules = "not a robots.txt; crawlers find no rule in it"
    for body, note, times in (
        (
            b"<html><body>Not here</body></html>\n",
            "this is a web page, not a robots.txt; crawlers find no rule in it",
            1,
        ),
        (
            b'{"url": "http://a/robots.txt", "status": 200}\n',
            f"this is another text, {no_rules}",
            1,
        ),
        *((robots, "not a robots.txt", 0) for robots in (rules, b'{"a": 1}\n' + rules, b"")),
    ):
        status, said = tried(body)
        assert status in {0, 1}
        assert said.count(note) == times


@table("line", "check --robots r.txt /x --as a /y", "test --json t.txt --robots r.txt")
def test_options_may_stand_between_arguments(line: str, tmp_path: Path) -> None:
    (tmp_path / "r.txt").touch()
    (tmp_path / "t.txt").write_text("allow * /")
    assert run_here(*line.split(), cwd=tmp_path).status == 0


@table("env", {}, {"SCRAPY_SETTINGS_MODULE": "shop.settings"})
def test_gbot_robots_reads_no_project(env: dict[str, str], tmp_path: Path) -> None:
    """A hook runs it where a project is, in an environment that lacks what the settings import."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "settings.py").write_text("import no_such_module\n")
    (tmp_path / "robots.txt").write_text("user-agent: *\ndisallow: /x\n")
    before = set(tmp_path.rglob("*"))
    with Site({"/robots.txt": b"user-agent: *\ndisallow: /x\n"}) as site:
        for line, status in (
            ("lint robots.txt", 0),
            ("check /x --robots robots.txt", 1),
            (f"check {site.url('/x')}", 1),
            (f"check {site.url('/x')} -s GBOT_ROBOTS_STORAGE=sqlite", 1),
            ("cache list", 2),
            ("cache list -s GBOT_ROBOTS_STORAGE=sqlite", 2),
        ):
            ended = run(*line.split(), cwd=tmp_path, command=COMMAND, env=env)
            assert ended.status == status, (line, ended)
        assert ended.err.endswith(
            'GBOT_ROBOTS_STORAGE is "memory", or there is no project. Use `scrapy robots` in one, '
            "or name a file: -s GBOT_ROBOTS_SQLITE_PATH=FILE\n"
        )
        assert site.paths() == ["/robots.txt"] * 2, "so nothing was stored between the runs"
    assert set(tmp_path.rglob("*")) == before


@table(
    "setting, said",
    row("in-the-crawl", "TWISTED_REACTOR=no.such", "the crawl cannot run"),
    row("before-it", 'ADDONS={"no.such": 1}', "a crawl with these settings cannot start"),
    row("storage", "GBOT_ROBOTS_STORAGE=no.such.Storage", "No module named 'no'"),
)
def test_broken_project_is_one_line_and_status_2(setting: str, said: str, tmp_path: Path) -> None:
    ended = run("check", "http://127.0.0.1:1/", "-s", setting, cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


@table(
    "line, said",
    ("", "a sub-command is missing"),
    ("chek /x", "there is no sub-command 'chek'; did you mean check?\n"),
    ("help", "there is no sub-command 'help'; did you mean --help?\n"),
    ("crawl", "there is no sub-command 'crawl':\n  check   Show whether URLs may be fetched"),
    ("'\x1b[31m'", r"there is no sub-command '\x1b[31m':"),
    ("http://a/", "there is no sub-command 'http://a/'; did you mean check http://a/?\n"),
    ("--json check /x", "--json; put the options of a sub-command behind its name\n"),
    ("check", "arguments are required: URL"),
    ("cache", "arguments are required: list|show|forget\n"),
    ("check /x --wrong", "unrecognized arguments: --wrong"),
    ("diff a b c", "unrecognized arguments: c"),
    ("check /x --robots r --fresh", "not allowed with argument"),
    ("check /x -s nonsense", "Invalid -s value"),
    ("lint - --ignore crawl-delay", ", path-not-escaped"),
    (
        "lint - --ignore bad-sitemaps",
        'unknown level or kind "bad-sitemaps"; did you mean bad-sitemap?',
    ),
    ("lint - --fail-on eror", 'unknown level or kind "eror"; did you mean error?'),
    (
        "lint - --fail-on fatal",
        'unknown level or kind "fatal"; there are error, warning, note, search-engine-shut-',
    ),
)
def test_wrong_usage_is_status_2(line: str, said: str, tmp_path: Path) -> None:
    ended = run_here(*shlex.split(line), cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("usage: python -m scrapy_gbot_robots")
    assert said in ended.err.partition("error: ")[2]


def test_help_of_lint_lists_its_levels_and_kinds(tmp_path: Path) -> None:
    text = " ".join(run_here("lint", "--help", cwd=tmp_path).out.split())
    assert "Levels, and kinds of finding: error, warning, note, search-engine-shut-out, " in text
    assert "path-not-escaped" in text.replace("- ", "-")


def test_sub_commands_are_listed_if_none_is_named(tmp_path: Path) -> None:
    listed = run_here(cwd=tmp_path).err.splitlines()[-len(SUBCOMMANDS) :]
    assert [line.split()[0] for line in listed] == list(SUBCOMMANDS)


def test_entry_point_is_the_console_command() -> None:
    config = ConfigParser()
    config.read(HOME / "setup.cfg")
    scripts = config["options.entry_points"]["console_scripts"]
    for name in ("gbot-robots", "scrapy-gbot-robots"):  # the second is for `uvx scrapy-gbot-robots`
        assert f"{name} = scrapy_gbot_robots.__main__:console" in scripts


def test_it_needs_no_project_and_goes_by_its_own_name(tmp_path: Path) -> None:
    ended = run("check", "x", cwd=tmp_path, command=CONSOLE)
    assert ended.err.startswith('gbot-robots check: error: "x" is not an absolute URL')
    assert run("chek", cwd=tmp_path, command=CONSOLE).err.startswith("usage: gbot-robots ")


def test_version_is_that_of_the_distribution(tmp_path: Path) -> None:
    assert run_here("--version", cwd=tmp_path) == (0, f"scrapy-gbot-robots {__version__}\n", "")


def test_help_of_scrapy_has_a_line_for_each_sub_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapy makes a heading of any line of its help that ends with a colon."""
    command = RobotsCommand()
    command.settings = Settings()
    parser = ScrapyArgumentParser(formatter_class=ScrapyHelpFormatter, prog="scrapy robots")
    command.add_options(parser)
    for width in (40, 80, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = parser.format_help().splitlines()
        for name, text in SUBCOMMANDS.items():
            assert f"  {name:<8}{text}" in lines
