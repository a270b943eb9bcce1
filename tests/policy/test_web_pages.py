"""A web page or other data in place of a robots.txt, or around the text of one."""

import gzip

from scrapy_gbot_robots.core.robots import RobotsTxt
from scrapy_gbot_robots.policy.outages import Kind, Policy, State, decide, renew
from scrapy_gbot_robots.policy.outcome import Fetched, outcome_of
from scrapy_gbot_robots.policy.web_pages import hides_rules

from ..support.rows import row, table

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


WEB_PAGES = [
    ("log-in", LOG_IN),
    ("byte-order-mark", b"\xef\xbb\xbf  \r\n<HTML lang=en>x"),
    ("xhtml", b'<?xml version="1.0"?>\n<!-- x -->\n<html xmlns="a">x'),
    ("no-html-tag", b"<head></head><p>Disallow: /x</p>"),
    ("rule-of-no-group", b"<body>\nDisallow: /x\n</body>"),
    ("browser", IN_CHROME),
    ("part-of-a-page", b"<div>Page not found</div>"),
    ("heading", b"<h1>404 Not Found</h1>"),
    ("script", b"<script>location='/'</script>"),
    ("edited-as-a-page", b"<p>User-agent: *<br />\nDisallow: /x</p>\n"),
]


@table(
    "body",
    row("S4.5-rules-in-a-page", b"<html>\nuser-agent: *\ndisallow: /x\n</html>"),
    row("S4.5-misspelt", b"<html>\n Useragent: *\ndisallow: /x"),
    row("sitemap-in-a-page", b"<html>\nsitemap: https://example.com/s.xml"),
    row("empty", b""),
    row("text", b"not a page"),
    row("comment", b"# <html>\nuser-agent: *\ndisallow: /x"),
    row("rules-below-a-tag", b"<br />\nuser-agent: *\ndisallow: /x"),
    row("no-tag-of-html", b"<prefix>"),
)
def test_any_other_file_keeps_what_it_says(body: bytes) -> None:
    answer = outcome(body)
    assert not answer.instead
    decision = decide(renew(None, answer, NOW, Policy()), NOW, Policy())
    assert (decision.state, decision.why) == (State.RULES, "HTTP 200")
    allowed = RobotsTxt.parse(body).allowed("https://example.com/x", "mybot")
    assert allowed == (b"disallow: /x" not in body)


@table(
    "body, expected",
    *(row(id, body, "a web page") for id, body in WEB_PAGES),
    row("json-object", b' \n{"error": "not found"}', "JSON"),
    row("json-list", b"\xef\xbb\xbf[]", "JSON"),
    row("gzip", gzip.compress(RULES), "gzip data"),
    row("utf-16", UTF_16, "UTF-16 text"),
    row("utf-16-be", UTF_16_BE, "UTF-16 text"),
    row("utf-16-without-mark", RULES.decode().encode("utf-16-le"), "no text"),
    row("image", b"\x89PNG\r\n\x1a\n\0\0", "no text"),
    row("rules-below-a-bracket", b"{\n" + RULES, ""),
    row("sitemap-below-a-bracket", b"[x]\nsitemap: https://example.com/s.xml", ""),
    row("rules-above-a-nul", RULES + b"# \0", ""),
    row("another-text", b"Forbidden", ""),
)
def test_other_data_in_place_of_a_robots_txt_is_named(body: bytes, expected: str) -> None:
    answer = outcome(body)
    assert (answer.body, answer.instead) == (body, expected)
    policy = Policy(refused="disallow")
    entry = renew(None, answer, NOW, policy)
    assert entry.copy is not None
    assert (entry.copy.kind is Kind.OTHER, entry.copy.body) == (expected != "", body)
    decision = decide(entry, NOW, policy)
    said = f"HTTP 200; no rules: it is {expected}" if expected else "HTTP 200"
    assert (decision.why, decision.state is State.FULL_ALLOW) == (said, expected != "")


@table(
    "body, expected",
    row("chrome", IN_CHROME, "a web page"),
    row(
        "first-of-two-groups",
        b"<html><body><pre>User-agent: a\nAllow: /\n\nUser-agent: *\nDisallow: /\n</pre>",
        "a web page",
    ),
    row("paragraphs", b"<body><p>user-agent : *<br>disallow: /x", "a web page"),
    row("edited-as-a-page", b"<p>User-agent: *<br />\nDisallow: /x</p>", "a web page"),
    row("all-is-read", b"<html>\nuser-agent: *\ndisallow: /x", ""),
    row("all-is-read-in-pre", b"<html><pre>\nuser-agent: *\ndisallow: /x", ""),
    row("log-in", LOG_IN, ""),
    row("header-of-a-request", b"<html><p>User-Agent: Mozilla/5.0</p>", ""),
    row("no-page", b"x <pre>User-agent: *\nDisallow: /", ""),
    row("utf-16", UTF_16, "UTF-16 text"),
    row("utf-16-be", UTF_16_BE, "UTF-16 text"),
    row("utf-16-without-mark", RULES.decode().encode("utf-16-le"), "no text"),
    row("rule-of-no-group", "Disallow: /x".encode("utf-16"), ""),
    row("utf-8", RULES, ""),
    row("rules-above-a-nul", RULES + b"# \0", ""),
    row("gzip", gzip.compress(RULES), ""),
)
def test_rules_inside_a_page_or_in_another_code_are_seen(body: bytes, expected: str) -> None:
    assert hides_rules(body) == expected
