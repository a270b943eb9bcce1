"""Whether the body of a 5xx says that the page was not found: then the site means 404.

The test is conservative. Only the title, the first heading or, in plain text, the first line
counts, and it must say "not found" by itself or of a page. Bodies are hostile: a bounded part is
read, in one pass.
Sources: Google's page, "Handling of errors and HTTP status codes", 5xx: a server error page that
says "Page not found"; for names of charsets the WHATWG's Encoding Standard.
"""

# ruff: noqa: RUF001 - dashes and letters of other scripts are meant

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from html import unescape
from itertools import chain

_BODY_BYTES = 16 * 1024
_SAYING_CHARS = 300  # of a title, a heading or a line

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# What is neither Unicode nor Windows-1252: Python's codec, and the names by which pages declare it.
_CODECS = """
    cp1250 | windows-1250 cp1250
    cp1251 | windows-1251 cp1251
    cp1253 | windows-1253 cp1253
    cp1254 | windows-1254 cp1254 iso-8859-9 latin5
    cp1255 | windows-1255 cp1255
    cp1256 | windows-1256 cp1256
    cp1257 | windows-1257 cp1257
    cp1258 | windows-1258 cp1258
    iso8859-2 | iso-8859-2 latin2
    iso8859-4 | iso-8859-4
    iso8859-5 | iso-8859-5
    iso8859-6 | iso-8859-6
    iso8859-7 | iso-8859-7
    iso8859-8 | iso-8859-8 iso-8859-8-i
    iso8859-13 | iso-8859-13
    koi8-r | koi8-r koi8
    koi8-u | koi8-u
    cp874 | windows-874 tis-620 iso-8859-11
    cp932 | shift_jis shift-jis sjis x-sjis windows-31j ms_kanji
    euc_jp | euc-jp x-euc-jp
    cp949 | euc-kr ks_c_5601-1987 windows-949
    gb18030 | gb18030 gbk gb2312 x-gbk
    big5hkscs | big5 big5-hkscs cn-big5
"""
_DECLARED = re.compile(r"(?:charset|encoding)[ \t]*=[ \t]*[\"']?[ \t]*([a-z0-9_-]{1,20})")
_DECLARATION_CHARS = 2_048  # of a page; browsers look at 1,024
_MOST_DECLARED = 3  # a server's default, a page's own, and one for a script

# Of a page in lower case. What is not closed goes on to the end, so that no search begins anew.
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|noscript|template|svg)\b.*?(?:</\1|\Z)", re.DOTALL
)
_TITLE = re.compile(r"<(title)\b[^<>]*>(.*?)(</\1|\Z)", re.DOTALL)
_HEADING = re.compile(r"<(h[1-6])\b[^<>]*>(.*?)(</\1|\Z)", re.DOTALL)
_OPENING = re.compile(r"<[a-z!]")
_INNER_TAG = re.compile(r"<[^<>]*>")
_CLAUSE_END = re.compile(r"[|:;!?,()\[\]{}<>»«„“”•·–—/\"\-。、]|\.(?=\s|$)")
_LETTERS = str.maketrans(
    {"ı": "i", "ł": "l", "đ": "d", "ø": "o", "’": "'", "\N{SOFT HYPHEN}": None}
)


# Language, things, and verdicts: a verdict alone, or a thing and a verdict within one clause. Both
# are compared after `_folded`, as parts of words: "seite" is heard in "Webseite". "_" stands for
# the edge of a word.
LANGUAGES = """
    en | page, _url_, robots.txt | not found, cannot be found, can't be found, could not be found
    en | page, _url_, robots.txt | couldn't be found, wasn't found, not been found, cannot find
    en | page, _url_, robots.txt | can't find, could not find, couldn't find
    en | page, _url_, robots.txt | does not exist, doesn't exist, no longer exists
    de | seite | nicht gefunden, nicht zu finden, existiert nicht, nicht vorhanden
    fr | page | introuvable, non trouvé, pas été trouvé, n'existe pas, n'existe plus
    es | página | no encontrad, no se encontró, no se ha encontrado, no existe
    pt | página | não encontrad, não foi encontrad, não existe
    it | pagina | non trovat, non è stata trovata, non esiste, impossibile trovare
    ca | pàgina | no trobad, no s'ha trobat, no existeix
    ro | pagin | nu a fost găsit, negăsit, nu există
    nl | pagina | niet gevonden, niet worden gevonden, bestaat niet
    da | side | ikke fundet, blev ikke fundet, findes ikke
    no | side | ikke funnet, ble ikke funnet, finnes ikke
    sv | sida | hittades inte, hittades ej, kunde inte hittas, finns inte
    fi | sivu | ei löydy, ei löytynyt
    pl | stron | nie znalezion, nie odnalezion, nie została znaleziona, nie istnieje
    cs | stránk | nenalezen, nebyla nalezena, neexistuje
    sk | stránk | nenájden, nebola nájdená, nenašla, neexistuje
    hu | oldal | nem található, nem létezik
    tr | sayfa | bulunamadı, bulunmamaktadır, mevcut değil
    ru | страниц | не найден, не существует
    uk | сторінк | не знайден, не існує
    bg | страниц | не е намерен, не съществува
    el | σελίδα | δεν βρέθηκε, δεν υπάρχει
    id | halaman | tidak ditemukan, tidak dapat ditemukan, tidak ada
    ms | halaman | tidak dijumpai, tidak ditemui
    vi | trang | không tìm thấy, không tồn tại
    th | หน้า, เพจ | ไม่พบ
    ar | صفحة | غير موجود, لم يتم العثور
    fa | صفحه | یافت نشد, پیدا نشد
    he | דף, עמוד | לא נמצא
    hi | पृष्ठ, पेज | नहीं मिल
    ja | ページ | 見つかりません, 存在しません
    zh-Hans | 页 | 找不到, 未找到, 没有找到, 无法找到, 不存在
    zh-Hant | 頁 | 找不到, 未找到, 沒有找到, 無法找到, 不存在
    ko | 페이지 | 찾을 수 없, 존재하지 않
    en | | file not found, file or directory not found, document not found, object not found
    en | | resource not found, the resource cannot be found, the requested resource was not found
    en | | the requested resource could not be found
"""
ERROR_WORDS = (
    "404 http status code error fehler erreur erro errore fout fejl feil fel virhe błąd chyba "
    "hiba hata eroare ошибка "
    "помилка грешка σφάλμα kesalahan ralat lỗi خطأ خطای שגיאה エラー 错误 錯誤 오류 oops sorry"
)
PARTS_OF_A_SITE = (
    "server",
    "database",
    "template",
    "backend",
    "upstream",
    "module",
    "plugin",
    "class ",
)


