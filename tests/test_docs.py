"""The documentation: sessions run as printed, settings are all there, links lead somewhere."""

from __future__ import annotations

import ast
import doctest
import re
from dataclasses import fields
from pathlib import Path

import pytest

from scrapy_gbot_robots.settings import GbotSettings

HOME = Path(__file__).parent.parent
PAGES = [HOME / "README.md", HOME / "CONTRIBUTING.md", *sorted((HOME / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sessions_run_as_printed(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_snippets_are_python(page: Path) -> None:
    for snippet in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        assert ast.parse(snippet).body


def test_promises_of_the_security_page_are_held_by_tests_that_exist() -> None:
    page = (HOME / "docs/security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+(?:/\w+)*): ([^`]+)`", page)
    assert len(named) > 30
    for module, tests in named:
        text = (HOME / "tests" / f"{module}.py").read_text(encoding="utf-8")
        for test in tests.split(", "):
            assert re.search(rf"def test_{test}\b", text) or f'"{test}"' in text, (module, test)


def test_every_setting_is_documented() -> None:
    page = (HOME / "docs/settings.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `GBOT_ROBOTS_([A-Z_0-9]+)`", page, re.MULTILINE)
    assert {name.lower() for name in documented} == {field.name for field in fields(GbotSettings)}
