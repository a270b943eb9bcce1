"""Public names: none is removed or changes its parameters unnoticed. `python -m tests.support.public_api` records them."""

import re
from pathlib import Path

import pytest
from scrapy.utils.misc import load_object

import scrapy_gbot_robots
from scrapy_gbot_robots import components

from .support.documentation import PAGES, text_of
from .support.public_api import BULK, MODULES, SNAPSHOT, public_api
from .test_doors import DOORS

PACKAGE = Path(scrapy_gbot_robots.__file__).parent


def test_public_names_are_those_that_are_recorded() -> None:
    recorded = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    assert public_api() == recorded, "run: python -m tests.support.public_api"


def test_each_public_name_is_on_a_page_of_the_api() -> None:
    shown = re.findall(r"^::: scrapy_gbot_robots\.([\w.]+)$", text_of("docs/api.md"), re.MULTILINE)
    assert {*scrapy_gbot_robots.__all__, *MODULES, *BULK} - set(shown) == set()


@pytest.mark.parametrize("name", components.__all__)
def test_settings_files_may_name_a_component_by_the_package(name: str) -> None:
    """Such paths stand in settings files. The record and the page rules come with the add-on only."""
    if name not in {"PageRulesMiddleware", "RobotsRecord"}:
        assert load_object(f"scrapy_gbot_robots.{name}") is getattr(components, name)
        assert name not in scrapy_gbot_robots.__all__


_ROOMS = "|".join(DOORS)
_NAMED = re.compile(
    # A name in square brackets is that of a logger, in an excerpt of a log.
    rf"(?<!\[)\bscrapy_gbot_robots\.((?:{_ROOMS})(?:\.\w+)*)|`((?:{_ROOMS})\.(?!py\b)[\w.]+)`"
)
_FILES = (".html", ".jsonl", ".pdf")
_SCRAPYS = "engine.download"  # of Scrapy's engine
_PUBLIC = (*MODULES, *BULK, "bulk", "addon", "settings", "experimental", _SCRAPYS)
_FOR_USERS = [page for page in PAGES if page.name not in {"ARCHITECTURE.md", "maintaining.md"}]


@pytest.mark.parametrize("page", _FOR_USERS, ids=lambda page: page.stem)
def test_pages_for_users_name_public_modules_only(page: Path) -> None:
    named = {whole or short for whole, short in _NAMED.findall(page.read_text(encoding="utf-8"))}
    named = {name for name in named if not name.endswith(_FILES)}
    assert [name for name in sorted(named) if not name.startswith(_PUBLIC)] == []
