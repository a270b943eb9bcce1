"""Which error pages say that the page was not found (S2.19)."""

import re
import time

import pytest

from scrapy_gbot_robots.policy.web_pages import says_not_found

from ..support.rows import row, table

# A line or two for each language.
SAYINGS = """
Page not found ~ Not Found ~ 404 Not Found ~ Error 404 (Not Found)!!1
HTTP Status 404 – Not Found ~ 404 - File or directory not found.
The page you’re looking for can’t be found ~ Sorry, this page doesn't exist.
Oops! Page not found | Example Shop
The requested URL /robots.txt was not found on this server ~ robots.txt not found
ＰＡＧＥ&nbsp;NOT&#32;FOUND
404
Seite nicht gefunden ~ Die angeforderte Webseite wurde nicht gefunden ~ Fehler 404
Page introuvable ~ Oups ! Cette page n’existe pas ~ La page demandee n'a pas ete trouvee
Página no encontrada ~ No encontrado
Página não encontrada
Pagina non trovata
Pagina niet gevonden
Nie znaleziono strony ~ Strona nie została znaleziona
Страница не найдена ~ Ошибка 404: такой страницы не существует
Halaman tidak ditemukan
Không tìm thấy trang
お探しのページは見つかりませんでした。
页面未找到 ~ 找不到網頁
"""

OTHER_SAYINGS = """
500 Internal Server Error ~ 503 Service Unavailable ~ Error ~ Bad Gateway
Database not found ~ Server not found ~ Host not found ~ Application not found
The template of this page could not be found ~ We cannot find the server of this page
Class 'Page' not found ~ Page: database not found ~ Page not responding
Area 404 is closed ~ Seite wird gewartet ~ Technische Störung, Server nicht gefunden
"""

AS_TITLE = "<!DOCTYPE html><html><head><title>{}</title></head><body><h1>Example</h1></body></html>"
AS_HEADING = (
    "<html><head><TITLE>Error</TITLE></head><body><p>Oh.</p><H1 class='x'>{}</H1></body></html>"
)
PLACES = [
    row("title", AS_TITLE),
    row("h1", AS_HEADING),
    row("h2-with-markup", "<body><h2>\n  <b>{}</b>\n</h2></body>"),
    row("text", "{}\n\nPlease try later."),
    row("after-a-long-script", f"<script>{'x' * 15_000}</script><title>{{}}</title>"),
]


def listed(sayings: str) -> list[str]:
    return re.split(r" ~ |\n", sayings.strip())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("saying", listed(SAYINGS))
def test_not_found_is_heard(saying: str, place: str) -> None:
    assert says_not_found(place.format(saying).encode())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("saying", ["", *listed(OTHER_SAYINGS)])
def test_another_error_is_not_taken_for_it(saying: str, place: str) -> None:
    assert not says_not_found(place.format(saying).encode())


@table(
    "page",
    row("second-heading", "<h1>Shop</h1><h1>Page not found</h1>"),
    row("second-title", "<title>Shop</title><title>Page not found</title>"),
    row("paragraph", "<title>Shop</title><p>Page not found</p>"),
    row("paragraph-alone", "<p>Page not found</p>"),
    row("comment", "<!-- <title>Page not found</title> --><title>Down</title>"),
    row("comment-not-closed", "<!-- <title>Page not found</title>"),
    row("text-behind-a-comment", "<!-- down -->Page not found"),
    row("script", "<script>'<h1>Page not found</h1>'</script>"),
    row("style", "<style><h1>Page not found</h1></style>"),
    row("svg", "<svg><title>Page not found</title></svg>"),
    row("noscript", "<noscript><h1>Page not found</h1></noscript>"),
    row("title-not-closed", "<title>Page not found"),
    row("title-not-closed-before-the-end", "<title>Page not found\n"),
    row("tag-not-closed", "<title"),
    row("json", '{"error": "Not Found"}'),
    row("second-line", "Down.\nPage not found"),
    row("markup-of-a-kind", "< Page not found"),
    row("far-down", " " * 16_384 + "Page not found"),
    row("empty", ""),
    row("byte-order-mark", "\ufeff<title>Down</title>"),
)
def test_only_title_first_heading_and_first_line_are_heard(page: str) -> None:
    assert not says_not_found(page.encode())


@table(
    "saying, charset",
    row("fr-cp1252", "Page non trouvée", "cp1252"),
    row("de-utf-8-with-bom", "Seite nicht gefunden", "utf-8-sig"),
    row("de-utf-16", "Seite nicht gefunden", "utf-16"),
)
def test_unicode_and_the_charset_of_western_europe_are_read(saying: str, charset: str) -> None:
    assert says_not_found(AS_TITLE.format(saying).encode(charset))


CODE_PAGES = [
    row("windows-1251", "Страница не найдена", "windows-1251"),
    row("shift-jis", "ページが見つかりません", "shift_jis"),
    row("big5", "找不到網頁", "big5"),
]


@pytest.mark.parametrize(("saying", "charset"), CODE_PAGES)
def test_charset_that_page_or_header_declares_is_read(saying: str, charset: str) -> None:
    title = f"<title>{saying}</title>"
    by_page = f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">{title}'
    by_xml = f'<?xml version="1.0" encoding="{charset.upper()}"?><html>{title}</html>'
    by_header = f"text/html;charset={charset}"
    assert says_not_found(by_page.encode(charset))
    assert says_not_found(by_xml.encode(charset))
    assert says_not_found(title.encode(charset), by_header)


def test_page_in_another_charset_than_it_declares_is_not_taken_for_it() -> None:
    for saying, written in (page.values for page in CODE_PAGES):
        body = f"<title>{saying}</title>".encode(str(written))
        for _, declared in (page.values for page in CODE_PAGES):
            if str(saying) not in body.decode(str(declared), "replace"):
                assert not says_not_found(body, f"charset={declared}"), (saying, declared)


def test_charset_that_is_unknown_or_no_text_s_is_read_as_windows_1252() -> None:
    title = "<title>Page non trouvée</title>".encode("cp1252")
    for charset in ("", "rot13", "zlib", "no-such", "idna", "undefined", "x" * 10_000):
        assert says_not_found(title, f"text/html; charset={charset}")


def test_character_cut_at_the_end_of_what_is_looked_at_does_no_harm() -> None:
    page = "<title>Страница не найдена</title>".encode()
    assert says_not_found(page + b"x" * (16_383 - len(page)) + "я".encode())


@table(
    "body",
    row("opened", b"<" * 1_000_000),
    row("titles", b"<title>" * 100_000),
    row("comments", b"<!--" * 100_000),
    row("tags-in-title", b"<title>" + b"<" * 16_000 + b"</title>"),
    row("clauses", b"<title>" + b". " * 8_000 + b"</title>"),
    row("no-charset", b"\xff" * 1_000_000),
    row("charsets", b"\xff" + b"charset=\t" * 100_000),
    row("letters-that-unfold", "\ufdfa".encode() * 10_000),
)
def test_a_hostile_body_takes_no_time(body: bytes) -> None:
    started = time.process_time()
    assert not says_not_found(body)
    assert time.process_time() - started < 30
