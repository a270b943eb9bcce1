"""The questions of the "Try it" page, asked in this Python: answers in the command's words, and their bounds."""

import json
import re
import zlib
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest

from ..support.command import run_here
from ..support.try_page import SOURCE, questions

PAGE = (SOURCE.parent / "try.md").read_text(encoding="utf-8")
EXAMPLES = {title: code for code, title in re.findall(r'<a href="#1\.([^"]*)">(.*)</a>', PAGE)}


def verdicts(
    body: bytes, urls: str = "", crawlers: str = "a", other: bytes | None = None
) -> dict[str, Any]:
    return dict(json.loads(questions().verdicts(body, other, urls.encode(), crawlers)))


def example(title: str) -> dict[str, Any]:
    (code,) = [code for name, code in EXAMPLES.items() if name.startswith(title)]
    unpacked = zlib.decompress(urlsafe_b64decode(code + "=" * (-len(code) % 4)), wbits=-15)
    head, _, rest = unpacked.partition(b"\n")
    facts = json.loads(head)
    first, second, _ = facts["sizes"]
    robots, other, urls = rest[:first], rest[first : first + second], rest[first + second :]
    answer = verdicts(robots, urls.decode(), facts["crawlers"], other=other or None)
    answer |= json.loads(questions().on_file(robots))
    if other:
        answer |= json.loads(questions().on_change(robots, other))
    return answer


def kinds(answer: dict[str, Any]) -> set[str]:
    return {kind for _, _, kind, _ in answer["findings"]}


def test_six_examples_show_their_mistakes() -> None:
    assert len(EXAMPLES) == 6
    joined = example("A blank line")
    assert [row[2] for row in joined["rows"]] == [False] * 4
    assert kinds(joined) == {"search-engine-shut-out"}
    staging = example("The file of the staging")
    assert [row[2] for row in staging["rows"]] == [False, False, False, True, True, True]
    assert "whole-site-disallowed" in kinds(staging)
    assert staging["sitemaps"] == ["https://shop.example/sitemap.xml"]
    own = example("An own group")
    assert [row[2] for row in own["rows"] if row[1] == 0] == [True, True, False]
    assert "own-group" in kinds(own)
    assert '"bot2000/1.0" is read as "bot"' in own["notes"]
    misspelt = example("Misspelt")
    assert [row[2] for row in misspelt["rows"]] == [True, True, True, False]
    assert kinds(misspelt) == {"misspelt-field", "no-leading-slash", "noindex"}
    shorter = example("A shorter rule")
    turned = [row[0] for row in shorter["rows"] if row[5]]
    assert turned == ["/clogs", "/contact", "/terms.pdf.html"]
    before = ["- Disallow: /cart/ (line 2)", "- Disallow: /*.pdf$ (line 3)"]
    after = ["+ Disallow: /c (line 2)", "+ Disallow: /*.pdf (line 3)"]
    assert shorter["changes"][0] == ["User-agent: *", [*before, *after]]
    assert kinds(example("Saved as")) == {"no-robots-file"}


ROBOTS_TXT = b"""\
User-agent: Googlebot
Disallow: /a

User-agent: b
Allow: /a/c
Disallow: /a

User-agent: googlebot
Disallow: /d
"""


