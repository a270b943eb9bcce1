"""How fast the parser reads and answers, and what it keeps in memory, beside Protego and others.

Run it as `python -m benchmarks.parser [DIRECTORY]`; the directory contains real robots.txt files. Without it, the rows that
need such files are left out. All parsers take turns in this one process, and the medians are compared: a ratio of 5 means
that the other parser takes five times as long. Parsing is always timed together with the first question, since some parsers
put work off until then.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core.robots import groups_of

from .peers import AGENT, Peer, installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SITE = "https://www.example.com"
SMALL_BYTES = 4096
QUESTIONS = 100  # for each file, if answers are timed
ROUNDS = 5
SLOWEST_SECS = 30.0  # a parser that takes longer for a workload is timed only twice


class Robots(NamedTuple):
    raw: bytes
    text: str


class Workload(NamedTuple):
    """`run` does the work with a parser and returns the seconds; `each` is how many pieces of work that is."""

    name: str
    run: Callable[[Peer], float]
    each: int
    peers: bool = True  # whether others than Protego are timed, too


# Questions


def ordinary_urls(count: int, seed: int = 1) -> list[str]:
    chance = random.Random(seed)
    words = "products item news 2024 search cart img assets user about category page blog tag en de api v1 list".split()
    paths = ["/".join(chance.choices(words, k=chance.randint(1, 4))) for _ in range(count)]
    return [
        f"{SITE}/{path}{chance.choice(('', '/', '.html', '?page=2', '/1234'))}" for path in paths
    ]


def long_urls(count: int, seed: int = 4) -> list[str]:
    """URLs of 2 KB."""
    chance = random.Random(seed)
    return [f"{SITE}/{'/'.join(word(chance, 7) for _ in range(256))}" for _ in range(count)]


def word(chance: random.Random, length: int) -> str:
    return "".join(chance.choices(ascii_lowercase, k=length))


def urls_of_rules(robots: Robots, count: int, seed: int = 1) -> list[str]:
    """URLs that the rules of the file are about: stars are replaced by text, and some URLs are longer."""
    chance = random.Random(seed)
    patterns = [
        rule.pattern for group in of_all(robots) for rule in group.rules if rule.pattern
    ] or ["/"]
    fills = ("", "x", "item/12", "a-b-c")
    picked = [chance.choice(patterns).rstrip("$") for _ in range(count)]
    paths = [
        "".join(chance.choice(fills) if sign == "*" else sign for sign in pattern)
        for pattern in picked
    ]
    return [f"{SITE}/{path.removeprefix('/')}{chance.choice(fills)}" for path in paths]


def of_all(robots: Robots) -> list[Any]:
    return [group for group in groups_of(RobotsTxt.parse(robots.raw)) if "*" in group.user_agents]


# Made-up files


def made(lines: Iterable[str]) -> Robots:
    text = "\n".join(["User-agent: *", *lines, ""])
    return Robots(text.encode(), text)


def many_rules(count: int = 14_000, seed: int = 2) -> Robots:
    """500 KiB, nearly all of it plain prefixes."""
    chance = random.Random(seed)
    return made(
        f"Disallow: /{chance.randrange(10**6)}/{chance.choice('abc')}{i:05}/{i % 977}/"
        for i in range(count)
    )


def many_wildcards(count: int = 22_000, seed: int = 3) -> Robots:
    chance = random.Random(seed)
    return made(f"Disallow: /*{word(chance, 8)}*{word(chance, 4)}" for _ in range(count))


def mixed_rules(count: int = 14_000, seed: int = 2) -> Robots:
    """As `many_rules`, but half of the rules have a star or end in "$"."""
    chance = random.Random(seed)
    ends = ("*/x", "", ".gif$", "")
    return made(
        f"Disallow: /{chance.randrange(10**6)}/{chance.choice('abc')}{i:05}/{ends[i % 4]}"
        for i in range(count)
    )


def many_stars(rules: int = 250, stars: int = 1_000) -> Robots:
    return made([f"Disallow: /{'a*' * stars}b"] * rules)


# Workloads


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of processor time that `work` takes: other programs may be busy."""
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def parsing(name: str, files: list[Robots], *, peers: bool = True) -> Workload:
    """Parse each file and ask one question."""
    url = (f"{SITE}/products/item/1234?page=2",)

    def run(peer: Peer) -> float:
        parse, ask = peer.parse, peer.ask

        def work() -> None:
            for raw, text in files:
                ask(parse(raw, text), url)

        return timed(work)

    return Workload(name, run, len(files), peers)


def matching(name: str, asked: list[tuple[Robots, list[str]]], *, peers: bool = True) -> Workload:
    """Ask questions that have been asked before, so that the index exists."""

    def run(peer: Peer) -> float:
        ask = peer.ask
        ready = [(peer.parse(*robots), urls) for robots, urls in asked]
        for robots, urls in ready:
            ask(robots, urls)

        def work() -> None:
            for robots, urls in ready:
                ask(robots, urls)

        return timed(work)

    return Workload(name, run, sum(len(urls) for _, urls in asked), peers)


def asking(name: str, robots: Robots, urls: list[str]) -> Workload:
    """Ask questions about a file just parsed: building the index is timed with them."""

    def run(peer: Peer) -> float:
        ready = peer.parse(*robots)

        def work() -> None:
            peer.ask(ready, urls)

        return timed(work)

    return Workload(name, run, len(urls), peers=False)


