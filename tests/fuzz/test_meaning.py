"""One robots.txt has one meaning, however it is asked, and one URL one origin."""

from hypothesis import example, given
from hypothesis import strategies as st

from ..support import strategies as some
from . import promises


@given(some.BODIES | some.GROUPS.map(some.written), some.URLS | some.PATHS, some.USER_AGENTS)
@example(b"user-agent:\xa0googlebot\ndisallow: /", "/", "googlebot")
@example(b"User-agent: a\nDisallow\nUser-agent: b\nDisallow: /", "/", "a")
@example(b"User-agent: a\nfoo: b\nuser-agent b\n\nDisallow: /\nallow /x\nUser-agent: *", "/x", "b")
@example(b"User-agent: a\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 2\nAllow: /", "/", "b")
@example(
    b"User-agent: a\nAllow: /\nUser-agent: *\nUser-agent: a\nCrawl-delay: x\nCrawl-delay: 3",
    "/",
    "a",
)
@example(b"\xef\xbb\xbf\xef\xbb\xbfUser-agent: a\0\nDisallow: /", "/", "a")
@example(
    b"content-signal: x\nuser-agent: 7\ncontent-usage: y\nuser-agent: a\ncontent-usage z", "/", "a"
)
def test_robots_txt_has_one_meaning_however_it_is_asked(
    body: bytes, url: str, user_agent: str
) -> None:
    promises.assert_told_in_full(body)
    promises.assert_all_are_read_as_one(body)
    promises.assert_one_meaning(body, url, user_agent)
    written_url, written_agent = (
        text.encode("utf-8", "surrogatepass") for text in (url, user_agent)
    )
    promises.assert_one_meaning(body, written_url, written_agent)


@given(some.BODIES | some.GROUPS.map(some.written), some.URLS, some.USER_AGENTS)
def test_long_file_has_one_meaning_however_it_is_asked(
    body: bytes, url: str, user_agent: str
) -> None:
    with promises.small_limits():
        promises.assert_one_meaning(body, url, user_agent)
        promises.assert_told_in_full(body)
        promises.assert_all_are_read_as_one(body)


@given(
    st.lists(st.tuples(st.booleans(), some.PATTERNS | some.LONG_PATTERNS), min_size=5, max_size=25),
    st.lists(some.PATHS | some.LONG_PATHS, min_size=3, max_size=6),
)
def test_many_rules_have_one_meaning(rules: list[tuple[bool, str]], paths: list[str]) -> None:
    body = some.written([some.WrittenGroup(["*"], rules)])
    for path in paths:
        promises.assert_one_meaning(body, path, "a")
        with promises.small_limits():
            promises.assert_one_meaning(body, path, "a")


@given(some.URLS)
def test_origin_of_any_url_is_stable_or_refused(url: str) -> None:
    promises.assert_origin_is_stable(url)
    promises.assert_origin_is_stable(url.encode("utf-8", "surrogatepass"))
