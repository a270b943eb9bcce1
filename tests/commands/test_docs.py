"""The pages about the command show what the command prints: their examples are run here, and compared."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_gbot_robots.commands.command import SUBCOMMANDS

from ..support.command import project, run, run_here
from ..support.documentation import text_of
from ..support.web import Reply, Site

pytestmark = pytest.mark.slow

__all__ = ["project"]

PAGES = text_of("docs/command.md") + text_of("docs/many-at-once.md")
TEXTS = re.findall(r"```text\n(.*?)```", PAGES, re.DOTALL)
EXAMPLES = re.findall(r"```console\n\$ scrapy robots (.*?)\n(.*?)```", PAGES, re.DOTALL)

_FETCHES_NOTHING = re.compile("--robots|diff |lint|cache")
_VARIES = re.compile(
    r"(?<=sqlite at )/.*|in [\d.]+ s|\d+ (?:s|min) ago|now(?=\)|\n  = )|(?:in|for) (?:23 h|1 d)"
    r"|(?<=unreachable) for \d+ min| +"
)  # the widths of columns follow the times in them, so blanks go, too


@pytest.fixture
def proxy(project: Path) -> Iterator[str]:
    """A proxy that has the hosts of the examples behind it; the files of the examples are in the project."""
    names = ("robots.txt", "expected.txt", "urls.txt", "new.txt")
    for name, text in zip(names, TEXTS, strict=False):
        (project / name).write_text(text)
    hosts = {
        "http://shop.example/robots.txt": TEXTS[0],
        "http://shop.example/new.xml": b"<urlset/>",
        "http://ill.example/robots.txt": Reply(503),
    }
    with Site(hosts) as site:
        yield site.url()


def test_examples_print_what_the_pages_show(proxy: str, project: Path) -> None:
    assert len(EXAMPLES) > 10
    for command, shown in EXAMPLES:
        if _FETCHES_NOTHING.search(command):
            ended = run_here(*shlex.split(command), cwd=project)
        else:
            ended = run(*shlex.split(command), cwd=project, env={"http_proxy": proxy})
        assert _VARIES.sub("", ended.out + ended.err) == _VARIES.sub("", shown), command


def test_table_of_sub_commands_lists_every_option(tmp_path: Path) -> None:
    table = text_of("docs/command.md").partition("| sub-command |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| \[`(\w+)`\]\S+ \| [^|]+ \| ([^|]+) \|$", table, re.MULTILINE)
    listed = {name: set(re.findall("--[a-z-]+", options)) for name, options in rows}
    every_sub_command = {"--help", "--set"}
    other_names = {"--user-agent"}  # of --as
    assert listed == {
        name: options_of(name, tmp_path) - every_sub_command - other_names for name in SUBCOMMANDS
    }


def options_of(name: str, cwd: Path) -> set[str]:
    """The long options that the help of a sub-command lists. Their names begin the lines."""
    lines = run_here(name, "--help", cwd=cwd).out.partition("\noptions:\n")[2].splitlines()
    return {
        option
        for line in lines
        if line.startswith("  -")
        for option in re.findall(r"(?<!\S)--[a-z-]+", line.strip().partition("  ")[0])
    }
