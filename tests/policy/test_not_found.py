"""Which error pages say that the page was not found (S2.19)."""

import re
import time

import pytest

from scrapy_gbot_robots.policy.web_pages import says_not_found

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
    pytest.param(AS_TITLE, id="title"),
    pytest.param(AS_HEADING, id="h1"),
    pytest.param("<body><h2>\n  <b>{}</b>\n</h2></body>", id="h2-with-markup"),
    pytest.param("{}\n\nPlease try later.", id="text"),
    pytest.param(f"<script>{'x' * 15_000}</script><title>{{}}</title>", id="after-a-long-script"),
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


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("<h1>Shop</h1><h1>Page not found</h1>", id="second-heading"),
        pytest.param("<title>Shop</title><title>Page not found</title>", id="second-title"),
        pytest.param("<title>Shop</title><p>Page not found</p>", id="paragraph"),
        pytest.param("<p>Page not found</p>", id="paragraph-alone"),
        pytest.param("<!-- <title>Page not found</title> --><title>Down</title>", id="comment"),
        pytest.param("<!-- <title>Page not found</title>", id="comment-not-closed"),
        pytest.param("<!-- down -->Page not found", id="text-behind-a-comment"),
        pytest.param("<script>'<h1>Page not found</h1>'</script>", id="script"),
        pytest.param("<style><h1>Page not found</h1></style>", id="style"),
        pytest.param("<svg><title>Page not found</title></svg>", id="svg"),
        pytest.param("<noscript><h1>Page not found</h1></noscript>", id="noscript"),
        pytest.param("<title>Page not found", id="title-not-closed"),
        pytest.param("<title>Page not found\n", id="title-not-closed-before-the-end"),
        pytest.param("<title", id="tag-not-closed"),
        pytest.param('{"error": "Not Found"}', id="json"),
        pytest.param("Down.\nPage not found", id="second-line"),
        pytest.param("< Page not found", id="markup-of-a-kind"),
        pytest.param(" " * 16_384 + "Page not found", id="far-down"),
        pytest.param("", id="empty"),
        pytest.param("\ufeff<title>Down</title>", id="byte-order-mark"),
    ],
)
def test_only_title_first_heading_and_first_line_are_heard(page: str) -> None:
    assert not says_not_found(page.encode())


@pytest.mark.parametrize(
    ("saying", "charset"),
    [
        pytest.param("Page non trouvée", "cp1252", id="fr-cp1252"),
        pytest.param("Seite nicht gefunden", "utf-8-sig", id="de-utf-8-with-bom"),
        pytest.param("Seite nicht gefunden", "utf-16", id="de-utf-16"),
    ],
)
def test_unicode_and_the_charset_of_western_europe_are_read(saying: str, charset: str) -> None:
    assert says_not_found(AS_TITLE.format(saying).encode(charset))


CODE_PAGES = [
    pytest.param("Страница не найдена", "windows-1251", id="windows-1251"),
    pytest.param("ページが見つかりません", "shift_jis", id="shift-jis"),
    pytest.param("找不到網頁", "big5", id="big5"),
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


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<" * 1_000_000, id="opened"),
        pytest.param(b"<title>" * 100_000, id="titles"),
        pytest.param(b"<!--" * 100_000, id="comments"),
        pytest.param(b"<title>" + b"<" * 16_000 + b"</title>", id="tags-in-title"),
        pytest.param(b"<title>" + b". " * 8_000 + b"</title>", id="clauses"),
        pytest.param(b"\xff" * 1_000_000, id="no-charset"),
        pytest.param(b"\xff" + b"charset=\t" * 100_000, id="charsets"),
        pytest.param("\ufdfa".encode() * 10_000, id="letters-that-unfold"),
    ],
)
def test_a_hostile_body_takes_no_time(body: bytes) -> None:
    started = time.process_time()
    assert not says_not_found(body)
    assert time.process_time() - started < 30
