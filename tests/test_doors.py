"""The doors of the house: which room may import which, and which modules the pure part loads."""

import ast
import re
import runpy
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import scrapy_gbot_robots

from .support.processes import run

PACKAGE = Path(scrapy_gbot_robots.__file__).parent
FOREIGN = {"scrapy", "twisted", "redis"}

# From the ground up. A room is a folder, or a module at the top of the package; it imports only what its row names,
# type-only and lazy imports included.
_GROUND = {"core", "concurrency", "counts", "engine", "experimental"}
_WORDS = {"settings", "signals", "meta", "exceptions"}
_POLICY = _GROUND | {"policy"}
_BELOW_FETCHING = _POLICY | _WORDS | {"storage"}
_BELOW_REPORT = _BELOW_FETCHING | {"fetching", "sitemaps", "answers", "obeying"}
_ALL = _BELOW_REPORT | {"pages", "report", "components", "addon", "bulk", "commands"}
DOORS = {
    "core": set(),
    "concurrency": set(),
    "counts": set(),
    "engine": {"concurrency"},
    "meta": set(),
    "experimental": {"core", "meta"},
    "policy": {"core"},
    "settings": {"core", "experimental", "policy"},
    "signals": set(),
    "exceptions": _POLICY,
    "storage": {"core", "concurrency", "policy", "settings"},
    "fetching": _BELOW_FETCHING - {"storage"},
    "sitemaps": _BELOW_FETCHING - {"storage"} | {"fetching"},
    "answers": _BELOW_FETCHING | {"fetching"},
    "obeying": _BELOW_FETCHING - {"storage"} | {"fetching", "answers"},
    "pages": _WORDS | {"engine", "policy", "obeying"},
    "report": _BELOW_REPORT,
    "components": _BELOW_REPORT | {"pages", "report"},
    "addon": _BELOW_REPORT | {"pages", "report", "components"},
    "bulk": {"core", "policy"},
    "commands": _ALL - {"commands"},
    "__main__": {"commands"},
}

# `gbot-robots` works without Scrapy for files: these modules of the command alone import Scrapy, and rooms that do.
OF_SCRAPY = {"project_crawl", "scrapy_command"}
# The others import these rooms, and of two more rooms a module each.
WITHOUT_SCRAPY = {"core", "policy", "bulk", "counts", "experimental", "settings", "commands"}
PURE_MODULES = (".sitemaps.reader", ".storage.base")

# What these rooms may import from outside, besides the standard library.
OUTSIDE = {
    "core": {"idna"},
    "policy": {"brotli", "w3lib"},
    "storage": {"redis"},
    "bulk": {"pyarrow"},  # for those who hand over its batches
}

# A pure room uses no clock, no network, no file and no log: none of these modules, names and methods.
PURE = ("core", "policy")
_IMPURE = set(
    "asyncio http logging os pathlib random select ssl subprocess tempfile threading time".split()
)
_IMPURE_NAMES = set(
    "create_connection getaddrinfo now open perf_counter print sleep today utcnow".split()
)

MOST_CHAPTERS = 13  # modules that only one other imports, sub-commands aside


def _modules(room: str) -> list[Path]:
    """The modules of a room: those of a folder, or the one that stands at the top."""
    return sorted((PACKAGE / room).glob("*.py")) or [PACKAGE / f"{room}.py"]


def _nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def _imports(path: Path) -> set[str]:
    """Dotted names of what a module imports, type checking included; those of the package start with a dot."""
    package = path.relative_to(PACKAGE).parent.parts
    names: set[str] = set()
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1], *filter(None, [node.module])]
            names |= {f".{'.'.join([*base, alias.name])}" for alias in node.names}
            names.add(f".{'.'.join(base)}")
    return names - {".", ".__version__"}


@pytest.mark.parametrize("room", DOORS)
def test_room_imports_only_rooms_of_its_row(room: str) -> None:
    names = set().union(*map(_imports, _modules(room)))
    used = {name.split(".")[1] for name in names if name.startswith(".")}
    assert used - {room} <= DOORS[room]


def test_imports_between_rooms_run_one_way() -> None:
    below: set[str] = set()
    for room, known in DOORS.items():
        assert known <= below, room
        below.add(room)


@pytest.mark.parametrize("room", OUTSIDE)
def test_room_imports_nothing_else_from_outside(room: str) -> None:
    of_the_crawl = PACKAGE / "storage" / "client.py"
    names = set().union(*(_imports(path) for path in _modules(room) if path != of_the_crawl))
    outside = {name.split(".")[0] for name in names if not name.startswith(".")}
    assert outside <= OUTSIDE[room] | sys.stdlib_module_names


@pytest.mark.parametrize("room", PURE)
def test_pure_room_uses_no_clock_network_file_or_log(room: str) -> None:
    for path in _modules(room):
        assert not {name.split(".")[0] for name in _imports(path)} & _IMPURE, path
        nodes = [node.func for node in _nodes(path) if isinstance(node, ast.Call)]
        called = {getattr(node, "attr", getattr(node, "id", None)) for node in nodes}
        assert not called & _IMPURE_NAMES, path


def imported_modules(path: Path) -> set[Path]:
    """The modules of the package that the one at `path` imports, type-only and late imports included."""
    names = [name[1:].split(".") for name in _imports(path) if name.startswith(".")]
    targets = {PACKAGE.joinpath(*name).with_suffix(".py") for name in names}
    return {target for target in targets if target.exists()} - {path}


def test_modules_import_one_another_in_no_circle() -> None:
    paths = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    below = {path: imported_modules(path) for path in paths}
    assert set(TopologicalSorter(below).static_order()) >= set(below)  # a circle is a CycleError


