"""What `lint` finds in a robots.txt: each kind of finding, its line, and the order of findings."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core import lint as kinds
from scrapy_gbot_robots.core.known_crawlers import KNOWN_CRAWLERS, KnownCrawler, meant_by
from scrapy_gbot_robots.core.lint import ERROR, NOTE, WARNING, findings
from scrapy_gbot_robots.core.robots import lines_of

HEAD = b"user-agent: *\n"


def found(body: bytes, **options: bool) -> list[tuple[str, int, str]]:
    return [(finding.level, finding.line, finding.kind) for finding in findings(body, **options)]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"# nothing\n\n  # but comments\n", id="comments"),
        pytest.param(b"user-agent: *\ndisallow:\n", id="all-is-allowed"),
        pytest.param(b"user-agent: a\nuser-agent: b\n# both\ndisallow: /x\n\nuser-agent: *\ndisallow: /", id="groups"),
        pytest.param(b"user-agent: *\nallow: /x/y\ndisallow: /x\ndisallow: /", id="exceptions"),
        pytest.param(b"sitemap: https://example.com/s.xml\n", id="sitemap-alone"),
        pytest.param("user-agent: *\ndisallow: /men%C3%BC # für alle\n".encode(), id="utf-8-comment"),
        pytest.param(b"license: https://e.com/l.xml\nuser-agent: *\ndisallow: /x", id="license"),
        pytest.param(b"license: https://e.com/l.xml", id="license-alone"),
        pytest.param(
            b"user-agent: *\ndisallow: /x # why\ndisallow: /y\t#why\ndisallow:#none", id="comments-after-rules"
        ),
        pytest.param(
            b"user-agent: *\ndisallow: /index.*\ndisallow: /*.js.*.gz\ndisallow: /.*\ndisallow: *.*$", id="stars"
        ),
        pytest.param(
            b"user-agent: *\ndisallow: /*?f[a]=1\ndisallow: /(x)\ndisallow: /sky+\ndisallow: /a\\b", id="brackets"
        ),
    ],
)
def test_what_is_in_order_earns_no_finding(body: bytes) -> None:
    assert findings(body) == []


@pytest.mark.parametrize(
    ("line", "level", "kind"),
    [
        pytest.param(b"disallow: x", ERROR, kinds.NO_SLASH.name, id="no-slash"),
        pytest.param(b"disallow: https://example.com/x", ERROR, kinds.NO_SLASH.name, id="whole-url"),
        pytest.param(b"disallow: $", ERROR, kinds.NO_SLASH.name, id="dollar-first"),
        pytest.param(b"disallow: /a /b", ERROR, kinds.SPACE.name, id="two-paths-in-a-rule"),
        pytest.param(b"disallow: /a\t/b", ERROR, kinds.SPACE.name, id="tab-in-a-path"),
        pytest.param(b"disalllow: /x", ERROR, kinds.MISSPELT.name, id="typo-that-is-not-accepted"),
        pytest.param(b"alow: /x", ERROR, kinds.MISSPELT.name, id="typo-of-allow"),
        pytest.param(b"dissallow: /x", WARNING, kinds.TYPO.name, id="typo-that-is-accepted"),
        pytest.param(b"disallowed: /x", WARNING, kinds.PREFIX.name, id="prefix"),
        pytest.param(b"disallow /x", WARNING, kinds.MISSING_COLON.name, id="missing-colon"),
        pytest.param(b"crawl-delay: 3", WARNING, kinds.UNUSED_FIELD.name, id="crawl-delay"),
        pytest.param(b"noindex: /x", ERROR, kinds.NOINDEX.name, id="noindex"),
        pytest.param(b"// no comment", ERROR, kinds.IGNORED.name, id="comment-of-another-language"),
        pytest.param(b"disallow: /x#section", ERROR, kinds.COMMENT_IN_PATH.name, id="hash-in-a-path"),
        pytest.param(b"disallow: /[0-9]+", ERROR, kinds.REGEX.name, id="character-class"),
        pytest.param(b"disallow: /(a|b)/", ERROR, kinds.REGEX.name, id="alternatives"),
        pytest.param(b"disallow: /a(.*)", ERROR, kinds.REGEX.name, id="capture"),
        pytest.param(b"disallow: /search\\?", ERROR, kinds.REGEX.name, id="backslash"),
        pytest.param(b"disallow: /p/\\d{8}/", ERROR, kinds.REGEX.name, id="digits"),
        pytest.param(b"disallow: /a.*b", ERROR, kinds.REGEX.name, id="dot-star-between-words"),
        pytest.param(b"disallow: /video/.*", ERROR, kinds.REGEX.name, id="dot-star-after-a-slash"),
        pytest.param(b"disallow: /p$more", NOTE, kinds.DOLLAR.name, id="dollar-within"),
        pytest.param(b"humans: all", WARNING, kinds.UNKNOWN_FIELD.name, id="unknown-field"),
        pytest.param(b"disallow" * 9 + b": /x", WARNING, kinds.PREFIX.name, id="long-key"),
        pytest.param(b"x" * 99 + b": /x", WARNING, kinds.UNKNOWN_FIELD.name, id="long-unknown-key"),
        pytest.param(b"these are words", ERROR, kinds.IGNORED.name, id="no-directive"),
        pytest.param(b"disallow: /caf\xe9", ERROR, kinds.NOT_UTF8.name, id="latin-1"),
        pytest.param(b"disallow: /a\0b", ERROR, kinds.NOT_UTF8.name, id="nul"),
        pytest.param(b"disallow: /" + b"a" * 20_000, ERROR, kinds.OVER_LONG.name, id="over-long"),
        pytest.param(b"sitemap: /sitemap.xml", ERROR, kinds.BAD_SITEMAP.name, id="relative-sitemap"),
        pytest.param(
            b"sitemap: https://a.example/1\thttps://a.example/2", ERROR, kinds.TWO_SITEMAPS.name, id="two-sitemaps"
        ),
        pytest.param("disallow: /menü".encode(), NOTE, kinds.RAW.name, id="raw-path"),
        pytest.param(b"DisallowAITraining: /x", ERROR, kinds.OTHER_FIELD.name, id="other-field-read-as-a-rule"),
        pytest.param(b"license: /l.xml", ERROR, kinds.BAD_LICENSE.name, id="relative-license"),
    ],
)
def test_a_line_earns_the_finding_of_its_kind(line: bytes, level: str, kind: str) -> None:
    assert found(HEAD + line + b"\ndisallow: /z\n") == [(level, 2, kind)]


@pytest.mark.parametrize(
    ("name", "level", "kind"),
    [
        pytest.param(b"bot2000", ERROR, kinds.AGENT_CUT.name, id="digits"),
        pytest.param(b"Foo Bar", ERROR, kinds.AGENT_CUT.name, id="two-words"),
        pytest.param(b"*bot", ERROR, kinds.NO_AGENT.name, id="star-and-more"),
        pytest.param(b"", ERROR, kinds.NO_AGENT.name, id="empty"),
        pytest.param(b"googlebot/2.1", NOTE, kinds.AGENT_VERSION.name, id="version"),
    ],
)
def test_a_user_agent_that_means_another_is_found(name: bytes, level: str, kind: str) -> None:
    assert found(b"user-agent: " + name + b"\ndisallow: /x\n") == [(level, 1, kind)]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("GPT-Bot", "GPTBot"),
        ("Google", "Googlebot or Googlebot-Image or Googlebot-News"),
        ("ChatGPT", "ChatGPT-User"),
        ("claude", "Claude-SearchBot or ClaudeBot or Claude-User"),
        ("Bing", "Bingbot"),
        ("Googlebot_News", "Googlebot-News"),
    ],
)
def test_a_name_that_looks_like_a_crawler_and_is_none_is_found(name: str, meant: str) -> None:
    (finding,) = findings(f"user-agent: {name}\ndisallow: /x\n".encode())
    assert (finding.level, finding.kind) == (WARNING, kinds.NO_CRAWLER.name)
    assert finding.text.endswith(f"; did you mean {meant}?")


@pytest.mark.parametrize("name", ["googlebot-video", "somebot"])
def test_a_name_of_a_crawler_is_in_order(name: str) -> None:
    assert findings(f"user-agent: {name}\ndisallow: /x\n".encode()) == []


@pytest.mark.parametrize("known", KNOWN_CRAWLERS, ids=lambda known: known.tokens[0])
def test_a_known_crawler_is_one_by_each_of_its_names(known: KnownCrawler) -> None:
    assert known.crawler.name == known.tokens[0]
    assert [meant_by(name) for name in known.tokens] == [[]] * len(known.tokens)


SHARED = b"user-agent: *\ndisallow: /cart\ndisallow: /admin/*\ndisallow: /c\ndisallow: /d\n"


@pytest.mark.parametrize(
    ("own", "opened"),
    [
        (b"disallow: /search", "/cart, /admin/*, /c and 1 more;"),
        (b"disallow: /cart\ndisallow: /admin\ndisallow: /c", "/d;"),
    ],
)
def test_a_group_of_its_own_that_drops_rules_of_all_names_what_it_opens(own: bytes, opened: str) -> None:
    (finding,) = [each for each in findings(SHARED + b"user-agent: Googlebot\nuser-agent: a\n" + own) if each.line == 6]
    assert (finding.level, finding.kind) == (NOTE, kinds.OWN_GROUP.name)
    assert finding.text.startswith(
        f'"googlebot" and others do not heed the group of "*", so this is open to it: {opened}'
    )


@pytest.mark.parametrize(
    ("agent", "own"),
    [
        pytest.param(b"Googlebot", b"disallow:", id="may-fetch-everything"),
        pytest.param(b"Googlebot", b"allow: /\ndisallow: /x", id="may-fetch-nearly-everything"),
        pytest.param(b"badbot", b"disallow: /", id="may-fetch-nothing"),
        pytest.param(b"Googlebot", b"allow: /cart\nallow: /admin\nallow: /d\ndisallow: /c", id="decides-about-each"),
        pytest.param(b"AdsBot-Google", b"disallow: /x", id="never-heeds-all"),
        pytest.param(b"*", b"disallow: /x", id="more-for-all"),
    ],
)
def test_a_group_of_its_own_that_was_meant_is_in_order(agent: bytes, own: bytes) -> None:
    found = {each.kind for each in findings(SHARED + b"user-agent: " + agent + b"\n" + own)}
    assert kinds.OWN_GROUP.name not in found


def test_a_whitelist_opens_nothing() -> None:
    body = b"user-agent: *\ndisallow: /\nuser-agent: Googlebot\ndisallow: /x"
    assert kinds.OWN_GROUP.name not in {each.kind for each in findings(body)}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error":"forbidden"}\n', "this is JSON and no robots.txt: no line"),
        (b"\xef\xbb\xbf [1,\n2]", "this is JSON and no robots.txt: no line"),
        (b"Forbidden", "this is no robots.txt: no line"),
        (b"# a comment\n\nerror: not found\nhumans: all", "this is no robots.txt: no line"),
    ],
)
def test_another_file_is_one_error_as_a_web_page_is(body: bytes, said: str) -> None:
    (finding,) = findings(body)
    assert (finding.level, finding.kind) == (ERROR, kinds.NO_ROBOTS_TXT.name)
    assert finding.text.startswith(said)


def test_a_file_with_misspelt_fields_alone_is_told_line_by_line() -> None:
    assert found(b"disalllow: /\nwords") == [(ERROR, 1, kinds.MISSPELT.name), (ERROR, 2, kinds.IGNORED.name)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"disallow: https://www.example.com/private/", 'leave out scheme and host: "/private/"'),
        (b"// robots for shop", 'a comment begins with "#"'),
        (b"noindex: /x", "use a robots meta tag or the header X-Robots-Tag"),
        (b"disallow: /x#section", 'the rule is "Disallow: /x"'),
        (b"disallow: /[a-z]+/", '"[a-z]+" is matched as it stands'),
    ],
)
def test_a_finding_says_what_to_do(line: bytes, said: str) -> None:
    assert said in findings(HEAD + line)[0].text


def test_each_kind_has_an_id_and_a_section_of_its_page_under_its_level() -> None:
    page = (Path(__file__).parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")
    headings = re.findall(r"^##+ (.*)$", page, re.MULTILINE)
    expected = [
        [f"{level.capitalize()}s", *(kind.id for kind in kinds.KINDS.values() if kind.level == level)]
        for level in kinds.LEVELS
    ]
    assert headings == [heading for level in expected for heading in level]
    assert all(re.fullmatch("[a-z0-9-]+", kind.id) for kind in kinds.KINDS.values())


def test_rules_before_any_group_are_found() -> None:
    assert found(b"disallow: /\nuser-agent: *\ndisallow: /x") == [(ERROR, 1, kinds.RULE_BEFORE_GROUP.name)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param("user-agent: *\ndisallow: /\n".encode("utf-16"), "; save it as UTF-8", id="utf-16"),
        pytest.param(b"\x7fELF\0\0\1\2\nnothing: here\0", "so all is allowed", id="binary"),
    ],
)
def test_binary_data_is_one_finding(body: bytes, said: str) -> None:
    assert found(body) == [(ERROR, 1, kinds.NOT_TEXT.name)]
    assert findings(body)[0].text.endswith(said)


def test_past_the_size_limit_is_found() -> None:
    body = HEAD + b"disallow: /x\n" * 10
    assert [kind for _, _, kind in found(body)] == [kinds.DUPLICATE.name] * 9
    cut = findings(body, max_bytes=26)
    assert [(finding.line, finding.kind) for finding in cut if finding.level == ERROR] == [(2, kinds.CUT.name)]


def test_what_the_limit_cost_is_counted() -> None:
    body = HEAD + b"disallow: /x\n" * 10 + b"# no rule\n"
    text = {size: findings(body, max_bytes=size)[0].text for size in (27, 30, len(body) - 3)}
    assert text[27].endswith("; 127 bytes with 9 rules after it are ignored")
    assert text[30].endswith("; 124 bytes with 8 rules after it are ignored")
    assert text[len(body) - 3].endswith("; 3 bytes with 0 rules after it are ignored")


@pytest.mark.parametrize(
    "page",
    [
        b"<!DOCTYPE html><html><body>\n" + b"<p>Not found</p>\n" * 500,
        b"\xef\xbb\xbf\r\n <html lang=en>\n<p>x: y</p>",
        b'<?xml version="1.0"?>\n<!-- a page -->\n<!doctype   html>\n<a href="http://x/">',
    ],
    ids=["page", "mark-and-space", "xhtml"],
)
def test_a_web_page_is_one_finding(page: bytes) -> None:
    (finding,) = findings(page)
    assert (finding.level, finding.line, finding.kind) == (ERROR, 1, kinds.WEB_PAGE.name)
    assert "all is allowed" in finding.text


def test_a_web_page_that_holds_rules_says_so() -> None:
    (finding,) = findings(b"<html><pre>\nuser-agent: *\ndisallow: /a\ndisallow: /b\n</pre>")
    assert "2 of its lines are read as rules" in finding.text


def test_a_robots_txt_that_mentions_html_is_no_web_page() -> None:
    assert found(b"# <html>\nuser-agent: *\ndisallow: /*.html$\n") == []


@pytest.mark.parametrize("rule", [b"disallow: /", b"disallow: *", b"disallow: /*", b"allow:\ndisallow: /"])
def test_a_whole_site_that_is_disallowed_for_everyone_is_a_warning(rule: bytes) -> None:
    for body in (HEAD + rule, b"user-agent: a\n" + HEAD + rule + b"\nuser-agent: b\ndisallow: /\n"):
        assert (WARNING, kinds.CLOSED.name) in {(level, kind) for level, _, kind in found(body)}


@pytest.mark.parametrize(
    "body",
    [
        HEAD + b"disallow: /$",
        HEAD + b"disallow: /\nallow: /open/",
        HEAD + b"disallow: /\nuser-agent: a\ndisallow:",
        b"user-agent: a\ndisallow: /",
    ],
    ids=["the-front-page", "an-exception", "another-crawler-may", "one-crawler"],
)
def test_a_site_that_is_open_to_somebody_is_not_said_to_be_closed(body: bytes) -> None:
    assert kinds.CLOSED.name not in {kind for _, _, kind in found(body)}


def test_a_name_that_is_cut_is_explained_by_what_the_group_is_for() -> None:
    texts = [findings(b"user-agent: " + name + b"\ndisallow: /x")[0].text for name in (b"mj12bot", b"examplebot/2.0")]
    assert texts[0].startswith('this is for "mj", not for "mj12bot": ')
    assert texts[1].startswith('this is for "examplebot" of any version')


def test_what_the_server_cut_off_is_found() -> None:
    assert found(HEAD + b"disallow: /x", truncated=True) == [(ERROR, 2, kinds.CUT.name)]


def test_strict_reading_does_not_accept_typos() -> None:
    body = HEAD + b"dissallow: /x\nfoo: /x\ndisallow: /y"
    assert found(body, strict=True) == [(ERROR, 2, kinds.MISSPELT.name), (WARNING, 3, kinds.UNKNOWN_FIELD.name)]


SHADOWED = [
    pytest.param("disallow: /a|allow: /a", 2, 3, id="same-path"),
    pytest.param("allow: /a|disallow: /a", 3, 2, id="same-path-allow-first"),
    pytest.param("disallow: /a/|allow: /a/*", 2, 3, id="star-at-the-end-is-longer"),
    pytest.param("allow: /a|disallow: /a*", 2, 3, id="allow-by-a-longer-disallow"),
    pytest.param("disallow: /xab|allow: /*ab", 2, 3, id="star-within-of-equal-length"),
    pytest.param("disallow: /a*b$|allow: /*a*b$", 2, 3, id="anchored"),
    pytest.param("disallow: /d/$|allow: /d/index.html", 2, 3, id="index-page-allows-its-directory"),
]
NOT_SHADOWED = [
    pytest.param("allow: /xab|disallow: /*ab", id="allow-wins-a-tie"),
    pytest.param("disallow: /abc|allow: /a*", id="matches-more-but-is-shorter"),
    pytest.param("disallow: /a|allow: /a/b", id="longer-but-matches-less"),
    pytest.param("disallow: /a|allow: /a*$x", id="dollar-in-the-middle"),
    pytest.param("disallow: /a*$|allow: /a*b", id="other-matches-less"),
    pytest.param("disallow: /a|disallow: /a*", id="same-kind"),
]


@pytest.mark.parametrize(("rules", "shadowed", "by"), SHADOWED)
def test_a_rule_that_never_decides_is_found(rules: str, shadowed: int, by: int) -> None:
    only = [
        finding for finding in findings(HEAD + rules.replace("|", "\n").encode()) if finding.kind == kinds.SHADOWED.name
    ]
    assert [finding.line for finding in only] == [shadowed]
    assert f"in line {by} matches all of it" in only[0].text


@pytest.mark.parametrize("rules", NOT_SHADOWED)
def test_a_rule_that_may_decide_is_not_called_shadowed(rules: str) -> None:
    assert kinds.SHADOWED.name not in {kind for _, _, kind in found(HEAD + rules.replace("|", "\n").encode())}


def test_shadowed_rules_never_decide_any_url() -> None:
    """Random rules of two letters: no rule that is called shadowed decides about any path of up to six letters."""
    chance = random.Random(11)
    paths = ["/" + "".join(chance.choice("ab") for _ in range(chance.randrange(6))) for _ in range(150)]
    called = 0
    for _ in range(300):
        patterns = ["/" + "".join(chance.choice("aabb*") for _ in range(chance.randrange(4))) for _ in range(6)]
        rules = [
            f"{chance.choice(['allow', 'disallow'])}: {pattern}{chance.choice(['', '', '$'])}" for pattern in patterns
        ]
        body = "\n".join(["user-agent: *", *rules]).encode()
        shadowed = {finding.line for finding in findings(body) if finding.kind == kinds.SHADOWED.name}
        called += len(shadowed)
        robotstxt = RobotsTxt.parse(body)
        decided = {rule.line for path in paths if (rule := robotstxt.verdict(path, "any").rule) is not None}
        assert not shadowed & decided, body
    assert called > 100


def test_strict_reading_knows_no_index_page() -> None:
    body = HEAD + b"disallow: /d/$\nallow: /d/index.html"
    assert kinds.SHADOWED.name not in {finding.kind for finding in findings(body, strict=True)}


def test_merged_groups_shadow_for_whom_they_are_merged() -> None:
    body = b"user-agent: a\nuser-agent: b\ndisallow: /x\n\nuser-agent: a\nallow: /x\n"
    (finding,) = findings(body)
    assert (finding.line, finding.kind) == (3, kinds.SHADOWED.name)
    assert 'for "a":' in finding.text
    (finding,) = findings(body.replace(b"user-agent: a\nallow", b"user-agent: a\nuser-agent: b\nallow"))
    assert 'for "a" and others:' in finding.text


def test_groups_that_are_joined_by_mistake_are_found() -> None:
    body = b"user-agent: a\ncrawl-delay: 3\n\nuser-agent: b\nuser-agent: c\n# d\nuser-agent: d\ndisallow: /"
    assert found(body) == [(WARNING, 4, kinds.JOINED.name), (WARNING, 2, kinds.UNUSED_FIELD.name)]


def test_a_group_without_rules_is_found() -> None:
    assert found(b"user-agent: b\ndisallow: /\nuser-agent: a\n") == [(NOTE, 3, kinds.NO_RULES.name)]
    assert found(b"user-agent: 7\n") == [(ERROR, 1, kinds.NO_AGENT.name), (NOTE, 1, kinds.NO_RULES.name)]


def test_the_worst_comes_first() -> None:
    body = b"user-agent: *\nuser-agent: b/1\nnoindex: /\ndissalow: /\nallow: x\nallow: x\nsitemap: s\nword\n"
    levels = [level for level, _, _ in found(body)]
    assert levels == sorted(levels, key=[ERROR, WARNING, NOTE].index)
    assert set(levels) == {ERROR, WARNING, NOTE}


def test_all_texts_are_printable_whatever_the_bytes() -> None:
    chance = random.Random(7)
    for _ in range(200):
        body = HEAD + bytes(chance.randrange(256) for _ in range(200)).replace(b"\0", b":")
        for finding in findings(body):
            assert finding.text.isprintable()
            assert 1 <= finding.line <= len(lines_of(RobotsTxt.parse(body)))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            b"".join(b"user-agent: %s\nuser-agent: b\ndisallow: /%d\n" % (b"a" * n, n) for n in range(900)),
            id="merging",
        ),
        pytest.param(
            b"".join(b"user-agent: %s\n" % (b"a" * n) for n in range(1, 300))
            + b"disallow: /\n" * 5000
            + b"".join(b"user-agent: %s\nallow: /x\n" % (b"a" * n) for n in range(1, 300)),
            id="shared-rules",
        ),
    ],
)
def test_hostile_files_take_seconds_at_the_most(body: bytes) -> None:
    began = time.process_time()
    findings(body)
    assert time.process_time() - began < 120


def test_what_was_not_compared_is_said() -> None:
    body = HEAD + b"".join(b"disallow: /*a%d\nallow: /%d*\n" % (n, n) for n in range(14_000))
    began = time.process_time()
    assert [(finding.line, finding.kind) for finding in findings(body)] == [(1, kinds.TOO_MANY.name)]
    assert time.process_time() - began < 120


@pytest.mark.parametrize(
    ("lines", "number", "kind"),
    [
        pytest.param([b"content-usage: train-ai=yes"], 3, kinds.UNREADABLE.name, id="yes-for-y"),
        pytest.param([b"content-usage: Train-AI=n"], 3, kinds.UNREADABLE.name, id="upper-case"),
        pytest.param([b"content-usage: /x train-ai=n,"], 3, kinds.UNREADABLE.name, id="no-dictionary"),
        pytest.param([b"content-signal: ai-train=n"], 3, kinds.UNREADABLE.name, id="n-for-no"),
        pytest.param([b"content-signal: /x ai-train=no"], 3, kinds.UNREADABLE.name, id="path"),
        pytest.param([b"content-signal: use=all"], 3, kinds.UNREADABLE.name, id="use"),
        pytest.param(
            [b"content-usage: /x train-ai=y", b"content-usage: /x train-ai=n"], 4, kinds.CONTRADICTING.name, id="y-and-n"
        ),
        pytest.param(
            [b"content-usage: train-ai=n", b"user-agent: own", b"allow: /"], 4, kinds.NOT_REPEATED.name, id="own-group"
        ),
        pytest.param([b"llm-policy: x"], 3, kinds.NO_STANDARD.name, id="llm-policy"),
    ],
)  # fmt: skip
def test_a_preference_that_means_less_than_it_says_is_found(lines: list[bytes], number: int, kind: str) -> None:
    body = b"\n".join([b"user-agent: *", b"disallow: /z", *lines])
    assert [finding.line for finding in findings(body) if finding.kind == kind] == [number]


@pytest.mark.parametrize(
    "line",
    [
        b"content-usage: train-ai=n, x=1",
        b"content-usage: /a search=y",
        b"content-signal: ai-train=no, search=yes, use=full",
    ],
)
def test_a_preference_in_order_is_only_told_as_unused(line: bytes) -> None:
    assert found(b"user-agent: *\ndisallow: /z\n" + line) == [(WARNING, 3, kinds.UNUSED_FIELD.name)]
