"""Run the benchmarks and write what they print into README.md, with the commit, the date and the machine.

`python -m benchmarks` runs all parts, `--only NAME` some of them; `--list` says how long each takes. A part that needs real
robots.txt files reads those of GBOT_ROBOTS_REFERENCE (docs/maintaining.md), and is left out without. A README is written after
each part, so a run that is broken off loses only the part that was running.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
README = HERE / "README.md"
FILES = "DIRECTORY"  # stands for that of the real files


class Part(NamedTuple):
    """A part of README.md: the arguments of `python -m`, and how many minutes it takes on two idle cores."""

    command: str
    minutes: int


PARTS = {
    "verdicts": Part(f"benchmarks.verdicts {FILES}", 2),
    "parser": Part(f"benchmarks.parser {FILES}", 2),
    "worst": Part("benchmarks.worst", 1),
    "broad": Part("benchmarks.broad --origins 100000", 2),
    "crawl": Part("benchmarks.crawl", 6),
    "queued": Part("benchmarks.queued --times 1", 20),
    "fleets": Part("benchmarks.fleets", 2),
}


def unpacked(directory: Path) -> str | None:
    """Unpack the real files into `directory`; return where they are, None if there are none."""
    archive = Path(os.environ.get("GBOT_ROBOTS_REFERENCE", "")) / "robots-bodies.tar.gz"
    if not archive.is_file():
        return None
    with tarfile.open(archive) as files:
        files.extractall(directory, filter="data")
    return str(directory)


def output_of(part: Part, files: str | None) -> str:
    arguments = [(files or "") if word == FILES else word for word in part.command.split()]
    ended = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=HERE.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return ended.stdout.strip()


def block(name: str, output: str, machine: str) -> str:
    """Return what stands in README.md for a part: how it was measured, and what it printed."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        cwd=HERE,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()
    date = datetime.datetime.now(datetime.timezone.utc).date()
    if not output.startswith("|"):
        output = f"```text\n{output}\n```"
    command = f"python -m {PARTS[name].command}"
    return f"`{command}`, commit {commit}, {date}, {machine}:\n\n{output}"


def written(readme: str, name: str, text: str) -> str:
    """Return `readme` with another text between the two comments of a part."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(rf"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n{text}\n{end}", readme)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="NAME")
    options.add_argument("--list", action="store_true", help="say what each part takes, and stop")
    python = f"Python {platform.python_version()}"
    options.add_argument("--machine", default=f"{python}, {os.cpu_count()} cores", help="in words")
    given = options.parse_args()
    if given.list:
        for name, part in PARTS.items():
            needs = ", needs GBOT_ROBOTS_REFERENCE" if FILES in part.command else ""
            print(f"{name}: {part.minutes} minutes{needs}")
        return
    with tempfile.TemporaryDirectory() as directory:
        files = unpacked(Path(directory))
        for name in given.only:
            part = PARTS[name]
            if FILES in part.command and files is None:
                print(f"{name}: left out, it needs GBOT_ROBOTS_REFERENCE", file=sys.stderr)
                continue
            print(f"{name}: some {part.minutes} minutes", file=sys.stderr)
            text = block(name, output_of(part, files), given.machine)
            README.write_text(written(README.read_text("utf-8"), name, text), "utf-8")


if __name__ == "__main__":
    main()
