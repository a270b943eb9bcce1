"""Answers that are no robots.txt: web pages and other data, bot walls, and error pages that say "not found"."""

import gzip
import re
import sys

import pytest

from scrapy_gbot_robots.core.robots import RobotsTxt
from scrapy_gbot_robots.policy import web_pages
from scrapy_gbot_robots.policy.outages import DAY, Kind, Policy, State, decide, renew
from scrapy_gbot_robots.policy.outcome import Fetched, Outcome, Unavailable, Unreachable, outcome_of
from scrapy_gbot_robots.policy.web_pages import hides_rules, means_not_found, wall_of

from ..support.bounds import time_below
from ..support.reference import needs_reference, real_bodies
from ..support.rows import row, table

URL = "https://example.com/robots.txt"
NOW = 1_700_000_000.0
RULES = b"User-agent: *\nDisallow: /x\n"
UTF_16 = RULES.decode().encode("utf-16")
UTF_16_BE = b"\xfe\xff" + RULES.decode().encode("utf-16-be")
LOG_IN = (
    b"<!DOCTYPE html>\n<html><head><title>Log in</title></head><body>Please log in.</body></html>"
)
IN_CHROME = (
    b'<html><head><meta name="color-scheme" content="light dark"></head><body>'
    b'<pre style="white-space: pre-wrap;">User-agent: *\nDisallow: /private\n</pre></body></html>'
)
EDITED_AS_A_PAGE = b"<p>User-agent: *<br />\nDisallow: /x</p>\n"
QUOTED = "text in quotation marks"
IN_ONE_LINE = r'one line, with "\n" in place of line breaks,'
TWO_GROUPS = b"<html><body><pre>User-agent: a\nAllow: /\n\nUser-agent: *\nDisallow: /\n</pre>"


def outcome(status: int, headers: dict[str, str], body: bytes) -> Outcome:
    return outcome_of(status, URL, body, soft_404=True, proxy="", headers=headers)


