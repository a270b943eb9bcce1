"""The tables in docs/migration.md of what other parsers read otherwise, asked of those that are installed."""

from importlib.metadata import version
from urllib.robotparser import RobotFileParser

import pytest
from protego import Protego

from scrapy_gbot_robots import RobotsTxt
from tools.other_parsers import HOST, PARSERS, QUESTIONS, row

from ..support.documentation import text_of

SECTION = text_of("docs/migration.md").partition("## From other parsers")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip(" *") for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("| ")
]


def documented(name: str) -> list[str]:
    """The two cells of a parser, whose name in the page begins with `name`."""
    return next(cells[1:] for cells in ROWS if cells[0].startswith(name))


def asked(answers: list[bool]) -> list[str]:
    return [cell.strip() for cell in row("", [*answers]).split("|")[2:4]]


def test_page_has_the_questions_that_are_asked() -> None:
    right = [(cells[2].strip("`"), cells[3] == "allowed") for cells in ROWS if cells[0].isdigit()]
    assert right == [(question.path, question.right) for question in QUESTIONS]


def test_page_has_each_parser_that_the_script_asks() -> None:
    assert all(any(name in cells[0] for cells in ROWS) for name in PARSERS)


def test_answers_here_are_those_of_the_page() -> None:
    answers = [RobotsTxt.parse(q.body).allowed(HOST + q.path, "mybot") for q in QUESTIONS]
    assert asked(answers) == documented("this plugin")


def test_answers_of_protego_are_those_of_the_page() -> None:
    if version("protego") != "0.7.0":
        pytest.skip("the page is about Protego 0.7.0")
    answers = [
        Protego.parse(question.body.decode()).can_fetch(HOST + question.path, "mybot")
        for question in QUESTIONS
    ]
    assert asked(answers) == documented("Protego 0.7.0")


def test_answers_of_urllib_are_those_of_the_page() -> None:
    answers = []
    for question in QUESTIONS:
        robots = RobotFileParser()
        robots.parse(question.body.decode().splitlines())
        answers.append(robots.can_fetch("mybot", HOST + question.path))
    assert asked(answers) == documented("urllib.robotparser")
