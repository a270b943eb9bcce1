"""Recognise bodies that are not a robots.txt: bot walls, web pages, other data, and soft 404s.

A *bot wall* is a protection service, such as DDoS-Guard, that answers most bots in place of the
site. Bot walls let Googlebot pass, so Google's page does not mention them. They are recognised by
the headers and page titles in two tables of this module. Comments in the tables name the sources.

If a site sends a web page in place of a robots.txt, the page is parsed, and the valid lines in it
apply (Google's page, "File format"). A 2xx response with a user-agent or a sitemap line is never
taken for the page of a bot wall.

A *soft 404* is a 5xx with a "not found" page. It is treated as a 404 (Google's page, "Handling of
errors and HTTP status codes"). A 5xx is a soft 404 if the title or first heading of its page means
"page not found" in a language of the table `LANGUAGES`, or is a message of a web framework
(`ROUTERS`). In plain text, the first line is compared in place of the title.

A body may be long or hostile, so only its first 16 KiB are searched. But the search for user-agent
and sitemap lines reads the whole body. It reads 32 KiB at a time, so that other threads can run
between two steps.
"""

# ruff: noqa: RUF001 - dashes and letters of other scripts are intended

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from html import unescape
from typing import NamedTuple

from w3lib.encoding import html_to_unicode

from ..core.lines import MAX_LINE_BYTES, is_web_page

_HEAD_BYTES = 16 * 1024  # Only this many bytes at the beginning of a body are searched.
# The search for user-agent and sitemap lines goes through the whole body in steps of this length.
_STEP_BYTES = 32 * 1024
_TITLE_CHARS = 300  # The rest of a longer title, heading or line is ignored.

# Each row contains the name of a header in lower case, the beginnings of the values that a bot wall
# sends in this header, and the name of the bot wall.
_HEADERS = (
    # Source: developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/
    # detect-response
    ("cf-mitigated", ("challenge",), "Cloudflare's challenge"),
    # Source:
    # docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html
    ("x-amzn-waf-action", ("challenge", "captcha"), "AWS WAF"),
    # Source: github.com/woocommerce/woocommerce/issues/52896
    ("sg-captcha", ("challenge",), "SiteGround's challenge"),
)
HEADERS = frozenset(name for name, _, _ in _HEADERS)

# The keys are beginnings of page titles in lower case, and the values are the names of the bot
# walls that send these pages. The sources in the comments are repositories on GitHub.
_TITLES = {
    # Source of the next three rows: FlareSolverr/FlareSolverr, src/flaresolverr_service.py.
    "just a moment...": "Cloudflare's challenge",
    "attention required! | cloudflare": "Cloudflare's block page",
    "ddos-guard": "DDoS-Guard",
    # Sources of the next two rows: TecharoHQ/anubis, lib/localization/locales/en.json, and
    # issue 1865.
    "making sure you're not a bot!": "Anubis",
    "oh noes!": "Anubis",  # The title of the page with which Anubis denies access.
    # Source: vercel-labs/vgpu, pull request 228. The page has the status 403.
    "vercel security checkpoint": "Vercel's challenge",
    # Source: ziplokk1/incapsula-cracker-py3, issue 32.
    "pardon our interruption": "Imperva",
    # Source: F5EMEA/oltra, use-cases/app-protect/attacks/README.md. The page has the status 200.
    "request rejected": "F5 BIG-IP",
    # Source: PerimeterX/perimeterx-node-core, lib/templates.
    "access to this page has been denied": "HUMAN",
}

_SUCCESS = range(200, 300)
_LINE_OF_A_FILE = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[ \t\v\f]*(?:user[^a-z\r\n]?agent|site-?map)", re.IGNORECASE
)
# Each row contains the first bytes of a body, and the name of its format.
_OTHER_DATA = (
    (b"{", "JSON"),
    (b"[", "JSON"),
    (b'"', "text in quotation marks"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"\x1f\x8b", "gzip data"),
)
# Matches a user-agent line that follows an HTML tag on the same line. The parser ignores such a
# line. It comes from a web page that a browser has made around a robots.txt.
_AGENT_BEHIND_A_TAG = re.compile(rb">[ \t]*user-?agent[ \t]*:", re.IGNORECASE)
_RULE = re.compile(rb"allow[ \t]*:", re.IGNORECASE)
_RULE_LINE = re.compile(rb"(?:\A|[\r\n])[ \t]*(?:dis)?allow[ \t]*:", re.IGNORECASE)
# By mistake, some sites send the two characters "\n" in place of each line break.
_LITERAL_BREAK = re.compile(rb"(?:\\r)?\\n")
_IN_ONE_LINE = r'one line, with "\n" in place of line breaks,'


