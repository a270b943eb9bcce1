"""What first answers about a file take, and those to many URLs at once, beside Protego: `python -m benchmarks.verdicts DIRECTORY`.

The directory contains real robots.txt files. Both parsers take turns in this process; the figures are medians of five, of
processor time. A refusal is a question that is answered no, and then the verdict that says by which rule. `judge` gets URLs
in random order; Protego parses the file of each site once, and is asked about each URL of it.
"""

from __future__ import annotations

import argparse
import random
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from protego import Protego

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.bulk import judge

from .parser import ROUNDS, SITE, Robots, ordinary_urls, timed, urls_of_rules
from .peers import AGENT

if TYPE_CHECKING:
    from collections.abc import Callable

URL = f"{SITE}/products/item/1234?page=2"


class Asked(NamedTuple):
    robots: Robots
    urls: list[str]


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


def sites(files: list[Robots], count: int, kinds: int, each: int) -> dict[str, Asked]:
    """Return sites with their URLs. They have files of so many kinds; if each has its own, a rule makes it one."""
    chance = random.Random(1)
    picked = chance.sample(files, min(kinds, len(files)))
    made = {}
    for number in range(count):
        robots = picked[number % len(picked)]
        site = f"https://www.host{number}.example"
        urls = mixed_urls(robots, 50, number % len(picked))
        if kinds == count:
            raw = robots.raw + b"\nUser-agent: *\nDisallow: /of-host-%d/\n" % number
            robots = Robots(raw, raw.decode("utf-8", "ignore"))
        paths = [url.removeprefix(SITE) for url in chance.choices(urls, k=each)]
        made[site] = Asked(robots, [site + path for path in paths])
    return made


def row(name: str, pieces: int, here: Callable[[], object], there: Callable[[], object]) -> None:
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(timed(here))
        theirs.append(timed(there))
    secs, ratio = statistics.median(ours), statistics.median(theirs) / statistics.median(ours)
    print(f"| {name} | {secs / pieces * 1e6:.2f} | {ratio:.1f} |", flush=True)


def row_of_sites(name: str, made: dict[str, Asked]) -> None:
    urls = [url for asked in made.values() for url in asked.urls]
    random.Random(2).shuffle(urls)
    robots = {site: asked.robots.raw for site, asked in made.items()}
    row(name, len(urls), lambda: judge(urls, robots, AGENT), lambda: protego([*made.values()]))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("directory", type=Path, help="of real robots.txt files")
    paths = sorted(options.parse_args().directory.rglob("*"))
    raws = [path.read_bytes() for path in paths if path.is_file()]
    files = [Robots(raw, raw.decode("utf-8", "ignore")) for raw in raws]
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
    row_of_sites("`judge`: 400,000 URLs, 8,000 sites, 800 files", sites(files, 8_000, 800, 50))
    row_of_sites("`judge`: 60,000 URLs, 6,000 sites, own files", sites(files, 6_000, 6_000, 10))


if __name__ == "__main__":
    main()
