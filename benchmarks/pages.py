"""What `GBOT_ROBOTS_PAGE_RULES` costs a page: `python -m benchmarks.pages` reads a hundred made-up pages.

The pages have the sizes of real ones: 20 to 400 KB of HTML, some hundred links each. The run prints the median of each
kind. Beside it stands the time that Scrapy takes to parse the page and list its links, as nearly every callback does.
"""

from __future__ import annotations

import random
import statistics
import time
from functools import partial
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse, Request

from scrapy_gbot_robots.pages.directives import directives_of, links_not_to_follow

if TYPE_CHECKING:
    from collections.abc import Callable

PAGES = 100
KINDS = {
    "says nothing": ("", ""),
    "index, follow": ('<meta name="robots" content="index, follow, max-image-preview:large">', ""),
    "one link with rel=nofollow": ("", ' rel="nofollow"'),
    "noindex, nofollow": ('<meta name="robots" content="noindex, nofollow">', ""),
}


def page(meta: str, rel: str, number: int) -> HtmlResponse:
    """A page of some size, with a head of some 4 KB."""
    dice = random.Random(number)
    head = (
        "<meta charset=utf-8><title>A page</title>"
        + f"<link rel=stylesheet href=/{'s' * 60}.css>" * 50
        + meta
    )
    links = "".join(
        f'<li class="item item-{n}"><a href="/page/{n}">{"word " * 8}</a></li>' for n in range(300)
    )
    text = "<p>" + "Lorem ipsum dolor sit amet. " * dice.randint(200, 12_000) + "</p>"
    body = f"<!doctype html><html><head>{head}</head><body><ul>{links}</ul><a href=/x{rel}>x</a>{text}</body></html>"
    url = f"https://example.com/{number}"
    return HtmlResponse(
        url,
        body=body.encode(),
        headers={"Content-Type": "text/html; charset=utf-8"},
        request=Request(url),
    )


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def main() -> None:
    print(f"{PAGES} pages of each kind, medians in milliseconds a page\n")
    print(f"{'kind':28} {'directives':>10} {'its links':>10} {'Scrapy: parse and list':>24}")
    for kind, (meta, rel) in KINDS.items():
        read, linked, scrapy = [], [], []
        for number in range(PAGES):
            response = page(meta, rel, number)
            whole_page = "nofollow" in directives_of(response, {"mybot"})
            read.append(milliseconds(lambda response=response: directives_of(response, {"mybot"})))
            scrapy.append(
                milliseconds(lambda response=response: response.css("a::attr(href)").getall())
            )
            linked.append(
                milliseconds(partial(links_not_to_follow, response, whole_page=whole_page))
            )
        medians = [statistics.median(times) for times in (read, linked, scrapy)]
        print("{:28} {:10.3f} {:10.3f} {:24.3f}".format(kind, *medians))


if __name__ == "__main__":
    main()
