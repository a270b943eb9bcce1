"""The fast reader agrees with the careful one on bodies of several blocks, in few steps. tests/fuzz compares them for any short body."""

from scrapy_gbot_robots import RobotsTxt

from ..fuzz import promises
from ..support.instructions import instructions
from ..support.rows import row, table

_RUN = b"".join(b"Disallow: /%d\n" % number for number in range(1_500))  # more than one block
PREFERENCES = (
    b"Content-Signal: w\nuser-agent: a\nuser-agent: A\nContent-Usage: x\nuser-agent: b\n"
    b"content-signal y\ncontent-usage: z\n"
)


@table(
    "body",
    row("a run of plain lines", b"user-agent: *\n" + _RUN),
    row("its end is not plain", b"user-agent: *\n" + _RUN + b"Disallow: /x # a comment \nDisallow:/y"),
    row("with white space and CR LF", b"user-agent: *\r\n" + _RUN.replace(b"\n", b" \t\r\n")),
    row("several runs", b"user-agent: *\n" + _RUN + b"\nAllow: /1\n" + _RUN + b"User-agent: a\n" + _RUN),
    row("an indented user-agent line in a run", b"user-agent: *\n" + _RUN + b" User-agent: a\n" + _RUN),
    row("a far indented one", b"user-agent: *\n" + _RUN + b" " * 200 + b"User-agent: a\n" + _RUN),
    row("user in paths", b"user-agent: *\n" + _RUN.replace(b"/1", b"/user")),
    row("NULs", b"user-agent: *\n" + _RUN.replace(b"/7", b"\0/7")),
    row("a line that is too long", b"user-agent: *\n" + _RUN.replace(b"/7", b"/7" + b"7" * 17_000, 1)),
    row("a byte-order mark", b"\xef\xbb\xbfuser-agent: *\n" + b"# a comment\n" * 1_000 + b"disallow: /"),
    row("very many users before", b"<p>the user: x</p>\n" * 1_000 + b"user-agent: a\rdisallow: /"),
    row("many users before", b"<p>the user: x</p>\n" * 500 + b"user-agent a\rdisallow: /"),
    row("an error page", b"<p>the user: x</p>\n" * 500),
    row("a signal alone", b"content-signal: x\n" + b"# a comment\n" * 1_000),
    row("preferences", PREFERENCES + _RUN),
)  # fmt: skip
def test_body_of_several_blocks_has_one_meaning(body: bytes) -> None:
    for user_agent in ("a", "other"):
        promises.assert_one_meaning(body, "https://e.com/7", user_agent)
    promises.assert_told_in_full(body)
    promises.assert_all_are_read_as_one(body)


@table(
    "head, lines, most",
    row("error-page", b"", b"<p>not found</p>\n", 4),
    row("group-of-another", b"user-agent: x\n", b"Allow: /a\nDisallow: /\n", 12),
    row("one-disallow-after-another", b"user-agent: *\n", b"Disallow: /a\n", 24),
    row("rules", b"user-agent: *\n", b"Disallow: /a\nAllow: /a/b\n", 55),
    row("rules-written-so", b"user-agent: *\n", b"DISALLOW:/a\nallow: /a/b\n", 140),
    row("other-fields", b"user-agent: *\n", b"Crawl-Delay:\nsitemap: x\n", 140),
    row("comments", b"user-agent: *\n", b"# user-agent: a\n\n", 42),
)
def test_each_line_in_a_usual_form_takes_few_steps(head: bytes, lines: bytes, most: int) -> None:
    many = 2_000
    robots = RobotsTxt.parse(head + lines * (many // lines.count(b"\n")))
    assert instructions(lambda: robots.rules_for("a")) < most * many
