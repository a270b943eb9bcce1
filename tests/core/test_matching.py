"""Which URLs a rule matches, and which of several rules wins: Google's page, "URL matching" and "Order of precedence"."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_gbot_robots import RobotsTxt, UserAgent, Verdict
from scrapy_gbot_robots.core.patterns import matches

from ..support import strategies
from ..support.oracle import does_match
from ..support.rows import row, table

FISH = ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fishheads/yummy.html"]
FISH += ["/fish.php?id=anything"]
NO_FISH = ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"]
PHP = ["/index.php", "/filename.php", "/filename.php/", "/folder/filename.php"]
PHP += ["/folder/filename.php?parameters", "/folder/any.php.file.html"]


def ask(path: str, *rules: str) -> Verdict:
    body = "\n".join(["user-agent: foobot", *rules]).encode()
    verdict = RobotsTxt.parse(body).verdict("http://example.com" + path, "foobot")
    assert RobotsTxt.parse(body).allowed("http://example.com" + path, "foobot") == verdict.allowed
    return verdict


@table(
    "pattern, hits, misses",
    row("T8-01", "/", ["", "/", "/any", "/any/lower?x=y"], []),
    row("T8-02", "/*", ["", "/", "/any", "/any/lower?x=y"], []),
    row("T8-03", "/$", ["", "/"], ["/any", "/any/lower"]),
    row("T8-04", "/fish", FISH, NO_FISH),
    row("T8-05", "/fish*", FISH, NO_FISH),
    row("T8-06", "/fish/", ["/fish/", "/fish/?id=anything", "/fish/salmon.htm"],
        ["/fish", "/fish.html", "/animals/fish/", "/Fish/Salmon.asp"]),
    row("T8-07", "fish/", [], ["/fish/", "/fish/?id=anything", "/fish/salmon.htm"]),
    row("T8-08", "/*.php", PHP, ["/", "/windows.PHP"]),
    row("T8-09", "/*.php$", ["/filename.php", "/folder/filename.php"],
        ["/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"]),
    row("T8-10", "/fish*.php", ["/fish.php", "/fishheads/catfish.php?parameters"], ["/Fish.PHP"]),
    row("T8-11", "/*.gif$", ["/a.gif", "/b/c.gif"], ["/a.gif?x", "/a.gifs"]),
    row("T8-12", "/*.xls$", ["/cats.xls"], ["/cats.xls?personality=loki"]),
    row("T8-13", "/file.asp", ["/file.asp"], ["/File.asp"]),
    row("T8b-01", "*.gif$", ["/q/a.gif"], ["/q/a.gif2"]),
    row("T8b-02", "fish/", [], ["/fish/"]),
    row("T8b-03", "/a$b", ["/a$bc"], ["/a"]),
    row("T8b-04", "/a$*", ["/a$z"], ["/a"]),
    row("T8b-05", "/a$$", ["/a$"], ["/a"]),
    row("T8b-06", "/a*$", ["/abc"], []),
    row("T8b-07", "/a**c", ["/abbc"], []),
    row("T8b-08", "*", ["/"], []),
    row("T8b-09", "$", [], ["/"]),
    row("T8b-10", "/f%2A.html", ["/f%2A.html", "/f%2a.html"], ["/f*.html"]),
    row("T8b-11", "/foo-%24", ["/foo-%24"], ["/foo-$"]),
    row("T8b-12", "/%c3%a9", ["/%C3%A9", "/%c3%a9", "/é"], []),
    row("T8b-13", "/foo/bar/ツ", ["/foo/bar/%E3%83%84", "/foo/bar/ツ"], []),
    row("T8b-14", "/foo/bar/%62%61%7A", ["/foo/bar/%62%61%7A"], ["/foo/bar/baz"]),
    row("T8b-15", "/a b", ["/a b"], ["/a%20b"]),
    row("T8b-16", "/a/b", ["/a/b"], ["/a%2Fb"]),
    row("T8b-17", "/*?", ["/a?b=1"], ["/a"]),
    row("T8b-18", "/?", ["/?b=1", "?b=1"], ["/b"]),
    row("T8b-19", "/a;b", ["/a;b"], ["/a"]),
    row("T8b-20", "/foo/*/qux", ["/foo/bar/qux", "/foo//qux"], ["/foo/qux"]),
    row("T8b-21", "/foo/bar$", ["/foo/bar"], ["/foo/bar/", "/foo/bar/qux", "/foo/bar/baz"]),
    row("S8.2-fragment", "/*b", ["/ab"], ["/a#b"]),
    row("S8.14-double-slash", "/a", ["/a"], ["//a", "/./a"]),
    row("D19-RFC-figure-4", "/foo/bar?baz=https://foo.bar", ["/foo/bar?baz=https://foo.bar"], ["/foo/bar?baz=https%3A%2F%2Ffoo.bar"]),
    row("D20-RFC-figure-6", "/path/file-with-a-%2A.html", ["/path/file-with-a-%2A.html"], ["/path/file-with-a-*.html"]),
    row("robots-txt-like-any-other", "/r", ["/robots.txt"], []),
    row("overlapping-segments", "/a*ab$", ["/aab", "/aaab"], ["/ab"]),
    row("segments-in-order", "/*b*a", ["/xbya"], ["/xayb"]),
    row("stars-alone-before-a-slash", "**********/", ["/", "/a"], []),
    row("many-stars", "/*a*b*c*d*e*f*g*h*i*the-last-segment$", ["/abcdefghithe-last-segment"], ["/abcdefghithe-last-segment/"]),
)  # fmt: skip
def test_pattern_matches_these_paths_only(pattern: str, hits: list[str], misses: list[str]) -> None:
    refused = [ask(path, f"disallow: {pattern}") for path in hits]
    said = {(verdict.allowed, verdict.rule and verdict.rule.line) for verdict in refused}
    assert said <= {(False, 2)}
    free = {ask(path, f"disallow: {pattern}") for path in misses}
    assert free <= {Verdict(True, None, "no rule matches", "foobot")}
    verdicts = {path: ask(path, "disallow: /", f"allow: {pattern}") for path in hits + misses}
    assert [path for path, verdict in verdicts.items() if verdict.allowed] == hits


@table(
    "path, allow, disallow, allowed",
    row("T9-01", "/page", "/p", "/", True),
    row("T9-02", "/folder/page", "/folder", "/folder", True),
    row("T9-03", "/folder/page", "/folder/", "/folder", True),
    row("T9-04", "/page.htm", "/page", "/*.htm", False),
    row("T9-05", "/page.php5", "/page", "/*.ph", True),
    row("T9-06", "/", "/$", "/", True),
    row("T9-07", "/page.htm", "/$", "/", False),
    row("T9b-01", "/x/page.html", "/x/", "/x/page.html", False),
    row("T9b-02", "/x/page.html", "/x/page.html", "/x/", True),
    row("T9b-03", "/x/", "/x/page.html", "/x/", False),
    row("T9b-04", "/x/page.html", "", "", True),
    row("T9b-05", "/x/page.html", "/", "/", True),
    row("T9b-06", "/x", "/x/", "/x", False),
    row("T9b-07", "/x/", "/x/", "/x", True),
    row("T9b-08", "/page.html", "/page", "/*.html", False),
    row("T9b-09", "/page", "/page", "/*.html", True),
    row("T9b-10", "/x/page.html", "/x/page.", "/*.html", True),
    row("T9b-11", "/x/y.html", "/x/page.", "/*.html", False),
    row("T9b-12", "/fish", "/fish", "/fish*", False),
    row("T9b-13", "/fish", "/fish*", "/fish", True),
    row("T9b-14", "/a", "/a", "/*", True),
    row("T9b-15", "/a", "/a", "/***", False),
    row("T9b-16", "/allowed-slash/", "/allowed-slash/index.html", "/", True),
    row("T9b-17", "/allowed-slash/index.htm", "/allowed-slash/index.html", "/", False),
    row("T9b-18", "/allowed-slash/index.html", "/allowed-slash/index.html", "/", True),
    row("T9b-19", "/anyother-url", "/allowed-slash/index.html", "/", False),
    row("T9b-20", "/example/page/disallowed.gif", "/example/page/", "/example/page/disallowed.gif", False),
    row("S9.3-escaped-length", "/é/ab", "/é", "/*/a", True),
    row("S9.5-empty-allow", "/x", "", "/", False),
    row("S9.5-empty-disallow", "/x", "/", "", True),
    row("S8.13-not-for-disallow", "/d/", "", "/d/index.html", True),
)  # fmt: skip
@pytest.mark.parametrize("allow_first", [True, False], ids=["allow-first", "disallow-first"])
def test_most_specific_rule_wins_in_any_order(
    path: str, allow: str, disallow: str, allowed: bool, allow_first: bool
) -> None:
    rules = [f"allow: {allow}", f"disallow: {disallow}"]
    verdict = ask(path, *(rules if allow_first else reversed(rules)))
    assert verdict.rule is not None
    assert verdict.allowed == allowed == (verdict.rule.allow or not verdict.rule.pattern)


@table(
    "path, rules, said",
    ("/x", ["disallow: /x/", "disallow: /x"], 'disallowed by "Disallow: /x" (line 3, group "foobot")'),
    ("/a", ["disallow: /a", "disallow: /a"], 'disallowed by "Disallow: /a" (line 2, group "foobot")'),
    ("/ab", ["disallow: /a", "disallow: /*b", "disallow: /ab"], 'disallowed by "Disallow: /*b" (line 3, group "foobot")'),
    ("/", ["disallow: /x"], 'allowed: no rule matches (group "foobot")'),
    ("/", ["allow: /", "user-agent: other"], 'allowed by "Allow: /" (line 2, group "foobot")'),
    ("/a", ["disallow:", "disallow: /b"], 'allowed by "Disallow:" (line 2, group "foobot"): only a rule without a path matches'),
    ("/a", ["disallow:", "allow:"], 'allowed by "Allow:" (line 3, group "foobot"): only a rule without a path matches'),
    ("/d/", ["disallow: /", "allow: /d/index.html"],
     'allowed by "Allow: /d/index.html" (line 3, group "foobot"): an allowed index.htm allows its directory'),
    ("/foo/bar?qux=taz&baz=http://foo.bar?tar&par", ["disallow: /", "allow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par"],
     'allowed by "Allow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par" (line 3, group "foobot")'),
)  # fmt: skip
def test_verdict_names_its_rule_in_one_line(path: str, rules: list[str], said: str) -> None:
    assert str(ask(path, *rules)) == said


@pytest.mark.parametrize("asked_before", [0, 100])  # one by one, and by an index
@table(
    "path, rules, reason",
    row("T9-02", "/folder/page", ["allow: /folder", "disallow: /folder"],
        "least restrictive of equally long rules"),
    row("T9-05", "/page.php5", ["disallow: /*.ph", "allow: /page"],
        "least restrictive of equally long rules"),
    row("T9-03", "/folder/page", ["allow: /folder/", "disallow: /folder"], "most specific rule"),
    row("disallow-is-longer", "/folder/page", ["allow: /folder", "disallow: /folder/"],
        "most specific rule"),
    row("both-allow", "/ab", ["allow: /a", "allow: /*b", "allow: /a*"], "most specific rule"),
    row("both-disallow", "/ab", ["disallow: /a*", "disallow: /*b"], "most specific rule"),
    row("equally-long-rule-does-not-match", "/ab", ["allow: /a", "disallow: /b"],
        "most specific rule"),
    row("directory-of-an-index", "/d/", ["allow: /d/index.html", "disallow: /d/*"],
        "an allowed index.htm allows its directory"),
    row("no-rule", "/else", ["allow: /a", "disallow: /b"], "no rule matches"),
)  # fmt: skip
def test_reason_tells_a_tie_from_a_more_specific_rule(
    path: str, rules: list[str], reason: str, asked_before: int
) -> None:
    robots = RobotsTxt.parse("\n".join(["user-agent: foobot", *rules]).encode())
    for number in range(asked_before):
        robots.verdict(f"http://example.com/other/{number}", "foobot")
    assert robots.verdict("http://example.com" + path, "foobot").reason == reason


def test_verdict_that_no_rule_gave_reads_well_too() -> None:
    robots = RobotsTxt.parse(b"user-agent: a\nuser-agent: google-safety\ndisallow: /")
    assert str(robots.verdict("/", "other")) == "allowed: no group for this user agent"
    ignoring = robots.verdict("/", UserAgent.of("Google-Safety"))
    assert str(ignoring) == "allowed: this crawler ignores robots.txt"
    verdict = Verdict(allowed=False, rule=None, reason="robots.txt unreachable (503)")
    assert str(verdict) == "disallowed: robots.txt unreachable (503)"


def test_hostile_rule_cannot_break_the_log_line() -> None:
    verdict = ask("/a\x1b[31m\x0b\x7f" + "b" * 1000, "disallow: /a\x1b[31m\x0b\x7f" + "b" * 500)
    assert not verdict.allowed
    assert str(verdict).isprintable()
    assert "/a\\x1b[31m\\x0b\\x7fb" in str(verdict)
    assert len(str(verdict)) < 400
    assert str(Verdict(False, None, "a\nb\u2028c\u202e")) == "disallowed: a\\nb\\u2028c\\u202e"


@pytest.mark.parametrize("url", [b"http://e.com/caf\xe9", "http://e.com/caf%e9"])
def test_bytes_past_ascii_are_compared_escaped(url: str | bytes) -> None:
    robots = RobotsTxt.parse(b"user-agent: *\ndisallow: /caf\xe9")
    assert robots.verdict(url, "x").rule == (False, "/caf%E9", 2)


@table(
    "rule, url, allowed",
    row("end", "disallow: /a$", "/a\0b", False),
    row("rest", "disallow: /a*c", "/a\0c", True),
    row("query", "disallow: /*c", "http://e.com/a?b\0c", True),
    row("host", "disallow: /a$", "http://e\0.com/a", False),
    row("bytes", "disallow: /a$", b"http://e.com/a\0#b", False),
)
def test_nul_ends_the_path_of_a_url(rule: str, url: str | bytes, allowed: bool) -> None:
    rules = RobotsTxt.parse(f"user-agent: *\n{rule}".encode()).rules_for("a")
    assert [rules.allowed(url) for _ in range(7)] == [allowed] * 7
    assert rules.verdict(url).allowed == allowed


@settings(max_examples=600)
@given(
    pattern=strategies.PATTERNS | st.text("ab*$/", max_size=24),
    path=strategies.PATHS | st.text("ab/$", max_size=16),
)
@example(pattern="a*b*a*b*a*b*a*b*a*b*c", path="ababababababc")
@example(pattern="a*b*a*b*a*b*a*b*a*b*c$", path="abababababcc")
@example(pattern="a*b*a*b*a*b*a*b*a*b*c", path="ababababac")
def test_matching_segments_gives_what_trying_every_place_gives(pattern: str, path: str) -> None:
    assert matches(pattern, path) == does_match(pattern, path)
