"""Which group a crawler follows: Google's page, "Grouping of lines and rules" and "Order of precedence for user agents"."""

import pytest

from scrapy_gbot_robots import RobotsTxt, UserAgent
from scrapy_gbot_robots.core.crawlers import agents_heeded
from scrapy_gbot_robots.core.robots import groups_of
from scrapy_gbot_robots.core.verdict import MOST_SPECIFIC

from ..support.examples import EXAMPLES
from ..support.oracle import followed_by
from ..support.rows import row, table


@table(
    "name, crawler, free, refused",
    ("E5", "Googlebot", ["/includes/a.css", "/"], []),
    ("E5", "other", ["/"], ["/includes/a.css"]),
    ("E6.1", "a", ["/d", "/g"], ["/c"]),
    ("E6.1", "b", ["/c", "/g"], ["/d"]),
    ("E6.1", "e", ["/c", "/d"], ["/g"]),
    ("E6.1", "f", ["/c", "/d"], ["/g"]),
    ("E6.1", "h", ["/c", "/d", "/g"], []),
    ("E6.2 S6.9", "googlebot-news", ["/carrots"], ["/fish", "/shrimp"]),
    ("E6.2", "other", ["/fish", "/shrimp"], ["/carrots"]),
    ("E6.3", "a", [], ["/", "/x"]),
    ("E6.3", "b", [], ["/", "/x"]),
    ("E6.4", "Googlebot", ["/"], ["/nogooglebot/", "/nogooglebot/x"]),
    ("E6.4", "other", ["/", "/nogooglebot/"], []),
    ("E6.5", "googlebot", ["/directory2/subdirectory1/x", "/x"], ["/directory1/x", "/directory2/x"]),
    ("E6.5", "anothercrawler", [], ["/", "/x", "/directory2/subdirectory1/x"]),
    ("E6.5", "other", ["/", "/directory1/x"], []),
    ("E6.6", "FooBot", ["/x/b", "/z/d"], ["/y/c", "/foo/bar/"]),
    ("E6.6", "BarBot", ["/y/c", "/w/a"], ["/z/d", "/foo/bar/"]),
    ("E6.6", "BazBot", ["/z/d"], ["/foo/bar/"]),
    ("E6.7", "other", ["/publications/", "/publications/a.gif", "/x"], ["/example/", "/a.gif"]),
    ("E6.7", "foobot", ["/example/page.html", "/example/allowed.gif"], ["/", "/example/", "/publications/"]),
    ("E6.7", "barbot", ["/", "/a.gif", "/example/"], ["/example/page.html"]),
    ("E6.7", "bazbot", ["/", "/a.gif", "/example/"], ["/example/page.html"]),
    ("E6.7", "quxbot", ["/", "/a.gif", "/example/page.html"], []),
    ("E10", "otherbot", ["/"], ["/kale"]),
    ("E12.1", "Googlebot", [], ["/", "/x"]),
    ("E12.1", "other", ["/", "/x"], []),
    ("E12.2", "Googlebot", [], ["/", "/x"]),
    ("E12.2", "AdsBot-Google", [], ["/", "/x"]),
    ("E12.2", "other", ["/", "/x"], []),
    ("E12.3 E12-01", "other", [], ["/", "/x"]),
    ("E12.3 E12-01", "AdsBot-Google", ["/", "/x"], []),
    ("E12-02 E12-12", "any", ["/calendar", "/books/"], ["/calendar/x", "/junk/", "/books/fiction/contemporary/x"]),
    ("E12-03", "Googlebot-News", ["/x"], []),
    ("E12-03", "Googlebot", [], ["/x"]),
    ("E12-04", "Unnecessarybot", [], ["/x"]),
    ("E12-04", "other", ["/x"], []),
    ("E12-05", "other", ["/private_file.html"], []),
    ("E12-06", "Googlebot-Image", ["/images/"], ["/images/dogs.jpg"]),
    ("E12-07", "Googlebot-Image", [], ["/x"]),
    ("E12-07", "Googlebot", ["/x"], []),
    ("E12-08", "Googlebot", ["/a.gif?x"], ["/a/b.gif"]),
    ("E12-09", "Mediapartners-Google", ["/x"], []),
    ("E12-09", "other", [], ["/x"]),
    ("E12-10", "Googlebot", [], ["/t.xls"]),
    ("E12-11", "other", ["/", "/x"], []),
    ("E12-13", "other", ["/junk/"], ["/useless_file.html", "/junk/other_useless_file.html"]),
    ("E12-14", "other", ["/public/x"], ["/", "/x", "/public"]),
    ("E12-15", "Storebot-Google", ["/x"], []),
    ("E12-15", "other", [], ["/x"]),
    ("E12-16", "Googlebot", ["/cats", "/cats/x"], ["/", "/x"]),
    ("E12-16", "Storebot-Google", ["/cats", "/cats/x"], ["/", "/x"]),
    ("S12.5", "other", ["/File.asp"], ["/file.asp"]),
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=["LF", "CR", "CRLF"])  # of each line
def test_example(name: str, crawler: str, free: list[str], refused: list[str], end: str) -> None:
    robots = RobotsTxt.parse(EXAMPLES[name.split(" ", 1)[0]].replace("\n", end).encode())
    user_agent = UserAgent.of(crawler)
    urls = [f"https://example.com{path}" for path in free + refused]
    assert [url for url in urls if robots.allowed(url, user_agent)] == urls[: len(free)]
    assert [url for url in urls if robots.verdict(url, user_agent).allowed] == urls[: len(free)]