def wall_of(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """Return the bot wall that sent a response, and how it was recognised.

    Return "" if no bot wall was recognised.

    Args:
        status: the status code.
        headers: the Content-Type and the headers in `HEADERS`, with names in lower case.
        body: the body without content codings; empty if it is not known.

    Returns:
        A string such as "DDoS-Guard, by its title", or "".
    """
    wall = _wall_like(headers, body)
    if wall and status in _SUCCESS and _has_lines_for_crawlers(body):
        return ""
    return wall


def _wall_like(headers: Mapping[str, str], body: bytes) -> str:
    """Return the bot wall that is recognised by the headers or the page title, or ""."""
    for name, beginnings, whose in _HEADERS:
        if headers.get(name, "").strip().lower().startswith(beginnings):
            return f"{whose}, by its header {name}"
    if not _head(body).startswith(b"<"):
        return ""
    title = _folded(unescape(_inside(_TITLE, _visible(body, headers.get("content-type", "")))))
    title = " ".join(title.split())
    for beginning, whose in _TITLES.items():
        if title.startswith(beginning):
            return f"{whose}, by its title"
    return ""


def _has_lines_for_crawlers(body: bytes) -> bool:
    """Return whether `body` contains a user-agent or a sitemap line."""
    # A line may begin in one step and end in the next step. So each step also reads the bytes that
    # follow it, up to the greatest length of a line.
    return any(
        _LINE_OF_A_FILE.search(body, start, start + _STEP_BYTES + MAX_LINE_BYTES)
        for start in range(0, len(body), _STEP_BYTES)
    )


def _head(body: bytes) -> bytes:
    """Return the first bytes of `body`, without a leading byte-order mark and white space."""
    return body[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")


def found_instead(body: bytes) -> str:
    """Return the kind of a body that clearly is not a robots.txt, such as "JSON"; otherwise "".

    A body with a user-agent or a sitemap line is a robots.txt, whatever surrounds that line.
    """
    if _has_lines_for_crawlers(body):
        return ""
    if is_web_page(body):
        return "a web page"
    head = _head(body)
    for beginning, what in _OTHER_DATA:
        if head.startswith(beginning):
            return what
    if b"\0" in head:
        return "no text"
    return ""


def hides_rules(body: bytes) -> str:
    r"""Return the kind of `body` if the parser cannot read the rules in it; otherwise "".

    There are five kinds: the page that a browser makes around a text file, UTF-16 text, text in
    quotation marks (such as a JSON string), a JSON object or list with rules in its strings, and
    text with the characters "\n" in place of line breaks. Only the beginning of `body` is searched.
    """
    body = body[:_HEAD_BYTES]
    text = body.replace(b"\0", b"").lstrip(b"\xff\xfe")  # This turns UTF-16 into ASCII.
    if _RULE.search(text) is None:
        return ""
    if is_web_page(body):
        return "a web page" if _AGENT_BEHIND_A_TAG.search(body) else ""
    if text != body and _has_lines_for_crawlers(text):
        return found_instead(body)
    is_json = found_instead(body) == "JSON"
    if is_json or _RULE_LINE.search(body) is None:
        # In a JSON object or list, each string may be a line of a robots.txt. So if the body is
        # JSON, each quotation mark becomes a line break.
        meant = _LITERAL_BREAK.sub(b"\n", body.replace(b'"', b"\n" if is_json else b""))
        if _RULE_LINE.search(meant) and _has_lines_for_crawlers(meant):
            return found_instead(body) or _IN_ONE_LINE
    return ""


# The rest of this module recognises soft 404s. A soft 404 is a 5xx with a "not found" page.

# These patterns match elements of a page that is in lower case. An element without an end tag
# extends to the end of the page, so that each search goes through the page only once.
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|noscript|template|svg)\b.*?(?:</\1|\Z)", re.DOTALL
)
_TITLE = re.compile(r"<(title)\b[^<>]*>(.*?)(</\1|\Z)", re.DOTALL)
_HEADING = re.compile(r"<(h[1-6])\b[^<>]*>(.*?)(</\1|\Z)", re.DOTALL)
_OPENING = re.compile(r"<[a-z!]|\A\s*[<{\[]")
# Matches a name of the Hebrew charset ISO-8859-8. Python does not know this name.
_IN_LOGICAL_ORDER = re.compile(rb"iso-8859-8-i", re.IGNORECASE)
_INNER_TAG = re.compile(r"<[^<>]*>")
_MARKS = r"|:;!?,()\[\]{}<>•·–—/\-。、"
_CLAUSE_END = re.compile(rf"[{_MARKS}]|\.(?=\s|$)")
# Brackets usually end a clause of a title, as in "My shop (Berlin) 404". But if words without "404"
# follow, the clause goes on after the brackets, as in "Product (shoes) not found". In this example,
# `_WITH_BRACKETS` matches "Product (shoes)".
_BRACKETS = r"[(\[{<][^()\[\]{}<>]*[)\]}>]"
_WITH_BRACKETS = re.compile(
    rf"\w[^{_MARKS}]*(?:{_BRACKETS}[^{_MARKS}]*)*{_BRACKETS}(?=\s*\w)(?![^{_MARKS}]*\b404\b)"
)
# Matches a quotation mark, and a punctuation mark directly before it. Neither ends a clause of a
# title. For example, the title 'The table "users." does not exist' is a single clause.
_QUOTE = re.compile(r'[.:;!?,]?["`„“”‟«»‹›]')
# These characters are replaced before a page is compared with the table `LANGUAGES`.
# For example, some Persian pages contain the Arabic letters yeh and kaf.
_LETTERS = str.maketrans(
    {"ł": "l", "ı": "i", "đ": "d", "ø": "o", "ي": "ی", "ك": "ک", "’": "'", "\N{SOFT HYPHEN}": None}
)

