"""The hosts that a user names, and the origins that belong to them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.sitemaps.hosts import covers, given_in, origins_of, survey


@pytest.mark.parametrize(
    ("text", "origins"),
    [
        ("example.org", ["https://example.org", "http://example.org"]),
        ("EXAMPLE.org/a?b", ["https://example.org", "http://example.org"]),
        ("bücher.example", ["https://xn--bcher-kva.example", "http://xn--bcher-kva.example"]),
        ("example.org:8080", ["http://example.org:8080", "https://example.org:8080"]),
        ("example.org:80", ["http://example.org", "https://example.org:80"]),
        ("example.org:8443", ["https://example.org:8443", "http://example.org:8443"]),
        ("[::1]", ["https://[::1]", "http://[::1]"]),
        ("http://example.org/path?q", ["http://example.org"]),
        ("https://user:pw@example.org:443", ["https://example.org"]),
        ("ftp://example.org", ["ftp://example.org"]),
    ],
)
def test_host_has_these_origins(text: str, origins: list[str]) -> None:
    assert [str(origin) for origin in origins_of(text)] == origins


@pytest.mark.parametrize("text", ["a b", "example.org:99999", "file:///etc/hosts", "#", "http://"])
def test_what_is_no_host_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        origins_of(text)


@pytest.mark.parametrize(
    "given", ["a.com,b.com", " a.com , b.com,", "a.com b.com", ["a.com", " b.com "], ("a.com", "", "b.com")]
)
def test_list_of_hosts_is_read(given: str | list[str]) -> None:
    assert list(given_in(given)) == ["a.com", "b.com"]


def test_file_of_hosts_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_bytes("\ufeff# mine\na.com  # comment\r\n\n  https://b.com/x\nü.com\n\xff".encode())
    assert list(given_in((), path)) == ["a.com", "https://b.com/x", "ü.com", "ÿ"]


def test_long_file_of_hosts_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text("".join(f"host-{number}.example.org\n" for number in range(100_000)))
    tracemalloc.start()
    names = given_in((), path)
    assert next(names) == "host-0.example.org"
    assert sum(1 for _ in names) == 99_999
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000


@pytest.mark.parametrize(
    ("url", "covered"),
    [
        ("https://example.org/", True),
        ("http://example.org/", True),
        ("https://www.example.org/", True),
        ("https://notexample.org/", False),
        ("https://example.org.evil.net/", False),
        ("https://example.org:8443/", False),
        ("https://net.example/", True),  # given as www.net.example
        ("https://shop.net.example/", True),
        ("http://127.0.0.1:8000/", True),
        ("http://127.0.0.1:9000/", False),
    ],
)
def test_scope_is_the_hosts_with_and_without_www_and_their_subdomains(url: str, *, covered: bool) -> None:
    number, scope = survey(["example.org", "https://www.net.example", "no host", "127.0.0.1:8000"])
    assert number == 4
    assert covers(scope, Origin.of(url)) is covered