@table(
    "body, instead, hidden",
    row("S4.5-rules-in-a-page", b"<html>\nuser-agent: *\ndisallow: /x\n</html>", "", ""),
    row("S4.5-misspelt", b"<html>\n Useragent: *\ndisallow: /x", "", ""),
    row("sitemap-in-a-page", b"<html>\nsitemap: https://example.com/s.xml", "", ""),
    row("empty", b"", "", ""),
    row("text", b"not a page", "", ""),
    row("comment", b"# <html>\nuser-agent: *\ndisallow: /x", "", ""),
    row("rules-below-a-tag", b"<br />\nuser-agent: *\ndisallow: /x", "", ""),
    row("no-tag-of-html", b"<prefix>", "", ""),
    row("rules-below-a-bracket", b"{\n" + RULES, "", ""),
    row("sitemap-below-a-bracket", b"[x]\nsitemap: https://example.com/s.xml", "", ""),
    row("rules-above-a-nul", RULES + b"# \0", "", ""),
    row("another-text", b"Forbidden", "", ""),
    row("all-is-read", b"<html>\nuser-agent: *\ndisallow: /x", "", ""),
    row("all-is-read-in-pre", b"<html><pre>\nuser-agent: *\ndisallow: /x", "", ""),
    row("no-page", b"x <pre>User-agent: *\nDisallow: /", "", ""),
    row("utf-8", RULES, "", ""),
    row("log-in", LOG_IN, "a web page", ""),
    row("byte-order-mark", b"\xef\xbb\xbf  \r\n<HTML lang=en>x", "a web page", ""),
    row("xhtml", b'<?xml version="1.0"?>\n<!-- x -->\n<html xmlns="a">x', "a web page", ""),
    row("no-html-tag", b"<head></head><p>Disallow: /x</p>", "a web page", ""),
    row("rule-of-no-group", b"<body>\nDisallow: /x\n</body>", "a web page", ""),
    row("part-of-a-page", b"<div>Page not found</div>", "a web page", ""),
    row("heading", b"<h1>404 Not Found</h1>", "a web page", ""),
    row("script", b"<script>location='/'</script>", "a web page", ""),
    row("header-of-a-request", b"<html><p>User-Agent: Mozilla/5.0</p>", "a web page", ""),
    row("json-object", b' \n{"error": "not found"}', "JSON", ""),
    row("json-list", b"\xef\xbb\xbf[]", "JSON", ""),
    row("gzip", gzip.compress(RULES), "gzip data", ""),
    row("image", b"\x89PNG\r\n\x1a\n\0\0", "no text", ""),
    row("utf-16-rule-of-no-group", "Disallow: /x".encode("utf-16"), "UTF-16 text", ""),
    row("browser", IN_CHROME, "a web page", "a web page"),
    row("edited-as-a-page", EDITED_AS_A_PAGE, "a web page", "a web page"),
    row("paragraphs", b"<body><p>user-agent : *<br>disallow: /x", "a web page", "a web page"),
    row("first-of-two-groups", TWO_GROUPS, "", "a web page"),
    row("json-string", b'"User-agent: *\\nDisallow: /x\\n"', QUOTED, QUOTED),
    row("json-string-crlf", b' "user-agent:*\\r\\ndisallow:/x\\r\\n"\n', QUOTED, QUOTED),
    row("each-line-in-quotation-marks", b'"User-agent: *"\n"Disallow: /x"\n', QUOTED, QUOTED),
    row("string-without-rules", b'"ok"', QUOTED, ""),
    row("far-down", b"<html>".ljust(17_000) + IN_CHROME, "a web page", ""),
    row("json-rules", rb'{"data": "User-agent: *\nDisallow: /x"}', "JSON", "JSON"),
    row("json-crlf", rb'{"a":{"txt":"user-agent:*\r\ndisallow:/x\r\n"}}', "JSON", "JSON"),
    row("json-lines", b'["User-agent: *",\n "Disallow: /x"]', "JSON", "JSON"),
    row("json-real-break", b'{"data": "User-agent: *\nDisallow: /x"}', "JSON", "JSON"),
    row("json-agent-of-no-rule", b'{"a": "User-Agent: x", "b": "no allow: line"}', "JSON", ""),
    row("json-rule-of-no-group", b'{"help": "Disallow: /x"}', "JSON", ""),
    row("json-prose", b'{"error": "no User-agent: line, no Disallow: line"}', "JSON", ""),
    row("line-breaks-as-text", rb"User-agent: *\nDisallow: /x\n", "", IN_ONE_LINE),
    row("line-breaks-as-text-crlf", rb"User-agent: *\r\nDisallow: /x\n", "", IN_ONE_LINE),
    row("line-breaks-as-text-in-a-comment", RULES + rb"# not a\nDisallow: /", "", ""),
    row("path-with-a-backslash", rb"User-agent: *" + b"\nDisallow: /a" + rb"\n", "", ""),
    row("quotation-marks-below", b'"a shop"\nUser-agent: *\nDisallow: /x', "", ""),
    row("utf-16", UTF_16, "UTF-16 text", "UTF-16 text"),
    row("utf-16-be", UTF_16_BE, "UTF-16 text", "UTF-16 text"),
    row("utf-16-without-mark", RULES.decode().encode("utf-16-le"), "no text", "no text"),
)
def test_other_data_is_named_and_another_file_kept(body: bytes, instead: str, hidden: str) -> None:
    assert hides_rules(body) == hidden
    answer = outcome(200, {}, body)
    assert isinstance(answer, Fetched)
    assert (answer.body, answer.instead) == (body, instead)
    policy = Policy(access_denied="disallow")
    entry = renew(None, answer, NOW, policy)
    assert entry.copy is not None
    assert (entry.copy.kind is Kind.OTHER, entry.copy.body) == (instead != "", body)
    decision = decide(entry, NOW, policy)
    said = f"HTTP 200; no rules: it is {instead}" if instead else "HTTP 200"
    state = State.FULL_ALLOW if instead else State.RULES
    assert (decision.why, decision.state) == (said, state)
    if not instead and not hidden:
        allowed = RobotsTxt.parse(body).allowed("https://example.com/x", "mybot")
        assert allowed == (b"isallow: /x" not in body)