def says_not_found(body: bytes, content_type: str = "") -> bool:
    """Whether an error page says in title, first heading or first line: the page was not found.

    `content_type` is the header of that name, which may say the charset.
    """
    texts = _readings(body[:_BODY_BYTES], content_type)
    sayings = chain.from_iterable(map(_sayings, texts))
    return any(map(_is_not_found, sayings))


def _readings(head: bytes, content_type: str) -> Iterator[str]:
    """Decode a head, which may end within a character: by its mark, as UTF-8, or as declared.

    A server often declares its default, and the page another charset. No phrase comes about by
    chance in the wrong one.
    """
    for mark, charset in _BOMS:
        if head.startswith(mark):
            yield head[len(mark) :].decode(charset, "replace")
            return
    try:
        yield codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        beginning = head[:_DECLARATION_CHARS].decode("latin-1")
        declared = _DECLARED.findall(f"{content_type[:_SAYING_CHARS]}\n{beginning}".lower())
        charsets = {_CODEC_OF.get(name, "cp1252"): None for name in declared[:_MOST_DECLARED]}
        if not charsets:
            charsets["cp1252"] = None
        for charset in charsets:
            yield head.decode(charset, "replace")


def _sayings(text: str) -> Iterator[str]:
    """Yield the title and the first heading of a page, or the first line of a plain text."""
    page = text.lower()
    if not _OPENING.search(page) and not page.lstrip().startswith(("<", "{", "[")):
        yield page.strip()[:_SAYING_CHARS].partition("\n")[0]
    visible = _UNSEEN.sub(" ", page)
    for match in (_TITLE.search(visible), _HEADING.search(visible)):
        if match is not None and match[3]:  # it is closed
            yield _INNER_TAG.sub(" ", match[2])[:_SAYING_CHARS]


def _is_not_found(saying: str) -> bool:
    """Judge a saying by its clauses: "404" and "the page you want was not found" say so."""
    for clause in _CLAUSE_END.split(_folded(unescape(saying))):
        words = clause.split()
        gist = " ".join(word for word in words if word not in _ERROR)
        if ("404" in words and not gist) or _ALONE.match(gist) or _says_page_is_missing(gist):
            return True
    return False


def _says_page_is_missing(gist: str) -> bool:
    """Whether a clause says of a page that it was not found.

    Where a part of the site is missing, the site is down.
    """
    edged = f" {gist} ".removesuffix("on this server ")
    if any(part in edged for part in PARTS_OF_A_SITE):
        return False
    for things, verdicts in _FOLDED:
        has_thing = any(thing in edged for thing in things)
        if has_thing and any(verdict in edged for verdict in verdicts):
            return True
    return False


def _folded(text: str) -> str:
    """Fold case, width, accents and apostrophes: a phrase is one phrase however it is typed."""
    plain = "".join(
        char for char in unicodedata.normalize("NFKD", text) if unicodedata.category(char) != "Mn"
    )
    return unicodedata.normalize("NFC", plain.casefold().translate(_LETTERS))


_CODEC_OF: dict[str, str] = {}
for _row in _CODECS.strip().splitlines():
    _codec, _, _names = _row.partition("|")
    _CODEC_OF |= dict.fromkeys(_names.split(), _codec.strip())


def _phrases(cell: str) -> list[str]:
    return [phrase.replace("_", " ") for phrase in cell.strip().split(", ") if phrase]


_FOLDED: list[tuple[list[str], list[str]]] = []  # things and verdicts
_ALL_VERDICTS: list[str] = []
for _row in _folded(LANGUAGES).strip().splitlines():
    _, _things, _verdicts = _row.split("|")
    _FOLDED.append((_phrases(_things), _phrases(_verdicts)))
    _ALL_VERDICTS += map(re.escape, _phrases(_verdicts))
_VERDICTS = "|".join(_ALL_VERDICTS)
_ALONE = re.compile(rf"(?:{_VERDICTS})\S{{0,3}}\Z")  # it may be inflected: "no encontrad" + "a"
_ERROR = frozenset(_folded(ERROR_WORDS).split())
