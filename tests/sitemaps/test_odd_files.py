"""Sitemap files that are odd but valid, or usual on the web: which pages and sitemaps each lists.

The answers were written by hand, from the standards. Where a file breaks them, the answer is what its author meant.
"""

import gzip
from random import Random
from typing import NamedTuple

import pytest

from scrapy_gbot_robots.sitemaps.reader import SitemapReader
from scrapy_gbot_robots.sitemaps.urls import Skipped, UrlCheck

HOST = "http://example.com"
FILE_URL = f"{HOST}/d/sitemap"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
ATOM = 'xmlns="http://www.w3.org/2005/Atom"'
OTHERS = (
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
)


class File(NamedTuple):
    """A file: its text or bytes, and what it lists, without the host. Sitemaps begin with "S:"."""

    body: str | bytes
    right: str


def urlset(*inner: str, attributes: str = NAMESPACE, before: str = DECLARATION) -> str:
    return f"{before}<urlset {attributes}>{''.join(inner)}</urlset>"


def page(path: str, more: str = "") -> str:
    return f"<url><loc>{HOST}{path}</loc>{more}</url>"


def sitemap(path: str) -> str:
    return f"<sitemap><loc>{HOST}{path}</loc></sitemap>"


def rss(*items: str, attributes: str = 'version="2.0"', before: str = "") -> str:
    channel = f"<channel><title>t</title><link>{HOST}/</link>{''.join(items)}</channel>"
    return f"{before}<rss {attributes}>{channel}</rss>"


TWO = urlset(page("/1"), page("/2"))
BYTES = Random(1).randbytes(40_000).hex()
LONG = urlset(*(page(f"/{number}-{BYTES[number * 60 :][:60]}") for number in range(400)))
CUT = gzip.compress(LONG.encode())[:-4_000]
LASTMODS = (
    *("2026", "2026-01", "2026-01-02", "2026-01-02T03:04Z", "2026-01-02T03:04:05.678+01:00"),
    *("2026-01-02 03:04:05", "02.01.2026", "Fri, 02 Jan 2026 03:04:05 GMT", "0000-00-00", ""),
)