# The words for "page not found" in many languages. Each row contains a language, words for "page",
# and phrases for "not found". A clause of a title means "page not found" if it contains a word and
# a phrase of the same row, or consists of a phrase alone. Case and accents are ignored. The word
# "seite" also matches the longer word "Webseite". "_" stands for the beginning or end of a word.
LANGUAGES = """
    en | page, _url_, robots.txt | not found, cannot be found, can't be found, could not be found
    en | page, _url_, robots.txt | couldn't be found, wasn't found, not been found, cannot find
    en | page, _url_, robots.txt | can't find, could not find, couldn't find
    en | page, _url_, robots.txt | does not exist, doesn't exist, no longer exists, no such page
    en | page, _url_, robots.txt | can't seem to find, cannot be located, could not be located
    es | página | no encontrad, no se encontró, no se ha encontrado, no existe
    es | página | no hemos encontrado, no pudimos encontrar, no podemos encontrar, no encontramos
    de | seite | nicht gefunden, nicht zu finden, existiert nicht, nicht vorhanden, gibt es nicht
    ja | ページ | 見つかりません, 存在しません, ページはありません, ページはございません
    fr | page | introuvable, non trouvé, pas été trouvé, n'existe pas, n'existe plus, inexistant
    pt | página | não encontrad, não foi encontrad, não existe
    ru | страниц | не найден, не существует, такой страницы нет
    it | pagina | non trovat, non è stata trovata, non esiste, impossibile trovare
    nl | pagina | niet gevonden, niet worden gevonden, bestaat niet, niet vinden
    pl | stron | nie znalezion, nie odnalezion, nie została znaleziona, nie istnieje
    pl | stron | nie można znaleźć, nie udało się znaleźć
    id | halaman | tidak ditemukan, tidak dapat ditemukan, tidak ada
    vi | trang | không tìm thấy, không tồn tại
    zh-Hans | 页 | 找不到, 未找到, 没有找到, 无法找到, 不存在
    zh-Hant | 頁 | 找不到, 未找到, 沒有找到, 無法找到, 不存在
    ko | 페이지 | 찾을 수 없, 찾을수 없, 존재하지 않, 페이지가 없습니다
    ar | صفحة | غير موجود, لم يتم العثور, لا يمكن العثور
    fa | صفحه, برگه | یافت نشد, پیدا نشد, وجود ندارد
    he | דף, עמוד | לא נמצא, לא קיים
    el | σελίδα | δεν βρέθηκε, δεν υπάρχει
    cs | stránk | nenalezen, nebyla nalezena, nelze nalézt, neexistuje
    sk | stránk | nenájden, nebola nájdená, nenašla, neexistuje
    hu | oldal | nem található, nem létezik
    ro | pagin | nu a fost găsit, negăsit, nu există
    bg | страниц | не е намерен, не съществува
    uk | сторінк | не знайден, не існує
    tr | sayfa | bulunamadı, bulunmamaktadır, mevcut değil
    th | หน้า, เพจ | ไม่พบ
    hi | पृष्ठ, पेज | नहीं मिल, मौजूद नहीं
    ca | pàgina | no trobad, no s'ha trobat, no existeix
    da | side | ikke fundet, findes ikke
    nb | side | ikke funnet, finnes ikke, fant ikke, finner ikke
    sv | sida | hittades inte, hittades ej, kunde inte hittas, finns inte
    fi | sivu | ei löydy, ei löytynyt
    ms | halaman | tidak dijumpai, tidak ditemui
"""
# A clause of a title also means "not found" if it consists of one of these phrases.
ALONE = (
    "file not found, file or directory not found, document not found, object not found, resource "
    "not found, the resource cannot be found, the requested resource was not found, the requested "
    "resource could not be found"
)
# The beginnings of messages in which the routers of web frameworks report that they have no page
# for a URL. Such a message means "not found" if the path or the URL of a robots.txt follows, as in
# 'No route matches [GET] "/robots.txt"'. The frameworks are Spring, Rails, Symfony and Phoenix.
ROUTERS = "no static resource, no endpoint, no route matches, no route found for"
# Matches a title that is exactly the error message of Express, "Cannot GET /path". Other programs
# may write a cache key after "cannot get".
_OF_EXPRESS = r"\A\s*(?:[a-z]*(?:error|exception): )?cannot get /robots\.txt\s*\Z"
# Words that are removed from a clause of a title before it is compared with the table `LANGUAGES`.
ERROR_WORDS = (
    "404 http status code error fehler erreur erro errore fout błąd ошибка kesalahan lỗi エラー "
    "错误 錯誤 오류 خطأ خطای שגיאה σφάλμα chyba hiba eroare грешка помилка hata ข้อผิดพลาด त्रुटि fejl "
    "feil fel virhe ralat oops sorry"
)
# Words for parts of a site, such as its database, in many languages. If a page says that one of
# these parts is missing, the site is down, and the page is not a soft 404. Most words are stems,
# because the endings change.
PARTS_OF_A_SITE = """
    en | server, database, template, cache, backend, upstream, module, plugin, class_, _relation_
    en | _table_, _view_, _schema_, bucket, secret, application, controller, service, container
    en | keyspace, _role_
    es | servidor, base de datos, plantilla, módulo
    de | datenbank, anwendung, vorlage, zwischenspeicher
    ja | サーバ, データベース, テンプレート, キャッシュ, モジュール, アプリケーション
    fr | serveur, base de données, gabarit
    pt | servidor, banco de dados, base de dados, módulo
    ru | сервер, база данных, базы данных, базу данных, шаблон, модул, _кэш_, _кеш_
    it | banca dati, base di dati, base dati, modulo
    nl | gegevensbank, sjabloon
    pl | serwer, baza danych, bazy danych, bazę danych, szablon, moduł
    id | basis data, peladen, templat, _modul_
    vi | máy chủ, cơ sở dữ liệu
    zh-Hans | 服务器, 数据库, 模板, 缓存, 模块
    zh-Hant | 伺服器, 資料庫, 數據庫, 範本, 樣板, 快取, 模組
    ko | 서버, 데이터베이스, 템플릿, 캐시, 모듈
    ar | خادم, الخادوم, قاعدة بيانات, قاعدة البيانات, قالب
    fa | سرور, کارساز, پایگاه داده, قالب
    he | _שרת_, _השרת_, _שרתים_, _השרתים_, מסד נתונים, מסד הנתונים, תבנית
    el | διακομιστ, εξυπηρετητ, βάση δεδομένων, βάσης δεδομένων, πρότυπο
    cs | databáz, šablon
    sk | databáz, šablón
    hu | szerver, kiszolgáló, adatbázis, sablon
    ro | bază de date, baza de date, bazei de date, șablon
    bg | сървър, база данни, базата данни, шаблон
    uk | сервер, база даних, бази даних, базу даних, шаблон
    tr | sunucu, veri taban, veritaban, şablon, önbelle
    th | เซิร์ฟเวอร์, ฐานข้อมูล, แม่แบบ, เทมเพลต
    hi | सर्वर, डेटाबेस, टेम्पलेट, टेम्प्लेट
    ca | servidor, base de dades, plantilla
    da | skabelon
    nb | tjener
    sv | databas
    fi | palvelin, palvelim, tietokan
    ms | pelayan, pangkalan data, templat
"""


