"""The doors of the house: which part may know which, and what importing the pure part loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import scrapy_gbot_robots

PACKAGE = Path(scrapy_gbot_robots.__file__).parent
FOREIGN = {"scrapy", "twisted", "redis"}

# room: what a module in it may import from the package, and from outside besides the standard library
ROOMS = {
    "core": ({"core"}, {"idna"}),
    "policy": ({"core", "policy"}, set()),
    "storage": ({"core", "policy", "storage"}, {"redis"}),
}
# The Scrapy side, from the ground up: a module, or all of a package, imports only what stands before it.
ORDER = [
    "settings", "signals", "exceptions", "meta", "concurrency", "crawl_delay", "decode", "ftp_client", "ftp", "private_addresses", "rendered", "tally", "user_agent", "holds", "fetch",
    "store", "answer", "robotparser", "lookup", "sitemap_ampersands", "sitemap_xml", "sitemap_formats",
    "sitemap_reader", "lastmod", "sitemap_urls", "sitemap_feed", "sitemaps", "report", "sitemap_middleware",
    "middleware", "addon", "host_list", "sitemap_intake", "progress", "spiders", "commands", "__main__",
]  # fmt: skip


def _modules(room: str) -> list[Path]:
    return sorted((PACKAGE / room).glob("*.py"))


def _imports(path: Path) -> set[str]:
    """Dotted names of what a module imports, type checking included; those of the package start with a dot."""
    package = path.relative_to(PACKAGE).parent.parts
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            targets = [node.module] if node.module else [alias.name for alias in node.names]
            names |= {"." + ".".join([*base, target]) for target in targets}
    return names


@pytest.mark.parametrize("path", [path for room in ROOMS for path in _modules(room)], ids=lambda path: str(path.stem))
def test_rooms_know_only_the_rooms_below_them(path: Path) -> None:
    inside, outside = ROOMS[path.parent.name]
    for name in _imports(path):
        if name.startswith("."):
            assert name.split(".")[1] in inside, name
        else:
            assert name.split(".")[0] in outside | sys.stdlib_module_names, name


@pytest.mark.parametrize("name", ORDER)
def test_scrapy_side_imports_only_what_stands_before(name: str) -> None:
    before = {*ROOMS, *ORDER[: ORDER.index(name)]}
    files = _modules(name) or [PACKAGE / f"{name}.py"]
    used = {found.split(".")[1] for file in files for found in _imports(file) if found.startswith(".")}
    assert used <= {*before, name}


def test_every_module_of_the_scrapy_side_has_its_place_in_the_order() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - set(ROOMS)
    assert {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"} | packages == set(ORDER)


def test_pure_part_loads_neither_scrapy_nor_twisted_nor_redis() -> None:
    script = (
        "import sys, scrapy_gbot_robots as g\n"
        "r = g.RobotsTxt.parse(b'user-agent: a\\ndisallow: /x')\n"
        "assert not r.allowed('https://exämple.com/x', 'a')\n"
        "assert g.Origin.of('https://exämple.com/').host == 'xn--exmple-cua.com'\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "scrapy_gbot_robots" in loaded
    assert not loaded & FOREIGN


def test_what_settings_name_installs_no_reactor() -> None:
    script = (
        "import sys, scrapy_gbot_robots as g\n"
        "assert all(getattr(g, name) for name in g.__all__)\n"
        "import scrapy_gbot_robots.ftp, scrapy_gbot_robots.report, scrapy_gbot_robots.sitemap_middleware\n"
        "assert 'twisted.internet.reactor' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_public_name_can_be_had() -> None:
    for name in scrapy_gbot_robots.__all__:
        assert getattr(scrapy_gbot_robots, name).__name__ == name
    assert set(scrapy_gbot_robots.__all__) <= set(dir(scrapy_gbot_robots))


def test_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = scrapy_gbot_robots.Nonsense
