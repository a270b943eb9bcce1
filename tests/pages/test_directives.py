"""What a page says: the directives in meta tags and headers, in tables, and the links that it asks not to follow."""

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

from scrapy_gbot_robots.pages import directives

from ..support.bounds import memory_below
from ..support.rows import row, table


@table(
    "values, said",
    row("several-in-one", ["noindex, nofollow"], {"noindex": True, "nofollow": True}),
    row("case-and-space", [" NoIndex ,\tNOFOLLOW "], {"noindex": True, "nofollow": True}),
    row("none", ["none"], {"noindex": True, "nofollow": True}),
    row("all-says-nothing", ["all, index, follow"], {}),
    row("all-takes-nothing-back", ["noindex", "all"], {"noindex": True}),
    row("for-us", ["mybot: noindex"], {"noindex": True}),
    row("for-another", ["otherbot: noindex"], {}),
    row("for-both-in-one", ["otherbot: noindex, nofollow, mybot: noarchive"], {"noarchive": True}),
    row("token-ends-with-its-header", ["otherbot: nofollow", "noindex"], {"noindex": True}),
    row("token-and-value", ["mybot: max-snippet: 20"], {"max-snippet": "20"}),
    row("smaller-limit", ["max-snippet: 50, max-snippet:20"], {"max-snippet": "20"}),
    row("smaller-limit-first", ["max-snippet: 20, max-snippet: 50, max-snippet: -1"], {"max-snippet": "20"}),
    row("no-limit", ["max-snippet: -1"], {"max-snippet": "-1"}),
    row("no-limit-is-the-largest", ["max-snippet: -1", "max-snippet: 7"], {"max-snippet": "7"}),
    row("image-preview", ["max-image-preview: large", "max-image-preview: standard"], {"max-image-preview": "standard"}),
    row("no-number", ["max-snippet: many, max-video-preview: -7"], {}),
    row("unknown-word-is-kept", ["noai"], {"noai": True}),
    row("made-up-word-is-kept", ["made-up"], {"made-up": True}),
    row("no-token", ["see this: noindex, nofollow"], {"nofollow": True}),
    row("no-word", ["no index!, \x00, ,,"], {}),
    row("iso-z", ["unavailable_after: 2031-06-25T15:00:00Z"], {"unavailable_after": "2031-06-25T15:00:00+00:00"}),
    row("rfc-822", ["unavailable_after: Wed, 25 Jun 2031 15:00:00 GMT, noai"], {"unavailable_after": "2031-06-25T15:00:00+00:00", "noai": True}),
    row("rfc-850", ["unavailable_after: Wednesday, 25-Jun-31 15:00:00 GMT"], {"unavailable_after": "2031-06-25T15:00:00+00:00"}),
    row("zone", ["unavailable_after: 25 Jun 2031 15:00:00 PST"], {"unavailable_after": "2031-06-25T23:00:00+00:00"}),
    row("earlier-date", ["unavailable_after: 2032-01-01", "unavailable_after: 2031-01-01"], {"unavailable_after": "2031-01-01T00:00:00+00:00"}),
    row("no-date-has-no-effect", ["unavailable_after: some day, noindex"], {"noindex": True}),
    row("day-alone", ["unavailable_after: wed"], {}),
    row("day-that-is-no-limit", ["max-snippet: wed, noindex"], {"noindex": True}),
    row("end-of-time", ["unavailable_after: 9999-12-31T23:59:59-23:59"], {}),
)  # fmt: skip
def test_header_says_this_to_mybot(values: list[str], said: directives.Directives) -> None:
    assert directives.in_headers(values, {"mybot"}) == said


@table(
    "contents, said",
    (["noindex", "NoFollow"], {"noindex": True, "nofollow": True}),
    (["NONE"], {"noindex": True, "nofollow": True}),
    (["unavailable_after: wed", "noindex"], {"noindex": True}),  # no date goes on in another tag
    (["otherbot: noindex"], {}),  # a meta tag's content addresses nobody
    (["unavailable_after: 25 Jun 2031 15:00:00 GMT"], {"unavailable_after": "2031-06-25T15:00:00+00:00"}),
)  # fmt: skip
def test_meta_tag_says_this(contents: list[str], said: directives.Directives) -> None:
    assert directives.in_meta_tags(contents, {}) == said


def test_directives_for_all_tokens_of_a_crawler_add_up() -> None:
    headers = ["googlebot: noarchive", "googlebot-news: noindex"]
    said = directives.in_headers(headers, {"googlebot-news", "googlebot"})
    assert said == {"noarchive": True, "noindex": True}


def test_more_restrictive_of_header_and_tag_counts() -> None:
    said: directives.Directives = {"unavailable_after": "2032-01-01T00:00:00+00:00", "noai": True}
    for day in ("2031-01-01", "2033-01-01"):
        directives.in_meta_tags([f"unavailable_after: {day}"], said)
        assert said["unavailable_after"] == "2031-01-01T00:00:00+00:00"


def test_page_is_noindex_after_its_unavailable_after() -> None:
    said = directives.in_headers(["unavailable_after: 2031-06-25T15:00:00Z"], ())
    then = 1940166000.0
    assert "noindex" not in directives.at_time(then - 1, said)
    assert directives.at_time(then, said)["noindex"] is True


