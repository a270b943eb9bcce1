"""The example project, run as a user runs it: as a process, in its directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .support.example import scrapy

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo() -> subprocess.CompletedProcess[str]:
    return scrapy("crawl", "demo")


@pytest.mark.parametrize(
    "row",
    [
        '✗ blocked  /cart/checkout     disallowed by "Disallow: /cart/" (line 6, group "examplebot")',
        '✗ blocked  /cart/sandals      disallowed by "Disallow: /cart/" (line 6, group "examplebot")',
        '✗ blocked  /terms.pdf         disallowed by "Disallow: /*.pdf$" (line 8, group "examplebot")',
        '✗ blocked  /menü              disallowed by "Disallow: /men%C3%BC" (line 9, group "examplebot")',
        '✓ crawled  /menü/today        allowed by "Allow: /men%C3%BC/today" (line 10, group "examplebot")',
        '✓ crawled  /terms.pdf.html    allowed: no rule matches (group "examplebot")',
        "HTTP 503",
        "/sitemap-index.xml (http://127.0.0.1:",
        "/sandals",
    ],
)
def test_demo_says_what_was_crawled_and_why(demo: subprocess.CompletedProcess[str], row: str) -> None:
    assert demo.returncode == 0, demo.stderr
    assert row in demo.stdout


def test_demo_logs_no_error_and_one_warning(demo: subprocess.CompletedProcess[str]) -> None:
    assert "ERROR" not in demo.stderr
    assert "Traceback" not in demo.stderr
    assert demo.stderr.count("WARNING") == 1  # the robots.txt that answers 503


def test_discover_says_what_it_needs() -> None:
    run = scrapy("crawl", "discover")
    assert run.returncode != 0
    assert "-a hosts=" in run.stderr