class Searching:
    """A pattern that notes how many bytes each of its searches may read."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern
        self.lengths: list[int] = []

    def search(self, body: bytes, start: int = 0, stop: int = sys.maxsize) -> object:
        self.lengths.append(min(stop, len(body)) - start)
        return self._pattern.search(body, start, stop)


def test_no_single_search_for_lines_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a regular expression searches, Python runs no other thread."""
    searching = Searching(web_pages._LINE_OF_A_FILE)
    monkeypatch.setattr(web_pages, "_LINE_OF_A_FILE", searching)
    assert isinstance(outcome(200, {}, b"<html>" + b"<p>\n" * 120_000), Fetched)
    assert max(searching.lengths) <= 50_000
    assert sum(searching.lengths) >= 480_000


@pytest.mark.parametrize("step", [1, 2])
def test_line_at_the_end_of_a_step_is_found(step: int) -> None:
    for blanks in (0, 1, 16_000):
        line = b"\n" + b" " * blanks + b"Sitemap: https://example.com/s.xml"
        for before in range(step * 32 * 1024 - 20, step * 32 * 1024 + 2):
            body = b"<html>".ljust(before, b"x") + line
            answer = outcome(200, {}, body)
            assert isinstance(answer, Fetched)
            assert answer.instead == "", (blanks, before)


# Bot walls

RULES_OF_PAGE = b"user-agent: *\ndisallow: /page\n"
PAGE = b"<!doctype html><html><head><title>%s</title></head><body>wait</body></html>"
ANUBIS = "Making sure you\N{RIGHT SINGLE QUOTATION MARK}re not a bot!"
MOMENT = PAGE % b"Just a moment..."
CLOUDFLARE = {"cf-mitigated": "challenge"}


@table(
    "status, headers, body, whose",
    row("cf-mitigated", 403, CLOUDFLARE, b"", "Cloudflare"),
    row("in-capitals", 200, {"cf-mitigated": " Challenge "}, MOMENT, "Cloudflare"),
    row("aws-waf", 202, {"x-amzn-waf-action": "challenge"}, b"", "AWS WAF"),
    row("siteground", 202, {"sg-captcha": "challenge"}, b"", "SiteGround"),
    row("300", 300, CLOUDFLARE, b"", "Cloudflare"),
    row("title-of-a-404", 404, {}, MOMENT, "Cloudflare"),
    row("rules-in-a-403", 403, {}, MOMENT + RULES_OF_PAGE, "Cloudflare"),
    row("quote", 200, {}, PAGE % ANUBIS.encode(), "Anubis"),
    row("blanks-and-no-utf-8", 200, {}, PAGE % b"\n JUST  A\tMOMENT... | \xff\xfe", "Cloudflare"),
    row("byte-order-mark", 200, {}, b"\xef\xbb\xbf\n" + PAGE % b"Request Rejected", "F5"),
    row("long", 200, {}, MOMENT + b"<!-- navigator.userAgent -->" * 20_000, "Cloudflare"),
)
def test_wall_is_known(status: int, headers: dict[str, str], body: bytes, whose: str) -> None:
    assert whose in wall_of(status, headers, body)
    answer = outcome(status, headers, body)
    assert isinstance(answer, Unavailable)
    assert answer.why == f"HTTP {status} of {answer.wall}"


@table(
    "status, headers, body",
    row("text", 200, {}, b"Just a moment..."),
    row("title-in-a-text", 200, {}, b"# " + MOMENT),
    row("title-in-a-comment", 403, {}, b"<!-- %s -->" % MOMENT),
    row("typo-of-google", 200, {}, MOMENT + b"\r \tUSERAGENT *"),
    row("page-before-a-sitemap", 200, {}, MOMENT + b"\nSitemap: https://example.com/s.xml"),
    row("202-with-rules", 202, {}, b"\xef\xbb\xbfuser-agent: *"),
    row("202-without-a-mark", 202, {}, b""),
    row("header-and-rules", 200, CLOUDFLARE, RULES_OF_PAGE),
    row("another-value", 200, {"cf-mitigated": "block"}, b""),
    row("accept-signature", 403, {"accept-signature": "sig=()"}, b""),
    row("another-title", 200, {}, PAGE % b"Welcome. Just a moment..."),
    row("too-far-down", 200, {}, b"<!--" + b" " * 17_000 + b"-->" + MOMENT),
    row("429", 429, CLOUDFLARE, MOMENT),
    row("503", 503, CLOUDFLARE, MOMENT),
)
def test_what_is_a_sites_own_is_no_wall(status: int, headers: dict[str, str], body: bytes) -> None:
    answer = outcome(status, headers, body)
    assert not (isinstance(answer, Unavailable) and answer.wall)
    kinds = {200: Fetched, 202: Fetched, 403: Unavailable, 429: Unreachable, 503: Unreachable}
    assert isinstance(answer, kinds[status])


