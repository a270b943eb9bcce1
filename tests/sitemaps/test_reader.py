"""Sitemap files of every kind, broken and hostile ones too, and the entries that the reader finds."""

import gzip
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import thread_time
from typing import Any

import pytest
from scrapy.utils.sitemap import Sitemap

from scrapy_gbot_robots.sitemaps import reader as reader_module
from scrapy_gbot_robots.sitemaps.reader import SitemapReader, is_before

from ..support.rows import row, table
from ..support.systems import needs_posix

NAMESPACE = b' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*inner: bytes) -> bytes:
    declaration = b'<?xml version="1.0" encoding="UTF-8"?>'
    return b"%s\n<urlset%s>%s</urlset>" % (declaration, NAMESPACE, b"".join(inner))


def url(loc: bytes, more: bytes = b"") -> bytes:
    return b"<url><loc>%s</loc>%s</url>\n" % (loc, more)


def read(body: bytes) -> tuple[list[dict[str, Any]], SitemapReader]:
    reader = SitemapReader(body)
    return [entry for entry in reader if entry is not None], reader


def locs(body: bytes) -> list[str]:
    return [entry["loc"] for entry in read(body)[0]]


TEXT = "http://e/1\nhttp://e/ü\n"
FEED = b"""<?xml version="1.0"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>News</title><link>http://e/</link>
<atom:link href="http://e/feed" rel="self"/>
<item><title>One</title><atom:link href="http://e/c" rel="replies"/><link> http://e/1 </link>
<pubDate>Sat, 31 Jan 2026 10:20:30 GMT</pubDate><description>a &lt;b&gt;</description></item>
<item><link>http://e/2</link></item></channel></rss>"""
IMAGE = b"<image><url>http://e/i.png</url><title>News</title><link>http://e/</link></image>"
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><link href="http://e/"/>
<entry><link rel="edit" href="http://e/edit"/><link href="http://e/1"/><updated>2026-01-31T10:20:30Z</updated>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><link href="http://e/no"/><p>a</p></div></content></entry>
<entry><link rel="alternate" href="http://e/2"/></entry></feed>"""
RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="http://e/"><link>http://e/</link></channel>
<item rdf:about="http://e/1"><link>http://e/1</link><dc:date>2026-01-31</dc:date></item>
<item><link>http://e/2</link></item></rdf:RDF>"""
SITEMAP = b"<sitemap><loc>http://e/1.xml</loc><lastmod>2026</lastmod></sitemap>"
INDEX = b"<sitemapindex%s>%s</sitemapindex>" % (NAMESPACE, SITEMAP)
ONE = urlset(url(b"http://e/1"))
DOCTYPE = b'<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://e/rss.dtd">\n<rss'


def declared(name: str, codec: str, letter: str = "ü") -> bytes:
    """A sitemap that says it is in the charset `name`, and is."""
    return urlset(url(f"http://e/{letter}".encode())).decode().replace("UTF-8", name).encode(codec)


FORMATS: dict[str, tuple[bytes, str]] = {  # the file, and what follows http://e/ in its URLs
    "S10.20-urlset": (urlset(url(b"http://e/1"), url(b" http://e/2\n")), "1 2"),
    "no-namespace": (ONE.replace(NAMESPACE, b""), "1"),
    "upper-case": (ONE.upper().replace(b"HTTP://E", b"http://e"), "1"),
    "prefix": (b'<s:urlset xmlns:s="x"><s:url><s:loc>http://e/1</s:loc></s:url></s:urlset>', "1"),
    "white-space-before": (b"\n \n" + ONE, "1"),
    "byte-order-mark": (b"\xef\xbb\xbf" + ONE, "1"),
    "comment-before": (b"\n<!-- no <rss> -->" + ONE[39:], "1"),
    "comment-in-the-head": (b"<!-- no <rss> " + b"-" * 2_000 + b" -->" + ONE[39:], "1"),
    "warning-before": (b"<b>Warning</b>: x\n" + ONE, "1"),
    "utf-16": (declared("UTF-16", "utf-16"), "ü"),
    "utf-16-le-without-mark": (declared("UTF-16", "utf-16-le"), "ü"),
    "utf-16-be-without-mark": (declared("utf-16", "utf-16-be"), "ü"),
    "utf-16-declared-only": (ONE.replace(b"UTF-8", b"UTF-16"), "1"),
    "shift-jis": (declared("Shift_JIS", "shift_jis", "カ"), "カ"),
    "latin-1": (declared("ISO-8859-1", "latin-1"), "ü"),
    "charset-of-no-browser": (declared("utf-7", "ascii", "+AGE-"), "+AGE-"),
    "S10.21-gzip": (gzip.compress(ONE), "1"),
    "gzip-in-members": (gzip.compress(ONE[:60]) + gzip.compress(ONE[60:]) + b"\0\0", "1"),
    "S10.22-index": (INDEX, "1.xml"),
    "S10.27-text": (TEXT.encode(), "1 ü"),
    "text-of-windows": (TEXT.replace("\n", "\r\n").encode("utf-8-sig"), "1 ü"),
    "text-in-utf-16": (TEXT.strip().encode("utf-16"), "1 ü"),
    "text-in-utf-16-without-mark": (TEXT.encode("utf-16-le"), "1 ü"),
    "tags-over-lines": (ONE.replace(b">", b"\n>").replace(b"?\n>", b"?>"), "1"),
    "page-commented-out": (urlset(b"<!--%s<url>-->" % url(b"http://e/0"), url(b"http://e/1")), "1"),
    "text-gzipped": (gzip.compress(TEXT.encode()), "1 ü"),
    "S10.27-rss": (FEED, "1 2"),
    "rss-with-doctype": (FEED.replace(b"<rss", DOCTYPE), "1 2"),
    "rss-with-images": (FEED.replace(b"<item>", IMAGE + b"<item>" + IMAGE), "1 2"),
    "rss-with-permalinks-alone": (FEED.replace(b"link>", b"guid>"), "1 2"),
    "rss-with-a-permalink": (
        FEED.replace(
            b"<link>http://e/2</link>", b"<guid isPermaLink='true'>http://e/2</guid><link/>"
        ),
        "1 2",
    ),
    "rss-guid-beside-link": (FEED.replace(b"</link>", b"</link><guid>http://e/g</guid>"), "1 2"),
    "rdf": (RDF, "1 2"),
    "S10.27-atom": (ATOM, "1 2"),
    "S10.27-atom-0.3": (ATOM.replace(b"updated", b"modified"), "1 2"),
    "empty-urlset": (urlset(), ""),
}


