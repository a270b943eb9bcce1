"""The file of the page: tried at the start of a crawl, and written at its end in one step.

If the page could not be written, the crawl stops at its start and not after hours. A process that dies while it writes
leaves the page of the last crawl as it was.
"""

from __future__ import annotations

from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PAGE = b"<!doctype html"  # the start of a page; an old page may be replaced, another file may not


def try_out(path: Path) -> None:
    """Make the directory of `path`, and check that a page can be written there.

    Raises:
        OSError: it cannot, or `path` exists and is no page.
    """
    if path.exists():
        if not path.is_file():
            raise OSError("it is not a file")
        if not _begins_like_a_page(path):
            raise OSError("there is a file that is no page")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = _beside(path)
    try:
        beside.touch(exist_ok=False)
    finally:
        beside.unlink(missing_ok=True)


def write(path: Path, text: str) -> None:
    """Write `text` beside `path` and rename it, so that `path` is never half a page.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = _beside(path)
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path.resolve())
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    real = path.resolve()  # so that a symbolic link stays a link
    return real.with_name(f".{real.name[:100]}.{token_hex(4)}.part")


def _begins_like_a_page(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(len(_PAGE))
    return not head or head.lower() == _PAGE
