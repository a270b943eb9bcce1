"""The inputs of sub-commands: settings, files, standard input, and URLs or hosts that stand for an origin."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import closing, nullcontext
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.crawlers import Crawler
from ..core.urls import DEFAULT_PORTS, Origin, escape
from ..settings import GbotSettings
from ..storage.base import StorageError
from .command import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.settings import BaseSettings, Settings

    from ..policy.overrides import Overrides
    from ..storage.history import Version as KeptVersion
    from .project_crawl import Visit


STDIN = "-"
MAX_BYTES = 64 * 2**20  # of a file that is read whole; only the first 500 KiB of a robots.txt count
MAX_URL = 16_384  # bytes

_BLOCK = 262_144  # bytes read at a time


def typed(text: str) -> str:
    """Return a URL or a host as it was typed, in any locale: its bytes are decoded as UTF-8, else percent-encoded.

    In the C locale, Python decodes each byte past ASCII as a lone surrogate, which no rule would match.
    """
    try:
        raw = os.fsencode(text)
    except UnicodeEncodeError:  # not from the command line
        return text
    return _decoded(raw)


def typed_source(text: str) -> str:
    """Return the name of a file as it is if there is such a file, else a URL or a host as `typed` does."""
    return text if Path(text).exists() else typed(text)


def is_url(text: str) -> bool:
    """Whether `text` is an absolute URL, and no path or host."""
    return "://" in text


def is_site(name: str) -> bool:
    """Whether `name` means a site and not a file: it is a URL, or a host and there is no such file."""
    return is_url(name) or (name != STDIN and not Path(name).exists() and _is_host(name))


def _is_host(text: str) -> bool:
    """Whether `text` is a host, with or without a port, and not the name of a missing file.

    A host is an IP address, localhost, a name with a port, or a name below a public suffix, which ".txt" is not.
    """
    import tldextract  # noqa: PLC0415  Scrapy brings it; few runs need it

    try:
        origin = Origin.of(f"https://{text}")
    except ValueError:
        return False
    if any(char in text for char in "/?#@"):
        return False
    host = origin.host
    if host == "localhost" or host.startswith("[") or origin.port != DEFAULT_PORTS["https"]:
        return True
    extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    found = extract(host)
    return bool(found.ipv4 or (found.domain and found.suffix))


def origin_of(text: str) -> Origin:
    """Return the origin of a URL, or the https origin of a host.

    Raises:
        CommandError: `text` has no origin.
    """
    try:
        return Origin.of(text if is_url(text) else f"https://{text}")
    except ValueError as error:
        raise CommandError(str(error)) from None


def read(path: str) -> bytes:
    """Return the content of a file; "-" is standard input.

    Raises:
        CommandError: it cannot be read, or is larger than `MAX_BYTES`.
    """
    try:
        if path == STDIN:
            body = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                body = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CommandError(unreadable(path, error)) from None
    if len(body) > MAX_BYTES:
        raise CommandError(f"{path}: longer than {MAX_BYTES:,} bytes, so this is no robots.txt")
    return body


def checked(settings: BaseSettings) -> GbotSettings:
    """Return the plugin's settings.

    Raises:
        CommandError: a setting has a wrong value.
    """
    try:
        return GbotSettings.of(settings)
    except ValueError as error:
        raise CommandError(str(error)) from None


def overrides_checked(settings: BaseSettings) -> Overrides:
    """Return the overrides in the settings.

    Raises:
        CommandError: an override is wrong, or a file cannot be read.
    """
    from ..obeying.override_files import overrides_of  # noqa: PLC0415  few runs need it

    try:
        return overrides_of(checked(settings))
    except ValueError as error:
        raise CommandError(str(error)) from None


def url_batches(path: str) -> Iterator[tuple[list[str], int]]:
    """Yield the lines of a file of any size, some at a time, with the number of bytes read for them. "-" is standard input.

    White space around a line, and empty lines, are left out. Bytes that are no UTF-8 are percent-encoded, as they are for
    rules. A line longer than `MAX_URL` bytes may be cut, but not to `MAX_URL` bytes or less, so that callers see that it is
    too long.

    Raises:
        CommandError: the file cannot be read.
    """
    try:
        with nullcontext(sys.stdin.buffer) if path == STDIN else Path(path).open("rb", buffering=0) as file:
            rest = b""
            while block := _block(file):
                text, _, rest = (rest + block).rpartition(b"\n")
                rest = rest[: MAX_URL + 1]
                yield _lines(text), len(block)
            yield _lines(rest), 0
    except (OSError, ValueError) as error:
        raise CommandError(unreadable(path, error)) from None


def _block(file: Any) -> bytes:
    """Read at least one byte and at most `_BLOCK`; none at the end of the file. Ctrl-C ends it, in a crawl too."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        block: bytes = file.read1(_BLOCK) if hasattr(file, "read1") else file.read(_BLOCK)
    finally:
        signal.signal(signal.SIGINT, handler)
    return block