@pytest.mark.parametrize(("body", "paths"), FORMATS.values(), ids=FORMATS)
def test_format_is_told_by_the_content(body: bytes, paths: str) -> None:
    entries, reader = read(body)
    assert [entry["loc"] for entry in entries] == [f"http://e/{path}" for path in paths.split()]
    assert reader.is_sitemap is (body is INDEX)
    assert (reader.entries, reader.broken, reader.trouble) == (len(entries), 0, "")


@table(
    "body, lastmod",
    row("index", INDEX, "2026"),
    row("rss", FEED, "Sat, 31 Jan 2026 10:20:30 GMT"),
    row("atom", ATOM, "2026-01-31T10:20:30Z"),
    row("rdf", RDF, "2026-01-31"),
)
def test_last_change_is_read(body: bytes, lastmod: str) -> None:
    assert read(body)[0][0]["lastmod"] == lastmod


@pytest.mark.parametrize(
    "more",
    [
        b'<lastmod>2026-01-31</lastmod><changefreq>daily</changefreq><priority>0.5</priority><i:image xmlns:i="i">'
        b"<i:loc>http://e/i.png</i:loc></i:image>"
        b'<x:link xmlns:x="x" rel="alternate" hreflang="de" href="http://e/de"/>'
        b'<x:link xmlns:x="x" rel="alternate" hreflang="fr" href="http://e/fr?a&amp;amp;b"/>',
        b"<lastmod/><changefreq></changefreq><priority> </priority>",
        b"",
    ],
    ids=["all", "empty-elements", "no-elements"],
)
@table("entry", b"<url><loc>http://e/1</loc>%s</url>", b"<url>%s<loc> http://e/1 </loc></url>")
def test_entry_is_the_one_that_scrapys_own_reader_gives(entry: bytes, more: bytes) -> None:
    """A spider's `sitemap_filter` may read `entry["lastmod"]` where the file has the element, even an empty one."""
    body = urlset(entry % more)
    assert read(body)[0] == list(Sitemap(body))


@table(
    "more, expected",
    row("empty-then-full", b"<lastmod/><lastmod>2026</lastmod>", {"lastmod": "2026"}),
    row("two", b"<lastmod>2025</lastmod><lastmod>2026</lastmod>", {"lastmod": "2025"}),
    row("element-in-it", b"<lastmod><b>2026</b></lastmod>", {"lastmod": ""}),
    row("no-characters", b"<lastmod>\xff</lastmod>", {"lastmod": ""}),
    row("text-where-scrapy-has-a-list", b"<alternate>http://e/2</alternate>", {}),
    row("too-long", b"<note>%s</note>" % (b"x" * 9_000), {"note": ""}),
)  # fmt: skip
def test_first_value_that_is_not_empty_counts(more: bytes, expected: dict[str, str]) -> None:
    assert read(urlset(url(b"http://e/1", more)))[0] == [{"loc": "http://e/1", **expected}]


@table(
    "length, taken", row("S10.23-the-longest", 8_191, True), row("S10.23-too-long", 8_192, False)
)
def test_url_may_be_longer_than_sitemaps_org_allows(length: int, *, taken: bool) -> None:
    loc = b"http://e/" + b"x" * (length - len(b"http://e/"))
    for body in (urlset(url(loc)), b"http://e\n" + loc):
        entries, reader = read(body)
        assert [len(entry["loc"]) for entry in entries if len(entry["loc"]) > 8] == [length] * taken
        assert reader.broken == (not taken)


