"""What came in place of a robots.txt: a wall's answer, a page, other data, a "not found" as a 5xx.

Googlebot passes bot walls, other crawlers do not; so Google's page has no word of them. A table has
their marks, each with its public source. A web page is parsed like any other body, and lines in it
that are valid count (Google's page, "File format"); one without such a line says nothing to
crawlers. So a 2xx with any line for a crawler or a sitemap is the site's own file, whatever stands
around it.

A 5xx whose page says that the page was not found means 404 (Google's page, "Handling of errors and
HTTP status codes"). That test is conservative. Only the title, the first heading or, in plain text,
the first line counts, and it must say "not found" by itself or of a page, in a language of the
table.

Bodies are hostile: of each a bounded part is read, in one pass, but for lines to crawlers, for
which the whole is searched.
"""

# ruff: noqa: RUF001 - dashes and letters of other scripts are meant

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from html import unescape

from w3lib.encoding import html_to_unicode

from ..core.lines import is_web_page

_HEAD_BYTES = 16 * 1024
_TITLE_CHARS = 300  # of a title, a heading or a line

# A header, the beginnings of its value that count, and whose wall sends it.
_HEADERS = (
    # developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/
    # detect-response
    ("cf-mitigated", ("challenge",), "Cloudflare's challenge"),
    # docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html
    ("x-amzn-waf-action", ("challenge", "captcha"), "AWS WAF"),
    # github.com/woocommerce/woocommerce/issues/52896
    ("sg-captcha", ("challenge",), "SiteGround's challenge"),
)
HEADERS = frozenset(name for name, _, _ in _HEADERS)

# How titles begin, in lower case, each with a repository that has it.
_TITLES = {
    # FlareSolverr, src/flaresolverr_service.py, as the next two
    "just a moment...": "Cloudflare's challenge",
    "attention required! | cloudflare": "Cloudflare's block page",
    "ddos-guard": "DDoS-Guard",
    # TecharoHQ/anubis, lib/localization/locales/en.json; issue 1865
    "making sure you're not a bot!": "Anubis",
    "oh noes!": "Anubis",  # the same: it refuses
    # vercel-labs/vgpu, pull request 228; with a 403
    "vercel security checkpoint": "Vercel's challenge",
    "pardon our interruption": "Imperva",  # ziplokk1/incapsula-cracker-py3, issue 32
    # F5EMEA/oltra, use-cases/app-protect/attacks/README.md; with a 200
    "request rejected": "F5 BIG-IP",
    # PerimeterX/perimeterx-node-core, lib/templates
    "access to this page has been denied": "HUMAN",
}

_SUCCESS = range(200, 300)
_LINE_OF_A_FILE = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[ \t\v\f]*(?:user[^a-z\r\n]?agent|site-?map)", re.IGNORECASE
)
_OTHER_DATA = (  # how it begins, and what it is
    (b"{", "JSON"),
    (b"[", "JSON"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"\x1f\x8b", "gzip data"),
)
# As a browser shows a text: the line behind a tag is no line of a robots.txt.
_AGENT_BEHIND_A_TAG = re.compile(rb">[ \t]*user-?agent[ \t]*:", re.IGNORECASE)
_RULE = re.compile(rb"allow[ \t]*:", re.IGNORECASE)


