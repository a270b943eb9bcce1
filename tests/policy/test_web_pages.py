"""A web page or other data in place of a robots.txt, or around the text of one."""

import gzip

import pytest

from scrapy_gbot_robots.core.robots import RobotsTxt
from scrapy_gbot_robots.policy.outages import Kind, Policy, State, decide, renew
from scrapy_gbot_robots.policy.outcome import Fetched, outcome_of
from scrapy_gbot_robots.policy.web_pages import hides_rules

URL = "https://example.com/robots.txt"
NOW = 1_700_000_000.0
RULES = b"User-agent: *\nDisallow: /x\n"
UTF_16 = RULES.decode().encode("utf-16")
UTF_16_BE = b"\xfe\xff" + RULES.decode().encode("utf-16-be")
LOG_IN = (
    b"<!DOCTYPE html>\n<html><head><title>Log in</title></head><body>Please log in.</body></html>"
)
IN_CHROME = (
    b'<html><head><meta name="color-scheme" content="light dark"></head><body>'
    b'<pre style="white-space: pre-wrap;">User-agent: *\nDisallow: /private\n</pre></body></html>'
)


def outcome(body: bytes) -> Fetched:
    answer = outcome_of(200, URL, body, soft_404=True, proxied=False, headers={})
    assert isinstance(answer, Fetched)
    return answer


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(LOG_IN, id="log-in"),
        pytest.param(b"\xef\xbb\xbf  \r\n<HTML lang=en>x", id="byte-order-mark"),
        pytest.param(b'<?xml version="1.0"?>\n<!-- x -->\n<html xmlns="a">x', id="xhtml"),
        pytest.param(b"<head></head><p>Disallow: /x</p>", id="no-html-tag"),
        pytest.param(b"<body>\nDisallow: /x\n</body>", id="rule-of-no-group"),
        pytest.param(IN_CHROME, id="browser"),
        pytest.param(b"<div>Page not found</div>", id="part-of-a-page"),
        pytest.param(b"<h1>404 Not Found</h1>", id="heading"),
        pytest.param(b"<script>location='/'</script>", id="script"),
        pytest.param(b"<p>User-agent: *<br />\nDisallow: /x</p>\n", id="edited-as-a-page"),
    ],
)
def test_web_page_that_says_nothing_to_crawlers_has_no_rules(body: bytes) -> None:
    answer = outcome(body)
    assert (answer.body, answer.instead) == (body, "a web page")
    entry = renew(None, answer, NOW, Policy(refused="disallow"))
    assert entry.copy is not None
    assert (entry.copy.kind, entry.copy.body) == (Kind.OTHER, body)
    decision = decide(entry, NOW, Policy(refused="disallow"))
    assert (decision.state, decision.why) == (
        State.FULL_ALLOW,
        "HTTP 200; no rules: it is a web page",
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>\nuser-agent: *\ndisallow: /x\n</html>", id="S4.5-rules-in-a-page"),
        pytest.param(b"<html>\n Useragent: *\ndisallow: /x", id="S4.5-misspelt"),
        pytest.param(b"<html>\nsitemap: https://example.com/s.xml", id="sitemap-in-a-page"),
        pytest.param(b"", id="empty"),
        pytest.param(b"not a page", id="text"),
        pytest.param(b"# <html>\nuser-agent: *\ndisallow: /x", id="comment"),
        pytest.param(b"<br />\nuser-agent: *\ndisallow: /x", id="rules-below-a-tag"),
        pytest.param(b"<prefix>", id="no-tag-of-html"),
    ],
)
def test_any_other_file_keeps_what_it_says(body: bytes) -> None:
    answer = outcome(body)
    assert not answer.instead
    decision = decide(renew(None, answer, NOW, Policy()), NOW, Policy())
    assert (decision.state, decision.why) == (State.RULES, "HTTP 200")
    allowed = RobotsTxt.parse(body).allowed("https://example.com/x", "mybot")
    assert allowed == (b"disallow: /x" not in body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b' \n{"error": "not found"}', "JSON", id="json-object"),
        pytest.param(b"\xef\xbb\xbf[]", "JSON", id="json-list"),
        pytest.param(gzip.compress(RULES), "gzip data", id="gzip"),
        pytest.param(UTF_16, "UTF-16 text", id="utf-16"),
        pytest.param(UTF_16_BE, "UTF-16 text", id="utf-16-be"),
        pytest.param(RULES.decode().encode("utf-16-le"), "no text", id="utf-16-without-mark"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0", "no text", id="image"),
        pytest.param(b"{\n" + RULES, "", id="rules-below-a-bracket"),
        pytest.param(b"[x]\nsitemap: https://example.com/s.xml", "", id="sitemap-below-a-bracket"),
        pytest.param(RULES + b"# \0", "", id="rules-above-a-nul"),
        pytest.param(b"Forbidden", "", id="another-text"),
    ],
)
def test_other_data_in_place_of_a_robots_txt_is_named(body: bytes, expected: str) -> None:
    answer = outcome(body)
    assert answer.instead == expected
    decision = decide(renew(None, answer, NOW, Policy()), NOW, Policy())
    said = f"HTTP 200; no rules: it is {expected}" if expected else "HTTP 200"
    assert (decision.why, decision.state is State.FULL_ALLOW) == (said, expected != "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(IN_CHROME, "a web page", id="chrome"),
        pytest.param(
            b"<html><body><pre>User-agent: a\nAllow: /\n\nUser-agent: *\nDisallow: /\n</pre>",
            "a web page",
            id="first-of-two-groups",
        ),
        pytest.param(b"<body><p>user-agent : *<br>disallow: /x", "a web page", id="paragraphs"),
        pytest.param(
            b"<p>User-agent: *<br />\nDisallow: /x</p>", "a web page", id="edited-as-a-page"
        ),
        pytest.param(b"<html>\nuser-agent: *\ndisallow: /x", "", id="all-is-read"),
        pytest.param(b"<html><pre>\nuser-agent: *\ndisallow: /x", "", id="all-is-read-in-pre"),
        pytest.param(LOG_IN, "", id="log-in"),
        pytest.param(b"<html><p>User-Agent: Mozilla/5.0</p>", "", id="header-of-a-request"),
        pytest.param(b"x <pre>User-agent: *\nDisallow: /", "", id="no-page"),
        pytest.param(UTF_16, "UTF-16 text", id="utf-16"),
        pytest.param(UTF_16_BE, "UTF-16 text", id="utf-16-be"),
        pytest.param(RULES.decode().encode("utf-16-le"), "no text", id="utf-16-without-mark"),
        pytest.param("Disallow: /x".encode("utf-16"), "", id="rule-of-no-group"),
        pytest.param(RULES, "", id="utf-8"),
        pytest.param(RULES + b"# \0", "", id="rules-above-a-nul"),
        pytest.param(gzip.compress(RULES), "", id="gzip"),
    ],
)
def test_rules_inside_a_page_or_in_another_code_are_seen(body: bytes, expected: str) -> None:
    assert hides_rules(body) == expected
