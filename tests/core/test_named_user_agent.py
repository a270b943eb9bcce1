"""Named user agents: what counts of a name, which texts can be asked about, and the words for the group that is heeded."""

import pytest

from scrapy_gbot_robots import RobotsTxt, UserAgent
from scrapy_gbot_robots.core import named_user_agent
from scrapy_gbot_robots.core.known_crawlers import KNOWN_CRAWLERS, KnownCrawler, did_you_mean
from scrapy_gbot_robots.core.named_user_agent import (
    NamedUserAgent,
    group_in_words,
    group_line,
    verdict_on,
)

from ..support.rows import table

ROBOTS_TXT = b"""\
User-agent: a
Disallow: /one

User-agent: b
User-agent: a
Disallow: /two

User-agent: *
Disallow: /
"""


@table(
    "name, source, shown",
    ("mybot", "--as", "mybot"),
    ("*", "--as", "*"),
    ("mybot", "USER_AGENT", "mybot, from USER_AGENT"),
    ("mybot/1.0", "--as", 'mybot, from --as "mybot/1.0"'),
    ("mybot/1.0 (+http://x)", "--as", 'mybot, from --as "mybot/1.0 (+http://x)"'),
    ("bot2000/1.0", "--as", 'bot, from --as "bot2000/1.0"'),
    ("MJ12bot", "--as", "MJ12bot"),
)
def test_named_user_agent_shows_what_counts_of_a_name(name: str, source: str, shown: str) -> None:
    assert str(NamedUserAgent.of(name, source)) == shown


@table(
    "name, error",
    ("123", '"123" does not name a crawler: a product token has letters, "-" and "_" only'),
    (
        "Google Extended",
        '"Google Extended" is not the name of a crawler, because it would be read as "Google"; '
        "did you mean Google-Extended.",
    ),
    (
        "my bot",
        '"my bot" is not the name of a crawler, because it would be read as "my": a product .*',
    ),
    (
        "GPTBot|CCBot",
        r'"GPTBot\|CCBot" is not the name of a crawler, because it would be read as "GPTBot".*',
    ),
)
def test_name_that_would_be_read_as_another_is_refused(name: str, error: str) -> None:
    with pytest.raises(ValueError, match=f"^{error}$"):
        NamedUserAgent.of(name, "--as")


@table(
    "name, tokens",
    ("Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)", ("MJ",)),
    ("applebot", ("Applebot", "Googlebot")),
    ("YandexBot/3.0", ("YandexBot", "Yandex")),
    ("Mozilla/5.0+(compatible;+YandexBot/3.0;++http://a.example/)", ("YandexBot", "Yandex")),
    ("yandex", ("yandex",)),
    ("bot2000", ("bot",)),
)
def test_crawler_falls_back_and_no_token_has_digits(name: str, tokens: tuple[str, ...]) -> None:
    assert NamedUserAgent.of(name, "--as").crawler.tokens == tokens


@pytest.mark.parametrize("known", KNOWN_CRAWLERS, ids=lambda known: known.tokens[0])
def test_each_crawler_of_the_list_can_be_asked_for_by_its_name(known: KnownCrawler) -> None:
    named = NamedUserAgent.of(known.tokens[0], "--as")
    assert (named.crawler, named.name) == (known.crawler, known.tokens[0])
    assert "".join(map(did_you_mean, known.tokens)) == ""


def test_commas_part_names_but_a_header_is_one() -> None:
    assert named_user_agent.names_in("a, b,*") == ["a", "b", "*"]
    header = "Mozilla/5.0 (KHTML, like Gecko; compatible; bot/1)"
    assert named_user_agent.names_in(f" {header} ") == [header]


def test_name_like_that_of_a_known_crawler_gets_a_hint() -> None:
    (hint,) = named_user_agent.hints_on(["GPT-Bot", "GPTBot", "mybot"])
    assert hint == 'no known crawler is called "GPT-Bot"; did you mean GPTBot?'


@table(
    "name, meant",
    ("Gogglebot", "Googlebot"),
    ("Bingbott", "Bingbot"),
    ("claudbot", "ClaudeBot"),
    ("Googlebot-Imgae", "Googlebot-Image"),
    ("mybot", None),
    ("examplebot", None),
    ("shopbot", None),
    ("ads", None),
    ("store", None),
    ("GPTBot", None),
    ("a" * 5_000 + "bot", None),
)
def test_misspelt_name_of_a_known_crawler_gets_a_hint(name: str, meant: str | None) -> None:
    hint = f'no known crawler is called "{name}"; did you mean {meant}?'
    assert [*named_user_agent.hints_on([name])] == ([hint] if meant else [])


def test_text_that_is_neither_url_nor_path_cannot_be_asked_about() -> None:
    assert named_user_agent.checked_url("/a", has_robots=True) == "/a"
    assert (
        named_user_agent.checked_url("https://a.example/b", has_robots=False)
        == "https://a.example/b"
    )
    with pytest.raises(ValueError, match='^"a" is not an absolute URL, or a path such as /a$'):
        named_user_agent.checked_url("a", has_robots=True)
    with pytest.raises(ValueError, match='^"/a" is not an absolute URL, such as https://example'):
        named_user_agent.checked_url("/a", has_robots=False)
    with pytest.raises(ValueError, match="mailto"):
        named_user_agent.checked_url("mailto://a", has_robots=True)