def wall_of(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """Return whose wall a response looks like, and by which mark; "" if it looks like none.

    `headers` has those of `HEADERS`, and the Content-Type, with names in lower case; `body` is
    content-decoded, and empty if it is not known.
    """
    if status in _SUCCESS and _speaks_to_crawlers(body):
        return ""
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


def _speaks_to_crawlers(body: bytes) -> bool:
    """Whether a line of `body` is for a crawler or a sitemap."""
    return _LINE_OF_A_FILE.search(body) is not None


def _head(body: bytes) -> bytes:
    """Return the beginning of `body`, without a byte-order mark and white space before it."""
    return body[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")


def found_instead(body: bytes) -> str:
    """Return what `body` is if it clearly is no robots.txt; "" if it may be one.

    What has a line for a crawler or a sitemap is one, whatever stands around it.
    """
    if _speaks_to_crawlers(body):
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
    """Return what `body` is if what looks like rules stands inside it, and is not read; else "".

    These are web pages around a text, and UTF-16 text.
    """
    text = body.replace(b"\0", b"").lstrip(b"\xff\xfe")  # readable, if it was UTF-16
    if _RULE.search(text) is None:
        return ""
    if is_web_page(body):
        return "a web page" if _AGENT_BEHIND_A_TAG.search(body) else ""
    if text != body and _speaks_to_crawlers(text):
        return found_instead(body)
    return ""


# A 5xx that says "not found"

# Of a page in lower case. What is not closed goes on to the end, so that no search begins anew.
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|noscript|template|svg)\b.*?(?:</\1|\Z)", re.DOTALL
)
_TITLE = re.compile(r"<(title)\b[^<>]*>(.*?)(</\1|\Z)", re.DOTALL)
_HEADING = re.compile(r"<(h[1-6])\b[^<>]*>(.*?)(</\1|\Z)", re.DOTALL)
_OPENING = re.compile(r"<[a-z!]|\A\s*[<{\[]")
# The name of a charset of Hebrew that Python does not know.
_IN_LOGICAL_ORDER = re.compile(rb"iso-8859-8-i", re.IGNORECASE)
_INNER_TAG = re.compile(r"<[^<>]*>")
_CLAUSE_END = re.compile(r"[|:;!?,()\[\]{}<>»«„“”•·–—/\"\-。、]|\.(?=\s|$)")
# Letters that are written in several ways; code pages lack the Persian yeh and kaf.
_LETTERS = str.maketrans(
    {"ł": "l", "ı": "i", "đ": "d", "ø": "o", "ي": "ی", "ك": "ک", "’": "'", "\N{SOFT HYPHEN}": None}
)

# Language, things, and verdicts: a verdict alone, or a thing and a verdict within one clause. Both
# are compared after `_folded`, as parts of words: "seite" is heard in "Webseite". "_" stands for
# the edge of a word.
LANGUAGES = """
    en | page, _url_, robots.txt | not found, cannot be found, can't be found, could not be found
    en | page, _url_, robots.txt | couldn't be found, wasn't found, not been found, cannot find
    en | page, _url_, robots.txt | can't find, could not find, couldn't find
    en | page, _url_, robots.txt | does not exist, doesn't exist, no longer exists
    es | página | no encontrad, no se encontró, no se ha encontrado, no existe
    de | seite | nicht gefunden, nicht zu finden, existiert nicht, nicht vorhanden
    ja | ページ | 見つかりません, 存在しません
    fr | page | introuvable, non trouvé, pas été trouvé, n'existe pas, n'existe plus
    pt | página | não encontrad, não foi encontrad, não existe
    ru | страниц | не найден, не существует
    it | pagina | non trovat, non è stata trovata, non esiste, impossibile trovare
    nl | pagina | niet gevonden, niet worden gevonden, bestaat niet
    pl | stron | nie znalezion, nie odnalezion, nie została znaleziona, nie istnieje
    id | halaman | tidak ditemukan, tidak dapat ditemukan, tidak ada
    vi | trang | không tìm thấy, không tồn tại
    zh-Hans | 页 | 找不到, 未找到, 没有找到, 无法找到, 不存在
    zh-Hant | 頁 | 找不到, 未找到, 沒有找到, 無法找到, 不存在
    ko | 페이지 | 찾을 수 없, 찾을수 없, 존재하지 않
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
    nb | side | ikke funnet, finnes ikke
    sv | sida | hittades inte, hittades ej, kunde inte hittas, finns inte
    fi | sivu | ei löydy, ei löytynyt
    ms | halaman | tidak dijumpai, tidak ditemui
"""
ALONE = (  # with no other word in the clause
    "file not found, file or directory not found, document not found, object not found, resource "
    "not found, the resource cannot be found, the requested resource was not found, the requested "
    "resource could not be found"
)
ERROR_WORDS = (
    "404 http status code error fehler erreur erro errore fout błąd ошибка kesalahan lỗi エラー "
    "错误 錯誤 오류 خطأ خطای שגיאה σφάλμα chyba hiba eroare грешка помилка hata ข้อผิดพลาด त्रुटि fejl "
    "feil fel virhe ralat oops sorry"
)
PARTS_OF_A_SITE = "server, database, template, backend, upstream, module, plugin, class_"