@pytest.mark.parametrize("url", ["/", "/a/c", "/d", "https://e.example/%c3%a4?x", "/robots.txt"])
@pytest.mark.parametrize("name", ["Googlebot-Image", "b", "c", "*", "Google-Safety"])
def test_words_are_those_of_the_command(url: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(ROBOTS_TXT)
    command = ("check", url, "--as", name, "--robots", "robots.txt")
    shown = run_here(*command, cwd=tmp_path).out
    facts = json.loads(run_here(*command, "--json", cwd=tmp_path).out)
    answer = verdicts(ROBOTS_TXT, url, name)
    ((_, _, allowed, line, words, _),) = answer["rows"]
    rule = facts["rule"] or {"line": 0}
    assert (allowed, line) == (facts["allowed"], rule["line"])
    assert words.startswith("allowed" if allowed else "disallowed")
    if not line:
        assert facts["reason"] in words
    if url != "/robots.txt":
        ((_, group, _),) = answer["groups"]
        group = group.replace("(line 1)", f"(line {facts['group_line']})")
        # The page shows the first line that names the group, and the command the deciding group's
        # line. The two lines may spell the name in different ways.
        assert f"= group: {group}\n".lower() in shown.lower()


def test_crawlers_are_asked_for_one_by_one() -> None:
    by_one = verdicts(ROBOTS_TXT, "/a/c", "b, Googlebot\nc")
    assert [row[2] for row in by_one["rows"]] == [True, False, True]
    assert by_one["crawlers"] == by_one["names"] == ["b", "Googlebot", "c"]
    assert [lines for _, _, lines in by_one["groups"]] == [[4], [1, 8], []]


def test_what_counts_of_a_name_is_told() -> None:
    header = "Mozilla/5.0 (compatible; TestBot/3; +http://x)"
    answer = verdicts(b"", "", f"bot2000/1.0\n{header}\n123, GPT-Bot")
    assert answer["crawlers"] == ["bot", "TestBot", "GPT-Bot"]
    assert answer["names"] == ["bot2000/1.0", header, "GPT-Bot"]
    assert answer["notes"] == [
        '"bot2000/1.0" is read as "bot"',
        f'"{header}" is read as "TestBot"',
        '"123" does not name a crawler: a product token has letters, "-" and "_" only',
        'no known crawler is called "GPT-Bot"; did you mean GPTBot?',
    ]
    (note,) = verdicts(b"", "", " ")["notes"]
    assert note == "no crawler is named, so the answers are for a crawler that no group names"


@pytest.mark.parametrize(
    "text",
    [
        "www.shop.example/cart",
        "Shop.example",
        "shop.example?a=https://x/",
        "localhost:8080/cart",
        "exämple.com./a b",
        "192.0.2.1/cart",
    ],
)
def test_url_without_scheme_is_read_as_https_and_a_note_shows_it(text: str) -> None:
    answer = verdicts(b"user-agent: *\ndisallow: /", text)
    assert [row[:3] for row in answer["rows"]] == [[f"https://{text}", 0, False]]
    assert answer["urls"] == [f"https://{text}"]
    assert answer["notes"] == [f'"{text}" is read as https://{text}, because a path begins with /']


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [("/shop.example/a", True), ("http://shop.example", True)]
    + [
        (text, False)
        for text in ("shop", "a b.c", "mailto:a@b.example", "shop.example:x", "?a", ".")
    ],
)
def test_no_other_text_gets_a_scheme(text: str, is_asked: bool) -> None:
    answer = verdicts(b"", text)
    assert answer["urls"] == ([text] if is_asked else [])
    assert answer["notes"] == (
        [] if is_asked else [f'"{text}" is not an absolute URL, or a path such as /a']
    )


PAGE_FOR_ROBOTS = b"<!DOCTYPE html>\n<html><body>Not found</body></html>"


def test_mistake_is_named_where_a_file_is_not_a_robots_txt() -> None:
    assert verdicts(b"")["mistakes"] == verdicts(ROBOTS_TXT, "/a")["mistakes"] == []
    (page,) = verdicts(PAGE_FOR_ROBOTS, "/a")["mistakes"]
    assert "a web page" in page
    (url,) = verdicts(b"https://shop.example/robots.txt", "/a")["mistakes"]
    assert "another text" in url
    (wide,) = verdicts("User-agent: *".encode("utf-16"), "/a")["mistakes"]
    assert "UTF-16" in wide
    (second,) = verdicts(ROBOTS_TXT, "/a", other=PAGE_FOR_ROBOTS)["mistakes"]
    assert second.startswith("second version: ")
    assert "a web page" in second


def test_lines_that_are_not_urls_get_a_note_and_others_an_answer() -> None:
    answer = verdicts(b"", "\r\nshop\r\n  /b  \n")
    assert [row[0] for row in answer["rows"]] == ["/b"]
    assert answer["notes"] == ['"shop" is not an absolute URL, or a path such as /a']
    raw = json.loads(questions().verdicts(b"user-agent: *\ndisallow: /%E4", None, b"/\xe4", "a"))
    assert raw["rows"][0][2:4] == [False, 2]


@pytest.mark.slow
def test_what_goes_to_the_page_is_bounded() -> None:
    names = "\n".join(f"bot-{'a' * n}" for n in range(1, 200))
    many = verdicts(b"\n" * 600_000, "/a\n" * 9_000, names)
    assert len(many["crawlers"]) == 100
    assert len(many["rows"]) <= 100_000
    assert sum("the rest is left out" in note for note in many["notes"]) == 2
    lines = json.loads(questions().on_file(b"user-agent: *\n" + b"d\n a\n u:\n" * 51_000))
    assert len(lines["findings"]) == 300
    assert len(lines["lines"]) < 1_000
    assert sum(lines["counts"].values()) > 100_000
    user_agents = b"".join(b"user-agent: a%s\ndisallow: /\n" % (b"b" * n) for n in range(700))
    change = json.loads(questions().on_change(user_agents, b""))
    assert (change["count"], len(change["changes"])) == (700, 300)
    assert len(questions().on_file(b"disallow: " + b"a" * 400_000)) < 1_000
