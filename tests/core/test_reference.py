"""Google's own parser is the judge: each question of the reference data has the same answer here, by the same line."""

import re
from base64 import b64decode, b64encode
from collections import Counter
from pathlib import Path

import pytest

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core.crawlers import product_token
from scrapy_gbot_robots.core.lines import HAS_DIRECTIVE, Line
from scrapy_gbot_robots.core.robots import lines_of, sitemap_lines_of
from scrapy_gbot_robots.core.urls import escape, path_of

from ..support.reference import DATA, FILES, body_of, read

PURE_TOKEN = re.compile("[A-Za-z_-]+")


def text(raw: bytes) -> str:
    return b64encode(raw).decode("ascii")


def event(line: Line) -> list[object]:
    kind = "?UADS?"[line.kind]
    key = [text(line.key)] if kind == "?" else []
    return [line.number, kind, *key, text(line.value)]


@pytest.mark.parametrize("file", FILES)
def test_every_answer_is_the_references(file: Path) -> None:
    asked, different = 0, []
    for case in read(file):
        body = body_of(case)
        whole, capped = RobotsTxt.parse(body, max_bytes=None), RobotsTxt.parse(body)
        for query in case["queries"]:
            if len(query["agents"]) != 1 or not PURE_TOKEN.fullmatch(query["agents"][0]):
                continue
            asked += 1
            suffix = "_normalised" if "allowed_normalised" in query else ""
            questions = [(whole, suffix)] + ([(capped, "_cap")] if "allowed_cap" in query else [])
            for robots, which in questions:
                verdict = robots.verdict(query["url"], query["agents"][0])
                answer = (
                    verdict.allowed,
                    robots.allowed(query["url"], query["agents"][0]),
                    verdict.rule.line if verdict.rule else 0,
                    verdict.group not in {None, "*"},
                )
                allowed = query["allowed" + which]
                if answer != (allowed, allowed, query["line" + which], query["specific"]):
                    different.append((case["id"], query, verdict))
    assert different == []
    assert asked > 2_000


@pytest.mark.parametrize("file", FILES)
def test_every_line_is_seen_as_the_reference_sees_it(file: Path) -> None:
    for case in read(file):
        robots = RobotsTxt.parse(body_of(case), max_bytes=None)
        lines = lines_of(robots)
        directives = [line for line in lines if line.flags & HAS_DIRECTIVE]
        recognised = sum(line.kind in {1, 2, 3, 4} for line in directives)
        seen = {
            "last_line": len(lines),
            "valid": recognised,
            "unused": len(directives) - recognised,
            "lines": [[line.kind, line.flags] for line in lines],
            "events": list(map(event, directives)),
            "counts": Counter("?UADS?"[line.kind] for line in directives),
            "sitemaps_b64": [text(sitemap.raw) for sitemap in sitemap_lines_of(robots)],
            "sitemap_lines": [sitemap.line for sitemap in sitemap_lines_of(robots)],
        }
        as_the_reference = {what: case[what] for what in seen if what in case}
        assert as_the_reference == {what: seen[what] for what in as_the_reference}, case["id"]


def test_every_path_and_every_escape_is_the_references() -> None:
    vectors = list(read(DATA / "unit-vectors.jsonl.gz"))
    paths = [vector for vector in vectors if vector["fn"] == "path"]
    escapes = [vector for vector in vectors if vector["fn"] == "escape"]
    for vector in paths:
        assert path_of(vector["in"]) == escape(vector["out"].encode()).decode(), vector
    for vector in escapes:
        assert text(escape(b64decode(vector["in_b64"]))) == vector["out_b64"], vector
    assert len(paths) > 1_000
    assert len(escapes) > 30


def test_valid_tokens_are_the_references() -> None:
    every = read(DATA / "unit-vectors.jsonl.gz")
    vectors = [vector for vector in every if vector["fn"] == "valid_agent"]
    for vector in vectors:
        assert (product_token(vector["in"]) == vector["in"] != "") == vector["out"], vector
    assert len(vectors) > 5
