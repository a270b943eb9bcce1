"""The meta tags in the head of a page, and the links that it asks not to follow."""

import tracemalloc

import pytest
from scrapy.http import HtmlResponse

from scrapy_gbot_robots.pages.directives import links_not_to_follow, meta_tags

NAMES = {"robots", "mybot"}
TAG = '<meta name="robots" content="noindex">'

PAGES: list[tuple[str, str, list[str]]] = [
    ("plain", f"<html><head>{TAG}</head><body></body></html>", ["noindex"]),
    ("no-head-element", f"<title>x</title>{TAG}<p>x", ["noindex"]),
    ("attributes-in-any-way", "<META CONTENT=nofollow NAME=' MyBot '/>", ["nofollow"]),
    ("two", f"{TAG}<meta name=mybot content=none>", ["noindex", "none"]),
    (
        "another-name",
        "<meta name=otherbot content=noindex><meta name=description content=robots>",
        [],
    ),
    ("other-tags", f"<meta charset=utf-8><meta property=robots content=x>{TAG}", ["noindex"]),
    ("comment", f"<!-- {TAG} --><title>robots</title>", []),
    ("script", f"<script>'{TAG}</head><body>'</script>{TAG}", ["noindex"]),
    ("body", f"<body>{TAG}", []),
    ("after-text", f"<p>x</p>{TAG}", []),
    ("after-body", f"<head></head><body></body>{TAG}</html>", []),
    ("noscript", f"<head><noscript>{TAG}</noscript></head>", ["noindex"]),
    ("entity", "<meta name=robots content='no&#105;ndex'>", ["noindex"]),
    ("template", f"<head><template>{TAG}</template><object>{TAG}</object><meta name=mybot>", [""]),
    ("no-content", "<meta name=robots>", [""]),
    ("last-of-64-kib", f"<style>{'x' * (65_536 - 15 - len(TAG))}</style>{TAG}", ["noindex"]),
    ("after-64-kib", f"<style>{'x' * (65_536 - 14 - len(TAG))}</style>{TAG}", []),
]


@pytest.mark.parametrize(
    ("page", "tags"), [row[1:] for row in PAGES], ids=[row[0] for row in PAGES]
)
def test_page_has_these_tags(page: str, tags: list[str]) -> None:
    assert meta_tags(HtmlResponse("https://a.example/", body=page.encode()), NAMES) == tags


def test_links_of_a_page_with_an_impossible_base_url_are_resolved_by_its_own() -> None:
    page = b"<base href='http://[::1'><a rel=nofollow href=/left>x</a><a href=/free>x</a>"
    response = HtmlResponse("https://a.example/x", body=page)
    assert links_not_to_follow(response) == {"https://a.example/left"}


def test_links_are_written_in_the_encoding_of_their_page() -> None:
    page = "<meta charset=latin-1><a rel=nofollow href='/é?q=é'>x</a>".encode("latin-1")
    response = HtmlResponse("https://a.example/", body=page)
    assert links_not_to_follow(response) == {"https://a.example/%C3%A9?q=%E9"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_tag_is_found_in_this_encoding(encoding: str) -> None:
    page = f"<!doctype html><title>é</title>{TAG}".encode(encoding)
    response = HtmlResponse(
        "https://a.example/", headers={"Content-Type": f"text/html; charset={encoding}"}, body=page
    )
    assert meta_tags(response, NAMES) == ["noindex"]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(b"<meta name=robots content=noindex>" * 100_000, id="tags-without-end"),
        pytest.param(b"<meta name=robots content=" + b"x" * 5_000_000, id="value-without-end"),
        pytest.param(b"<head>" + b"<noscript>" * 500_000 + b"<meta name=robots>", id="elements-without-end"),
        pytest.param(bytes(range(256)) * 10_000 + b"<meta name=robots>", id="noise"),
    ],
)  # fmt: skip
def test_hostile_page_costs_little(page: bytes) -> None:
    tracemalloc.start()
    tags = meta_tags(HtmlResponse("https://a.example/", body=page), NAMES)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(tags) <= 100
    assert peak < 4 * 2**20
