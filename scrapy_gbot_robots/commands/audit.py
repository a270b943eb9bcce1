"""`scrapy robots audit --urls FILE`: the verdicts on millions of URLs, streamed, in constant memory.

They are by one robots.txt, or by that of each URL's host. With two versions, only URLs with different verdicts are written.
`audit_rows` writes and counts them, `audit_formats` has the formats.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..core.robots import RobotsTxt
from ..core.url_forms import verdict_on_all_forms
from ..core.urls import Origin
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from . import archive_audit, archives, crawlers, purposes
from .audit_formats import FORMATS, VerdictRow
from .audit_rows import Audit
from .command import CommandError
from .inputs import checked, read
from .purposes import held_against

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy.settings import Settings

    from ..core.rules import Rules
    from ..obeying.answer import Answer
    from .audit_rows import Judged
    from .crawlers import Asker
    from .output import Terminal
    from .project_crawl import Visit

HELP = "Give the verdict on each URL of a list, however long it is"

_TOP = 20  # rules in the summary


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("--urls", metavar="FILE", required=True, help='one URL per line, "-" for standard input')
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--robots",
        metavar="FILE",
        nargs="+",
        default=[],
        help=f"a robots.txt, or archives: {archives.WHAT} (default: the robots.txt of each URL's host, fetched once)",
    )
    source.add_argument(
        "--diff",
        metavar=("OLD", "NEW"),
        nargs=2,
        help="write only the URLs that two robots.txt files judge differently",
    )
    crawlers.add_argument(parser)
    purposes.add_argument(parser)
    parser.add_argument("--format", choices=FORMATS, default="table", help="the format of the rows (default: table)")
    archive_audit.add_arguments(parser)
    parser.add_argument(
        "--top", metavar="N", type=int, default=_TOP, help=f"show N rules in the summary (default: {_TOP})"
    )


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Judge the URLs; return the exit status: FOUND if a URL is disallowed, or with --diff if a verdict differs."""
    if archives.are_archives(options.robots):
        return archive_audit.run(options, settings, err)
    if len(options.robots) > 1:
        raise CommandError(f"--robots takes one robots.txt, or archives, got {len(options.robots)} files")
    if options.output:
        raise CommandError("--output needs an archive as --robots; without one, the rows go to standard output")
    if options.rules:
        raise CommandError("--rules needs an archive as --robots; without one, the rows show the deciding rule anyway")
    if options.top < 0:
        raise CommandError(f"--top must be at least 0, got {options.top}")
    askers = crawlers.named(options.agents, settings, err)
    audit = Audit(options, out)
    judge = _judge(options, settings, askers)
    try:
        if judge is None:
            _by_host(audit, askers, options.purposes, settings, err)
        else:
            for urls in audit.batches(err):
                audit.take(judge(urls))
    except KeyboardInterrupt:
        err.say(("Interrupted. So far:", "warning"))
        audit.summarise(options.top, err)
        raise
    audit.finish()
    audit.summarise(options.top, err)
    return audit.status


def _judge(options: Namespace, settings: Settings, askers: list[Asker]) -> Callable[[list[str]], list[Judged]] | None:
    """Return a function that judges URLs by the robots.txt files in the options; None if there is none."""

    def rules_of(path: str) -> list[Rules]:
        gbot = checked(settings)
        robotstxt = RobotsTxt.parse(read(path), strict=gbot.strict, max_bytes=gbot.max_bytes)
        return [robotstxt.rules_for(asker.crawler) for asker in askers]

    if options.diff:
        old, new = options.diff
        pairs = [
            (asker.name, *both)
            for asker, both in zip(askers, zip(rules_of(old), rules_of(new), strict=True), strict=True)
        ]
        return lambda urls: list(_changes(urls, pairs, new))
    if options.robots:
        (where,) = options.robots
        asked = [
            (asker.name, held_against(options.purposes, partial(verdict_on_all_forms, rules), rules.preferences))
            for asker, rules in zip(askers, rules_of(where), strict=True)
        ]
        return lambda urls: [(url, VerdictRow(name, verdict(url), where)) for url in urls for name, verdict in asked]
    return None


def _changes(urls: Iterable[str], pairs: Iterable[tuple[str, Rules, Rules]], where: str) -> Iterator[Judged]:
    for url in urls:
        for name, old, new in pairs:
            if old.allowed(url) != new.allowed(url):
                yield url, VerdictRow(name, new.verdict(url), where, old.verdict(url))


def _by_host(audit: Audit, askers: list[Asker], purposes: Sequence[str], settings: Settings, err: Terminal) -> None:
    """Judge each URL by the robots.txt of its own origin, as a crawl would. Each is fetched once."""
    from ..concurrency import pause  # noqa: PLC0415  as below
    from .project_crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which files do not need

    async def work(visit: Visit) -> None:
        for urls in audit.batches(err):
            asked = [(url, origin) for url in urls if (origin := audit.origin_of(url)) is not None]
            origins = dict.fromkeys(origin for _, origin in asked)
            answers = await visit.answers((origin, asker.crawler) for origin in origins for asker in askers)
            audit.take(
                [
                    _by_answer(url, asker, answers[origin, asker.crawler], purposes)
                    for url, origin in asked
                    for asker in askers
                ]
            )
            unreachable = {origin for (origin, _), answer in answers.items() if answer.temporary}
            audit.unreachable.update([origin.robots_url for _, origin in asked if origin in unreachable])
            await pause(0)  # the reactor has to run for Ctrl-C to be noticed

    during_a_visit(settings, work)


def _by_answer(url: str, asker: Asker, answer: Answer, purposes: Sequence[str]) -> Judged:
    judge = held_against(
        purposes, lambda url: answer.verdict(url, asker.crawler), lambda url: answer.preferences(url, asker.crawler)
    )
    verdict = judge(url)
    if Origin.of_robots_txt(url) is not None:
        verdict = Verdict(allowed=True, rule=None, reason=ROBOTS_TXT_ITSELF)
    return url, VerdictRow(asker.name, verdict, answer.origin.robots_url)