@table(
    "loc, expected",
    row("S10.24-escaped", b"http://e/?a=1&amp;b=&lt;&gt;&apos;&quot;", "http://e/?a=1&b=<>'\""),
    row("ampersands-not-escaped", b"http://e/?a=1&b=2&c", "http://e/?a=1&b=2&c"),
    row("character-references", b"http://e/?a&#38;b&#x26;c", "http://e/?a&b&c"),
    row("cdata-is-verbatim", b"<![CDATA[http://e/?a=1&b=2&amp;c]]>", "http://e/?a=1&b=2&amp;c"),
    row("entities-of-html-are-text", b"http://e/&eacute;&nosuch;", "http://e/&eacute;&nosuch;"),
    row("url-in-a-query-with-blanks", b"http://e/?a b?http://e/3", "http://e/?a b?http://e/3"),
    row("comment", b"http://e/<!-- & -->x&y", "http://e/x&y"),
    row("cdata-in-comment", b"http://e/<!-- <![CDATA[ -->x&y", "http://e/x&y"),
    row("cdata-in-instruction", b"http://e/<?php <![CDATA[ <!-- ?>x&y", "http://e/x&y"),
    row("cdata-with-comment", b"<![CDATA[http://e/<!--?a]]>", "http://e/<!--?a"),
    *((loc.encode(), loc) for loc in ("/x", "//e/x", "x.html", "../x", "?a=:", "#x", "\xfc/a:b")),
    *((loc.encode(), loc) for loc in ('x?"', "~x", "mailto:a@e", "%22x")),  # left to the crawl
)  # fmt: skip
def test_url_is_read_as_it_was_meant(loc: bytes, expected: str) -> None:
    assert locs(urlset(url(loc))) == [expected]


@pytest.mark.parametrize("wrap", [b"\n", b"\r\n", b"\t", b"&#10;"])
@table(
    "body",
    row("loc", urlset(url(b"http://e/ok%s18"))),
    row("atom", b"<feed><entry><link href='http://e/ok%s18'/></entry></feed>"),
)
def test_wrapped_url_is_joined(body: bytes, wrap: bytes) -> None:
    assert locs(body.replace(b"%s", wrap)) == ["http://e/ok18"]


@pytest.mark.parametrize("cut", range(30, 60))
def test_pieces_may_end_anywhere(cut: int) -> None:
    """The reader cuts the file into pieces of 8,192 bytes. The padding moves the cut through each mark."""
    padding = b" " * (8_192 - len(urlset()) + len(b"</urlset>") - cut)
    loc = b"http://e/?a&b&amp;c&#x26;d<!-- & --><![CDATA[&e]]>"
    body = urlset(padding, url(loc), url(b"http://e/2"))
    assert locs(body) == ["http://e/?a&b&c&d&e", "http://e/2"]


def test_entries_that_are_commented_out_are_none_however_long_the_comment_is() -> None:
    commented = b"<!--%s-->" % ((url(b"http://e/0") + b" " * 50) * 1_000)
    assert locs(urlset(commented, url(b"http://e/1"))) == ["http://e/1"]


NO_URLS = (
    *('"http://e/x"', "&quot;http://e/x&quot;", "'http://e/x'", "`http://e/x`", "\u201chttp://e/x\u201d"),
    *("&lt;http://e/x&gt;", "&lt;a href=x&gt;", "(http://e/x)", "[x](http://e/x)", "&nbsp;http://e/x"),
    *("\ufeffhttp://e/x", "&#x200B;http://e/x", "\u2060http://e/x", "http://e/x\u200b", "\u200b/x"),
    *("a%3A:b/x", "&x;1"),
)  # fmt: skip