def says_not_found(body: bytes, content_type: str = "") -> bool:
    """Whether an error page says in title, first heading or first line: the page was not found.

    `content_type` is the header of that name, which may say the charset.
    """
    page = _visible(body, content_type)
    sayings = [_inside(_TITLE, page), _inside(_HEADING, page)]
    if not _OPENING.search(page):
        sayings = [page.strip()[:_TITLE_CHARS].partition("\n")[0]]
    return any(map(_is_not_found, sayings))


def _visible(body: bytes, content_type: str) -> str:
    """Return the beginning of a page, in lower case, without what a browser does not show."""
    text = _text(body[:_HEAD_BYTES], content_type[:_TITLE_CHARS])
    return _UNSEEN.sub("<!>", text.lower())  # still markup


def _inside(element: re.Pattern[str], page: str) -> str:
    """Return the text of the first such element; "" if there is none, or it is not closed."""
    match = element.search(page)
    if match is None or not match[3]:
        return ""
    return _INNER_TAG.sub(" ", match[2])[:_TITLE_CHARS]


def _text(head: bytes, content_type: str) -> str:
    """Decode a head, which may end within a character: as UTF-8, or as w3lib would, as a page."""
    with suppress(UnicodeDecodeError):
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    with suppress(LookupError, ValueError):  # from a codec that is for no text
        header = _IN_LOGICAL_ORDER.sub(b"iso-8859-8", content_type.encode("latin-1", "replace"))
        _, text = html_to_unicode(
            header.decode("latin-1"),
            _IN_LOGICAL_ORDER.sub(b"iso-8859-8", head),
            default_encoding="cp1252",
        )
        return text
    return head.decode("cp1252", "replace")


def _is_not_found(saying: str) -> bool:
    """Judge a saying by its clauses: "404" and "the page you want was not found" say so.

    Where a part of the site is missing, and not a page, the site is down.
    """
    for clause in _CLAUSE_END.split(_folded(unescape(saying))):
        words = clause.split()
        gist = " ".join(word for word in words if word not in _ERROR)
        if ("404" in words and not gist) or _IS_ALONE.match(gist):
            return True
        edged = f" {gist} ".removesuffix("on this server ")
        if _PAGE_IS_MISSING.match(edged) and not _PART_OF_A_SITE.search(edged):
            return True
    return False


def _folded(text: str) -> str:
    """Fold case, width, accents and apostrophes: a phrase is one phrase however it is typed."""
    plain = "".join(
        char for char in unicodedata.normalize("NFKD", text) if unicodedata.category(char) != "Mn"
    )
    return unicodedata.normalize("NFC", plain.casefold().translate(_LETTERS))


def _one_of(phrases: str) -> str:
    """Return a pattern for the phrases that commas part."""
    return "|".join(re.escape(phrase).replace("_", " ") for phrase in phrases.strip().split(", "))


_ROWS = [row.split("|")[1:] for row in _folded(LANGUAGES).strip().splitlines()]
_PAGE_IS_MISSING = re.compile(
    "|".join(f"(?=.*(?:{_one_of(things)})).*(?:{_one_of(verdicts)})" for things, verdicts in _ROWS)
)
_VERDICTS = "|".join(_one_of(verdicts) for _, verdicts in _ROWS)
# It may be inflected: "no encontrad" + "a".
_IS_ALONE = re.compile(rf"(?:{_VERDICTS}|{_one_of(ALONE)})\S{{0,3}}\Z")
_PART_OF_A_SITE = re.compile(_one_of(PARTS_OF_A_SITE))
_ERROR = frozenset(_folded(ERROR_WORDS).split())