# S7.3: the order of groups does not count
E7 = b"""\
user-agent: googlebot-news
disallow: /1

user-agent: *
disallow: /2

user-agent: googlebot
disallow: /3
"""


@table(
    "crawler, group",
    row("T7-01", "Googlebot-News", 1),
    row("T7-02", "Googlebot", 3),
    row("T7-02-header", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", 3),
    row("T7-03", "Storebot-Google", 2),
    row("T7-04", "Googlebot-Image", 3),
    row("T7-04-as-written", "googlebot-images", 3),
    row("T7-05", "googlebot-news", 1),
    row("T7-06", "Otherbot", 2),
    row("T7-07", "Otherbot-News", 2),
)  # fmt: skip
def test_crawler_follows_the_most_specific_group(crawler: str, group: int) -> None:
    robots = RobotsTxt.parse(E7)
    user_agent = UserAgent.of(crawler)
    followed = [n for n in (1, 2, 3) if not robots.allowed(f"http://e.com/{n}", user_agent)]
    assert followed == [group]


@table(
    "value, token, group",
    row("T7b-01", "googlebot/1.2", "googlebot", "googlebot"),
    row("T7b-02", "googlebot*", "googlebot", "googlebot"),
    row("T7b-03", "GoogleBot", "googlebot", "googlebot"),
    row("T7b-04", "googlebot", "googlebot-news", None),
    row("T7b-05", "googlebot-news", "googlebot", None),
    row("T7b-06", "Foo Bar", "Foo", "foo"),
    row("T7b-07-token-of-the-header", "Foo Bar", "Foo Bar", "foo"),
    row("T7b-08", "bot2000", "bot", "bot"),
    row("T7b-09-D43-token-of-the-header", "bot2000", "bot2000", "bot"),
    row("D43-dot", "bot.news", "bot.news", "bot"),
    row("comment-and-digits", "bot (new)", "bot9000/1.0", "bot"),
    row("T7b-10", "*", "any", "*"),
    row("T7b-11", "* foo", "any", "*"),
    row("T7b-11-tab", "*\tfoo", "any", "*"),
    row("T7b-12", "*foo", "foo", None),
    row("T7b-13", "*#c", "any", "*"),
    row("T7b-14", "", "any", None),
    row("digits", "123", "any", None),
    row("nobody-is-not-nobody", "123", "", None),
    row("empty-is-not-empty", "", "", None),
)
def test_user_agent_value_names(value: str, token: str, group: str | None) -> None:
    robots = RobotsTxt.parse(f"user-agent: {value}\ndisallow: /".encode())
    verdict = robots.verdict("http://e.com/", token)
    assert verdict.group == group
    assert verdict.allowed == (group is None)
    assert robots.verdict("http://e.com/", token.encode()) == verdict


@pytest.mark.parametrize("token", ["bot2000", "bot/1.0", "my bot", "bot*", "böt"])
def test_token_of_a_crawler_that_is_none_names_no_group(token: str) -> None:
    crawler = UserAgent(token, (token,))  # made by hand: `UserAgent.of` takes the token out
    robots = RobotsTxt.parse(f"user-agent: {token}\ndisallow: /\nuser-agent: *\nallow: /".encode())
    verdict = robots.verdict("http://e.com/", crawler)
    assert verdict[:4] == (True, (True, "/", 4), MOST_SPECIFIC, "*")
    assert followed_by(groups_of(robots), agents_heeded(crawler)).group == "*"


@table(
    "body, user_agent, delay",
    row("global", "user-agent: *\ncrawl-delay: 5", "a", 5.0),
    row("fraction", "user-agent: *\nCrawl-Delay : 0.5 # s", "a", 0.5),
    row("first-counts", "user-agent: *\ncrawl-delay: .5\ncrawl-delay: 7", "a", 0.5),
    row("first-valid-counts", "user-agent: *\ncrawl-delay: x\ncrawl-delay: 7", "a", 7.0),
    row("only-of-agents-above", "user-agent: *\ncrawl-delay: 5\nuser-agent: a\ndisallow: /", "a", None),
    row("own-group", "user-agent: *\ncrawl-delay: 5\nallow: /\nuser-agent: a\ndisallow: /", "a", None),
    row("each-its-own", "user-agent: a\ncrawl-delay: 5\nuser-agent: b\ncrawl-delay: 9", "b", 9.0),
    row("merged", "user-agent: a\nallow: /\nuser-agent: b\nallow: /\nuser-agent: a\ncrawl-delay: 3", "a", 3.0),
    row("before-any-group", "crawl-delay: 5\nuser-agent: *", "a", None),
    row("none", "user-agent: *\nallow: /", "a", None),
    *(
        row(f"bad-{bad[:9]}", f"user-agent: *\ncrawl-delay: {bad}", "a", None)
        for bad in ["", "5 s", "9" * 400, *"-1 nan inf 1e3 1_0 5s 0x1 ٣ .".split()]
    ),
)  # fmt: skip
def test_crawl_delay_of_the_group_followed(body: str, user_agent: str, delay: float | None) -> None:
    robots = RobotsTxt.parse(body.encode())
    assert robots.crawl_delay(user_agent) == delay
    assert robots.crawl_delay(UserAgent.of(user_agent)) == delay
    assert robots.rules_for(user_agent).crawl_delay == delay
