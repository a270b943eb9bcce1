"""URLs per second and peak memory of `scrapy robots audit`, beside Protego asked for the same URLs in a loop.

Each runs in a process of its own and writes a row for each URL. Run it as `python -m benchmarks.audit [URLS [RULES]]`.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = [
    "cart",
    "shop",
    "item",
    "search",
    "p",
    "q",
    "blog",
    "2024",
    "img",
    "user",
    "api",
    "list",
    "tag",
    "a",
    "b",
    "c",
    "new",
]

PEAK = "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')), file=sys.stderr)"
OURS = f"""
import sys
from scrapy_gbot_robots.commands.command import main
status = main(["audit", "--urls", "urls.txt", "--robots", "robots.txt", "--as", "examplebot", "--format", "csv"])
{PEAK}
"""
PROTEGO = f"""
import csv, sys
from protego import Protego
with open("robots.txt") as file:
    robots = Protego.parse(file.read())
rows = csv.writer(sys.stdout)
with open("urls.txt") as urls:
    for url in map(str.strip, urls):
        rows.writerow((url, robots.can_fetch(url, "examplebot")))
{PEAK}
"""


def path(chance: random.Random, words: int) -> str:
    return "/" + "/".join(chance.choice(WORDS) + str(chance.randrange(60)) for _ in range(words))


def robots_txt(chance: random.Random, rules: int) -> str:
    """Mostly plain prefixes, a sixth of them with wildcards, a fifth allowing."""
    lines = ["user-agent: *"]
    for number in range(rules):
        pattern = path(chance, chance.choice((1, 2, 2, 3)))
        if number % 10 == 0:
            pattern = "/*" + pattern[1:]
        if number % 20 == 1:
            pattern += "*.pdf$"
        if number % 25 == 2:
            pattern = f"/*?{chance.choice(WORDS)}{number}="
        lines.append(f"{'allow' if number % 5 == 0 else 'disallow'}: {pattern}")
    return "\n".join(lines)


def measure(name: str, script: str, urls: int, home: Path) -> None:
    out = home / f"{name}.csv"
    began = time.perf_counter()
    with out.open("w") as rows:
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=home,
            stdout=rows,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
    secs = time.perf_counter() - began
    written = out.read_text().count("\n")
    peak = int(done.stderr.split()[-1]) / 1024
    print(f"{name:12} {secs:8.1f} s {urls / secs:10,.0f} URLs/s {peak:8.1f} MiB {written:10,}")


def main(urls: int = 1_000_000, rules: int = 1_000) -> None:
    chance = random.Random(1)
    ends = ("", "/", "?x=1", ".pdf", "?item10=1")
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        (home / "robots.txt").write_text(robots_txt(chance, rules))
        with (home / "urls.txt").open("w") as file:
            for _ in range(urls):
                file.write(
                    f"https://www.example.com{path(chance, chance.randrange(1, 5))}{chance.choice(ends)}\n"
                )
        print(
            f"{urls:,} URLs, {rules:,} rules; seconds from start to end of the process, peak memory, rows written"
        )
        measure("audit", OURS, urls, home)
        measure("Protego", PROTEGO, urls, home)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
