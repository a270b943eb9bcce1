"""The pages that a sitemap lists, as a list of URLs for `audit`.

A sitemap index is followed. If a file lists a sitemap, and another file has its path below
the folder of the first, or its name in that folder, as in the output of a site generator, that file
is read. Any other sitemap is fetched, which needs Scrapy. Each is read as in a crawl, within the
same bounds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from ..bulk.url_list import MAX_URL, URL, Row
from ..core.urls import shown
from ..sitemaps.reader import MAX_BYTES, SitemapReader
from .ending import CommandError, interruptible
from .world import RobotsFiles

MOST_SITEMAPS = 50_000  # files; one sitemap index may list as many
_ROWS = 2_000  # URLs that are judged at a time
_HEAD = 512  # bytes that tell a sitemap from a list
_MARKUP = (b"<", b"\xff\xfe<\0", b"\xfe\xff\0<")
_GZIP = b"\x1f\x8b"
_LISTS = (".csv", ".jsonl")


def is_sitemap(name: str, file: Any) -> bool:
    """Whether an open file is a sitemap and not a list of URLs: it is gzipped, or has markup."""
    if name.lower().endswith(_LISTS):
        return False
    try:
        head: bytes = file.peek(_HEAD)
    except OSError:  # as a list, it has an error message
        return False
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(_GZIP) or text.startswith(_MARKUP)


class _Sitemap(NamedTuple):
    where: str  # its URL, or the name of the first file
    path: Path | None  # of a file


class SitemapList:
    """The list while it is read.

    Attributes:
        names: the names of the columns.
        left_out: how many entries have no URL.
        listed: the URLs of the sitemaps that were met.
        troubles: what could not be read, and why.
    """

    def __init__(self, name: str, file: Any = None) -> None:
        """Take the URL of a sitemap, or the name of a file and the open file."""
        self.names = [URL]
        self.left_out = 0
        self.listed: list[str] = []
        self.troubles: list[str] = []
        self._name = name
        self._body = b""
        self._folder: Path | None = None
        first = _Sitemap(name, None)
        if file is None:
            self.listed.append(name)
        else:
            try:
                self._body = file.read(MAX_BYTES + 1)
            except OSError as error:
                raise CommandError(f"{name}: {error.strerror}") from None
            self._folder = Path(name).parent
            first = _Sitemap(name, Path(name))
        self._waiting = deque([first])
        self._met = {name}  # URLs
        self._urls_of_files: dict[Path, str] = {}

    def has_to_fetch(self) -> bool:
        """Whether a sitemap that the file lists is in no file."""
        if self._folder is None:
            return True
        reader = SitemapReader(self._body)
        for entry in reader:
            if entry is None:
                continue
            if not reader.is_sitemap:
                return False
            if self._file_of(entry["loc"]) is None:
                return True
        return False

    async def pieces(self, files: RobotsFiles | None) -> AsyncIterator[list[Row]]:
        """Yield the pages, some at a time. Sitemaps in no file are fetched by `files`.

        Raises:
            CommandError: the first sitemap cannot be read.
        """
        while self._waiting:
            sitemap = self._waiting.popleft()
            try:
                reader = SitemapReader(await self._body_of(sitemap, files))
            except CommandError as error:
                if not self._is_first(sitemap):
                    self.troubles.append(str(error))
                    continue
                raise
            pieces = self._rows(sitemap, reader)
            while True:
                with interruptible():
                    rows = next(pieces, None)
                if rows is None:
                    break
                yield rows
            self.left_out += reader.broken
            if reader.trouble and not reader.entries and self._is_first(sitemap):
                raise CommandError(f"{sitemap.where}: {reader.trouble}")
            if reader.trouble:
                self.troubles.append(f"{sitemap.where}: {reader.trouble}")

    def _is_first(self, sitemap: _Sitemap) -> bool:
        return sitemap.where == self._name

    async def _body_of(self, sitemap: _Sitemap, files: RobotsFiles | None) -> bytes:
        if sitemap.path is None:
            if files is None:
                raise CommandError(f"{sitemap.where}: not read, because it is in no file")
            return await files.body_of(sitemap.where)
        if self._is_first(sitemap):
            return self._body
        try:
            with sitemap.path.open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise CommandError(f"{sitemap.path}: {error.strerror}") from None

    def _rows(self, sitemap: _Sitemap, reader: SitemapReader) -> Iterator[list[Row]]:
        """Yield the pages of one sitemap; the sitemaps in it will be read later."""
        rows: list[Row] = []
        for entry in reader:
            if entry is None:
                continue
            url = entry["loc"]
            if sitemap.path is None:
                url = urljoin(sitemap.where, url)
            if reader.is_sitemap:
                self._add(url)
            elif len(url) > MAX_URL:
                self.left_out += 1
            else:
                rows.append({URL: url})
            if len(rows) == _ROWS:
                yield rows
                rows = []
        yield rows

    def _add(self, url: str) -> None:
        """Take a sitemap that another one lists, once."""
        if url in self._met:
            return
        self.listed.append(url)
        if len(self._met) >= MOST_SITEMAPS:
            if len(self._met) == MOST_SITEMAPS:
                self._met.add(url)
                self.troubles.append(f"{shown(url)}: not read, nor any after {MOST_SITEMAPS:,}")
            return
        self._met.add(url)
        path = self._file_of(url)
        if path is not None and path == Path(self._name):
            return
        if path is None and not url.lower().startswith(("http://", "https://")):
            self.troubles.append(f"{shown(url)}: not an absolute http or https URL")
            return
        self._waiting.append(_Sitemap(url, path))

    def _file_of(self, url: str) -> Path | None:
        """Return the file that is this sitemap; None if there is none, or it is another URL's."""
        if self._folder is None:
            return None
        try:
            parts = [part for part in unquote(urlsplit(url).path).split("/") if part]
        except ValueError:
            return None
        if not parts or any(part in {".", ".."} or "\\" in part or "\0" in part for part in parts):
            return None
        whole, by_name = self._folder.joinpath(*parts), self._folder / parts[-1]
        try:
            if whole.is_file():
                return whole
            if by_name == Path(self._name) or not by_name.is_file():
                return None
        except OSError:  # the name is too long
            return None
        if self._urls_of_files.setdefault(by_name, url) != url:
            return None
        return by_name
