"""Read the input of sub-commands: shared options, URLs, hosts, and versions of a robots.txt.

A version is a robots.txt in a file, or the robots.txt of a site.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.crawlers import cut_token
from ..core.lines import is_web_page
from ..core.named_user_agent import NAMED, NamedUserAgent, hints_on, names_in
from ..core.robots import groups_of
from ..core.urls import Origin, as_text
from .ending import CommandError
from .output import Terminal
from .world import RobotsFile, World

if TYPE_CHECKING:
    from .sites import RobotsState

STDIN = "-"
# A larger file is not read, because it is probably not a robots.txt. By default, only the first
# 500 KiB of a robots.txt are parsed.
MAX_BYTES = 64 * 2**20

# The first bytes of files that cannot be a robots.txt: gzip, WARC and Parquet.
_ARCHIVES = (b"\x1f\x8b", b"WARC/", b"PAR1")


# Arguments


def typed(text: str) -> str:
    """Decode a URL or a host on the command line as UTF-8, and return it.

    In the C locale, Python decodes each non-ASCII byte in an argument as a lone surrogate, which
    no rule would match. Therefore the bytes of `text` are decoded again, whatever the locale is. If
    they are not UTF-8, the non-ASCII bytes are percent-encoded.
    """
    return as_text(os.fsencode(text))


# Parameters of `add_argument` for an argument that names a robots.txt.
SOURCE: dict[str, Any] = {
    "metavar": "FILE|URL",
    "help": 'a file, "-" for standard input, or a URL of a site whose robots.txt is fetched',
}
_SHARED: dict[str, dict[str, Any]] = {
    "--user-agent": {
        "dest": "user_agents",
        "action": "append",
        "metavar": "TOKEN[,TOKEN...]",
        "help": "product token or User-Agent header of a crawler; * stands for any crawler that no "
        "group names; may be repeated (default: *; in a project, for `scrapy robots`, the "
        "project's GBOT_ROBOTS_USER_AGENTS, ROBOTSTXT_USER_AGENT or USER_AGENT)",
    },
    "--fresh": {"action": "store_true", "help": "fetch the robots.txt even if the storage has it"},
    "--json": {"action": "store_true", "help": "write JSON, one object per line"},
}

_SHORT = {"--user-agent": ("--as",)}


def add_shared(parser: Any, *names: str) -> None:
    """Add options that several sub-commands have.

    Args:
        parser: the parser of a sub-command, or a group of options of the parser.
        names: the names of the options, such as "--json".
    """
    for name in names:
        parser.add_argument(name, *_SHORT.get(name, ()), **_SHARED[name])


def is_url(text: str) -> bool:
    """Return whether `text` is an absolute URL, and not a path or host."""
    return "://" in text


def origin_of(text: str) -> Origin:
    """Return the origin of a URL, or the https origin of a host.

    Raises ValueError if `text` is neither a URL with an origin nor a host.
    """
    if not is_url(text):
        text = f"https://{text}"
    return Origin.of(text)


def crawlers_named(texts: list[str] | None, world: World, err: Terminal) -> list[NamedUserAgent]:
    """Return the crawlers that are named with the option `--user-agent`, without duplicates.

    Without this option, return the crawler that is named in the settings of `world`.

    Args:
        texts: the values of the option, with commas between names; None without the option. A
            string with a parenthesis is one User-Agent header.
        world: the object with the settings of the sub-command.
        err: the stream for notes. A note is written if only a part of a name is read, or if a name
            resembles the name of a well-known crawler.

    Raises:
        ValueError: a name has no product token.
    """
    if texts is None:
        return [world.named_user_agent]
    named = [NamedUserAgent.of(name, NAMED) for name in chain.from_iterable(map(names_in, texts))]
    crawlers = list({one.crawler: one for one in named}.values())
    for one in crawlers:
        if cut_token(one.text) == one.name:
            rule = 'a product token has letters, "-" and "_" only'
            err.say((f'note: "{one.text}" is read as "{one.name}", because {rule}', "warning"))
    for hint in hints_on(one.name for one in crawlers):
        err.say((f"note: {hint}", "warning"))
    return crawlers


# Files


def read(path: str, hint: str = "") -> bytes:
    """Return the content of a file.

    Args:
        path: the path of the file; "-" for standard input.
        hint: the end of the error message if the file cannot be opened.

    Raises:
        CommandError: the file is larger than `MAX_BYTES`, or cannot be opened or read.
    """
    with opened(path, hint) as file:
        try:
            body: bytes = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from None
    if len(body) > MAX_BYTES:
        raise CommandError(
            f"{path}: longer than {MAX_BYTES >> 20} MiB, so this is not a robots.txt"
        )
    return body


def opened(path: str, hint: str = "") -> AbstractContextManager[Any]:
    """Open a file.

    Args:
        path: the path of the file; "-" for standard input.
        hint: the end of the error message if the file cannot be opened.

    Raises:
        CommandError: the file cannot be opened.
    """
    if path == STDIN:
        stdin: Any = sys.stdin
        if stdin is None:
            raise CommandError("standard input is closed")
        return nullcontext(stdin.buffer)
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}{hint}") from None


# Versions of a robots.txt


def versions(names: Sequence[str], world: World, err: Terminal) -> list[RobotsFile | RobotsState]:
    """Return the versions of a robots.txt that a user has named.

    A version is a robots.txt in a file, or the robots.txt of a site.

    Args:
        names: for each version, the path of a file, a URL of a site, or "-" for standard input.
        world: the object that fetches files, with the settings of the sub-command.
        err: the stream for notes. A note is written if a file does not look like a robots.txt, or
            if everything on a site is allowed because the server sent no rules.

    Raises:
        CommandError: a file or a robots.txt cannot be read, a file is an archive or compressed, two
            names are "-", or GBOT_ROBOTS_ACCESS_DENIED disallows all of a site.
    """
    if names.count(STDIN) > 1:
        raise CommandError('"-" cannot be both versions')
    return versions_among(names, fetched(names, world, err), world, err)


def versions_among(
    names: Sequence[str], sites: Mapping[str, RobotsState], world: World, err: Terminal
) -> list[RobotsFile | RobotsState]:
    """Return the versions of a robots.txt that a user has named, as `versions` does.

    This function fetches nothing, because `sites` contains the state of the robots.txt for each URL
    in `names`.
    """
    every = [version_of(name, sites) for name in names]
    for version in every:
        if not isinstance(version, RobotsFile):
            if version.is_disallowed:
                raise CommandError(
                    f"{version.where}: there are no rules to read; "
                    f"GBOT_ROBOTS_ACCESS_DENIED disallows the whole site: {version.decision.why}"
                )
            if not version.has_rules:
                why = f"there are no rules, so everything is allowed: {version.decision.why}"
                err.say((f"note: {version.where}: {why}", "warning"))
            continue
        if version.body.startswith(_ARCHIVES):
            raise CommandError(
                f"{version.where}: this is an archive; take the robots.txt files out of it first"
            )
        robotstxt = world.parse(version.body)
        if groups_of(robotstxt) and not is_web_page(version.body):
            continue
        # Few files need `core.lint`, and its import takes as long as all other imports together.
        # Therefore it is imported only here.
        from ..core.lint import no_robots_file  # noqa: PLC0415

        other = no_robots_file(version.body, robotstxt)
        if other is not None:
            err.say((f"note: {version.where}: {other.text}", "warning"))
    return every


def fetched(
    names: Iterable[str], world: World, err: Terminal, *, fresh: bool = True
) -> dict[str, RobotsState]:
    """Look up the robots.txt for each URL in `names`, and return a dict from URLs to states.

    Names that are not URLs are left out. If several URLs have the same origin, the robots.txt of
    this origin is looked up once. If `fresh` is True, each robots.txt is fetched. Otherwise a
    robots.txt is fetched only if the storage has no copy of it, or if the stored copy is too old.
    While the command waits for the files, `err` shows their URLs.
    """
    sites = {name: origin_of(name) for name in names if is_url(name)}
    if not sites:
        return {}
    origins = dict.fromkeys(sites.values())
    err.show_state(f"waiting for {', '.join(origin.robots_url for origin in origins)}")
    try:
        states = world.run(lambda files: files.states_of(origins, fresh=fresh))
    finally:
        err.show_state("")
    return {name: states[origin] for name, origin in sites.items()}


def version_of(
    name: str, sites: Mapping[str, RobotsState], *, may_lack: bool = True
) -> RobotsFile | RobotsState:
    """Return the robots.txt that a user has named on the command line.

    If `name` is a key of `sites`, return the robots.txt that was looked up for this site.
    Otherwise `name` is the path of a file, or "-" for standard input.

    Raises:
        CommandError: the file cannot be read, or the robots.txt of the site is unreachable, or the
            site has no robots.txt and `may_lack` is False.
    """
    version = sites.get(name)
    if version is None:
        return RobotsFile(
            name, read(name, "; a site is named by its URL, such as https://example.com")
        )
    outage = version.entry.outage
    # While a robots.txt is unreachable, a crawl may use an older copy. A sub-command does not read
    # that copy, because it may be out of date.
    if outage is not None:
        raise CommandError(f"{version.where}: robots.txt unreachable: {outage.why}")
    if not (may_lack or version.has_body):
        is_open = not (version.is_disallowed or version.is_denied)
        meaning = ", so crawlers may fetch everything" * is_open
        raise CommandError(
            f"{version.where}: there is nothing to read: {version.decision.why}{meaning}"
        )
    return version
