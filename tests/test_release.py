"""The release files: the wheel has all that a crawl needs and nothing else, the sdist has the whole project."""

import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from importlib import import_module, metadata
from pathlib import Path
from typing import NamedTuple

import pytest

import scrapy_gbot_robots

from .support.documentation import HOME, text_of
from .support.processes import run

pytestmark = pytest.mark.slow

PACKAGE = "scrapy_gbot_robots"
NOT_THE_PROJECTS = (".*", "build", "dist", "*.egg-info", "__pycache__", "*.pyc")
# Names with a leading dot that belong to the project.
KEPT = (".ci", ".github", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", ".readthedocs.yaml")
# What runs in the browser, and its tests: it is for the site alone.
IN_THE_BROWSER = ("docs/try/", "docs/package", "tests/try_page/")
ROOMS = ("benchmarks", "docs", "example_project", "findings", PACKAGE, "tests", "tools")


def names(requirements: str) -> set[str]:
    """The names in a list of requirements, without versions and markers."""
    return {name.lower() for name in re.findall(r"^\s*([\w.-]+)", requirements, re.MULTILINE)}


def files(directory: Path) -> set[str]:
    """The project's files below `directory`, by their paths in the project."""
    paths = {str(path.relative_to(HOME)) for path in directory.rglob("*") if path.is_file()}
    return {path for path in paths if not re.search(r"(?:^|/)(?:\.|__pycache__/)|\.pyc$", path)}


class Built(NamedTuple):
    """The names of the files in the wheel and the sdist, the wheel's metadata, and where it is unpacked."""

    wheel: set[str]
    sdist: set[str]
    metadata: str
    entry_points: str
    unpacked: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """Build both from a copy of the project, so that building leaves nothing in the project itself."""
    copy = tmp_path_factory.mktemp("release") / "project"
    shutil.copytree(HOME, copy, ignore=shutil.ignore_patterns(*NOT_THE_PROJECTS))
    for kept in KEPT:
        (shutil.copytree if (HOME / kept).is_dir() else shutil.copyfile)(HOME / kept, copy / kept)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist"]
    built = run(command, copy)
    assert built.returncode == 0, built.stdout + built.stderr
    stem = f"{PACKAGE}-{scrapy_gbot_robots.__version__}"
    with (
        zipfile.ZipFile(copy / f"dist/{stem}-py3-none-any.whl") as wheel,
        tarfile.open(copy / f"dist/{stem}.tar.gz") as sdist,
    ):
        shutil.unpack_archive(wheel.filename or "", copy / "unpacked", "zip")
        yield Built(
            set(wheel.namelist()),
            {member.name.partition("/")[2] for member in sdist if member.isfile()},
            wheel.read(f"{stem}.dist-info/METADATA").decode(),
            wheel.read(f"{stem}.dist-info/entry_points.txt").decode(),
            copy / "unpacked",
        )


def test_wheel_has_every_file_of_the_package_and_no_other(built: Built) -> None:
    inside = {name for name in built.wheel if ".dist-info/" not in name}
    assert inside == files(HOME / PACKAGE)
    assert {f"{PACKAGE}/py.typed", f"{PACKAGE}/report/page.html"} <= inside


LINES = (
    "--version",
    "--help",
    "lint robots.txt",
    "check /x --robots robots.txt",
    "test expected.txt --robots robots.txt",
    "diff robots.txt new.txt",
    "agents /x --robots robots.txt",
    "audit --urls urls.txt --robots robots.txt",
    "audit --urls urls.txt --diff robots.txt new.txt",
    "audit --urls sitemap.xml --robots robots.txt",
    "cache --help",
)


def test_wheel_without_its_dependencies_reads_files_beside_two_packages(
    built: Built, tmp_path: Path
) -> None:
    """As after `pip install --no-deps scrapy-gbot-robots && pip install idna w3lib`."""
    packages = tmp_path / "packages"
    shutil.copytree(built.unpacked, packages)
    for package in ("idna", "w3lib"):
        shutil.copytree(Path(import_module(package).__file__ or "").parent, packages / package)
    (tmp_path / "robots.txt").write_text("user-agent: *\ndisallow: /x\n")
    (tmp_path / "new.txt").write_text("user-agent: *\ndisallow: /y\n")
    (tmp_path / "expected.txt").write_text("allow * /y\n")
    (tmp_path / "urls.txt").write_text("https://a.example/x\n")
    (tmp_path / "sitemap.xml").write_text(
        "<urlset><url><loc>https://a.example/y</loc></url></urlset>"
    )
    script = (
        f"import sys; sys.path.append({str(packages)!r}); "
        "from scrapy_gbot_robots.__main__ import console; console()"
    )

    def ended(line: str) -> tuple[int, str]:
        # -S: without what else is installed
        done = run([sys.executable, "-I", "-S", "-c", script, *line.split()], tmp_path)
        return done.returncode, done.stderr

    statuses = [ended(line)[0] for line in LINES]
    assert statuses == [0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]
    for line in ("check https://a.example/x", "audit --urls urls.txt", "lint https://a.example/"):
        status, error = ended(line)
        assert (status, error.count("\n")) == (2, 1)
        assert "Scrapy is needed to fetch" in error
        assert "scrapy is not installed: pip install scrapy" in error


def test_wheel_says_what_it_is(built: Built) -> None:
    assert f"Version: {scrapy_gbot_robots.__version__}\n" in built.metadata
    assert re.search(r"^License(?:-Expression)?: BSD-3-Clause$", built.metadata, re.MULTILINE)
    assert any(name.endswith("LICENSE") for name in built.wheel)
    assert "robots = scrapy_gbot_robots.commands.scrapy_command:RobotsCommand" in built.entry_points
    assert "gbot-robots = scrapy_gbot_robots.__main__:console" in built.entry_points
    assert {"Documentation", "Source", "Changelog", "Issues"} <= set(
        re.findall(r"^Project-URL: (\w+), https://", built.metadata, re.MULTILINE)
    )


def test_base_install_asks_only_for_what_scrapy_brings(built: Built) -> None:
    lines = re.findall(r"^Requires-Dist: (.*)$", built.metadata, re.MULTILINE)
    required = names("\n".join(line for line in lines if "extra ==" not in line))
    assert "scrapy" in required
    assert required - _brought_by("scrapy") == set()


def _brought_by(name: str) -> set[str]:
    """The distribution `name` and all that it requires, by what is installed here."""
    brought: set[str] = set()
    wanted = {name}
    while wanted:
        each = wanted.pop()
        brought.add(each)
        try:
            lines = metadata.requires(each) or []
        except metadata.PackageNotFoundError:  # it is for another system
            continue
        wanted |= names("\n".join(line for line in lines if "extra ==" not in line)) - brought
    return brought


def test_sdist_is_the_project(built: Built) -> None:
    expected = set().union(*(files(HOME / room) for room in ROOMS))
    expected = {name for name in expected if not name.startswith(IN_THE_BROWSER)}
    expected |= {path.name for path in HOME.glob("[!.]*.*") if path.is_file()}
    assert expected - built.sdist == set()
    surplus = built.sdist - expected
    unknown = {name for name in surplus if not name.startswith((*KEPT, f"{PACKAGE}.egg-info/"))}
    assert unknown == {"LICENSE", "PKG-INFO"}
    assert {".ci/run", ".github/workflows/ci.yml", ".pre-commit-hooks.yaml"} <= surplus


def test_changelog_has_the_next_release_first_and_each_once() -> None:
    headings = re.findall(r"^## (.*)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert headings[0].startswith(f"{scrapy_gbot_robots.__version__.partition('rc')[0]} (")
    form = re.compile(r"\d+\.\d+\.\d+ \((\d{4}-\d\d-\d\d|not released yet)\)")
    assert [heading for heading in headings if not form.fullmatch(heading)] == []
    assert len(headings) == len(set(headings))


def test_licence_of_each_requirement_is_listed() -> None:
    config = ConfigParser()
    config.read(HOME / "setup.cfg")
    required = names(config["options"]["install_requires"])
    required |= set().union(*(names(extra) for extra in config["options.extras_require"].values()))
    required.discard("scrapy-gbot-robots")  # whose extra `all` has the others in it
    table = text_of("docs/maintaining.md").partition("## Licences")[2]
    listed = re.findall(r"^\| ([\w-]+(?:, [\w-]+)*) \| [^|]+ \|", table, re.MULTILINE)
    assert required <= {name for row in listed for name in row.lower().split(", ")}
