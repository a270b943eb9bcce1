"""The forms that clients give a URL, compared with what they send. Finding them takes bounded time."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urldefrag

import httpx2
import pytest
import yarl
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from twisted.web.client import URI

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core import url_forms
from scrapy_gbot_robots.core.robots import groups_of
from scrapy_gbot_robots.core.url_forms import names_the_same, other_forms
from scrapy_gbot_robots.core.urls import path_of

from ..support.browser import dom
from ..support.oracle import verdict_of
from ..support.rows import table
from ..support.strategies import URLS

HOST = "http://example.com"


@table(
    "path, verdict",
    ("/public", 'allowed: no rule matches (group "*")'),
    ("/private", 'disallowed by "Disallow: /private" (line 2, group "*")'),
    ("/x/../private", 'disallowed by "Disallow: /private" (line 2, group "*"): some download handlers send it as http://example.com/private'),
    ("/x/../public", 'allowed: no rule matches (group "*")'),
)  # fmt: skip
def test_form_that_is_disallowed_decides_and_is_named(path: str, verdict: str) -> None:
    rules = RobotsTxt.parse(b"user-agent: *\ndisallow: /private").rules_for("a")
    found = url_forms.verdict_on_all_forms(rules, HOST + path)
    assert str(found) == verdict
    assert url_forms.allowed_in_all_forms(rules, HOST + path) == found.allowed
    assert (path in url_forms.disallowed_of_a_site(rules, [path])) != found.allowed


@table(
    "written, sent",
    ("/%70rivate/1", "/private/1"),
    ("/../../private", "/private"),
    ("/private/x/..", "/private/"),
    ("/private/x/..", "/private"),
    ("/x/.%2E/private", "/private"),
    ("/x\\..\\private", "/private"),
    ("/a?q=%7e%41", "/a?q=~A"),
    ("/a^b", "/a%5Eb"),
    ("/pri\t\nvate", "/private"),
    ("/pri\nvate", "/private"),
    ("/private;", "/private"),
    ("/private?#top", "/private"),
    ("/x;1/private;?2", "/x;1/private?2"),
    ("/%zz/%41", "/%25zz/A"),
)
def test_form_that_a_client_sends_is_among_the_forms(written: str, sent: str) -> None:
    assert HOST + sent in other_forms(HOST + written)
    assert HOST + sent in other_forms((HOST + written).encode())


PLAIN = ["", "/", "/~user/x:y", "/.well-known/x", "/@user"]
ODD = ["/a/b.html?c=d&e=f#g", "/a..b/.../c.", "/a+b;c=1/d,e!(f)*$'", "/a;/b;;"]
ESCAPED = ["/caf%C3%A9", "/a%2Fb", "/a%20b", "/a%25b", "/a%00b"]  # no client decodes these


@pytest.mark.parametrize("path", [*PLAIN, *ODD, *ESCAPED])
def test_url_that_all_clients_send_as_written_has_no_other_form(path: str) -> None:
    assert other_forms(HOST + path) == ()


@table(
    "url",
    " http://example.com/a",
    "http://example.com/a ",
    "http://example.com/a\r\n",
    "ht\ntp://exam\tple.com/a",
    "\x00http://example.com/a",
)
def test_white_space_that_clients_take_out_is_taken_out(url: str) -> None:
    assert url_forms.as_sent(url) == "http://example.com/a"
    assert other_forms(url) == ("http://example.com/a",)


def test_user_info_does_not_hide_the_path() -> None:
    assert path_of("http://a;b@example.com/private") != "/private"  # as in Google's parser
    assert other_forms("http://a;b@example.com/private") == ("http://example.com/private",)


def test_text_that_is_no_url_has_no_other_form() -> None:
    assert other_forms("mailto:a@b%41") == other_forms(b"\xff%41") == ()


PIECES = st.sampled_from(
    "/ . .. %2e %2E %41 %7e %2f %25 %3b %3F %26 %5B a b ; = & + @ : ~ ! ^ | [ ] { } \" ' ? ( ) é".split()
)


# What the download handlers of Scrapy send for a URL, after the host.
SENT_BY: dict[str, Callable[[str], str]] = {
    "default": lambda url: URI.fromBytes(urldefrag(url).url.encode()).originForm.decode(),  # type: ignore[no-untyped-call]
    "aiohttp": lambda url: yarl.URL(url).raw_path_qs,
    "httpx": lambda url: httpx2.URL(url).raw_path.decode(),
}


@given(st.sampled_from([*SENT_BY]), st.lists(PIECES, max_size=12).map("".join))
def test_what_a_handler_sends_is_among_the_forms(handler: str, path: str) -> None:
    url = Request(f"{HOST}/{path}").url
    forms = {path_of(form) for form in (url, *other_forms(url))}
    assert path_of(HOST + SENT_BY[handler](url)) in forms


def test_what_a_browser_sends_is_among_the_forms(tmp_path: Path) -> None:
    source = random.Random(5)
    pieces = ["/", "/", ".", "%2e", "%2E", "\\", "a", "%41", ";", "?"]
    urls = [f"{HOST}/{''.join(source.choices(pieces, k=8))}" for _ in range(1_000)]
    read = f"{json.dumps(urls)}.map((url) => new URL(url).href).join(' ')"
    page = tmp_path / "page.html"
    page.write_text(f"<title></title><script>document.title = {read}</script>")
    told = re.search("<title>(.*)</title>", dom(page, "", tmp_path))
    assert told is not None
    for url, sent in zip(urls, told[1].split(), strict=True):
        assert path_of(sent) in {path_of(form) for form in (url, *other_forms(url))}


@given(URLS | URLS.map(lambda url: url.encode("utf-8", "surrogatepass")))
def test_forms_of_any_text_are_few_and_each_is_given_once(url: str | bytes) -> None:
    forms = other_forms(url)
    assert len(forms) == len(set(forms)) <= 5


PLAIN_RULES = ["/a", "/b", "/a/b", "/ab"]
SHAPES = {
    "plain": [],
    "star": ["/a*b", "/*b", "/*a/", "/*?a="],
    "end": ["/a$", "/$", "/a*$"],
    "index": ["/a/index.htm", "/index.html"],
    "no path": [""],
    "escape": ["/%7Ea", "/a%41"],
    "many": [f"/{number}/" for number in range(60)],
    "everything": ["/"],
}


@pytest.mark.parametrize("times", [0, 30])
@pytest.mark.parametrize("disallows", [shape for shape in SHAPES if shape != "index"])
@pytest.mark.parametrize("allows", SHAPES)
def test_several_urls_have_the_answers_of_each(allows: str, disallows: str, times: int) -> None:
    source = random.Random(allows + disallows)
    letters = ["a", "b", "/", "*", "$", "index.html", "%7ea", "~a", "?a="] * 3
    letters += ["?", ";", "/..", "/.", "%61", "#f", " ", "\n"]
    for _ in range(8):
        rules = [f"disallow: {rule}" for rule in source.sample(PLAIN_RULES, 2) + SHAPES[disallows]]
        rules += [f"allow: {rule}" for rule in source.sample(PLAIN_RULES, 1) + SHAPES[allows]]
        body = "\n".join(["user-agent: a", *rules, "user-agent: b", "disallow: /b"]).encode()
        paths = ["/" + "".join(source.choices(letters, k=source.randint(0, 4))) for _ in range(20)]
        paths += ["/a/", "/ab", "/7/"]
        groups = groups_of(RobotsTxt.parse(body))
        asked = RobotsTxt.parse(body).rules_for("a")
        for _ in range(times):
            assert asked.allowed(paths[0]) == asked.allowed(paths[0].encode())
        for some in (paths, paths[:1], paths[:9]):
            disallowed = set()
            for path in some:
                forms = (HOST + path, *other_forms(HOST + path))
                if not all(verdict_of(groups, form, (b"a", b"*")).allowed for form in forms):
                    disallowed.add(path)
            assert url_forms.disallowed_of_a_site(asked, some) == disallowed


@table(
    "url, other, is_same",
    ("http://e.com/a", "http://e.com/a#b", True),
    ("http://e.com/a#b", "http://e.com/a", True),
    ("http://E.com:80/a/../b", "http://e.com/b", True),
    ("http://e.com/%7ea", "http://e.com/~a", True),
    ("http://me:word@e.com/a?", "http://e.com/a", True),
    ("http://e.com", "http://e.com/", True),
    ("http://e.com/\u00e9", "http://e.com/%C3%A9", True),
    ("http://e.com/a", "http://e.com/b", False),
    ("http://e.com/a", "http://e.com/a/", False),
    ("http://e.com/a", "http://e.com/a?b", False),
    ("http://e.com/a", "https://e.com/a", False),
    ("http://e.com/a", "http://www.e.com/a", False),
    ("http://e.com/a", "http://e.com:81/a", False),
    ("http://e.com/a", "about:blank", False),
    ("about:blank#x", "about:blank", True),
)
def test_url_under_which_a_page_comes_is_that_of_its_request(
    url: str, other: str, is_same: bool
) -> None:
    assert names_the_same(url, other) is is_same