# Matches the path of a file on the server, such as /var/lib/x or C:\x. It does not match a path
# after the word "url" or "uri", which is the path of a page.
_LOCAL_PATH = re.compile(
    r"(?<![\w/.])(?<!ur[li] )(?<!ur[li]: )(?:"
    r"/(?:app|dev|etc|home|lib|mnt|nix|opt|private|proc|root|run|srv|sys|tmp|usr|var|volumes)/"
    r"|[a-z]:[\\/]|\\\\)[^\s\"'`<>()]*[^\s\"'`<>().,:;!?]"
)
# Matches the words that say where a page is missing. The word "server" in them does not mean that a
# part of the site is missing.
_HERE = re.compile(r"on th(?:is|e) server ")


def means_not_found(body: bytes, content_type: str = "") -> bool:
    """Return whether the title, first heading or first line of an error page means "not found".

    Args:
        body: the body without content codings.
        content_type: the value of the Content-Type header, which may name the charset.
    """
    page = _visible(body, content_type)
    titles = [_inside(_TITLE, page), _inside(_HEADING, page)]
    if not _OPENING.search(page):
        titles = [page.strip()[:_TITLE_CHARS].partition("\n")[0]]
    return any(map(_is_not_found, titles))


def _visible(body: bytes, content_type: str) -> str:
    """Return the beginning of a page in lower case, without the elements that browsers hide."""
    text = _text(body[:_HEAD_BYTES], content_type[:_TITLE_CHARS])
    # "<!>" replaces each hidden element, so that the result still looks like a web page.
    return _UNSEEN.sub("<!>", text.lower())