def workloads(files: list[Robots]) -> Iterator[Workload]:
    if files:
        small = [robots for robots in files if len(robots.raw) <= SMALL_BYTES]
        by_rules = sorted(
            files, key=lambda robots: robots.text.lower().count("allow:"), reverse=True
        )[:20]
        by_stars = sorted(files, key=lambda robots: robots.text.count("*"), reverse=True)[:20]
        yield parsing(f"parse + first question, {len(files):,} real files", files)
        yield parsing(f"parse + first question, {len(small):,} real files up to 4 KB", small)
        few = small[::10]
        yield matching(
            "match, files up to 4 KB, ordinary URLs",
            [(each, ordinary_urls(QUESTIONS)) for each in few],
        )
        yield matching(
            "match, files up to 4 KB, URLs made from their rules",
            [(each, urls_of_rules(each, QUESTIONS)) for each in few],
        )
        yield matching(
            "match, the 20 rule-heaviest files",
            [(each, ordinary_urls(QUESTIONS)) for each in by_rules],
            peers=False,
        )
        yield matching(
            "match, the 20 wildcard-heaviest files",
            [(each, ordinary_urls(QUESTIONS)) for each in by_stars],
            peers=False,
        )
    yield parsing("parse + first question, 14,000 rules", [many_rules()], peers=False)
    yield parsing(
        "parse + first question, 14,000 rules, half of them with * or $",
        [mixed_rules()],
        peers=False,
    )
    yield matching(
        "match, 14,000 rules", [(many_rules(), ordinary_urls(50 * QUESTIONS))], peers=False
    )
    for count in (1, 20, 100):
        yield asking(
            f"{count} questions of 2 KB to 22,000 wildcards, index included",
            many_wildcards(),
            long_urls(count),
        )
    yield asking(
        "worst case: 250 rules of 1,000 stars x 2 KB of a's",
        many_stars(),
        [f"{SITE}/{'a' * 2_000}"] * 5,
    )
    yield asking(
        "worst case: the same x /ab and 2 KB of a's", many_stars(), [f"{SITE}/ab{'a' * 2_000}"] * 5
    )


def times_of(workload: Workload, peers: list[Peer]) -> dict[str, float]:
    """Let the parsers take turns, and return the median of each parser's times."""
    taken: dict[str, list[float]] = {}
    left = [peer for peer in peers if workload.peers or peer.name in {"here", "Protego"}]
    for number in range(ROUNDS):
        for peer in left if number % 2 else left[::-1]:
            try:
                taken.setdefault(peer.name, []).append(workload.run(peer))
            except Exception as error:  # noqa: PERF203 - some do not survive what they meet
                print(f"{peer.name}: {workload.name}: {error!r:.100}", file=sys.stderr)
                taken.pop(peer.name, None)
        left = [
            peer
            for peer in left
            if peer.name in taken and (taken[peer.name][0] < SLOWEST_SECS or number == 0)
        ]
    return {name: statistics.median(times) for name, times in taken.items()}


# Memory and imports


def bytes_per_host(files: list[Robots], keep: Callable[[Robots], Any]) -> float:
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [keep(robots) for robots in files]
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken / len(kept)


def keep_rules(robots: Robots) -> Any:
    rules = RobotsTxt.parse(robots.raw).rules_for(AGENT)
    rules.allowed(SITE + "/")
    return rules


def keep_protego(robots: Robots) -> Any:
    from protego import Protego

    parsed = Protego.parse(robots.text)
    parsed.can_fetch(SITE + "/", AGENT)
    return parsed


def import_secs(statement: str) -> float:
    """Return the seconds that an import takes in a Python that has loaded nothing else."""
    script = (
        f"import time; begin = time.perf_counter(); {statement}; print(time.perf_counter() - begin)"
    )
    return float(
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    )


# The table


def row(name: str, here: str, ratio: float, others: str = "") -> None:
    print(f"| {name} | {here} | {ratio:.2f} | {others} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("directory", type=Path, nargs="?", help="of real robots.txt files")
    directory = options.parse_args().directory
    raws = (
        [path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()]
        if directory
        else []
    )
    files = [Robots(raw, raw.decode("utf-8", "ignore")) for raw in raws]
    if not files:
        print(
            "no DIRECTORY of real files is given: rows that need them are left out", file=sys.stderr
        )
    peers = installed()
    print(
        "| workload | here, microseconds each | Protego / here | others / here |\n|---|---|---|---|"
    )
    for workload in workloads(files):
        times = times_of(workload, peers)
        here = times.pop("here")
        ratio = times.pop("Protego") / here
        others = ", ".join(f"{name} {secs / here:.2f}" for name, secs in times.items())
        row(workload.name, f"{here / workload.each * 1e6:.2f}", ratio, others)
    if files:
        ours, theirs = bytes_per_host(files, keep_rules), bytes_per_host(files, keep_protego)
        row("memory per host, bytes: rules of one agent, asked once", f"{ours:.0f}", theirs / ours)
    statements = ("from scrapy_gbot_robots import RobotsTxt", "from protego import Protego")
    pairs = [[import_secs(statement) for statement in statements] for _ in range(15)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    row("import", f"{ours * 1e6:.0f}", theirs / ours)


if __name__ == "__main__":
    main()