BROKEN_ENTRIES: dict[str, bytes] = {
    "empty-loc": b"<url><loc></loc></url>",
    "no-loc": b"<url><lastmod>2026</lastmod></url>",
    "not-utf-8": url(b"http://e/\xff\xfe"),
    "nul": url(b"http://e/\x00x"),
    "half-of-a-character": url(b"http://e/&#55357;"),
    "halves-of-a-character": url(b"http://e/&#xD83D;&#xDE00;"),
    "beyond-unicode": url(b"http://e/&#9999999;"),
    "bare-less-than": url(b"http://e/?a<b"),
    "element-in-loc": url(b"http://e/<i>x</i>"),
    "without-end": url(b"http://e/" + b"x" * 10_000),
    "longer-than-all-else": url(b"http://e/" + b"x" * 900_000),
    "loc-never-closed-and-cut": b"<url><loc>http://e/x<b></url>",
    "two-urls-in-a-loc": url(b"http://e/x http://e/y"),
    "two-urls-on-two-lines-of-a-loc": url(b"http://e/x\n  https://e/y"),
    "two-relative-and-absolute": url(b"/x\thttp://e/y"),
    **{f"no-url-{number}": url(loc.encode()) for number, loc in enumerate(NO_URLS)},
}
ONE_LOC, TWO = b"<loc>http://e/1</loc>", url(b"http://e/2")
HEADLINES = b"# licence line of this list of pages\n" * 2_000
NO_LINK = b"<guid isPermaLink='False'>http://e/2</guid>"
BROKEN: dict[str, tuple[bytes, str, int]] = {  # as FORMATS, and how much is broken
    "url-never-closed": (urlset(b"<url>", ONE_LOC, TWO, TWO), "1 2 2", 0),
    "no-url-is-closed": (urlset(*(b"<url>", ONE_LOC) * 1_000), "1 " * 1_000, 0),
    "loc-never-closed": (urlset(b"<url><loc>http://e/1</url>", TWO), "1 2", 0),
    "no-loc-is-closed": (urlset(*(b"<url><loc>http://e/1</url>",) * 1_000), "1 " * 1_000, 0),
    "loc-and-url-never-closed": (urlset(b"<url><loc>http://e/1", TWO), "1 2", 0),
    "last-loc-never-closed": (urlset(b"<url><loc>http://e/1"), "1", 0),
    "loc-never-closed-before-a-date": (
        urlset(b"<url><loc>http://e/1\n<lastmod>2026</lastmod></url>", TWO),
        "1 2",
        0,
    ),
    "link-never-closed": (
        b"<rss><item><link>http://e/1<pubDate>2026</pubDate></item></rss>",
        "1",
        0,
    ),
    "loc-begun-in-a-date": (
        urlset(b"<url><lastmod>20<loc>26</lastmod><loc>http://e/1</loc></url>", TWO),
        "1 2",
        0,
    ),
    "date-never-closed": (urlset(b"<url><lastmod>2026<loc>http://e/1</loc></url>", TWO), "1 2", 0),
    "stray-ends": (urlset(url(b"http://e/1"), b"</nonsense></url>", TWO), "1 2", 0),
    "guid-that-is-no-link": (FEED.replace(b"<link>http://e/2</link>", NO_LINK), "1", 1),
    "guid-that-is-no-url": (
        FEED.replace(b"<link>http://e/2</link>", b"<guid>tag:e,2</guid>"),
        "1",
        1,
    ),
    "guid-of-another-prefix": (
        FEED.replace(b"<link>http://e/2</link>", b"<x:guid>http://e/2</x:guid>"),
        "1",
        1,
    ),
    "second-loc": (urlset(b"<url>", ONE_LOC * 2, b"</url>"), "1", 1),
    "loc-without-url": (urlset(ONE_LOC, ONE_LOC), "", 2),
    "loc-closed-by-a-start-tag": (urlset(b"<url><loc>http://e/1<loc></url>", TWO), "1 2", 0),
    "url-without-loc": (urlset(b"<url>http://e/1</url>", TWO), "2", 1),
    "empty-url": (urlset(b"<url/>", TWO), "2", 1),
    "headlines": (HEADLINES + b"http://e/1\nhttp://e/2", "1 2", 2_000),
}
for name, entry in BROKEN_ENTRIES.items():
    BROKEN[name] = (urlset(url(b"http://e/1"), entry, TWO), "1 2", 1)


