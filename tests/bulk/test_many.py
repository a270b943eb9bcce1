"""Many URLs judged at a time get the same answers as one by one."""

import tracemalloc

import pytest

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.bulk import many
from scrapy_gbot_robots.bulk.many import SiteUrls, Sweep
from scrapy_gbot_robots.core.url_forms import allowed_in_all_forms

SITE = "https://www.example.com"


def swept(rules: str, paths: list[str]) -> tuple[list[int], list[int]]:
    """The answers to URLs with these paths, judged all at a time and one by one."""
    crawler = RobotsTxt.parse(f"user-agent: *\n{rules}".encode()).rules_for("a")
    urls = sorted(SITE + path for path in paths)
    answers = Sweep(crawler).allowed(SiteUrls(urls, SITE))
    one_by_one = RobotsTxt.parse(f"user-agent: *\n{rules}".encode()).rules_for("a")
    return list(answers), [allowed_in_all_forms(one_by_one, url) for url in urls]


PATHS = """
/ /a /a/ /a/b /a/b/c /ab /a.php /a.php?x=1 /a/b.php /A /b?sort=x /b/?sort=x&y=1 /b;x /%C3%BC /%c3%bc /ü /ü/a /a#b /#a
/a%2Fb /a%2fb /a%20b /%D0%B0 /x/../a /x/./y /%61/b /b? /b?#x /a|b /a\\b /.well-known /index.htm /index.html /d/ /d/index.html /a* /a$ /a*$ /robots.txt /x/y/z /x/y/z.php /x//y /b /b/ /b/c
""".split()


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param("disallow:\ndisallow: /a", id="a rule without a path beside another"),
        pytest.param("allow: /a", id="allow alone"),
        pytest.param("disallow: /", id="everything"),
        pytest.param("disallow: /a\nallow: /a/b", id="the longer one decides"),
        pytest.param("disallow: /a\nallow: /a", id="allow wins a tie"),
        pytest.param("disallow: /a\ndisallow: /a*\nallow: /a", id="a star at the end counts"),
        pytest.param("disallow: /*.php\nallow: /a.php$", id="wildcards"),
        pytest.param("disallow: /*/*/z\ndisallow: *sort=", id="several stars, and no slash"),
        pytest.param("disallow: /x*\nallow: /*y", id="a wildcard that allows"),
        pytest.param("disallow: /ü\nallow: /ü/a", id="past ASCII"),
        pytest.param("disallow: /\nallow: /index.html\nallow: /d/index.html", id="index pages"),
        pytest.param("disallow: a*\ndisallow: a*b\ndisallow: ?*x", id="a beginning that no path has"),
        pytest.param("disallow: example", id="text of the site is no path"),
        pytest.param("disallow: /$", id="the end alone"),
        pytest.param("disallow: $\nallow: *", id="nothing up to the end"),
        pytest.param("disallow: /a*$\nallow: /a*/*$", id="stars before the end"),
        pytest.param("disallow: /a*b\ndisallow: /x/*z$", id="a beginning that is the longest text"),
        pytest.param(
            "disallow: /no*.html\ndisallow: /a*none\ndisallow: /none*", id="beginnings or segments that no URL has"
        ),
        pytest.param("\n".join(f"disallow: /x/{n}" for n in range(50)) + "\ndisallow: /x/y", id="more rules than URLs"),
    ],
)
def test_answers_are_those_of_asking_one_by_one(rules: str) -> None:
    for paths in (PATHS, [path for path in PATHS if path.isascii() and "%" not in path and "#" not in path]):
        at_a_time, one_by_one = swept(rules, paths)
        assert at_a_time == one_by_one


def test_line_feed_in_a_url_is_no_end_of_it() -> None:
    paths = [path + end for path in PATHS for end in ("", "\n", "\n/a", "\r\n")]
    at_a_time, one_by_one = swept("disallow: /a\ndisallow: /*.php$", paths)
    assert at_a_time == one_by_one
    assert 0 < sum(at_a_time) < len(at_a_time)


def test_each_way_of_looking_gives_the_same_answers() -> None:
    prefixes = "".join(f"disallow: /filler/{n}\n" for n in range(1_000))
    wildcards = "".join(f"disallow: /*{word}*{n}\n" for n in range(300) for word in ("x", "php"))
    for paths in (PATHS[:2], PATHS, PATHS * 50):  # one by one; by rule; by the index if there are wildcards
        for others in ("", prefixes, wildcards):
            at_a_time, one_by_one = swept(f"{others}disallow: /a\nallow: /a/b\ndisallow: /x", paths)
            assert at_a_time == one_by_one


@pytest.mark.parametrize("pattern", ["/{}", "/{}*/*x", "/*{}"])
def test_rules_that_were_put_to_one_site_can_be_put_to_another(pattern: str) -> None:
    lines = ["user-agent: *", "allow: /70x", *(f"disallow: {pattern.format(n)}" for n in range(60, 160))]
    rules = RobotsTxt.parse("\n".join(lines).encode()).rules_for("a")
    sweep = Sweep(rules)
    for site in (SITE, "http://other.example"):
        urls = sorted(f"{site}/{n}x{'/x' * (n % 20)}" for n in range(50, 150, 10))
        assert list(sweep.allowed(SiteUrls(urls, site))) == [rules.allowed(url) for url in urls]


def test_memory_is_bounded_however_many_wildcards_match_however_many_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "".join(f"disallow: /*{'a' * (n % 7 + 1)}*{'b' * (n // 7 + 1)}\n" for n in range(60))
    sweep = Sweep(RobotsTxt.parse(f"user-agent: *\n{rules}".encode()).rules_for("a"))
    urls = SiteUrls(sorted(f"{SITE}/aaaaaaabbbbbbbbb{n}" for n in range(2_000)), SITE)
    monkeypatch.setattr(many, "_MOST_TRIES", 100_000)
    tracemalloc.start()
    try:
        for _ in range(2):  # the second time, the rules are known
            assert not any(sweep.allowed(urls))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
