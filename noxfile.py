"""The support matrix as a program: `nox` runs it, `nox -l` lists its sessions, `nox -s 'crawls(oldest)'` runs one.

Each session has its own virtual environment. `suite` runs every test, on each Python, with the
oldest and the newest Scrapy. `crawls` runs the tests that run a Scrapy engine (`pytest -m crawl`),
in each way in which Scrapy can run, and with each Scrapy in between. `crawls(main)` runs them with
the Scrapy that comes, if one asks for it. nox skips a Python that is not installed, and says so.
"""

from __future__ import annotations

import os
import shutil
from configparser import ConfigParser
from pathlib import Path

import nox

HOME = Path(__file__).parent
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
SIDE_BY_SIDE = ["-n", "4", "--dist", "worksteal"]  # crawls mostly wait

_config = ConfigParser()
_config.read(HOME / "setup.cfg")
_REQUIRED = _config["options"]["install_requires"].split("\n")
(_WANTED,) = (line for line in _REQUIRED if line.startswith("scrapy "))  # scrapy >= 2.14
OLDEST, NEWEST = _WANTED.replace(">=", "=="), "scrapy"

SCRAPYS = [nox.param(OLDEST, id="oldest"), nox.param(NEWEST, id="newest")]

# which of them Scrapy wants depends on its version; 2.15 uses it without a reactor, too
HTTPX = ["httpx", "httpx2"]

# requirements besides the plugin, and options of pytest; the asyncio reactor is the default
CRAWLS = [
    nox.param([OLDEST], [], id="oldest"),
    *[
        nox.param([f"scrapy=={minor}.*", *HTTPX], [], id=minor)
        for minor in ("2.15", "2.16", "2.17", "2.18")
    ],
    nox.param([OLDEST], ["--reactor=default"], id="oldest, another reactor"),
    nox.param([NEWEST], ["--reactor=default"], id="newest, another reactor"),
    nox.param([NEWEST], ["--download-handler=aiohttp"], id="newest, aiohttp"),
    nox.param([NEWEST, *HTTPX], ["--download-handler=httpx"], id="newest, httpx"),
    # tells what will come; it may fail
    nox.param(["git+https://github.com/scrapy/scrapy", *HTTPX], [], id="main"),
]

# what the examples in docs/many-at-once.md need besides the extra `all`; Spark needs pandas
ENGINES = ["duckdb >= 1.4", "numpy", "pandas", "polars", "pyspark >= 4"]

nox.options.default_venv_backend = "venv"
nox.options.reuse_venv = "yes"
nox.options.sessions = [
    "suite",
    *(f"crawls({way.id})" for way in CRAWLS if way.id != "main"),
    "release",
]


def _install(session: nox.Session, *requirements: str) -> None:
    session.install("-q", "-e", ".[all]", *requirements)
    session.run("scrapy", "version", "--verbose")


@nox.session(python=PYTHONS)
@nox.parametrize("scrapy", SCRAPYS)
def suite(session: nox.Session, scrapy: str) -> None:
    """Every test: what another Python does otherwise."""
    _install(session, scrapy)
    session.run("pytest", "-q", *SIDE_BY_SIDE, *session.posargs)


@nox.session
@nox.parametrize(("requirements", "way"), CRAWLS)
def crawls(session: nox.Session, requirements: list[str], way: list[str]) -> None:
    """The tests that run a Scrapy engine: what an older Scrapy lacks, what only asyncio has, what another handler sends."""
    _install(session, *requirements)
    session.run("pytest", "-q", *SIDE_BY_SIDE, "-m", "crawl", *way, *session.posargs)


@nox.session
def engines(session: nox.Session) -> None:
    """The documentation's examples for engines, which no other session installs. Spark needs Java 17 or newer."""
    session.install("-q", "-e", ".[all]", *ENGINES)
    session.run("pytest", "-q", "-m", "engine", *session.posargs, env={"GBOT_ROBOTS_ENGINES": "1"})


@nox.session
def mutants(session: nox.Session) -> None:
    """Which changes of the code the tests do not notice: `nox -s mutants -- policy --sample 200`."""
    session.install("-q", "-e", ".[all]", "cosmic-ray")
    session.run("python", "-m", "tools.mutants", *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """The documentation site, in build/site; a warning is an error. `nox -s site -- serve` shows it while you write."""
    session.install("-q", "-e", ".[docs]")
    session.run(
        "mkdocs",
        *(session.posargs or ["build", "--strict"]),
        env={"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"},
    )


@nox.session
def workflows(session: nox.Session) -> None:
    """Check the workflows for weaknesses, and the files of other services against their schemas."""
    session.install("-q", "check-jsonschema", "pre-commit", "zizmor")
    session.run("zizmor", "--offline", "--persona", "pedantic", ".github")
    for schema, *files in (
        ("github-workflows", *map(str, Path(".github/workflows").glob("*.yml"))),
        (
            "github-issue-forms",
            ".github/ISSUE_TEMPLATE/bug.yml",
            ".github/ISSUE_TEMPLATE/verdict.yml",
        ),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("dependabot", ".github/dependabot.yml"),
        ("readthedocs", ".readthedocs.yaml"),
    ):
        session.run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)
    session.run("pre-commit", "validate-config")
    session.run("pre-commit", "validate-manifest")


@nox.session
def release(session: nox.Session) -> None:
    """Build the files of a release, and try each where nothing else is installed. `-- vX.Y.Z` names the tag."""
    session.install("-q", "build", "twine")
    shutil.rmtree(session.create_tmp())
    built = Path(session.create_tmp()).resolve() / "dist"
    session.run("python", "-m", "build", "--outdir", str(built))
    session.run("twine", "check", "--strict", *map(str, built.iterdir()))
    wheel, sdist = (next(built.glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    for tag in session.posargs:
        if f"-{tag.removeprefix('v')}-" not in wheel.name:
            session.error(f"{tag} is not the version of {wheel.name}")
    for file in (wheel, sdist):
        _try_out(session, file)


def _try_out(session: nox.Session, file: Path) -> None:
    """Install `file` in an empty environment outside the project, and use it as a newcomer would."""
    place = Path(session.create_tmp()).resolve() / f"try-{file.suffix[1:]}"
    session.run("python", "-m", "venv", str(place))
    bin_dir = place / ("Scripts" if os.name == "nt" else "bin")
    python = str(bin_dir / "python")
    session.run(python, "-m", "pip", "install", "-q", str(file), external=True)
    (place / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")
    (place / "expected").write_text("deny mybot /private/1\nallow mybot /\n")
    with session.chdir(place):
        session.run(
            python,
            "-c",
            "import scrapy_gbot_robots as g; [getattr(g, name) for name in g.__all__]",
            external=True,
        )
        session.run(
            str(bin_dir / "gbot-robots"),
            "test",
            "expected",
            "--robots",
            "robots.txt",
            external=True,
        )
        session.run(str(bin_dir / "scrapy"), "robots", "lint", "robots.txt", external=True)
        session.run(python, "-m", "pip", "check", external=True)
    light = place.with_name(f"{place.name}-light")
    session.run("python", "-m", "venv", str(light))
    light_bin = light / bin_dir.name
    pip = (str(light_bin / "python"), "-m", "pip", "install", "-q")
    session.run(*pip, "--no-deps", str(file), external=True)
    session.run(*pip, "idna", "w3lib", external=True)
    session.run(str(light_bin / "gbot-robots"), "lint", str(place / "robots.txt"), external=True)
