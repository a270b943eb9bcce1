"""The slowest 500 KiB file known for each kind of work, in milliseconds: `python -m benchmarks.worst`.

A crawl reads whole files in a thread, and answers there each question for which `core.rules.takes_long` is true. The rest
blocks the reactor.
"""

from __future__ import annotations

import random
import statistics
import string
import time
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_gbot_robots import RobotsTxt, Rules
from scrapy_gbot_robots.core.lines import MAX_BYTES
from scrapy_gbot_robots.core.lint import findings
from scrapy_gbot_robots.core.robots import groups_of, sitemap_lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = "examplebot"
SITE = "https://www.example.com"
ROUNDS = 3
HEAD = b"user-agent: *\n"
URL_OF_AS = f"{SITE}/{'a' * 16_000}"
URL_OF_RUNS = f"{SITE}/{'aabaaab' * 2_300}"
URL_OF_ESCAPES = f"{SITE}/{'%c3%a9' * 2_600}"


URL_OF_WORDS = f"{SITE}/{''.join(random.Random(5).choices(ascii_lowercase, k=16_000))}"


class Worst(NamedTuple):
    """One row: `prepare` is not timed, and its result is passed to `work`, which is."""

    what: str
    file: str
    prepare: Callable[[], Any]
    work: Callable[[Any], object]


def filled(line: Callable[[int], str], head: bytes = HEAD) -> bytes:
    """Return a file as long as a crawl reads: `head`, then lines, each made from its number."""
    parts, size = [head], len(head)
    while size < MAX_BYTES:
        parts.append(f"{line(len(parts))}\n".encode())
        size += len(parts[-1])
    return b"".join(parts[:-1])


def of_runs(number: int) -> str:
    """Return a needle that is not in URL_OF_RUNS, though all its pieces are."""
    return "".join("aab" if bit == "0" else "aaab" for bit in f"{number:020b}")


def words_at(place: int) -> str:
    """Return a piece of URL_OF_WORDS."""
    return URL_OF_WORDS[place : place + 12]


def short_word(number: int) -> str:
    """Return one of 46,656 words of three letters."""
    digits = string.digits + ascii_lowercase
    return digits[number // 1296 % 36] + digits[number // 36 % 36] + digits[number % 36]


def asked(rules: Rules) -> Rules:
    """Return `rules` after the questions that make them build their index."""
    while rules._index is None:
        rules.allowed(f"{SITE}/zz")
    return rules


def worst_ones() -> list[Worst]:
    def rules(body: bytes) -> Callable[[], Rules]:
        return lambda: RobotsTxt.parse(body).rules_for(AGENT)

    def indexed(body: bytes) -> Callable[[], Rules]:
        return lambda: asked(RobotsTxt.parse(body).rules_for(AGENT))

    def parsed(body: bytes) -> Callable[[], RobotsTxt]:
        return lambda: RobotsTxt.parse(body)

    same = filled(lambda _: "disallow: /*" + "a" * 20 + "ba")
    alike = filled(lambda number: f"disallow: /*{'a' * 20}{number}ba")
    runs = filled(lambda number: f"disallow: /*{of_runs(number)}")
    on_stem = filled(lambda number: f"disallow: /xxxxxxxx*a{number % 10}*b{number}")
    ends = filled(lambda number: f"disallow: /*{number % 1_000:03}$")
    short = filled(lambda number: f"disallow: *{short_word(number)}")
    exempt = filled(lambda number: f"allow: /{number:06}/", HEAD + b"disallow: /\n")
    long_stem = filled(lambda number: f"disallow: /{'x' * 80}*{of_runs(number)}")
    windows = filled(lambda number: f"disallow: /*{URL_OF_WORDS[number : number + 30]}*~~")
    swapped = filled(lambda number: f"disallow: /*{words_at(number + 60)}*{words_at(number + 30)}")
    pages = filled(lambda number: f"allow: /{number}/index.html", HEAD + b"disallow: /\n")
    no_colon = filled(lambda _: "disallow /")
    junk = filled(lambda _: "d")
    hosts = filled(lambda _: f"sitemap:http://{'é' * 60}.com", b"")
    starts = filled(lambda number: f"user-agent:a{chr(97 + number % 26)}\nallow:", b"")
    delays = filled(lambda number: f"user-agent: {'ab' * (number % 60)}\ncrawl-delay: 1", b"")
    return [
        Worst(
            "first question",
            "rules `/*aaab...`, URL of 16,000 characters of runs",
            rules(runs),
            allow(URL_OF_RUNS),
        ),
        Worst(
            "first question",
            "one rule `/*aaaa...ba` again and again, 16,000 a's",
            rules(same),
            allow(URL_OF_AS),
        ),
        Worst("building the index", "allow rules for index pages", rules(pages), asked),
        Worst(
            "later question", "rules `/*aaaa...1ba`, 16,000 a's", indexed(alike), allow(URL_OF_AS)
        ),
        Worst(
            "later question",
            "rules on one stem, 16,000 a's",
            indexed(on_stem),
            allow(f"{SITE}/xxxxxxxx{'a' * 16_000}"),
        ),
        Worst(
            "later question",
            "rules `/*123$`, 16,000 characters of escapes",
            indexed(ends),
            allow(URL_OF_ESCAPES),
        ),
        Worst(
            "later question", "rules `/*aaab...`, URL of runs", indexed(runs), allow(URL_OF_RUNS)
        ),
        Worst(
            "later question",
            "rules `*abc`, URL of 16,000 random letters",
            indexed(short),
            allow(URL_OF_WORDS),
        ),
        Worst(
            "later question",
            "rules `/xxx...*aaab...` on one stem, URL of runs",
            indexed(long_stem),
            allow(f"{SITE}/{'x' * 80}{URL_OF_RUNS}"),
        ),
        Worst(
            "later question",
            "rules `/*...*~~` of pieces of the URL, 16,000 random letters",
            indexed(windows),
            allow(URL_OF_WORDS),
        ),
        Worst(
            "later question",
            "rules `/*...*...` of pieces of the URL in the wrong order, 16,000 random letters",
            indexed(swapped),
            allow(URL_OF_WORDS),
        ),
        Worst(
            "later question",
            "`disallow: /` and allow rules, an ordinary URL",
            indexed(exempt),
            allow(f"{SITE}/zz"),
        ),
        Worst(
            "verdict",
            "rules `/*aaab...`, URL of runs",
            indexed(runs),
            lambda rules: rules.verdict(URL_OF_RUNS),
        ),
        Worst(
            "reading a group",
            "`disallow /` without colon",
            parsed(no_colon),
            lambda robots: robots.rules_for(AGENT),
        ),
        Worst("sitemap lines", "hosts of 60 é", parsed(hosts), sitemap_lines_of),
        Worst("groups", "starts of groups", parsed(starts), groups_of),
        Worst("groups", "user agents and crawl delays", parsed(delays), groups_of),
        Worst("remarks", "lines of one letter", parsed(junk), lambda robots: robots.remarks),
        Worst("lint", "lines of one letter", lambda: junk, findings),
    ]


def allow(url: str) -> Callable[[Any], object]:
    return lambda rules: rules.allowed(url)


def print_worst() -> None:
    print("| what | file | milliseconds |\n|---|---|---|")
    for worst in worst_ones():
        times = []
        for _ in range(ROUNDS):
            ready = worst.prepare()
            begin = time.process_time()
            worst.work(ready)
            times.append(time.process_time() - begin)
        print(f"| {worst.what} | {worst.file} | {statistics.median(times) * 1e3:.1f} |", flush=True)


if __name__ == "__main__":
    print_worst()
