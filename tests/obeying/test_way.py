"""What the way of a request costs: what is computed of it is computed once."""

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

import scrapy_gbot_robots
from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.obeying import room
from scrapy_gbot_robots.obeying.identity import CrawlerIdentity
from scrapy_gbot_robots.obeying.subject import origin_of

from ..support.crawls import ADDON, Pages, crawl, in_reactor, pages
from ..support.web import Site

RULES = b"user-agent: *\ndisallow: /no\nallow: /no/yes\n"
HOME = str(Path(scrapy_gbot_robots.__file__).parent)
MOST_CALLS = 120  # of the plugin's functions for a page whose site has no other request
# Of these, once at `put`, and once in the middleware.
MOST_OF_ONE = {"origin_of": 1, "is_subject": 2, "user_agent": 3, "good_answer": 2, "is_good": 3}


class OneAtATime(Pages):
    """Asks for the next of its pages in the callback of each."""

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls[:1]:
            yield self.taken(url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        super().parse(response)
        for url in self.urls[:1]:
            yield self.taken(url)

    def taken(self, url: str | Request) -> Request:
        self.urls.remove(url)
        return Request(str(url))


async def calls(number: int) -> Counter[str]:
    """How often each of the plugin's functions is called in a crawl of so many pages of one host.

    Each page is scheduled when the one before it has come, and the clock of the room stands still,
    so a busy machine does not change the number.
    """
    seen: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HOME):
            seen[frame.f_code.co_name] += 1

    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        urls = [site.url(f"/page/{page}") for page in range(number)]
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            crawler = await crawl(OneAtATime, ADDON, urls=urls)
        finally:
            sys.setprofile(before)
    assert len(pages(crawler).crawled) == number
    return seen


@in_reactor
async def test_page_of_a_known_host_takes_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LOOK_SECS", 3600.0)
    few = await calls(20)
    many = await calls(70)
    many.subtract(few)
    each = {name: number / 50 for name, number in many.items()}
    assert sum(each.values()) <= MOST_CALLS, sorted(each.items(), key=lambda item: -item[1])[:30]
    for name, most in MOST_OF_ONE.items():
        assert each[name] <= most * 1.2, name


BEFORE = (
    *("http://", "https://", " http://", "\t\r\n  http://", "ht\ntp://", "http://u:p@"),
    *("http://a/b@", "HTTP://", "http://\n/", "ws://", "http:////", "http://[::1]"),
)
HOSTS = ("a", "a.b:80", "A.b", "a\tb", "a?x=/", "a#/", "a\\b@c", "a;b@c", "ü.example", "")
AFTER = ("", "/", "/x/y", "//x", " ", "/ ")


def request_of(url: str) -> Request | None:
    """A request with this very URL. Scrapy before 2.19 changes the URL, or does not take it."""
    with suppress(ValueError):
        request = Request(url, meta={"verbatim_url": True})
        return request if request.url == url else None
    return None


def origin_or_none(find: Callable[[], Origin]) -> Origin | None:
    with suppress(ValueError):
        return find()
    return None


@pytest.mark.parametrize("host", HOSTS)
def test_origin_of_a_request_is_the_origin_of_its_url(host: str) -> None:
    urls = (before + host + after for before in BEFORE for after in AFTER)
    requests = [request for request in map(request_of, urls) if request is not None]
    if not requests:
        pytest.skip("this Scrapy has no verbatim URLs")
    wrong = []
    for request in requests:
        sent = request.url.strip("".join(map(chr, range(33))))
        sent = sent.translate({9: None, 10: None, 13: None}).replace("ws://", "http://")
        expected = origin_or_none(partial(Origin.of, sent))
        for _ in range(2):
            found = origin_or_none(partial(origin_of, request))
            if found != expected:
                wrong.append((request.url, found, expected))
    assert not wrong


def test_request_without_headers_gets_none_because_it_waits() -> None:
    request = Request("http://a.x/")
    if not hasattr(request, "_headers"):
        pytest.skip("this Scrapy has no headers that are made on demand")
    crawler = get_crawler(settings_dict={"USER_AGENT": "mybot"})
    assert CrawlerIdentity(crawler, None).user_agent(request).name == "mybot"
    assert request._headers is None


@pytest.mark.parametrize("name", ["User-Agent", "user-agent", b"USER-AGENT"])
def test_user_agent_in_the_headers_of_a_request_counts(name: str | bytes) -> None:
    identity = CrawlerIdentity(get_crawler(settings_dict={"USER_AGENT": "mybot"}), None)
    request = Request("http://a.x/", headers=[(name, "otherbot/1.0")])
    assert identity.user_agent(request).name == "otherbot"
    request = Request("http://a.x/", headers={"Referer": "http://a.x/"})
    assert identity.user_agent(request).name == "mybot"
