"""The fast reader agrees with the careful one on bodies of several blocks, in few steps. tests/fuzz compares them for any short body."""

import pytest

from scrapy_gbot_robots import RobotsTxt

from ..fuzz import promises
from ..support.instructions import instructions

_RUN = b"".join(b"Disallow: /%d\n" % number for number in range(1_500))  # more than one block


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"user-agent: *\n" + _RUN, id="a run of plain lines"),
        pytest.param(b"user-agent: *\n" + _RUN + b"Disallow: /x # a comment \nDisallow:/y", id="its end is not plain"),
        pytest.param(b"user-agent: *\r\n" + _RUN.replace(b"\n", b" \t\r\n"), id="with white space and CR LF"),
        pytest.param(b"user-agent: *\n" + _RUN + b"\nAllow: /1\n" + _RUN + b"User-agent: a\n" + _RUN, id="several runs"),
        pytest.param(b"user-agent: *\n" + _RUN + b" User-agent: a\n" + _RUN, id="an indented user-agent line in a run"),
        pytest.param(b"user-agent: *\n" + _RUN + b" " * 200 + b"User-agent: a\n" + _RUN, id="a far indented one"),
        pytest.param(b"user-agent: *\n" + _RUN.replace(b"/1", b"/user"), id="user in paths"),
        pytest.param(b"user-agent: *\n" + _RUN.replace(b"/7", b"\0/7"), id="NULs"),
        pytest.param(b"user-agent: *\n" + _RUN.replace(b"/7", b"/7" + b"7" * 17_000, 1), id="a line that is too long"),
        pytest.param(b"\xef\xbb\xbfuser-agent: *\n" + b"# a comment\n" * 1_000 + b"disallow: /", id="a byte-order mark"),
        pytest.param(b"<p>the user: x</p>\n" * 1_000 + b"user-agent: a\rdisallow: /", id="very many users before"),
        pytest.param(b"<p>the user: x</p>\n" * 500 + b"user-agent a\rdisallow: /", id="many users before"),
        pytest.param(b"<p>the user: x</p>\n" * 500, id="an error page"),
        pytest.param(b"content-signal: x\n" + b"# a comment\n" * 1_000, id="a signal alone"),
        pytest.param(
            b"Content-Signal: w\nuser-agent: a\nuser-agent: A\nContent-Usage: x\nuser-agent: b\ncontent-signal y\ncontent-usage: z\n"
            + _RUN,
            id="preferences",
        ),
    ],
)  # fmt: skip
def test_body_of_several_blocks_has_one_meaning(body: bytes) -> None:
    for agent in ("a", "other"):
        promises.assert_one_meaning(body, "https://e.com/7", agent)
    promises.assert_told_in_full(body)


@pytest.mark.parametrize(
    ("head", "lines", "most"),
    [
        pytest.param(b"", b"<p>not found</p>\n", 4, id="error-page"),
        pytest.param(b"user-agent: x\n", b"Allow: /a\nDisallow: /\n", 12, id="group-of-another"),
        pytest.param(b"user-agent: *\n", b"Disallow: /a\n", 24, id="one-disallow-after-another"),
        pytest.param(b"user-agent: *\n", b"Disallow: /a\nAllow: /a/b\n", 55, id="rules"),
        pytest.param(b"user-agent: *\n", b"DISALLOW:/a\nallow: /a/b\n", 140, id="rules-written-so"),
        pytest.param(b"user-agent: *\n", b"Crawl-Delay:\nsitemap: x\n", 140, id="other-fields"),
        pytest.param(b"user-agent: *\n", b"# user-agent: a\n\n", 42, id="comments"),
    ],
)
def test_each_of_many_lines_in_a_usual_form_takes_few_steps(
    head: bytes, lines: bytes, most: int
) -> None:
    many = 2_000
    robots = RobotsTxt.parse(head + lines * (many // lines.count(b"\n")))
    assert instructions(lambda: robots.rules_for("a")) < most * many
