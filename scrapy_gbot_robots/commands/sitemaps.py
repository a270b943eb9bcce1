"""`scrapy robots sitemaps HOST...`: the sitemaps that are listed, and what servers answer."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, NamedTuple

from scrapy.settings import Settings

from ..core.crawlers import RobotsAgent
from ..core.robots import sitemap_lines_of
from ..core.urls import Origin, shown
from ..fetching.private_hosts import leads_inside
from ..report.summary import count
from .command import FAILED, FINE, FOUND, CommandError
from .inputs import add_shared, crawlers_named, origin_of, typed
from .output import Terminal

if TYPE_CHECKING:
    from .project_crawl import ProjectCrawl, RobotsState


class _Answer(NamedTuple):
    """What is known of a sitemap."""

    words: str  # its status, or why it was not requested
    status: int | None


# A hostile list could attack a third party.
_TOO_MANY = _Answer("not requested: more than GBOT_ROBOTS_SITEMAPS_MAX", None)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "hosts", nargs="+", type=typed, metavar="HOST", help="a host (https), or a URL"
    )
    add_shared(parser, "--as", "--fresh", "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the sitemaps; return FOUND if one cannot be fetched, FAILED if a robots.txt cannot."""
    from .project_crawl import run_in_crawl  # noqa: PLC0415  loads Scrapy's crawler

    asker, *others = crawlers_named(options.agents, settings, err)
    if others:
        raise CommandError("--as must name one crawler here")
    origins = list(dict.fromkeys(map(origin_of, options.hosts)))

    async def work(crawl: ProjectCrawl) -> int:
        statuses = []
        for origin in origins:
            state = await crawl.state_of(origin, fresh=options.fresh)
            statuses.append(await _list(state, crawl, asker.crawler, out))
        return max(statuses)

    return run_in_crawl(settings, work)


async def _list(state: RobotsState, crawl: ProjectCrawl, agent: RobotsAgent, out: Terminal) -> int:
    """Write the sitemaps of one robots.txt; return the exit status for it."""
    origin = state.origin
    lines, most = sitemap_lines_of(state.robotstxt), crawl.settings.sitemaps_max
    requested = (_answer(line.url, origin, crawl, agent) for line in lines[:most])
    answers = await crawl.together(requested)
    answers += [_TOO_MANY] * (len(lines) - most)
    records = []
    for line, answer in zip(lines, answers, strict=True):
        url = line.url
        if url is None:
            url = shown(line.raw.decode("utf-8", "backslashreplace"))
        records.append(
            {
                "robots_txt": origin.robots_url,
                "line": line.line,
                "url": url,
                "found": answer.words,
                "status": answer.status,
            }
        )
    says = count(len(lines), "sitemap")
    if state.unreachable:
        says = state.why
    out.say((origin.robots_url, "strong"), ": ", says)
    out.rows(records, {"STATUS": "found", "LINE": "line", "SITEMAP": "url"})
    out.flush()
    if state.unreachable:
        return FAILED
    for answer in answers:
        if answer != _TOO_MANY and answer.status not in range(400):
            return FOUND
    return FINE


async def _answer(
    url: str | None, origin: Origin, crawl: ProjectCrawl, agent: RobotsAgent
) -> _Answer:
    """Request a sitemap as a crawl would."""
    if url is None:
        return _Answer("malformed: not an absolute http, https or ftp URL", None)
    if crawl.settings.refuse_private and await leads_inside(url, origin.robots_url):
        words = "not requested: GBOT_ROBOTS_REFUSE_PRIVATE refuses private addresses"
        return _Answer(words, None)
    its_origin = Origin.of(url)
    served = await crawl.served([its_origin])
    verdict = crawl.verdict(url, agent, served.get(its_origin))
    if not verdict.allowed:
        return _Answer(str(verdict), None)
    try:
        status = await crawl.status(url)
    except Exception as error:  # of any download handler
        why = str(error) or type(error).__name__
        return _Answer(f"no answer: {shown(why)}", None)
    return _Answer(str(status), status)