@pytest.mark.parametrize("url", ["/robots.txt", "https://a.example/robots.txt"])
def test_robots_txt_itself_is_never_disallowed(url: str) -> None:
    verdict = verdict_on(url, UserAgent.of(""), RobotsTxt.parse(ROBOTS_TXT))
    assert verdict == (True, None, "a robots.txt itself is never disallowed", None, None)


@table(
    "url, name, line, words",
    ("/one", "a", 1, '"a" (line 1): it names the crawler'),
    ("/two", "a", 5, '"a" (line 5): it names the crawler'),  # the group of the deciding rule
    ("/x", "a", 1, '"a" (line 1): it names the crawler'),
    ("/x", "c", 8, '"*" (line 8): no group names c'),
    ("/x", "MJ12bot", 8, '"*" (line 8): no group names MJ12bot (read as MJ)'),
    ("/x", "*", 8, '"*" (line 8): it names the crawler'),
    ("/x", "AdsBot-Google", None, "none: no group names AdsBot-Google; it ignores *"),
    ("/x", "Google-Safety", None, "none: this crawler ignores robots.txt"),
)
def test_words_for_a_group(url: str, name: str, line: int | None, words: str) -> None:
    robotstxt, crawler = RobotsTxt.parse(ROBOTS_TXT), NamedUserAgent.of(name, "--as").crawler
    verdict = verdict_on(url, crawler, robotstxt)
    assert group_line(robotstxt, verdict) == line
    assert group_in_words(crawler, verdict.group, line) == words


@pytest.mark.parametrize("line", [b"User-agent:", rb"User-agent: *\nDisallow: /x"])
def test_line_without_a_name_begins_no_group_that_was_used(line: bytes) -> None:
    robotstxt = RobotsTxt.parse(line + b"\nDisallow: /x\n")
    verdict = verdict_on("/x", UserAgent.of("mybot"), robotstxt)
    assert (verdict.allowed, verdict.group) == (True, None)
    assert group_line(robotstxt, verdict) is None


def test_words_for_a_file_without_a_group_and_for_a_group_of_another() -> None:
    assert group_in_words(UserAgent.of("a"), None, None) == "none: no group names a or *"
    assert group_in_words(UserAgent.of("a"), "b", 1) == '"b" (line 1): no group names a or *'
    other = RobotsTxt.parse(b"User-agent: b\nDisallow: /\n")
    assert group_line(other, RobotsTxt.parse(ROBOTS_TXT).verdict("/x", "a")) is None
    words = group_in_words(UserAgent.of("a"), "a", 1, b"Disallow: /\n")
    assert words == '"a" (line 1): it names the crawler'  # this line does not name it


@table(
    "line, shown",
    (b"User-agent: GPTBot", '"GPTBot"'),
    (b"\xef\xbb\xbfuser-agent\tgptBOT/1.2  # any version", '"gptBOT"'),
)
def test_group_is_spelt_as_in_the_file(line: bytes, shown: str) -> None:
    body = line + b"\nDisallow: /\n"
    crawler = UserAgent.of("gptbot")
    verdict = RobotsTxt.parse(body).verdict("/a", crawler)
    words = group_in_words(crawler, verdict.group, 1, body)
    assert words == f"{shown} (line 1): it names the crawler"


@table(
    "user_agent, problem",
    ("mybot/1.0 (+https://example.com)", ""),
    ("FeedFetcher-Google", "which ignores robots.txt, so this crawl obeys no rules"),
    ("my bot", 'is read as "my", because a product token has letters, "-" and "_" only'),
    ("Mozilla/5.0 (X11; Linux) Chrome/120.0", "does not name your crawler"),
    ("80legs", 'does not name your crawler (a name begins with a letter, "-" or "_"), so no'),
    ("GPTBot/1.2", "obeys the rules for GPTBot (if you mean that, set GBOT_ROBOTS_USER_AGENTS"),
)
def test_user_agent_that_is_no_name_of_ones_own_is_told(user_agent: str, problem: str) -> None:
    assert problem in named_user_agent.problem_of(user_agent)
    assert bool(problem) == bool(named_user_agent.problem_of(user_agent))


@table(
    "name, source, shown, as_typed",
    ("bingbot", "--as", 'Bingbot, from --as "bingbot"', "bingbot"),
    ("Bingbot", "--as", "Bingbot", "Bingbot"),
    ("MyBot/2.0 (+http://x)", "--as", 'MyBot, from --as "MyBot/2.0 (+http://x)"', "MyBot"),
    ("bingbot/2.0", "--as", 'Bingbot, from --as "bingbot/2.0"', "bingbot"),
    ("*", named_user_agent.NOBODY, "* (any crawler that no group names; --as Googlebot asks for one)", "*"),
)  # fmt: skip
def test_crawler_is_shown_with_its_source_and_as_it_was_typed(
    name: str, source: str, shown: str, as_typed: str
) -> None:
    named = NamedUserAgent.of(name, source)
    assert (str(named), named.as_typed) == (shown, as_typed)


def test_name_that_the_text_lacks_is_shown_as_it_is() -> None:
    named = NamedUserAgent(UserAgent.of("otherbot"), "--as", "a text (without it)")
    assert named.as_typed == "otherbot"
