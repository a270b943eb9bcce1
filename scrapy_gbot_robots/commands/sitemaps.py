"""`scrapy robots sitemaps HOST...`: the sitemaps that each robots.txt lists, and what their servers answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.robots import RobotsTxt, sitemap_lines_of
from ..core.urls import Origin, shown
from ..fetching.host_lookup import leads_inside
from ..policy.outcome import REDIRECTS, Unavailable, next_hop
from ..report.summary import count
from . import crawlers
from .command import FAILED, FINE, FOUND, CommandError
from .inputs import origin_of, typed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import Settings

    from ..core.crawlers import RobotsAgent
    from ..core.robots import SitemapLine
    from .output import Terminal
    from .project_crawl import ProjectCrawl, RobotsState

_TOO_MANY = "not requested: more than GBOT_ROBOTS_SITEMAPS_MAX"  # a hostile list could attack a third party
_PRIVATE = "not requested: GBOT_ROBOTS_REFUSE_PRIVATE refuses private addresses"

HELP = "List the sitemaps in robots.txt files, and say whether they can be fetched"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("hosts", nargs="+", type=typed, metavar="HOST", help="a host (https), or a URL")
    crawlers.add_argument(parser)
    parser.add_argument("--fresh", action="store_true", help="fetch the robots.txt even if the storage has it")
    parser.add_argument("--json", action="store_true", help="write one JSON object per sitemap, one per line")


class Listed(NamedTuple):
    """A sitemap line, and what its server answered.

    Attributes:
        line: the number of the line, from 1.
        url: the sitemap.
        found: the statuses, or why there is none, in words.
        status: the last status; None if there is none.
    """

    line: int
    url: str
    found: str
    status: int | None = None

    @property
    def fine(self) -> bool:
        """Whether the sitemap can be fetched, as far as is known."""
        return self.found == _TOO_MANY or (self.status is not None and self.status < 300)  # noqa: PLR2004  HTTP's


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
            known = await crawl.state_of(origin, asker.crawler, fresh=options.fresh)
            lines = sitemap_lines_of(RobotsTxt.parse(known.body or b"", max_bytes=crawl.settings.max_bytes))
            most = crawl.settings.sitemaps_max
            listed = await crawl.together(_listed(line, origin, crawl, asker.crawler) for line in lines[:most])
            listed += [Listed(line.line, _url(line), _TOO_MANY) for line in lines[most:]]
            _write(known, listed, out, as_json=options.json)
            out.flush()
            status = FAILED if known.unreachable else FINE if all(each.fine for each in listed) else FOUND
            worst = max(worst, status)
        return worst

    return run_in_crawl(settings, work)


async def _listed(line: SitemapLine, origin: Origin, crawl: ProjectCrawl, agent: RobotsAgent) -> Listed:
    """Request a sitemap and follow redirects as a crawl would: where robots.txt allows it (Google's page, "sitemap")."""
    if line.url is None:
        return Listed(line.line, _url(line), "malformed: not an absolute http, https or ftp URL")
    asked, statuses = [line.url], ""
    while True:
        if crawl.settings.refuse_private and await leads_inside(asked[-1], origin.robots_url):
            return Listed(line.line, line.url, f"{statuses}{_PRIVATE}")
        verdict = (await crawl.ruling(Origin.of(asked[-1]), agent)).verdict(asked[-1])
        if not verdict.allowed:
            return Listed(line.line, line.url, f"{statuses}{verdict}")
        try:
            status, location = await crawl.status(asked[-1])
        except Exception as error:  # of any download handler
            return Listed(line.line, line.url, f"{statuses}no answer: {shown(str(error) or type(error).__name__)}")
        if status not in REDIRECTS:
            return Listed(line.line, line.url, f"{statuses}{status}", status)
        hop = next_hop(status, location, asked, crawl.settings.max_redirects)
        if isinstance(hop, Unavailable):
            return Listed(line.line, line.url, f"{statuses}{hop.why}", status)
        asked.append(hop)
        statuses += f"{status}, "


def _url(line: SitemapLine) -> str:
    return line.url or shown(line.raw.decode("utf-8", "backslashreplace"))


def _write(known: RobotsState, listed: list[Listed], out: Terminal, *, as_json: bool) -> None:
    url = known.origin.robots_url
    if not as_json:
        found = known.decision.why if known.unreachable else count(len(listed), "sitemap")
        out.say((url, "strong"), f": {found}")
    records = [{"robots_txt": url, **each._asdict()} for each in listed]
    out.rows(records, {"STATUS": "found", "LINE": "line", "SITEMAP": "url"}, as_json=as_json)
