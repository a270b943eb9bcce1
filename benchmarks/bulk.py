"""What `judge` takes for many URLs at once, beside Protego: `python -m benchmarks.bulk DIRECTORY`.

The directory contains real robots.txt files. Both take turns in this process; the figures are medians of five, of processor
time. `judge` gets the URLs of all sites in random order; Protego parses the file of each site once, and is asked about each
URL of it. Seven of ten URLs are ordinary ones, three are made from the rules of the site's file.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from scrapy_gbot_robots.bulk import judge

from .parser import SITE, Robots
from .peers import AGENT
from .verdicts import Asked, files_in, mixed_urls, protego, row


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


def row_of_sites(name: str, made: dict[str, Asked]) -> None:
    urls = [url for asked in made.values() for url in asked.urls]
    random.Random(2).shuffle(urls)
    robots = {site: asked.robots.raw for site, asked in made.items()}
    row(name, len(urls), lambda: judge(urls, robots, AGENT), lambda: protego([*made.values()]))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("directory", type=Path, help="of real robots.txt files")
    files = files_in(options.parse_args().directory)
    print("| URLs | here, microseconds each | Protego / here |\n|---|---|---|")
    row_of_sites("400,000 of 8,000 sites, 800 files", sites(files, 8_000, 800, 50))
    row_of_sites(
        "60,000 of 6,000 sites, each with a file of its own", sites(files, 6_000, 6_000, 10)
    )
    row_of_sites(
        "200,000 of 4,000 sites, each with a file of its own", sites(files, 4_000, 4_000, 50)
    )


if __name__ == "__main__":
    main()
