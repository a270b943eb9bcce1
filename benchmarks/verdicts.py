"""What first answers about a file take, beside Protego: `python -m benchmarks.verdicts DIRECTORY`.

The directory contains real robots.txt files. Both parsers take turns in this process; the figures are medians of five, of
processor time. A refusal is a question that is answered no, and then the verdict that says by which rule.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from protego import Protego

from scrapy_gbot_robots import RobotsTxt

from .parser import ROUNDS, SITE, Robots, ordinary_urls, timed, urls_of_rules
from .peers import AGENT

if TYPE_CHECKING:
    from collections.abc import Callable

URL = f"{SITE}/products/item/1234?page=2"


class Asked(NamedTuple):
    robots: Robots
    urls: list[str]


def files_in(directory: Path) -> list[Robots]:
    """Return the robots.txt files in a directory, in the order of their names."""
    raws = [path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()]
    return [Robots(raw, raw.decode("utf-8", "ignore")) for raw in raws]


def mixed_urls(robots: Robots, count: int, seed: int) -> list[str]:
    """Seven of ten are ordinary URLs, three are made from the rules of the file."""
    few = count * 3 // 10
    return ordinary_urls(count - few, seed) + urls_of_rules(robots, few, seed)


def refusals(files: list[Robots]) -> list[Asked]:
    """Return a URL that each file refuses; a file that refuses none of ten is left out."""
    refused = []
    for seed, robots in enumerate(files):
        rules = RobotsTxt.parse(robots.raw).rules_for(AGENT)
        urls = [url for url in urls_of_rules(robots, 10, seed) if not rules.allowed(url)]
        if urls:
            refused.append(Asked(robots, urls[:1]))
    return refused


def verdicts(asked: list[Asked]) -> None:
    for robots, urls in asked:
        RobotsTxt.parse(robots.raw).verdict(urls[0], AGENT)


def answers(asked: list[Asked]) -> None:
    for robots, urls in asked:
        parsed = RobotsTxt.parse(robots.raw)
        for url in urls:
            parsed.allowed(url, AGENT)


def explained(asked: list[Asked]) -> None:
    for robots, urls in asked:
        parsed = RobotsTxt.parse(robots.raw)
        for url in urls:
            if not parsed.allowed(url, AGENT):
                parsed.verdict(url, AGENT)


def protego(asked: list[Asked]) -> None:
    for robots, urls in asked:
        parsed = Protego.parse(robots.text)
        for url in urls:
            parsed.can_fetch(url, AGENT)


def row(name: str, pieces: int, here: Callable[[], object], there: Callable[[], object]) -> None:
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(timed(here))
        theirs.append(timed(there))
    secs, ratio = statistics.median(ours), statistics.median(theirs) / statistics.median(ours)
    print(f"| {name} | {secs / pieces * 1e6:.2f} | {ratio:.1f} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("directory", type=Path, help="of real robots.txt files")
    files = files_in(options.parse_args().directory)
    once = [Asked(robots, [URL]) for robots in files]
    ten = [Asked(robots, mixed_urls(robots, 10, seed)) for seed, robots in enumerate(files)]
    no = refusals(files)
    print("| workload | here, microseconds each | Protego / here |\n|---|---|---|")
    row("parse + first verdict", len(once), lambda: verdicts(once), lambda: protego(once))
    row(
        "parse, question and verdict of a refusal",
        len(no),
        lambda: explained(no),
        lambda: protego(no),
    )
    row("parse + ten questions", len(ten), lambda: answers(ten), lambda: protego(ten))


if __name__ == "__main__":
    main()
