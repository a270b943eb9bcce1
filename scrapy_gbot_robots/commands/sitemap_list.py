"""Read a sitemap, or all sitemaps of a sitemap index. `audit` then judges the URLs.

The user names a sitemap by a path or a URL. If it is a file and lists further sitemaps, these may
be files in the same folder, as in the output of a site generator. For example, if the file lists
`https://a.example/maps/1.xml`, the file `maps/1.xml` in this folder is read. If this file does not
exist, the file `1.xml` is read. If neither file exists, the sitemap is fetched, which needs Scrapy.
The limits of a crawl apply to each sitemap.
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
from .world import RobotsFiles, SitemapSkipped

# At most this many sitemaps are read. sitemaps.org sets the same limit for one sitemap index.
MOST_SITEMAPS = 50_000
_ROWS = 2_000  # At most this many URLs are judged at a time.
_HEAD = 512  # This many bytes are enough to recognise gzip data and markup.
_MARKUP = (b"<", b"\xff\xfe<\0", b"\xfe\xff\0<")
_GZIP = b"\x1f\x8b"
_LISTS = (".csv", ".jsonl")


def is_sitemap(name: str, file: Any) -> bool:
    """Return whether an open file is a sitemap (markup or gzip data) and not a list of URLs."""
    if name.lower().endswith(_LISTS):
        return False
    try:
        head: bytes = file.peek(_HEAD)
    except OSError:  # The same error will be reported when the file is read as a list of URLs.
        return False
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(_GZIP) or text.startswith(_MARKUP)


class _Sitemap(NamedTuple):
    where: str  # The URL of the sitemap, or the path of the file that the user has named.
    path: Path | None  # The path of the file; None if the sitemap has to be fetched.
    # The URL of the sitemap index that lists this sitemap. It is None if the user has named this
    # sitemap, or if the index is a file.
    listed_at: str | None = None


class SitemapList:
    """The URLs of the pages in a sitemap, and in the sitemaps that it lists.

    Attributes:
        names: the names of the columns. There is one column, for the URL.
        left_out: the number of entries without a usable URL so far.
        troubles: a string for each sitemap that could not be read, with the reason.
    """

    def __init__(self, name: str, file: Any = None) -> None:
        """Read the first sitemap if it is a file.

        Args:
            name: the URL of the sitemap, or the path of its file.
            file: the open file; None if `name` is a URL.

        Raises:
            CommandError: the file cannot be read.
        """
        self.names = [URL]
        self.left_out = 0
        self._listed: list[str] = []
        self._skipped: set[str] = set()  # The URLs of sitemaps that a crawl would not request.
        self.troubles: list[str] = []
        self._name = name
        self._body = b""
        self._folder: Path | None = None
        first = _Sitemap(name, None)
        if file is None:
            self._listed.append(name)
        else:
            try:
                self._body = file.read(MAX_BYTES + 1)
            except OSError as error:
                raise CommandError(f"{name}: {error.strerror}") from None
            self._folder = Path(name).parent
            first = _Sitemap(name, Path(name))
        self._waiting = deque([first])
        # The URLs of all sitemaps that were found. A sitemap that is listed twice is read once.
        self._met = {name}
        # The files that were found by the last part of a URL alone, each with the whole URL.
        self._urls_of_files: dict[Path, str] = {}

    @property
    def listed(self) -> list[str]:
        """The URLs of the sitemaps found so far, except those that a crawl would not request."""
        return [url for url in self._listed if url not in self._skipped]

    def has_to_fetch(self) -> bool:
        """Return whether a sitemap has to be fetched, because no file contains it."""
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
        """Yield the URLs of the pages as rows, in portions.

        Args:
            files: the object that fetches sitemaps for which there is no file. If it is None, these
                sitemaps are not read.

        Raises:
            CommandError: the first sitemap cannot be read.
        """
        while self._waiting:
            sitemap = self._waiting.popleft()
            try:
                reader = SitemapReader(await self._body_of(sitemap, files))
            except CommandError as error:
                if isinstance(error, SitemapSkipped):
                    self._skipped.add(sitemap.where)
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
                raise CommandError(f"{sitemap.where}: not read, because there is no file of it")
            return await files.body_of(sitemap.where, sitemap.listed_at)
        if self._is_first(sitemap):
            return self._body
        try:
            with sitemap.path.open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise CommandError(f"{sitemap.path}: {error.strerror}") from None

    def _rows(self, sitemap: _Sitemap, reader: SitemapReader) -> Iterator[list[Row]]:
        """Yield the pages in one sitemap as rows.

        If the sitemap is an index, the sitemaps that it lists are put into the queue.
        """
        rows: list[Row] = []
        for entry in reader:
            if entry is None:
                continue
            url = entry["loc"]
            if sitemap.path is None:
                url = urljoin(sitemap.where, url)
            if reader.is_sitemap:
                self._add(url, sitemap)
            elif len(url) > MAX_URL:
                self.left_out += 1
            else:
                rows.append({URL: url})
            if len(rows) == _ROWS:
                yield rows
                rows = []
        yield rows

    def _add(self, url: str, index: _Sitemap) -> None:
        """Add the sitemap at `url`, which `index` lists, unless it was added before."""
        if url in self._met:
            return
        self._listed.append(url)
        if len(self._met) >= MOST_SITEMAPS:
            if len(self._met) == MOST_SITEMAPS:
                self._met.add(url)
                self.troubles.append(
                    f"{shown(url)}: this sitemap and later ones are not read, because at most "
                    f"{MOST_SITEMAPS:,} sitemaps are read"
                )
            return
        self._met.add(url)
        path = self._file_of(url)
        if path is not None and path == Path(self._name):
            return
        if path is None and not url.lower().startswith(("http://", "https://")):
            self.troubles.append(f"{shown(url)}: not an absolute http or https URL")
            return
        listed_at = None
        if index.path is None:
            listed_at = index.where
        self._waiting.append(_Sitemap(url, path, listed_at))

    def _file_of(self, url: str) -> Path | None:
        """Return the path of the file for the sitemap at `url`; None if there is no file.

        Two URLs may have the same last part, as `/a/1.xml` and `/b/1.xml` do. A file that is found
        by the last part alone is used only for the first of these URLs.
        """
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
        except OSError:  # The name is too long, for example.
            return None
        if self._urls_of_files.setdefault(by_name, url) != url:
            return None
        return by_name
