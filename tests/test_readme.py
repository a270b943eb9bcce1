"""The README, and the example project that it shows. tests/test_docs.py runs its session."""

import re
import sys
from pathlib import Path

import pytest

from .support.processes import EXAMPLE, run

pytestmark = pytest.mark.slow

README = Path(__file__).parent.parent / "README.md"
SCRAPY = [sys.executable, "-m", "scrapy"]
TEXT = README.read_text(encoding="utf-8")


def test_readme_stays_short() -> None:
    assert len(TEXT.splitlines()) < 130


def test_readme_shows_lines_that_the_demo_prints() -> None:
    shown = re.search(r"```text\n(As examplebot.*?)```", TEXT, re.DOTALL)
    assert shown is not None
    demo = run([*SCRAPY, "crawl", "demo"], EXAMPLE)
    printed = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", demo.stdout)
    printed_lines = iter(printed.splitlines())
    for line in re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", shown[1]).splitlines():
        assert line in printed_lines, "the demo does not print this line, or not in this order"
    assert demo.stderr.count("WARNING") == 1  # the robots.txt that answers 503
    assert "ERROR" not in demo.stderr
    assert "Traceback" not in demo.stderr


def test_each_command_stands_alone_under_its_heading() -> None:
    for heading in ("See a demo", "Test it"):
        block = re.search(rf"## {heading}\n.*?```\w*\n(.*?)```", TEXT, re.DOTALL)
        assert block is not None
        assert len(block[1].splitlines()) == 1


def test_index_page_can_show_every_picture_and_follow_every_link() -> None:
    """The package index shows the README without the repository, so links and pictures need whole addresses."""
    targets = re.findall(r"\]\(([^)\s]+)\)", TEXT)
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith("https://")] == []
    for page in re.findall(r"\.readthedocs\.io/([\w-]+)/\)", TEXT):
        assert (README.parent / "docs" / f"{page}.md").exists()
    for file in re.findall(r"/blob/main/([\w./-]+)\)", TEXT):
        assert (README.parent / file).exists()
    for picture in re.findall(r"/main/(docs/images/[\w.]+)", TEXT):
        assert 10_000 < (README.parent / picture).stat().st_size < 120_000