def _lines(text: bytes) -> list[str]:
    try:
        lines = text.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        lines = [_decoded(line) for line in text.split(b"\n")]
    return [line for line in map(str.strip, lines) if line]


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return escape(line).decode("ascii")


def size_of(path: str) -> int | None:
    """Return the size of a file in bytes; None if it is not known."""
    try:
        return Path(path).stat().st_size or None if path != STDIN else None
    except OSError:
        return None


def unreadable(path: str, error: OSError | ValueError) -> str:
    """Return a line that says why a file cannot be read or written."""
    if isinstance(error, UnicodeEncodeError):  # no file can have that name in this locale
        return f"{path}: {os.strerror(errno.ENOENT)}"
    return f"{path}: {getattr(error, 'strerror', None) or error}"


class Version(NamedTuple):
    """A robots.txt: its name for people, its bytes, and its origin; None for a file."""

    name: str
    body: bytes
    origin: Origin | None = None


def versions(names: Iterable[str], settings: Settings) -> list[Version]:
    """Return the version that each name stands for.

    A name is that of a file, or "-" for standard input, or a site, whose robots.txt is fetched. ORIGIN@DATE is the version
    in the storage's history that counted at that time.

    Raises:
        CommandError: a file cannot be read, a robots.txt is unreachable, or the history has no such version.
    """
    wanted = list(names)
    past = {name: _past(name, settings) for name in wanted if _moment(name) is not None}
    sites = {name: origin_of(name) for name in wanted if name not in past and is_site(name)}
    known = {**past, **(_fetched(sites, settings) if sites else {})}
    return [known[name] if name in known else Version(name, read(name)) for name in wanted]


def history_of(origin: Origin, settings: Settings) -> list[KeptVersion]:
    """Return the versions of `origin` in the storage, the oldest first.

    Raises:
        CommandError: the storage is not SQLite, or is in trouble.
    """
    gbot = checked(settings)
    if gbot.storage != "sqlite" or gbot.sqlite_path is None:
        raise CommandError(
            "only a SQLite file has a history: set GBOT_ROBOTS_SQLITE_PATH, or run this in the Scrapy project"
        )
    from ..storage.history import SqliteHistory  # noqa: PLC0415  only what is used is loaded

    try:
        with closing(SqliteHistory(gbot.sqlite_path, most=1, max_body=gbot.max_bytes, read_only=True)) as storage:
            return storage.versions(str(origin))
    except StorageError as error:
        raise CommandError(str(error)) from None


def _moment(name: str) -> float | None:
    """The time in ORIGIN@DATE, in seconds since the epoch; None for other names. A date alone means the end of its day."""
    _, _, date = name.rpartition("@")
    try:
        when = datetime.fromisoformat(date)
    except ValueError:
        return None
    if len(date) == len("2026-01-31"):
        when += timedelta(days=1, microseconds=-1)
    return (when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)).timestamp()


def _past(name: str, settings: Settings) -> Version:
    site, _, date = name.rpartition("@")
    origin, moment = origin_of(site), _moment(name)
    known = [each for each in history_of(origin, settings) if moment is not None and each.fetched_at <= moment]
    if not known:
        raise CommandError(f"{origin}: the history has no version from {date} or before")
    return Version(f"{origin.robots_url}@{date}", known[-1].body, origin)


def _fetched(sites: dict[str, Origin], settings: Settings) -> dict[str, Version]:
    """Fetch the robots.txt files of sites. A site without one has an empty one."""
    from .project_crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    async def work(visit: Visit) -> dict[str, Version]:
        return {name: await _version(visit, origin) for name, origin in sites.items()}

    return during_a_visit(settings, work)


async def _version(visit: Visit, origin: Origin) -> Version:
    known = await visit.known(origin, Crawler.of(""), fresh=True)
    if known.decision.temporary:
        raise CommandError(f"{origin.robots_url}: {known.decision.why}")
    return Version(origin.robots_url, known.body or b"", origin)