@table(
    "status, body, refused",
    row("403-with-rules", 403, RULES_OF_PAGE, True),
    row("wall", 200, MOMENT, True),
    row("404", 404, b"", False),
    row("empty", 200, b"", False),
)
def test_refusal_counts_while_answer_is_fresh(status: int, body: bytes, refused: bool) -> None:
    allowing, strict = Policy(), Policy(access_denied="disallow")
    entry = renew(None, outcome(status, {}, body), 0.0, strict)
    assert decide(entry, 1.0, allowing).state in {State.FULL_ALLOW, State.RULES}
    decision = decide(entry, 1.0, strict)
    assert (decision.state is State.FULL_DISALLOW, decision.temporary) == (refused, False)
    assert decision.ask_at == DAY


@needs_reference
def test_of_the_real_files_only_refusals_of_a_firewall_are_walls() -> None:
    found = [wall for body in real_bodies().values() if (wall := wall_of(200, {}, body))]
    assert found == ["F5 BIG-IP, by its title"] * 4


# Error pages that say that the page was not found (S2.19)

# A line or two for each language.
SAYINGS = """
Page not found ~ Not Found ~ 404 Not Found ~ Error 404 (Not Found)!!1
HTTP Status 404 – Not Found ~ 404 - File or directory not found.
The page you’re looking for can’t be found ~ Sorry, this page doesn't exist.
Oops! Page not found | Example Shop
The requested URL /robots.txt was not found on this server ~ robots.txt not found
File not found: /srv/www/site/robots.txt ~ Page not found: "C:\\www\\robots.txt".
Page not found - https://shop.example/home/page ~ Not found: /robots.txt ~ Page not found/home/
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
Diese Seite gibt es nicht ~ Page inexistante ~ No hemos encontrado la página ~ No pudimos encontrar la página
We konden de pagina niet vinden ~ Nie można znaleźć strony ~ Такой страницы нет
ご指定のページはありません ~ お探しのページはございません ~ 페이지가 없습니다 ~ Fant ikke siden
The page cannot be located ~ We can't seem to find the page you're looking for ~ No such page
页面未找到 ~ 找不到網頁
The page "/robots.txt" was not found ~ 404 "Not found" ~ "Page not found" ~ Oops! "404" ~ Page `shop` not found
«Страница» не найдена ~ „Seite nicht gefunden“ ~ Page “shop” not found ~ Not found: "/robots.txt"
/robots.txt (on this server) not found ~ Route (GET /robots.txt) not found ~ The page (shoes) was not found
Not found (shoes) ~ Error (404) not found ~ Sorry: [My shop] Not found ~ My shop (Berlin) 404 not found ~ My shop (404) Berlin
La página (robots.txt) no existe ~ お探しのページ (robots.txt) が見つかりません
The requested URL was not found on the server. If you entered the URL manually ~ 404 Not Found: The requested URL was not found on the server.
No static resource robots.txt. ~ No static resource robots.txt for request '/robots.txt'. ~ No endpoint GET /robots.txt.
Cannot GET /robots.txt ~ NotFoundException: Cannot GET /robots.txt ~ No route matches [GET] "/robots.txt"
No route found for &quot;GET http://a.example/robots.txt&quot; (500 Internal Server Error) ~ no route found for GET /robots.txt (App.Router)
The route robots.txt could not be found.
Algo salió mal. Página no encontrada ~ Mega Mall | Sidan hittades inte ~ Кешбэк-сервис | Страница не найдена
"""

