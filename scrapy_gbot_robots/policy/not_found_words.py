"""How error pages say "page not found", in over thirty languages: the data of `not_found`, and nothing else.

Compared as parts of words, with case, accents and apostrophes folded.
"""

# ruff: noqa: RUF001 - the phrases are meant to be in their languages' letters

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """How a language says it: a verdict standing alone, or a thing and a verdict within one clause. Stems will do."""

    things: tuple[str, ...]
    verdicts: tuple[str, ...]


# Compared after `_folded`, as parts of words: "seite" is heard in "Webseite". A blank stands for the edge of a word.
LANGUAGES: dict[str, Words] = {
    "en": Words(
        ("page", " url ", "robots.txt"),
        (
            "not found", "cannot be found", "can't be found", "could not be found", "couldn't be found", "wasn't found",
            "not been found", "cannot find", "can't find", "could not find", "couldn't find", "does not exist",
            "doesn't exist", "no longer exists",
        ),
    ),
    "de": Words(("seite",), ("nicht gefunden", "nicht zu finden", "existiert nicht", "nicht vorhanden")),
    "fr": Words(("page",), ("introuvable", "non trouvé", "pas été trouvé", "n'existe pas", "n'existe plus")),
    "es": Words(("página",), ("no encontrad", "no se encontró", "no se ha encontrado", "no existe")),
    "pt": Words(("página",), ("não encontrad", "não foi encontrad", "não existe")),
    "it": Words(("pagina",), ("non trovat", "non è stata trovata", "non esiste", "impossibile trovare")),
    "ca": Words(("pàgina",), ("no trobad", "no s'ha trobat", "no existeix")),
    "ro": Words(("pagin",), ("nu a fost găsit", "negăsit", "nu există")),
    "nl": Words(("pagina",), ("niet gevonden", "niet worden gevonden", "bestaat niet")),
    "da": Words(("side",), ("ikke fundet", "blev ikke fundet", "findes ikke")),
    "no": Words(("side",), ("ikke funnet", "ble ikke funnet", "finnes ikke")),
    "sv": Words(("sida",), ("hittades inte", "hittades ej", "kunde inte hittas", "finns inte")),
    "fi": Words(("sivu",), ("ei löydy", "ei löytynyt")),
    "pl": Words(("stron",), ("nie znalezion", "nie odnalezion", "nie została znaleziona", "nie istnieje")),
    "cs": Words(("stránk",), ("nenalezen", "nebyla nalezena", "neexistuje")),
    "sk": Words(("stránk",), ("nenájden", "nebola nájdená", "nenašla", "neexistuje")),
    "hu": Words(("oldal",), ("nem található", "nem létezik")),
    "tr": Words(("sayfa",), ("bulunamadı", "bulunmamaktadır", "mevcut değil")),
    "ru": Words(("страниц",), ("не найден", "не существует")),
    "uk": Words(("сторінк",), ("не знайден", "не існує")),
    "bg": Words(("страниц",), ("не е намерен", "не съществува")),
    "el": Words(("σελίδα",), ("δεν βρέθηκε", "δεν υπάρχει")),
    "id": Words(("halaman",), ("tidak ditemukan", "tidak dapat ditemukan", "tidak ada")),
    "ms": Words(("halaman",), ("tidak dijumpai", "tidak ditemui")),
    "vi": Words(("trang",), ("không tìm thấy", "không tồn tại")),
    "th": Words(("หน้า", "เพจ"), ("ไม่พบ",)),
    "ar": Words(("صفحة",), ("غير موجود", "لم يتم العثور")),
    "fa": Words(("صفحه",), ("یافت نشد", "پیدا نشد")),
    "he": Words(("דף", "עמוד"), ("לא נמצא",)),
    "hi": Words(("पृष्ठ", "पेज"), ("नहीं मिल",)),
    "ja": Words(("ページ",), ("見つかりません", "存在しません")),
    "zh-Hans": Words(("页",), ("找不到", "未找到", "没有找到", "无法找到", "不存在")),
    "zh-Hant": Words(("頁",), ("找不到", "未找到", "沒有找到", "無法找到", "不存在")),
    "ko": Words(("페이지",), ("찾을 수 없", "존재하지 않")),
}  # fmt: skip
WHOLE_CLAUSES = (
    "file not found", "file or directory not found", "document not found", "object not found",
    "resource not found", "the resource cannot be found", "the requested resource was not found",
    "the requested resource could not be found",
)  # fmt: skip
ERROR_WORDS = (
    "404 http status code error fehler erreur erro errore fout fejl feil fel virhe błąd chyba hiba hata eroare ошибка "
    "помилка грешка σφάλμα kesalahan ralat lỗi خطأ خطای שגיאה エラー 错误 錯誤 오류 oops sorry"
)
PARTS_OF_A_SITE = ("server", "database", "template", "backend", "upstream", "module", "plugin", "class ")
