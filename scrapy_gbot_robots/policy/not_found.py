"""Whether the body of a 5xx says that the page was not found: then the site means 404.

The test is conservative. Only the title, the first heading or, in plain text, the first line
counts, and it must say "not found" by itself or of a page. Bodies are hostile: a bounded part is
read, in one pass. The languages are the ten of most web pages, and those of Google's page in its
translations that this project follows.
Source: Google's page, "Handling of errors and HTTP status codes", 5xx: a server error page that
says "Page not found".
"""

# ruff: noqa: RUF001 - dashes and letters of other scripts are meant

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from html import unescape

from w3lib.encoding import html_to_unicode

_BODY_BYTES = 16 * 1024
_SAYING_CHARS = 300  # of a title, a heading or a line

# Of a page in lower case. What is not closed goes on to the end, so that no search begins anew.
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|noscript|template|svg)\b.*?(?:</\1|\Z)", re.DOTALL
)
_TITLE = re.compile(r"<(title)\b[^<>]*>(.*?)(</\1|\Z)", re.DOTALL)
_HEADING = re.compile(r"<(h[1-6])\b[^<>]*>(.*?)(</\1|\Z)", re.DOTALL)
_OPENING = re.compile(r"<[a-z!]|\A\s*[<{\[]")
_INNER_TAG = re.compile(r"<[^<>]*>")
_CLAUSE_END = re.compile(r"[|:;!?,()\[\]{}<>»«„“”•·–—/\"\-。、]|\.(?=\s|$)")
_LETTERS = str.maketrans({"ł": "l", "’": "'", "\N{SOFT HYPHEN}": None})

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
"""
ALONE = (  # with no other word in the clause
    "file not found, file or directory not found, document not found, object not found, resource "
    "not found, the resource cannot be found, the requested resource was not found, the requested "
    "resource could not be found"
)
ERROR_WORDS = (
    "404 http status code error fehler erreur erro errore fout błąd ошибка kesalahan lỗi エラー "
    "错误 錯誤 oops sorry"
)
PARTS_OF_A_SITE = "server, database, template, backend, upstream, module, plugin, class_"


def says_not_found(body: bytes, content_type: str = "") -> bool:
    """Whether an error page says in title, first heading or first line: the page was not found.

    `content_type` is the header of that name, which may say the charset.
    """
    text = _text(body[:_BODY_BYTES], content_type[:_SAYING_CHARS])
    return any(map(_is_not_found, _sayings(text.lower())))


def _text(head: bytes, content_type: str) -> str:
    """Decode a head, which may end within a character: as UTF-8, or as w3lib would, as a page."""
    with suppress(UnicodeDecodeError):
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    with suppress(LookupError, ValueError):  # from a codec that is for no text
        _, text = html_to_unicode(content_type, head, default_encoding="cp1252")
        return text
    return head.decode("cp1252", "replace")


def _sayings(page: str) -> Iterator[str]:
    """Yield the title and the first heading of a page, or the first line of a plain text."""
    if not _OPENING.search(page):
        yield page.strip()[:_SAYING_CHARS].partition("\n")[0]
    visible = _UNSEEN.sub(" ", page)
    for match in (_TITLE.search(visible), _HEADING.search(visible)):
        if match is not None and match[3]:  # it is closed
            yield _INNER_TAG.sub(" ", match[2])[:_SAYING_CHARS]


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