FILES = {
    "plain": File(TWO, "/1 /2"),
    "prefixed": File(
        f'<s:urlset {NAMESPACE.replace("=", ":s=", 1)}><s:url><s:loc>{HOST}/1</s:loc></s:url></s:urlset>', "/1"
    ),
    "no-namespace": File(urlset(page("/1"), attributes=""), "/1"),
    "google-0.84": File(
        urlset(page("/1"), attributes='xmlns="http://www.google.com/schemas/sitemap/0.84"'), "/1"
    ),
    "image-before-loc": File(
        urlset(
            f"<url><image:image><image:loc>{HOST}/i.png</image:loc></image:image><loc>{HOST}/1</loc></url>",
            attributes=f"{NAMESPACE} {OTHERS}",
        ),
        "/1",
    ),
    "news-and-video": File(
        urlset(
            page(
                "/1",
                "<news:news><news:title>t &amp; u</news:title></news:news>"
                f"<video:video><video:content_loc>{HOST}/v.mp4</video:content_loc></video:video>",
            ),
            attributes=f"{NAMESPACE} {OTHERS}",
        ),
        "/1",
    ),
    "alternates": File(
        urlset(
            page("/1", f'<xhtml:link rel="alternate" hreflang="de" href="{HOST}/de/1"/>'),
            attributes=f"{NAMESPACE} {OTHERS}",
        ),
        "/1",
    ),
    "cdata": File(urlset(f"<url><loc><![CDATA[{HOST}/1?a=1&b=2]]></loc></url>"), "/1?a=1&b=2"),
    "escapes": File(urlset(page("/1?a=1&amp;b=2&#x26;c=3&apos;")), "/1?a=1&b=2&c=3'"),
    "relative": File(
        urlset("<url><loc>/1</loc></url><url><loc>2</loc></url>", page("/3")), "/1 /d/2 /3"
    ),
    "base-of-a-urlset": File(
        urlset("<url><loc>1</loc></url>", attributes=f'{NAMESPACE} xml:base="{HOST}/b/"'), "/b/1"
    ),
    "atom": File(
        f'<feed {ATOM}><link rel="self" href="{HOST}/atom.xml"/><link href="{HOST}/"/><entry>'
        f'<link rel="alternate" href="{HOST}/1"/><link rel="enclosure" href="{HOST}/e.mp3"/>'
        "<updated>2026-01-01T00:00:00Z</updated></entry></feed>",
        "/1",
    ),
    "atom-with-a-base": File(
        f'<feed {ATOM} xml:base="{HOST}/b/"><entry><link href="1"/></entry></feed>', "/b/1"
    ),
    "atom-with-nested-bases": File(
        f'<feed {ATOM} xml:base="{HOST}/b/"><entry xml:base="c/"><link href="1" xml:base="d/"/></entry></feed>',
        "/b/c/d/1",
    ),
    "atom-prefixed": File(
        f'<a:feed {ATOM.replace("=", ":a=", 1)}><a:entry><a:link href="{HOST}/1"/></a:entry></a:feed>', "/1"
    ),
    "rss": File(
        rss(f'<item><title>x</title><link>{HOST}/1</link><guid isPermaLink="true">{HOST}/g</guid></item>'),
        "/1",
    ),
    "rss-with-a-permalink-alone": File(
        rss(f"<item><title>x</title><guid>{HOST}/1</guid></item>"), "/1"
    ),
    "rss-with-links-of-atom": File(
        rss(
            f'<item><atom:link rel="self" href="{HOST}/self"/><link>{HOST}/1</link></item>',
            attributes='version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"',
        ),
        "/1",
    ),
    "rss-1.0": File(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
        f'<channel rdf:about="{HOST}/"><link>{HOST}/</link></channel>'
        f'<item rdf:about="{HOST}/1"><title>t</title><link>{HOST}/1</link></item></rdf:RDF>',
        "/1",
    ),
    "rss-0.91": File(
        rss(
            f"<item><title>t</title><link>{HOST}/1</link></item>",
            attributes='version="0.91"',
            before='<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://example.com/r.dtd">',
        ),
        "/1",
    ),
    "text": File(f"{HOST}/1\r\n\r\n  {HOST}/2  \n", "/1 /2"),
    "text-with-mark-and-comment": File(f"\ufeff{HOST}/1\n# comment\n{HOST}/2#f\n", "/1 /2#f"),
    "text-in-utf-16": File(f"{HOST}/1\n{HOST}/2\n".encode("utf-16"), "/1 /2"),
    "mark-and-line-break": File("\ufeff\n" + urlset(page("/1"), before=""), "/1"),
    "utf-16": File(TWO.replace("UTF-8", "UTF-16").encode("utf-16"), "/1 /2"),
    "windows-1251": File(
        urlset(page("/\u0436")).replace("UTF-8", "windows-1251").encode("cp1251"), "/\u0436"
    ),
    "gzip": File(gzip.compress(TWO.encode()), "/1 /2"),
    "gzip-twice": File(gzip.compress(gzip.compress(TWO.encode())), "/1 /2"),
    "gzip-in-members": File(
        gzip.compress(TWO.encode()[:90]) + gzip.compress(TWO.encode()[90:]), "/1 /2"
    ),
    "index": File(f"<sitemapindex {NAMESPACE}>{sitemap('/s.xml')}</sitemapindex>", "S:/s.xml"),
    "index-with-pages": File(
        f"<sitemapindex {NAMESPACE}>{sitemap('/s.xml')}{page('/1')}</sitemapindex>", "S:/s.xml /1"
    ),
    "urlset-with-sitemaps": File(urlset(page("/1"), sitemap("/s.xml")), "/1 S:/s.xml"),
    "url-never-closed": File(urlset(f"<url><loc>{HOST}/1</loc>", page("/2")), "/1 /2"),
    "loc-never-closed": File(urlset(f"<url><loc>{HOST}/1</url>", page("/2")), "/1 /2"),
    "white-space-and-line-break": File(urlset(page("/\n1"), f"<url><loc>\n {HOST}/2\n </loc></url>"), "/1 /2"),
    "upper-case": File(f"<URLSET><URL><LOC>{HOST}/1</LOC></URL></URLSET>", "/1"),
    "bare-ampersand": File(urlset(page("/1?a=1&b=2"), page("/2")), "/1?a=1&b=2 /2"),
    "cut-between-entries": File(TWO[: -len("</urlset>")], "/1 /2"),
    "cut-in-a-loc": File(urlset(page("/1"), page("/2"))[: -len("m/2</loc></url></urlset>")], "/1"),
    "two-in-one-file": File(urlset(page("/1")) + urlset(page("/2")), "/1 /2"),
    "warning-before": File("<br />\nWarning: x in y.php\n" + urlset(page("/1")), "/1"),
    "entity-of-its-own": File(
        '<?xml version="1.0"?>'
        + urlset(
            "<url><loc>&h;/1</loc></url>", page("/2"), before=f'<!DOCTYPE urlset [<!ENTITY h "{HOST}">]>'
        ),
        "/1 /2",
    ),
    "comment-in-a-loc": File(urlset(page("/1<!-- c --><?p?>")), "/1"),
    "web-page": File(f'<!DOCTYPE html><html><body><a href="{HOST}/1">1</a></body></html>', ""),
    "names-that-are-not-ascii": File(
        urlset("<url><loc>http://b\u00fccher.example/\u00fc</loc></url>"), "http://b\u00fccher.example/\u00fc"
    ),
    "two-cdata": File(urlset(f"<url><loc><![CDATA[{HOST}]]><![CDATA[/1]]></loc></url>"), "/1"),
    "dates-of-any-form": File(
        urlset(*(page(f"/{number}", f"<lastmod>{date}</lastmod>") for number, date in enumerate(LASTMODS))),
        "/0 /1 /2 /3 /4 /5 /6 /7 /8 /9",
    ),
}  # fmt: skip
# What is not read, and why that is so.
NOT_READ = {
    "gzip-twice": ("", "each layer would multiply what a small file can unpack to"),
    "entity-of-its-own": ("/2", "no entity is expanded: a few could become gigabytes"),
}
CHECK = UrlCheck(frozenset({"http", "https"}), "any", 50)


def listed(body: str | bytes) -> list[str]:
    """The whole URLs that a file lists, and that can be requested."""
    reader = SitemapReader(body.encode() if isinstance(body, str) else body)
    found = []
    for entry in reader:
        if entry is None:
            continue
        try:
            whole = CHECK.listed(entry["loc"], FILE_URL)[0].removeprefix(HOST)
        except Skipped:
            continue
        found.append(f"S:{whole}" if reader.is_sitemap else whole)
    return found


def test_there_are_as_many_odd_files_as_were_compared_with_other_readers() -> None:
    assert len(FILES) + 1 == 48  # with the one that is cut in its compression


@pytest.mark.parametrize("name", FILES)
def test_odd_file_lists_what_its_author_meant(name: str) -> None:
    right, _ = NOT_READ.get(name, (FILES[name].right, ""))
    assert listed(FILES[name].body) == right.split()


def test_odd_file_that_is_cut_in_its_compression_lists_what_stands_before() -> None:
    assert 0 < len(CUT) < len(gzip.compress(LONG.encode()))
    found = listed(CUT)
    assert 200 < len(found) < 400
    assert found == [f"/{number}-{BYTES[number * 60 :][:60]}" for number in range(len(found))]
