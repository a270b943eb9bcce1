"""The fast reader agrees with the careful one on bodies of several blocks. tests/fuzz compares them for any short body."""

import pytest

from ..fuzz import promises

_RUN = b"".join(b"Disallow: /%d\n" % number for number in range(1_500))  # more than one block


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"user-agent: *\n" + _RUN, id="a run of plain lines"),
        pytest.param(
            b"user-agent: *\n" + _RUN + b"Disallow: /x # a comment \nDisallow:/y",
            id="its end is not plain",
        ),
        pytest.param(
            b"user-agent: *\r\n" + _RUN.replace(b"\n", b" \t\r\n"), id="with white space and CR LF"
        ),
        pytest.param(
            b"user-agent: *\n" + _RUN + b"\nAllow: /1\n" + _RUN + b"User-agent: a\n" + _RUN,
            id="several runs",
        ),
        pytest.param(
            b"user-agent: *\n" + _RUN + b" User-agent: a\n" + _RUN,
            id="an indented user-agent line in a run",
        ),
        pytest.param(
            b"user-agent: *\n" + _RUN + b" " * 200 + b"User-agent: a\n" + _RUN,
            id="a far indented one",
        ),
        pytest.param(b"user-agent: *\n" + _RUN.replace(b"/1", b"/user"), id="user in paths"),
        pytest.param(b"user-agent: *\n" + _RUN.replace(b"/7", b"\0/7"), id="NULs"),
        pytest.param(
            b"user-agent: *\n" + _RUN.replace(b"/7", b"/7" + b"7" * 17_000, 1),
            id="a line that is too long",
        ),
        pytest.param(
            b"\xef\xbb\xbfuser-agent: *\n" + b"# a comment\n" * 1_000 + b"disallow: /",
            id="a byte-order mark",
        ),
        pytest.param(
            b"<p>the user: x</p>\n" * 1_000 + b"user-agent: a\rdisallow: /",
            id="very many users before",
        ),
        pytest.param(
            b"<p>the user: x</p>\n" * 500 + b"user-agent a\rdisallow: /", id="many users before"
        ),
        pytest.param(b"<p>the user: x</p>\n" * 500, id="an error page"),
        pytest.param(b"content-signal: x\n" + b"# a comment\n" * 1_000, id="a signal alone"),
        pytest.param(
            b"Content-Signal: w\nuser-agent: a\nuser-agent: A\nContent-Usage: x\nuser-agent: b\ncontent-signal y\ncontent-usage: z\n"
            + _RUN,
            id="preferences",
        ),
    ],
)
def test_body_of_several_blocks_has_one_meaning(body: bytes) -> None:
    for strict in (False, True):
        for agent in ("a", "other"):
            promises.assert_one_meaning(body, "https://e.com/7", agent, strict=strict)
        promises.assert_told_in_full(body, strict=strict)
