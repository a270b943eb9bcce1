"""The numbers that the documentation says are those of the code."""

import re

import pytest

from scrapy_gbot_robots.answers import answer
from scrapy_gbot_robots.core import lines, rules
from scrapy_gbot_robots.fetching import fetcher
from scrapy_gbot_robots.obeying import front, patience, room
from scrapy_gbot_robots.pages import directives as tags
from scrapy_gbot_robots.policy import outages
from scrapy_gbot_robots.report import extension, summary
from scrapy_gbot_robots.sitemaps import discovery, reader, spider, urls
from scrapy_gbot_robots.storage import client, memory, sqlite

from .support.documentation import HOME

# This test is about the project itself, so it runs in the slow lane.
pytestmark = pytest.mark.slow

WORDS = {3: "three", 4: "four", 5: "five", 7: "seven", 10: "ten", 100: "hundred"}

NUMBERS = [
    ("stats", "Tables list the {} rules", extension._ROWS),
    ("stats", "The page counts up to {} origins", summary.MOST_ORIGINS),
    ("fleets", "for {} days after they were last stored", outages.KEEP_DAYS),
    ("fleets", "in up to {} MiB", memory.MAX_BYTES >> 20),
    ("fleets", "and {} MiB at most)", answer.MOST_BYTES >> 20),
    ("fleets", "Every {} seconds, the process tries to write", client.TRY_AGAIN_SECS),
    ("fleets", "more than {} seconds for a call", client.CALL_SECS),
    ("fleets", "locks the SQLite file for more than {} seconds |", sqlite._BUSY_SECS),
    ("fleets", "in up to {} threads", client.THREADS),
    ("migration", "a quarter of that number, at least {} and", fetcher.FEWEST_SOCKETS),
    ("migration", "and at most {} at a time", fetcher.MOST_SOCKETS),
    ("../ARCHITECTURE", "as much as {} questions, an index finds", rules._TRIES),
    ("lint", "The line is longer than {} bytes", lines.MAX_LINE_BYTES),
    ("semantics", "its first {} bytes decide", lines.MAX_BYTES),
    ("preferences", "within its first {} KiB", tags.MOST_HEAD_BYTES >> 10),
    ("semantics", "up to {} waiting requests of the host, once", patience.GIVEN_UP),
    ("semantics", "up to {} more each time a try fails", patience.GIVEN_UP),
    ("how-to", "the crawl forbids the first {} waiting requests", patience.GIVEN_UP),
    ("how-to", "up to {} more each time another try has failed", patience.GIVEN_UP),
    ("troubleshooting", "if more than {} of the site's requests wait", patience.GIVEN_UP),
    ("troubleshooting", "up to {} minutes if more than", patience.DEAD_AFTER),
    ("how-to", "five minutes ({} times `GBOT_ROBOTS_UNREACHABLE_WAIT_SECS`)", patience.DEAD_AFTER),
    ("semantics", "up to {} waits (5 minutes)", patience.DEAD_AFTER),
    ("semantics", "requests wait only for {} tries", outages.GONE_AFTER),
    ("waiting", "it holds more, at most {} requests", front.MOST_HELD),
    ("waiting", "plus {} requests whose robots.txt it fetches in advance", front.LOOK_AHEAD),
    ("waiting", "asks the scheduler again every {} seconds", front.ASK_AGAIN_SECS),
    ("../ARCHITECTURE", "while it holds {} requests", front.MOST_HELD),
    ("../ARCHITECTURE", "while it holds {} requests of each slot", front.MOST_OF_A_SLOT),
    ("../ARCHITECTURE", "or {} if that is more", front.LOOK_AHEAD),
    ("../ARCHITECTURE", "again after {} seconds", front.ASK_AGAIN_SECS),
    ("../ARCHITECTURE", "at most {} pieces", reader._MOST_PIECES),
    ("semantics", "for up to {} minutes, even if it expires", room.SERVED_SECS / 60),
    ("sitemaps", "spider reads {} entries", reader.MAX_ENTRIES),
    ("sitemaps", "It keeps {} MiB of URLs", discovery._MOST_CHARS >> 20),
    ("sitemaps", "up to a {} hosts", spider._MOST_ASKED),
    ("sitemaps", "at most {} may be above a sitemap", urls.MOST_LEVELS),
    ("stats", "WARNING, at most {} times | a robots.txt becomes", fetcher.MOST_WARNED),
]


@pytest.mark.parametrize(("name", "says", "number"), NUMBERS)
def test_page_says_the_number_of_the_code(name: str, says: str, number: float | str) -> None:
    text = " ".join((HOME / "docs" / f"{name}.md").read_text(encoding="utf-8").split())
    spellings = [str(number)]
    if not isinstance(number, str):
        spellings = [f"{number:,.0f}", WORDS.get(int(number), "?")]
    assert any(says.format(spelling) in text for spelling in spellings)


def test_readme_says_what_the_benchmarks_have_measured() -> None:
    benchmarks = (HOME / "benchmarks" / "README.md").read_text(encoding="utf-8")
    readme = " ".join((HOME / "README.md").read_text(encoding="utf-8").split())
    row = r"^\| (?:one host, 3,000 pages as links|600 hosts)[^|]*\| ([\d.]+) \|"
    one, many = re.findall(row, benchmarks, re.MULTILINE)
    same = f"as much processor time as with Scrapy alone ({one} times)"
    assert 0.95 < float(one) < 1.05
    assert f"a crawl of one host took {same}" in readme
    assert f"A crawl of 600 hosts took half the processor time ({many} times)" in readme