def test_of_headers_and_tags_the_first_16_kib_are_read() -> None:
    assert directives.in_headers(["," * 16_000, "noindex"], ()) == {"noindex": True}
    assert directives.in_headers(["," * 16_384, "noindex"], ()) == {}
    assert directives.in_meta_tags(["," * 16_000, "noindex"], {}) == {"noindex": True}
    assert directives.in_meta_tags(["," * 8_192, "," * 8_192, "noindex"], {}) == {}


def test_of_made_up_words_a_hundred_are_kept_and_of_those_that_count_all() -> None:
    said = directives.in_headers(
        [*(f"made-up-{n}" for n in range(1_000)), "noindex", "max-snippet: 7"], ()
    )
    assert len(said) == 102
    assert (said["noindex"], said["max-snippet"]) == (True, "7")


# The head of a page

NAMES = {"robots", "mybot"}
TAG = '<meta name="robots" content="noindex">'

DESCRIPTION = "<meta name=description content=robots>"


@table(
    "page, tags",
    row("plain", f"<html><head>{TAG}</head><body></body></html>", ["noindex"]),
    row("no-head-element", f"<title>x</title>{TAG}<p>x", ["noindex"]),
    row("attributes-in-any-way", "<META CONTENT=nofollow NAME=' MyBot '/>", ["nofollow"]),
    row("two", f"{TAG}<meta name=mybot content=none>", ["noindex", "none"]),
    row("another-name", "<meta name=otherbot content=noindex>" + DESCRIPTION, []),
    row("other-tags", f"<meta charset=utf-8><meta property=robots content=x>{TAG}", ["noindex"]),
    row("comment", f"<!-- {TAG} --><title>robots</title>", []),
    row("script", f"<script>'{TAG}</head><body>'</script>{TAG}", ["noindex"]),
    row("body", f"<body>{TAG}", []),
    row("after-text", f"<p>x</p>{TAG}", []),
    row("after-body", f"<head></head><body></body>{TAG}</html>", []),
    row("noscript", f"<head><noscript>{TAG}</noscript></head>", ["noindex"]),
    row("entity", "<meta name=robots content='no&#105;ndex'>", ["noindex"]),
    row(
        "template", f"<head><template>{TAG}</template><object>{TAG}</object><meta name=mybot>", [""]
    ),
    row("no-content", "<meta name=robots>", [""]),
    row("last-of-64-kib", f"<style>{'x' * (65_536 - 15 - len(TAG))}</style>{TAG}", ["noindex"]),
    row("after-64-kib", f"<style>{'x' * (65_536 - 14 - len(TAG))}</style>{TAG}", []),
)
def test_page_has_these_tags(page: str, tags: list[str]) -> None:
    response = HtmlResponse("https://a.example/", body=page.encode())
    assert directives.contents_of_tags(response, NAMES) == tags


def test_links_of_a_page_with_an_impossible_base_url_are_resolved_by_its_own() -> None:
    page = b"<base href='http://[::1'><a rel=nofollow href=/left>x</a><a href=/free>x</a>"
    response = HtmlResponse("https://a.example/x", body=page)
    assert directives.links_not_to_follow(response) == {"https://a.example/left"}


def test_links_are_written_in_the_encoding_of_their_page() -> None:
    page = "<meta charset=latin-1><a rel=nofollow href='/é?q=é'>x</a>".encode("latin-1")
    response = HtmlResponse("https://a.example/", body=page)
    links = directives.links_not_to_follow(response)
    assert "https://a.example/%C3%A9?q=%E9" in links
    # A request for `response.urljoin(href)` has its query in UTF-8.
    assert Request(response.urljoin("/é?q=é")).url in links
    twin = "<a href='/é?q=é'>x</a>".encode("latin-1")
    free = HtmlResponse("https://a.example/", body=page + twin)
    assert directives.links_not_to_follow(free) == set()


def test_link_with_a_character_that_the_page_cannot_encode_is_not_followed() -> None:
    page = b"<meta charset=latin-1><a rel=nofollow href='/s?q=&#26085;'>x</a>"
    response = HtmlResponse("https://a.example/", body=page)
    sent = Request(response.urljoin("/s?q=\u65e5")).url
    assert sent in directives.links_not_to_follow(response)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_tag_is_found_in_this_encoding(encoding: str) -> None:
    page = f"<!doctype html><title>é</title>{TAG}".encode(encoding)
    headers = {"Content-Type": f"text/html; charset={encoding}"}
    response = HtmlResponse("https://a.example/", headers=headers, body=page)
    assert directives.contents_of_tags(response, NAMES) == ["noindex"]


@table(
    "page",
    row("tags-without-end", b"<meta name=robots content=noindex>" * 100_000),
    row("value-without-end", b"<meta name=robots content=" + b"x" * 5_000_000),
    row("elements-without-end", b"<head>" + b"<noscript>" * 500_000 + b"<meta name=robots>"),
    row("noise", bytes(range(256)) * 10_000 + b"<meta name=robots>"),
)  # fmt: skip
def test_hostile_page_costs_little(page: bytes) -> None:
    with memory_below(4 * 2**20):
        tags = directives.contents_of_tags(HtmlResponse("https://a.example/", body=page), NAMES)
    assert len(tags) <= 100
