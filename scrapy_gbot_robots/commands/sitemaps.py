"""`scrapy robots sitemaps HOST...`: the sitemaps that each robots.txt lists, and what their servers answer."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from scrapy.settings import Settings

from ..core.crawlers import RobotsAgent
from ..core.robots import sitemap_lines_of
from ..core.urls import Origin, shown
from ..fetching.host_lookup import leads_inside
from ..report.summary import count
from . import crawlers
from .command import FAILED, FINE, FOUND, CommandError
from .inputs import add_shared, origin_of, typed
from .output import Terminal

if TYPE_CHECKING:
    from .project_crawl import ProjectCrawl

_TOO_MANY = (
    "not requested: more than GBOT_ROBOTS_SITEMAPS_MAX",
    None,
)  # a hostile list could attack a third party


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "hosts", nargs="+", type=typed, metavar="HOST", help="a host (https), or a URL"
    )
    add_shared(parser, "--as", "--fresh", "--json")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Write the sitemaps; return the exit status: FOUND if a sitemap cannot be fetched, FAILED if a robots.txt cannot."""
    from .project_crawl import run_in_crawl  # noqa: PLC0415  loads Scrapy's crawler

    asker, *others = crawlers.named(options.agents, settings, err)
    if others:
        raise CommandError("--as must name one crawler here")
    origins = list(dict.fromkeys(map(origin_of, options.hosts)))

    async def work(crawl: ProjectCrawl) -> int:
        worst = FINE
        for origin in origins:
            known = await crawl.state_of(origin, fresh=options.fresh)
            lines, most = sitemap_lines_of(known.robotstxt), crawl.settings.sitemaps_max
            found = await crawl.together(
                _found(line.url, origin, crawl, asker.crawler) for line in lines[:most]
            )
            found += [_TOO_MANY] * (len(lines) - most)
            records = [
                {
                    "robots_txt": origin.robots_url,
                    "line": line.line,
                    "url": line.url or shown(line.raw.decode("utf-8", "backslashreplace")),
                    "found": text,
                    "status": status,
                }
                for line, (text, status) in zip(lines, found, strict=True)
            ]
            says = known.why if known.unreachable else count(len(lines), "sitemap")
            out.say((origin.robots_url, "strong"), ": ", says)
            out.rows(records, {"STATUS": "found", "LINE": "line", "SITEMAP": "url"})
            out.flush()
            is_fine = all(each == _TOO_MANY or each[1] in range(400) for each in found)
            worst = max(worst, FAILED if known.unreachable else FINE if is_fine else FOUND)
        return worst

    return run_in_crawl(settings, work)


async def _found(
    url: str | None, origin: Origin, crawl: ProjectCrawl, agent: RobotsAgent
) -> tuple[str, int | None]:
    """Request a sitemap as a crawl would; return its status, or why there is none, in words, and as a number."""
    if url is None:
        return "malformed: not an absolute http, https or ftp URL", None
    if crawl.settings.refuse_private and await leads_inside(url, origin.robots_url):
        return "not requested: GBOT_ROBOTS_REFUSE_PRIVATE refuses private addresses", None
    its_origin = Origin.of(url)
    served = await crawl.served([its_origin])
    verdict = crawl.verdict(url, agent, served.get(its_origin))
    if not verdict.allowed:
        return str(verdict), None
    try:
        status = await crawl.status(url)
    except Exception as error:  # of any download handler
        return f"no answer: {shown(str(error) or type(error).__name__)}", None
    return str(status), status
