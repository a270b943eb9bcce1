"""`gbot-robots`: the console command, the same as `scrapy robots`."""

from __future__ import annotations

import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.commands import ScrapyHelpFormatter
from scrapy.settings import Settings

from scrapy_gbot_robots import __version__
from scrapy_gbot_robots.commands.command import SUBCOMMANDS, RobotsCommand

from ..support.command import COMMAND, run

HOME = Path(__file__).parents[2]
CONSOLE = [sys.executable, "-c", "from scrapy_gbot_robots.__main__ import console; console()"]


def test_entry_point_is_the_console_command() -> None:
    config = ConfigParser()
    config.read(HOME / "setup.cfg")
    for name in ("gbot-robots", "scrapy-gbot-robots"):  # the second is for `uvx scrapy-gbot-robots`
        assert f"{name} = scrapy_gbot_robots.__main__:console" in config["options.entry_points"]["console_scripts"]


def test_it_needs_no_project_and_goes_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("user-agent: *\ndisallow: /x\n")
    assert run("check", "/x", "--as", "me", "--file", "robots.txt", cwd=tmp_path, command=CONSOLE).status == 1
    ended = run("check", "x", cwd=tmp_path, command=CONSOLE)
    assert ended.err.startswith("gbot-robots check: error: not an absolute URL")
    assert run("chek", cwd=tmp_path, command=CONSOLE).err.startswith("usage: gbot-robots ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [CONSOLE, COMMAND, [sys.executable, "-m", "scrapy", "robots"]], ids=["console", "module", "scrapy"]
)
def test_version_is_that_of_the_distribution(command: list[str], tmp_path: Path) -> None:
    assert run("--version", cwd=tmp_path, command=command) == (0, f"scrapy-gbot-robots {__version__}\n", "")


def test_help_of_scrapy_lists_each_sub_command_at_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapy makes a heading of any line of its help that ends with a colon: also of one that was only wrapped there."""
    command = RobotsCommand()
    command.settings = Settings()
    parser = ScrapyArgumentParser(formatter_class=ScrapyHelpFormatter, prog="scrapy robots")
    command.add_options(parser)
    for width in range(40, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        listed = "".join(parser.format_help().split())  # long words are broken too
        for name, said in SUBCOMMANDS.items():
            assert name + "".join(said.split()) in listed