def test_few_modules_are_chapters_of_another() -> None:
    importers: Counter[Path] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        importers.update(imported_modules(path))
    chapters = [path for path, number in importers.items() if number == 1]
    chapters = [path for path in chapters if path.parent.name != "commands"]
    assert len(chapters) <= MOST_CHAPTERS


def test_every_room_has_its_row() -> None:
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert modules | folders == {*DOORS, "__init__"}


@pytest.mark.parametrize("name", ["rooms.svg", "ways.svg"])
def test_pictures_of_the_architecture_are_those_that_are_drawn_of_the_rows(name: str) -> None:
    images = PACKAGE.parent / "docs" / "images"
    drawn = runpy.run_path(str(images / "draw.py"))["DRAWINGS"][name]()
    shown = (images / name).read_text(encoding="utf-8")
    assert shown == drawn, "run: python docs/images/draw.py"


# Private or changing parts of Scrapy's engine, downloader, spiders and queues. Only `engine` names them.
PARTS_OF_SCRAPY = set(
    """
    _active_downloads _cbs _downloader_interface _enqueue_request _follow _get_slot _slot _start_queue_cls
    downstream_queue_cls pqueues slots
    """.split()
)


def test_only_one_module_names_parts_of_scrapy() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        nodes = list(_nodes(path))
        named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        named |= {str(node.value) for node in nodes if isinstance(node, ast.Constant)}  # getattr
        allowed = PARTS_OF_SCRAPY if path.name == "engine.py" else set()
        assert named & PARTS_OF_SCRAPY == allowed, path


def test_undocumented_names_of_scrapy_are_listed_in_one_place() -> None:
    used: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in _nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scrapy.utils."):
                used |= {alias.name for alias in node.names}
    engine = ast.parse((PACKAGE / "engine.py").read_text(encoding="utf-8"))
    listed = (ast.get_docstring(engine) or "").partition("scrapy.utils")[2]
    assert used <= set(re.findall(r"\w+", listed))


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.glob("*/__init__.py")), ids=lambda path: str(path.parent.name)
)
def test_the_init_of_a_room_is_its_law_and_no_code_beyond_names(path: Path) -> None:
    law, *code = ast.parse(path.read_text(encoding="utf-8")).body
    assert all(isinstance(each, ast.ImportFrom) for each in code)  # names that are public
    assert isinstance(law, ast.Expr)
    assert "Source:" in str(ast.literal_eval(law.value))


def test_pure_part_and_the_judge_of_columns_load_neither_scrapy_nor_what_extras_bring() -> None:
    script = (
        "import sys, scrapy_gbot_robots as g\n"
        "r = g.RobotsTxt.parse(b'user-agent: a\\ndisallow: /x')\n"
        "assert not r.allowed('https://exämple.com/x', 'a')\n"
        "assert g.Origin.of('https://exämple.com/').host == 'xn--exmple-cua.com'\n"
        "assert not [name for name in sys.modules if 'preferences' in name]\n"
        "import scrapy_gbot_robots.bulk as bulk\n"
        "assert bulk.judge(['https://a.example/x'], [b'user-agent: *\\ndisallow: /x'], 'a') == {'a': [0]}\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))\n"
    )
    ended = run([sys.executable, "-c", script])
    assert ended.returncode == 0, ended.stderr
    loaded = set(ended.stdout.split())
    assert "scrapy_gbot_robots" in loaded
    assert not loaded & {*FOREIGN, "pyarrow"}


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "commands").glob("*.py")), ids=lambda path: str(path.stem)
)
def test_a_sub_command_imports_nothing_that_knows_scrapy(path: Path) -> None:
    names = _imports(path)
    if path.stem in OF_SCRAPY:
        assert "scrapy" in {name.split(".")[0] for name in names}
        return
    for name in names:
        top, _, rest = name.partition(".")
        assert top not in FOREIGN
        if not top and rest not in {"sitemaps", "storage"}:  # whose modules are there, too
            assert name.startswith(PURE_MODULES) or rest.split(".")[0] in WITHOUT_SCRAPY


def test_what_is_asked_of_files_loads_neither_scrapy_nor_twisted(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("user-agent: *\ndisallow: /x\n")
    (tmp_path / "t.txt").write_text("deny a /x\n")
    (tmp_path / "u.txt").write_text("https://a.example/x\n")
    (tmp_path / "s.xml").write_text("<urlset><url><loc>https://a.example/x</loc></url></urlset>")
    script = (
        "import sys, shlex\n"
        "from scrapy_gbot_robots.commands.command import main\n"
        "for line in sys.argv[1:]:\n"
        "    assert main(shlex.split(line)) in {0, 1}, line\n"
        f"    assert not {FOREIGN} & sys.modules.keys(), line\n"
    )
    lines = (
        "lint r.txt",
        "check /x --robots r.txt",
        "test t.txt --robots r.txt",
        "diff r.txt t.txt",
        "agents /x --robots r.txt",
        "audit --urls u.txt --robots r.txt",
        "audit --urls u.txt --diff r.txt t.txt",
        "audit --urls s.xml --robots r.txt",
    )
    ended = run([sys.executable, "-c", script, *lines], tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_every_public_name_can_be_imported_and_installs_no_reactor() -> None:
    script = (
        "import sys, scrapy_gbot_robots as g\n"
        "assert [getattr(g, name).__name__ for name in g.__all__] == [*g.__all__]\n"
        "assert {*g.__all__} <= {*dir(g)}\n"
        "import scrapy_gbot_robots.report.extension, scrapy_gbot_robots.sitemaps.middlewares\n"
        "assert 'twisted.internet.reactor' not in sys.modules\n"
    )
    ended = run([sys.executable, "-c", script])
    assert (ended.returncode, ended.stderr) == (0, "")


def test_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = scrapy_gbot_robots.Nonsense