def _inside(element: re.Pattern[str], page: str) -> str:
    """Return the text inside the first match of `element`.

    Return "" if there is no match, or if the element has no end tag.
    """
    match = element.search(page)
    if match is None or not match[3]:
        return ""
    return _INNER_TAG.sub(" ", match[2])[:_TITLE_CHARS]


def _text(head: bytes, content_type: str) -> str:
    """Return the first bytes of a page as text.

    The bytes in `head` are decoded as UTF-8. If they are not UTF-8, w3lib decodes them with the
    charset that the page or its header declares. `head` may end within a character.
    """
    with suppress(UnicodeDecodeError):
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    with suppress(LookupError, ValueError):  # The page may name a codec that is not for text.
        header = _IN_LOGICAL_ORDER.sub(b"iso-8859-8", content_type.encode("latin-1", "replace"))
        _, text = html_to_unicode(
            header.decode("latin-1"),
            _IN_LOGICAL_ORDER.sub(b"iso-8859-8", head),
            default_encoding="cp1252",
        )
        return text
    return head.decode("cp1252", "replace")


def _is_not_found(title: str) -> bool:
    """Return whether a clause of `title` means "page not found".

    Examples are "404" and "the page you want was not found". The result is False if `title` means
    that a part of the site is missing, as in 'database "shop" does not exist'. It is also False if
    `title` contains the path of a file on the server, as in "/var/lib/x not found", unless this
    file is a robots.txt.
    """
    patterns = _patterns()
    # Some programs escape a message twice, so that the title contains "&amp;quot;".
    folded = _folded(unescape(unescape(title)))
    # Folding makes some titles much longer. For example, U+FDFA becomes 18 characters.
    text = patterns.hyphen.sub(" ", folded[:_TITLE_CHARS])
    if not all(path.endswith("robots.txt") for path in _LOCAL_PATH.findall(text)):
        return False
    text = _QUOTE.sub(" ", text)
    no_route = patterns.no_route.search(text)
    if no_route is not None:
        beside = f" {text[: no_route.start()]} {_CLAUSE_END.split(text[no_route.end() :])[0]} "
        return not patterns.part_of_a_site.search(beside)
    # For example, the title "Product (shoes) not found" is split into three clauses: "Product",
    # "shoes" and "Product shoes not found".
    text = _WITH_BRACKETS.sub(_and_without_brackets, text)
    for clause in _CLAUSE_END.split(text):
        if patterns.part_of_a_site.search(_HERE.sub("", f" {clause} ")):
            return False
        words = clause.split()
        gist = " ".join(word for word in words if word not in patterns.words_for_error)
        if ("404" in words and not gist) or patterns.is_alone.match(gist):
            return True
        if patterns.page_is_missing.match(_HERE.sub("", f" {gist} ")):
            return True
    return False