OTHER_SAYINGS = """
500 Internal Server Error ~ 503 Service Unavailable ~ Error ~ Bad Gateway
Database not found ~ Server not found ~ Host not found ~ Application not found
The template of this page could not be found ~ We cannot find the server of this page
Class 'Page' not found ~ Page: database not found ~ Page not responding
pq: relation "users" does not exist ~ Backend "default" not found ~ Database (shop) not found
Server "web1" could not be found ~ Bucket "site" not found ~ Controller "PageController" does not exist
Variable "title" does not exist. (500 Internal Server Error) ~ Variable “title” does not exist.
Twig Runtime Error – Variable "entry" does not exist ~ Variable &quot;title&quot; does not exist ~ Key “menu” does not exist.
Variable &amp;quot;title&amp;quot; does not exist ~ Variable &amp;#39;title&amp;#39; does not exist ~ Key `menu` does not exist
pq: column "slug" does not exist ~ ERROR: extension "pgcrypto" does not exist (SQLSTATE 42704) ~ `users` `table` not found
Product "shoes" not found ~ Product "Ready?" not found ~ Variable «title» does not exist ~ Variable ‹title› does not exist ~ „Titel“ existiert nicht
Product (shoes) not found ~ Product [shoes] not found ~ Product (shoes) (red) not found ~ Product <shoes> in (red, 42) not found
Product（shoes）not found ~ Artikel (Schuhe) nicht gefunden ~ Page (database shop) not found ~ Database (shop) does not exist
Variable „title“ existiert nicht ~ La variable « titre » n'existe pas ~ Переменная «title» не существует
Table 'shop.pages' doesn't exist ~ Fehler: Datenbank "shop" existiert nicht ~ Service: not found
could not find /var/lib/page-cache ~ Page C:\\inetpub\\wwwroot\\page.aspx not found
file '/etc/page.conf' does not exist ~ Not found: \\\\nas\\pages ~ could not find file:///srv/page/x
Seite nicht gefunden (/opt/seiten/index.php) ~ Cannot find module: /usr/src/app/page.js
Not Found: /home/site/page.html, needed by /srv/robots.txt ~ Page cache not found ~ could not find page-cache
Nie można znaleźć serwera strony ~ このページを表示する権限がありません ~ Страница временно недоступна
We can't seem to find the database of this page ~ Den Server dieser Seite gibt es nicht ~ Page unavailable
Base de données « shop » introuvable ~ Сервер «web» не найден
このページのデータベースが見つかりません ~ ページサーバーが見つかりません ~ ページのテンプレートが存在しません
페이지 서버를 찾을 수 없습니다 ~ 페이지 데이터베이스가 존재하지 않습니다 ~ 页面数据库不存在 ~ 页面模板不存在 ~ 找不到頁面的資料庫
找不到该页的服务器 ~ 網頁伺服器不存在 ~ ไม่พบฐานข้อมูลของหน้า ~ ไม่พบเซิร์ฟเวอร์ของเพจ ~ לא נמצא שרת לדף ~ מסד הנתונים של הדף לא נמצא
لم يتم العثور على قاعدة بيانات الصفحة صفحة ~ خادم صفحة الموقع غير موجود ~ سرور صفحه یافت نشد ~ پایگاه داده صفحه وجود ندارد
Δεν βρέθηκε η βάση δεδομένων για τη σελίδα ~ Ο διακομιστής για τη σελίδα δεν υπάρχει
Databáze stránky nebyla nalezena ~ Šablona stránky neexistuje ~ Databáza stránky nebola nájdená
Az oldal adatbázisa nem található ~ Az oldalhoz tartozó kiszolgáló nem található ~ Baza de date a paginii nu există
Базата данни за страницата не съществува ~ Базу даних сторінки не знайдено ~ Шаблон страницы не найден
Sayfa sunucusu bulunamadı ~ Sayfanın veritabanı mevcut değil ~ पृष्ठ का डेटाबेस मौजूद नहीं है ~ पेज का सर्वर नहीं मिला
No s'ha trobat la base de dades de la pàgina ~ Sidens skabelon findes ikke ~ Sidens tjener ble ikke funnet
Sidans databas kunde inte hittas ~ Sivun palvelinta ei löydy ~ Sivun tietokantaa ei löytynyt
Pangkalan data halaman tidak dijumpai ~ Basis data halaman tidak ditemukan ~ Không tìm thấy máy chủ của trang
Không tìm thấy cơ sở dữ liệu của trang ~ La plantilla de la página no existe ~ Die Vorlage der Seite existiert nicht
Il database della pagina non esiste ~ La banca dati della pagina non esiste ~ De gegevensbank van de pagina bestaat niet
Nie znaleziono szablonu strony ~ Le gabarit de la page est introuvable ~ A base de dados da página não existe
database "x" was not found on the server ~ The server was not found on the server ~ Product not found on the server
No static resource ~ No static resource style.css ~ No endpoint available ~ No route matches ~ No route found for GET /login
Cannot GET ~ Cannot GET /page ~ Redis: cannot get /robots.txt ~ Cannot get "/robots.txt" ~ Cannot get /robots.txt: timed out
Database: no route found for GET /robots.txt ~ No route found for /robots.txt in the upstream ~ No route found for /robots.txt/x
No static resource robots.txt-cache ~ No route found for GET /page: see robots.txt
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


def heard(place: str, sayings: list[str]) -> list[str]:
    return [saying for saying in sayings if means_not_found(place.format(saying).encode())]


@table("place", *PLACES)
def test_not_found_is_heard_and_no_other_error_taken_for_it(place: str) -> None:
    assert heard(place, listed(SAYINGS)) == listed(SAYINGS)
    assert heard(place, ["", *listed(OTHER_SAYINGS)]) == []


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
    assert not means_not_found(page.encode())


@table(
    "saying, charset",
    row("fr-cp1252", "Page non trouvée", "cp1252"),
    row("de-utf-8-with-bom", "Seite nicht gefunden", "utf-8-sig"),
    row("de-utf-16", "Seite nicht gefunden", "utf-16"),
)
def test_unicode_and_the_charset_of_western_europe_are_read(saying: str, charset: str) -> None:
    assert means_not_found(AS_TITLE.format(saying).encode(charset))


CODE_PAGES = {
    "windows-1251": "Страница не найдена",
    "shift_jis": "ページが見つかりません",
    "big5": "找不到網頁",
}

# As error pages of the languages say it, with the code pages of their older pages.
OF_LANGUAGES = """
ko  euc-kr ks_c_5601-1987        | 페이지를 찾을 수 없습니다 ~ 요청하신 페이지가 존재하지 않습니다 ~ 오류 404
ar  windows-1256 iso-8859-6      | الصفحة غير موجودة ~ لم يتم العثور على الصفحة ~ عذرا، هذه الصفحة غير موجودة
fa  windows-1256                 | صفحه مورد نظر يافت نشد ~ صفحه پيدا نشد
he  windows-1255 iso-8859-8-i    | הדף לא נמצא ~ העמוד המבוקש לא נמצא ~ שגיאה 404
el  windows-1253 iso-8859-7      | Η σελίδα δεν βρέθηκε ~ Η σελίδα που ζητήσατε δεν υπάρχει ~ Σφάλμα 404
cs  windows-1250 iso-8859-2      | Stránka nenalezena ~ Požadovaná stránka nebyla nalezena ~ Chyba 404: stránka neexistuje
sk  windows-1250 iso-8859-2      | Stránka nebola nájdená ~ Stránka neexistuje
hu  windows-1250 iso-8859-2      | Az oldal nem található ~ A keresett oldal nem létezik
ro  windows-1250 iso-8859-2      | Pagina nu a fost găsită ~ Această pagină nu există
pl  windows-1250 iso-8859-2      | Nie znaleziono strony ~ Strona nie została znaleziona
bg  windows-1251                 | Страницата не е намерена ~ Тази страница не съществува
uk  windows-1251 koi8-u          | Сторінку не знайдено ~ Така сторінка не існує
ru  windows-1251 koi8-r          | Страница не найдена
tr  windows-1254 iso-8859-9      | Sayfa bulunamadı ~ SAYFA BULUNAMADI ~ Aradığınız sayfa mevcut değil ~ Hata 404
th  windows-874 tis-620          | ไม่พบหน้าที่คุณต้องการ ~ ไม่พบเพจ
hi  utf-16                       | पृष्ठ नहीं मिला ~ पेज नहीं मिला
ca  windows-1252                 | Pàgina no trobada ~ La pàgina no existeix
da  windows-1252                 | Siden blev ikke fundet ~ Siden findes ikke
nb  windows-1252                 | Siden ble ikke funnet ~ Siden finnes ikke
sv  windows-1252                 | Sidan hittades inte ~ Sidan kunde inte hittas ~ Sidan finns inte
fi  windows-1252                 | Sivua ei löydy ~ Sivua ei löytynyt
ms  windows-1252                 | Halaman tidak dijumpai
ja  euc-jp shift_jis             | ページが見つかりません
zh  gb2312 gbk                   | 页面未找到
"""


@table("line", *OF_LANGUAGES.strip().splitlines())
def test_each_language_is_read_in_unicode_and_in_its_code_pages(line: str) -> None:
    names, _, sayings = line.partition("|")
    _, *charsets = names.split()
    for saying in sayings.strip().split(" ~ "):
        for place in (AS_TITLE, AS_HEADING, "{}\n"):
            page = place.format(saying)
            assert means_not_found(page.encode())
            for charset in charsets:
                body = page.encode(PYTHONS.get(charset, charset), "replace")
                assert means_not_found(body, f"text/html; charset={charset}")


PYTHONS = {"windows-874": "cp874", "iso-8859-8-i": "iso-8859-8"}  # names that Python does not know

# What is down is no missing page: a host, a base of data, a service, maintenance.
DOWN_IN_LANGUAGES = """
서버 오류 ~ 서비스를 사용할 수 없습니다 ~ خطأ في الخادم ~ الخدمة غير متوفرة ~ שגיאת שרת פנימית
Σφάλμα διακομιστή ~ Chyba serveru ~ Databáze nenalezena na serveru ~ Szerverhiba ~ Eroare de server
Sunucu hatası ~ Hizmet kullanılamıyor ~ Sunucu bulunamadı hatası oluştu ~ ข้อผิดพลาดของเซิร์ฟเวอร์
सर्वर त्रुटि ~ Serverfejl ~ Tjenesten er utilgjengelig ~ Palvelin ei vastaa ~ Помилка сервера ~ خطای سرور
"""


@pytest.mark.parametrize("saying", listed(DOWN_IN_LANGUAGES))
def test_error_of_a_server_is_no_missing_page_in_any_language(saying: str) -> None:
    assert not means_not_found(AS_TITLE.format(saying).encode())


@pytest.mark.parametrize(("charset", "saying"), CODE_PAGES.items())
def test_charset_that_page_or_header_declares_is_read(charset: str, saying: str) -> None:
    title = f"<title>{saying}</title>"
    by_page = f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">{title}'
    by_xml = f'<?xml version="1.0" encoding="{charset.upper()}"?><html>{title}</html>'
    by_header = f"text/html;charset={charset}"
    assert means_not_found(by_page.encode(charset))
    assert means_not_found(by_xml.encode(charset))
    assert means_not_found(title.encode(charset), by_header)


def test_page_in_another_charset_than_it_declares_is_not_taken_for_it() -> None:
    for written, saying in CODE_PAGES.items():
        body = f"<title>{saying}</title>".encode(written)
        for declared in CODE_PAGES:
            if saying not in body.decode(declared, "replace"):
                assert not means_not_found(body, f"charset={declared}"), (saying, declared)


def test_charset_that_is_unknown_or_no_text_s_is_read_as_windows_1252() -> None:
    title = "<title>Page non trouvée</title>".encode("cp1252")
    for charset in ("", "rot13", "zlib", "no-such", "idna", "undefined", "x" * 10_000):
        assert means_not_found(title, f"text/html; charset={charset}")


def test_character_cut_at_the_end_of_what_is_looked_at_does_no_harm() -> None:
    page = "<title>Страница не найдена</title>".encode()
    assert means_not_found(page + b"x" * (16_383 - len(page)) + "я".encode())


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
    with time_below(30):
        assert not means_not_found(body)


def test_title_that_becomes_much_longer_when_folded_takes_no_time() -> None:
    means_not_found(b"<title>a</title>")  # This compiles the patterns.
    letters = "\ufdfa" * 300
    page = f"<title>{letters}</title><h1>{letters}</h1>".encode()
    with time_below(0.2):
        assert not means_not_found(page)