@pytest.mark.parametrize(("body", "paths", "broken"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_costs_no_other_and_is_counted(body: bytes, paths: str, broken: int) -> None:
    entries, reader = read(body)
    assert [entry["loc"] for entry in entries] == [f"http://e/{path}" for path in paths.split()]
    assert (reader.broken, reader.trouble) == (broken, "")


CUT = {
    "between-entries": (ONE[:-9], "1", 0, "urlset"),
    "in-the-end-tag": (ONE[:-1], "1", 0, "urlset"),
    "in-a-loc": (urlset(url(b"http://e/1"), b"<url><loc>http://e/2")[:-9], "1", 1, "urlset"),
    "in-a-url": (urlset(b"<url>", ONE_LOC)[:-9], "1", 0, "urlset"),
    "in-a-comment": (urlset(url(b"http://e/1"), b"<!--"), "1", 0, "urlset"),
    "with-a-prefix": (b"<s:urlset><s:url><s:loc>http://e/1</s:loc></s:url>", "1", 0, "s:urlset"),
    "in-a-feed": (ATOM[:-7], "1 2", 0, "feed"),
    "behind-a-whole-one": (ONE + ONE[39:-9], "1 1", 0, "urlset"),
}


@pytest.mark.parametrize(("body", "paths", "broken", "root"), CUT.values(), ids=CUT)
def test_file_without_the_end_tag_of_its_root_is_used_and_ends_early(
    body: bytes, paths: str, broken: int, root: str
) -> None:
    entries, reader = read(body)
    assert [entry["loc"] for entry in entries] == [f"http://e/{path}" for path in paths.split()]
    assert reader.broken == broken
    assert reader.trouble == f"the file ends early, without </{root}>"


ATOM_BASES = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://e/b/">
<entry><link href="1"/></entry>
<entry xml:base="c/"><link href="1"/></entry><entry xml:base="c/"><link href="2" xml:base="/d/"/></entry>
<entry xml:base="c/"><link xml:base="../f/?a&amp;b" href="?c&amp;d"/></entry>
<entry xml:base="http://o/"><link href="/1"/></entry>
<entry><link href="http://o/2"/></entry>
<entry xml:base="http://["><link href="1"/></entry>
<entry xml:base="&quot;"><link href="1" xml:base=""/></entry></feed>"""


def test_links_of_atom_are_resolved_by_their_bases() -> None:
    """RFC 4287, 2: bases nest. One that is no URL does not count."""
    assert locs(ATOM_BASES) == [
        *("http://e/b/1", "http://e/b/c/1", "http://e/d/2", "http://e/b/f/?c&d", "http://o/1"),
        *("http://o/2", "http://e/b/1", "http://e/b/1"),
    ]


@table(
    "body, expected",
    row("urlset", b"<urlset xml:base='http://e/b/'><url><loc>1</loc></url></urlset>", "http://e/b/1"),
    row("url", b"<urlset><url xml:base='http://e/b/'><loc>1</loc></url></urlset>", "http://e/b/1"),
    row("rss", b"<rss xml:base='http://e/'><item xml:base='b/'><link>1</link></item></rss>", "http://e/b/1"),
    row("relative", b"<feed xml:base='/b/'><entry><link href='1'/></entry></feed>", "/b/1"),
    row("no-base-of-xml", b"<feed base='http://e/'><entry><link href='1'/></entry></feed>", "1"),
    row("another-feed-follows", ATOM_BASES[:70] + b"</feed><feed><entry><link href='1'/></entry></feed>", "1"),
)  # fmt: skip
def test_base_holds_in_the_element_that_names_it(body: bytes, expected: str) -> None:
    assert locs(body) == [expected]


@pytest.mark.parametrize("root", [b"urlset", b"sitemapindex"])
def test_element_says_what_is_a_sitemap_and_what_a_page_whatever_the_root(root: bytes) -> None:
    loc = b"<loc>http://e/</loc>"
    body = b"<%s><url>%s</url><sitemap>%s</sitemap><url>%s</url></%s>" % (root, loc, loc, loc, root)
    reader = SitemapReader(body)
    assert [reader.is_sitemap for entry in reader if entry is not None] == [False, True, False]


OTHERS = {
    "prefix": "<x:%s xmlns:x='http://www.google.com/schemas/sitemap-image/1.1'>0</x:%s>",
    "prefix-that-nothing-declares": "<image:%s>0</image:%s>",
    "inside": "<image:image><x/><%s>0</%s></image:image>",
}
FORMS = {
    "urlset": "<urlset><url>{0}<loc>1</loc>{0}<lastmod>2026</lastmod></url></urlset>",
    "prefix": "<s:urlset><s:url>{0}<s:loc>1</s:loc>{0}<s:lastmod>2026</s:lastmod></s:url></s:urlset>",
    "rss": "<rss><item>{0}<link>1</link>{0}<pubDate>2026</pubDate></item></rss>",
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_url_and_date_with_another_prefix_are_not_the_pages(form: str, other: str) -> None:
    others = "".join(other % (name, name) for name in ("loc", "lastmod", "link", "pubDate"))
    entries, reader = read(form.format(others).encode())
    assert [(entry["loc"], entry["lastmod"]) for entry in entries] == [("1", "2026")]
    assert reader.broken == 0


@table(
    "line",
    *("Pages:", "# http://e/0", "--- news ---", "loc,lastmod", "/relative", "//e/0", "www.e.example/0"),
    *("http://", "http:///0", "ftp://e/0", "http://e/0\t2026-11-25", "http://e/0 2026-11-25"),
    *('{"loc": "http://e/0"}', "http://e/\udcff"),
)  # fmt: skip
def test_line_of_a_text_file_that_is_no_absolute_url_is_broken(line: str) -> None:
    text = f"HTTP://e/1\n{line}\n\thttps://e/2"
    for body in (text, f"{line}\n\n{text}"):
        entries, reader = read(body.encode(errors="surrogateescape"))
        assert [entry["loc"] for entry in entries] == ["HTTP://e/1", "https://e/2"]
        assert reader.broken == body.count(line)


def test_file_cut_in_its_compression_is_good_up_to_there() -> None:
    body = gzip.compress(urlset(*[url(b"http://e/%d" % number) for number in range(5000)]))
    for length in (len(body) - 4, len(body) // 2):
        entries, reader = read(body[:length])
        assert 500 < len(entries) <= 5000
        assert entries == [{"loc": f"http://e/{number}"} for number in range(len(entries))]
        assert reader.trouble == "the compressed data ends too early"
    deflated = zlib.compressobj(wbits=31)
    start = deflated.compress(TEXT.encode() + b"http://e/3")
    entries, reader = read(start + deflated.flush(zlib.Z_SYNC_FLUSH))
    assert [entry["loc"] for entry in entries] == ["http://e/1", "http://e/ü"]
    assert reader.trouble


@pytest.mark.slow
def test_file_of_one_gzip_member_is_read_to_its_end_however_long_it_is() -> None:
    random = Random(1)
    body = urlset(
        *(url(b"http://e/%s" % random.randbytes(200).hex().encode()) for _ in range(40_000))
    )
    zipped = gzip.compress(body)
    assert len(zipped) > 8_000_000
    entries, reader = read(zipped)
    assert (len(entries), reader.trouble) == (40_000, "")


def test_root_may_come_after_many_small_gzip_members() -> None:
    heads = (b'<?xml version="1.0"?>', b"\n", b"<!-- x -->", b"\n", b" ", b"\n")
    entries, reader = read(b"".join(map(gzip.compress, (*heads, urlset(url(b"http://e/1"))))))
    assert (len(entries), reader.trouble) == (1, "")


def test_file_of_more_gzip_members_than_files_have_is_not_read_to_its_end() -> None:
    members = [gzip.compress(b"http://e/%d\n" % number, 1) for number in range(3_300)]
    entries, reader = read(b"".join(members))
    assert 1_500 < len(entries) < 3_300
    assert reader.trouble == "it has more than 3200 gzipped parts"


@table(
    "body",
    row("empty", b""),
    row("blank", b" \n"),
    row("html", b"<!DOCTYPE html><html><head><title>404</title></head></html>"),
    row("other-xml", b"<opml><outline xmlUrl='http://e/'/></opml>"),
    row("json", b'{"urls": ["http://e/"]}'),
    row("less-than", b"<"),
    row("over-a-million-characters-of-no-entry", b"<urlset>" + b"<no-entry-at-all/>" * 60_000),
    row("gzip-of-nothing", b"\x1f\x8b"),
    row("gzip-twice", gzip.compress(gzip.compress(ONE))),
)
def test_file_that_is_no_sitemap_has_trouble_and_no_entries(body: bytes) -> None:
    entries, reader = read(body)
    assert entries == []
    assert reader.trouble
    assert reader.trouble.isprintable()


LEVELS = [(level, b"&l%d;" % (level - 1) * 10) for level in range(1, 10)]
LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % level for level in LEVELS)


@table(
    "doctype",
    row("billion-laughs", b'[<!ENTITY l0 "lol">%s<!ENTITY x "&l9;">]' % LAUGHS),
    row("short", b'[<!ENTITY x "short">]'),
    row("local-file", b'[<!ENTITY x SYSTEM "file:///etc/passwd">]'),
    row("remote-dtd", b'SYSTEM "http://127.0.0.1:9/x.dtd"'),
)
def test_no_entity_is_expanded(doctype: bytes) -> None:
    body = b"<!DOCTYPE u %s>%s" % (doctype, urlset(url(b"http://e/&x;"))[39:])
    assert locs(body) == ["http://e/&x;"]


HOSTILE: dict[str, Callable[[], bytes]] = {
    "gzip-bomb": lambda: gzip.compress(urlset(b" " * 60 * 2**20)),
    "gzip-members-of-nothing": lambda: gzip.compress(b"") * 500_000,
    "elements-within-one-another": lambda: b"<urlset>" + b"<a>" * 2_000_000,
    "entries-within-one-another": lambda: b"<urlset>" + b"<url>" * 1_500_000,
    "attributes-without-end": lambda: b"<urlset><url " + b'a="b" ' * 2_000_000,
    "value-without-end": lambda: b"<urlset><url><loc>" + b"x" * 20_000_000,
    "comment-without-end": lambda: b"<urlset><!--" + b"x" * 20_000_000,
    "nothing-but-errors": lambda: b"<urlset>" + b"& " * 2_000_000,
    "line-without-end": lambda: b"http://e/" + b"x" * 20_000_000,
    "nothing-but-less-than": lambda: b"<urlset>" + b"<" * 20_000_000,
    "nothing-but-broken-entries": lambda: b"<urlset>" + b"<url/>" * 8_000_000,
    "nothing-but-cdata": lambda: b"<urlset><url><loc>" + b"<![CDATA[x]]>" * 1_000_000,
    "nothing-but-attributes": lambda: b"<urlset><url><link %s/></url>" % (b'a="b" ' * 170_000),
    "nothing-but-elements": lambda: b"<urlset>" + b"<a/>" * 1_000_000,
    "nothing-but-space": lambda: b" " * 50_000_000,
}


def test_entry_is_read_though_nothing_but_blanks_follows() -> None:
    entries, reader = read(urlset(url(b"http://e/1"), b" " * 2_000_000, url(b"http://e/2")))
    assert [entry["loc"] for entry in entries] == ["http://e/1"]
    trouble = "1048576 characters in a row contain no complete entry"
    assert (reader.entries, reader.broken, reader.trouble) == (1, 0, trouble)


@needs_posix
@pytest.mark.slow
def test_hostile_file_costs_little(tmp_path: Path) -> None:
    """In processes of their own: tracemalloc does not see the memory that lxml takes."""
    for name, body in HOSTILE.items():
        (tmp_path / name).write_bytes(body())
    measure = [sys.executable, "-c", MEASURE, *(str(tmp_path / name) for name in HOSTILE)]
    run = subprocess.run(measure, capture_output=True, text=True, check=True, timeout=HANG_SECS)
    measured = [line.split() for line in run.stdout.splitlines()]
    assert [name for name, _, _ in measured] == list(HOSTILE)
    costly = [row for row in measured if row[1] != "0" or float(row[2]) >= 60]
    assert costly == []


REPEATED = {
    "less-than": "<",
    "entries": "<url>",
    "open-locs": "<url><loc>",
    "blanks": " " * 4_096,
    "blanks-in-entries": "<url>" + " " * 60 + "<a>" + " " * 60 + "</a>" + " " * 60,
    "long-locs": "<url><loc>" + "a" * 9_000 + "</loc></url>",
    "too-many-elements": "<url><loc>http://e/</loc>" + "<a>b</a>" * 2_000 + "</url>",
    "entries-that-are-nearly-plain": "<url><loc>http://e/</loc><a>" + "b" * 8_000 + "</a><c>",
    "elements-without-an-end": "<url><loc>http://e/</loc>" + "<a>b</a>" * 31,
    "links-without-an-end": "<url><loc>http://e/</loc>" + '<link href="http://e/" a="b"/>' * 31,
    "attributes": '<url><loc>http://e/</loc><link href="http://e/"' + ' a="b"' * 1_000,
    "images-in-images": "<url><loc>http://e/</loc><i:i>" + "<i:j>" * 1_000,
    "plain": "<url><loc>http://e/1</loc></url>\n",
    "escapes": "<url><loc>&amp;</loc></url>",
    "end-tags": "</url>",
    "declarations": "<!>",
    "comments": "<!-- </url> -->",
    "cdata": "<![CDATA[</url>",
    "second-urls": "<url><loc>" + " a:" * 2_000 + "</loc></url>",
}


@pytest.mark.parametrize("text", REPEATED.values(), ids=REPEATED)
def test_no_text_holds_the_reactor_for_long(text: str) -> None:
    """The bound has room for a slow machine: what is quadratic takes seconds."""
    body = b"<urlset>" + (text * (2**19 // len(text))).encode()
    assert any(longest_hold(body) < 0.1 for _ in range(2))


def longest_hold(body: bytes) -> float:
    """The longest CPU time in seconds between two values of the reader."""
    longest, last = 0.0, thread_time()
    for _ in SitemapReader(body):
        longest = max(longest, thread_time() - last)
        last = thread_time()
    return longest


HANG_SECS = 300
MEASURE = """
import os, resource, sys
from pathlib import Path
from scrapy_gbot_robots.sitemaps.reader import SitemapReader
for path in map(Path, sys.argv[1:]):
    if not os.fork():
        body = path.read_bytes()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        entries = sum(entry is not None for entry in SitemapReader(body))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(path.name, entries, (after - before) / 1024, flush=True)
        os._exit(0)
    os.wait()
"""


IMAGES = b"<image:image>\n<image:loc>http://e/1.png</image:loc><image:title>a &amp; b</image:title></image:image>"
LINKS = b"""<xhtml:link rel="alternate" hreflang="de" href="http://e/de?a&amp;b"/>
<xhtml:link href="http://e/fr" hreflang='fr' rel="alternate" /><link media="x" href="/it"></link>"""
USUAL: dict[str, tuple[bytes, dict[str, Any]]] = {  # what stands in an entry behind its loc
    "nothing": (b"", {}),
    "date": (b"<lastmod> 2026-01-31 </lastmod>", {"lastmod": "2026-01-31"}),
    "usual-order": (
        b"\n<lastmod>2026</lastmod>\n<changefreq>daily</changefreq>\n<priority>0.5</priority>\n",
        {"lastmod": "2026", "changefreq": "daily", "priority": "0.5"},
    ),
    "other-order": (
        b"<priority>0.5</priority><lastmod>2026</lastmod><lastmod>2025</lastmod>",
        {"priority": "0.5", "lastmod": "2026"},
    ),
    "image": (IMAGES * 2, {"image": ""}),
    "news": (b"<news:news><news:tag>a</news:tag></news:news><news:keywords>b</news:keywords>", {"news": "", "keywords": "b"}),
    "links": (
        LINKS.replace(b"'", b'"'),
        {"alternate": ["http://e/de?a&b", "http://e/fr", "/it"]},
    ),
    "no-form-of-the-page": (b'<xhtml:link rel="alternate" hreflang="de"/>', {}),
    "other-prefix": (b"<image:loc>http://e/1.png</image:loc><image:lastmod>1</image:lastmod>", {}),
    "other-names": (b"<Priority>1</Priority><x>a &lt; b</x>", {"priority": "1", "x": "a < b"}),
}  # fmt: skip
UNUSUAL = {
    "comment": b"<!-- -->",
    "empty-element": b"<x:y/>",
    "unprefixed-in-a-prefixed": b"<x:y><b>c</b></x:y>",
    "attribute": b"<x:y z='1'>c</x:y>",
}


@pytest.mark.parametrize(("more", "expected"), USUAL.values(), ids=USUAL)
def test_usual_entry_is_read_without_its_tags_one_by_one(
    more: bytes, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two ways to read an entry find the same."""
    page = {"loc": "http://e/1", **expected}
    body = urlset(*[url(b"http://e/1", more)] * 300)
    for unusual in UNUSUAL.values():
        entries, reader = read(body.replace(b"</url>", unusual + b"</url>"))
        assert [{**entry, "y": ""} for entry in entries] == [{**page, "y": ""}] * 300
        assert reader.broken == 0
    monkeypatch.setattr(reader_module, "_Entry", None)
    entries, reader = read(body)
    assert (entries, reader.broken, reader.trouble) == ([page] * 300, 0, "")


@table(
    "other", *UNUSUAL.values(), b"<loc>", b"</url>", b"<url>", b"<", b"<!--", b"<?x", b"<![CDATA["
)
def test_entry_that_is_not_as_usual_costs_no_other(other: bytes) -> None:
    """Whatever stands between or in the others."""
    pages = [url(b"http://e/%d" % number, IMAGES) for number in range(200)]
    in_one = pages[100].replace(b"<image:t", other + b"<image:t")
    for odd in (pages[100] + other, in_one):
        ends = b"-->?>]]>" if b"<!" in other or b"?" in other else b""
        body = urlset(*pages[:100], odd, ends, b"\n<url></url>", *pages[101:])
        found = [entry["loc"] for entry in read(body)[0]]
        assert [path for path in found if not path.endswith("/100")] == [
            f"http://e/{number}" for number in range(200) if number != 100
        ]


def test_first_entry_is_there_before_the_file_is_read() -> None:
    class Body(bytes):
        """Notes how far the reader has come."""

        furthest = 0

        def __getitem__(self, part: Any) -> Any:
            Body.furthest = max(Body.furthest, part.stop)
            return super().__getitem__(part)

    body = Body(urlset(*[url(b"http://e/%d" % number) for number in range(50_000)]))
    entries = iter(SitemapReader(body))
    assert next(entry for entry in entries if entry is not None) == {"loc": "http://e/0"}
    assert Body.furthest <= 2 * 8_192


@pytest.mark.slow
def test_entry_after_less_than_a_million_characters_of_nothing_is_read() -> None:
    nothing = b"<a/>" * 240_000
    body = urlset(nothing, url(b"http://e/1"), nothing, url(b"http://e/2"))
    assert locs(body) == ["http://e/1", "http://e/2"]


def test_reader_pauses_while_it_finds_no_entry() -> None:
    assert sum(entry is None for entry in SitemapReader(urlset(b"<a/>" * 100_000))) > 10


TOO_LONG = "it has more entries than 50000 or more bytes than 52428800"


def test_no_more_entries_are_read_than_the_limit() -> None:
    entries, reader = read(urlset(*[url(b"http://e/%d" % number) for number in range(50_000 + 5)]))
    assert (len(entries), reader.trouble) == (50_000, TOO_LONG)
    entries, reader = read(b"".join(b"http://e/%d\n" % number for number in range(50_000)))
    assert (len(entries), reader.trouble) == (50_000, "")
    for broken in (urlset(b"<url/>" * 100_000), b"http://e/1\n" + b"x\n" * 100_000):
        _, reader = read(broken)
        assert reader.trouble == TOO_LONG
        assert reader.broken < 60_000


@pytest.mark.parametrize("number", [10, 100_000])
def test_no_more_of_a_tag_or_value_is_read_than_64_kib(number: int) -> None:
    """What is behind is lost, so none of it takes time."""
    link = b'<link %s rel="alternate" href="http://e/de"/>' % (b'a="" ' * number)
    assert ("alternate" in read(urlset(url(b"http://e/1", link)))[0][0]) is (number == 10)
    assert locs(urlset(url(b"&#32;" * number + b"http://e/1"))) == ["http://e/1"] * (number == 10)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_no_more_bytes_are_read_than_the_limit(pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reader_module.MAX_BYTES == 52_428_800
    limit = 1_000_000
    monkeypatch.setattr(reader_module, "MAX_BYTES", limit)
    whole = url(b"http://e/" + b"x" * 2_000)
    entries, reader = read(pack(urlset(*[whole] * (limit // len(whole) + 100))))
    fitting = (limit - len(urlset()) + len(b"</urlset>")) // len(whole)
    assert (len(entries), reader.trouble) == (fitting, TOO_LONG)
    line = b"http://e/%s\n" % (b"x" * 2_000)
    entries, reader = read(pack(line * (limit // len(line) + 1)))
    assert (len(entries), reader.trouble) == (limit // len(line), TOO_LONG)


BEFORE = (
    *("2026-01-30T23:59:59Z", "2025-12", "Fri, 30 Jan 2026 10:20:30 +0200", "2025-12-31 10:20:30 AM"),
    *("2025-12-31T10:20:30.123-08:00", "2025-12-31t10:20z"),
)  # fmt: skip
NOT_BEFORE = (
    *("2026-01-31", "2026-01", "2026", "Sat, 31 Jan 2026 10:20:30 GMT", "", "yesterday", "1732 days ago"),
    *("2025 or so", "2025-12-31T00:00:00Z 2026-11-20T00:00:00Z", "0000-00-00", "2025-00-00", "2025-13"),
    *("2025-02-29", "Mon, 31 Feb 2025 10:20:30 GMT", "Sat, 31 Jan 99999999999999999999 10:20:30 GMT"),
    *("1764028800", "1764028800000", "1.7640288E9", "20251231", "2025" * 1000),
)  # fmt: skip


@pytest.mark.parametrize("lastmod", BEFORE + NOT_BEFORE)
def test_date_is_before_a_day_as_far_as_both_go(lastmod: str) -> None:
    assert is_before(lastmod, "2026-01-31") is (lastmod in BEFORE)
    assert not is_before(lastmod, "1999")