def _and_without_brackets(words: re.Match[str]) -> str:
    """Return the matched text twice: unchanged, and with spaces in place of its brackets."""
    return f"{words[0]} {_CLAUSE_END.sub(' ', words[0])}"


def _folded(text: str) -> str:
    """Return `text` without differences of case, width, accents and apostrophes.

    All spellings of a phrase become equal, such as "PÁGINA" and "pagina".
    """
    plain = "".join(
        char for char in unicodedata.normalize("NFKD", text) if unicodedata.category(char) != "Mn"
    )
    return unicodedata.normalize("NFC", plain.casefold().translate(_LETTERS))


def _one_of(phrases: str) -> str:
    """Return a regular expression that matches any of `phrases`, which are separated by commas."""
    return "|".join(re.escape(phrase).replace("_", " ") for phrase in phrases.strip().split(", "))


class _Patterns(NamedTuple):
    """The regular expressions and words with which titles are searched."""

    page_is_missing: re.Pattern[str]
    is_alone: re.Pattern[str]
    no_route: re.Pattern[str]
    part_of_a_site: re.Pattern[str]
    # Matches a hyphen that does not end a clause of a title, because a word in `PARTS_OF_A_SITE`
    # follows it, as in "page-cache".
    hyphen: re.Pattern[str]
    words_for_error: frozenset[str]


@cache
def _patterns() -> _Patterns:
    """Return the patterns. They are compiled at the first call only."""
    rows = [row.split("|")[1:] for row in _folded(LANGUAGES).strip().splitlines()]
    missing = (f"(?=.*(?:{_one_of(page)})).*(?:{_one_of(verdicts)})" for page, verdicts in rows)
    verdicts = "|".join(_one_of(verdicts) for _, verdicts in rows)
    parts = "|".join(
        _one_of(row.split("|")[1]) for row in _folded(PARTS_OF_A_SITE).strip().splitlines()
    )
    return _Patterns(
        re.compile("|".join(missing)),
        # Up to three letters may follow a phrase. For example, "no encontrad" also matches
        # "no encontrada".
        re.compile(rf"(?:{verdicts}|{_one_of(ALONE)})\S{{0,3}}\Z"),
        re.compile(
            rf"(?:{_one_of(ROUTERS)})\W+(?:get\W+)?(?:https?://[^\s/]*)?/?robots\.txt(?![\w/-])"
            rf"|{_OF_EXPRESS}"
        ),
        re.compile(parts),
        re.compile(rf"(?<=\w)-(?=(?:{parts}))"),
        frozenset(_folded(ERROR_WORDS).split()),
    )
