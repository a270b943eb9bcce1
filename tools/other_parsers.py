"""Ask other robots.txt parsers questions on which they differ, and print the table of docs/migration.md.

`python -m tools.other_parsers` installs each parser from PyPI or npm in a temporary directory of its own, with the version below.
`python -m tools.other_parsers urllib Protego` asks some. Bodies are decoded as UTF-8 for a parser that takes text.

Not asked here, because each fetches by itself, from a server: wget, wget2, HTTrack and linkchecker.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HOST = "https://shop.example"


class Question(NamedTuple):
    """A robots.txt, and whether `mybot` may fetch a path by RFC 9309 and Google's parser."""

    lines: str
    path: str
    right: bool

    @property
    def body(self) -> bytes:
        return self.lines.encode()


def _long(lines: int) -> str:
    rules = "".join(f"Disallow: /archive/number-{number:06}/\n" for number in range(lines))
    return f"User-agent: *\n{rules}Disallow: /x\n"


# The order is that of the table in docs/migration.md.
QUESTIONS = [
    Question("User-agent: *\nDisallow: /a%2fb\n", "/a%2Fb", False),
    Question("User-agent: *\nDisallow: /tea$cup\n", "/tea$cup", False),
    Question("User-agent: mybot*\nDisallow: /x\n", "/x", False),
    Question("User-agent: other\nDisallow: /y\nUser-agent: mybot\nDisallow: /x\n", "/x", False),
    Question("User-agent: mybot\n\nDisallow: /x\n", "/x", False),
    Question(
        "User-agent: mybot\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n\n"
        "User-agent: mybot\nDisallow: /x\n",
        "/x",
        False,
    ),
    Question("\ufeffUser-agent: *\nDisallow: /x\n", "/x", False),
    Question("User-agent: *\nDisallow: /\nAllow: /open/\n", "/open/x", True),
    Question("User-agent: *\nDisallow: /tea\nAllow: /tea\n", "/tea", True),
    Question("User-agent: *\nAllow: /\nDisallow: /x\n", "/x", False),
    Question("User-agent: *\nDisallow:\nDisallow: /x\n", "/x", False),
    Question("User-agent: *\nDisallow: /caf\u00e9\n", "/caf%C3%A9", False),
    Question(f"User-agent: *\nDisallow: {HOST}/x\n", "/x", True),
    Question("User-agent: mybot/1.2\nDisallow: /x\n", "/x", False),
    Question("User-agent: my\nDisallow: /x\n", "/x", True),
    Question("User-agent: *\nDisallow: /*.pdf$\n", "/tea/list.pdf", False),
    Question("User-agent: *\nDisallow: /*.pdf$\n", "/tea/list.pdf?page=2", True),
    Question("User-agent: *\nDisallow: /x # not yet\n", "/x/y", False),
    Question("User-agent: mybot\nCrawl-delay: 3\nUser-agent: other\nDisallow: /x\n", "/x", False),
    Question(f"User-agent: *\nDisallow: /a\nSitemap: {HOST}/s.xml\nDisallow: /x\n", "/x", False),
    Question("User-agent: *\rDisallow: /a\rDisallow: /x\r", "/x", False),
    Question("Disallow: /x\nUser-agent: *\nDisallow: /y\n", "/x", True),
    Question(_long(14_000), "/x", False),
    Question("User-agent: *\nDisallow: /\n", "/robots.txt", True),
]


class Parser(NamedTuple):
    """A parser: what is installed, and the code of `ask(body, url)`, which is true if mybot may fetch the URL."""

    packages: tuple[str, ...]
    code: str
    npm: bool = False


def _python(package: str, code: str) -> Parser:
    return Parser((package,) if package else (), code)


_TEXT = "body.decode('utf-8', 'replace')"
PARSERS = {
    "urllib": _python(
        "",
        "from urllib.robotparser import RobotFileParser\n"
        "def ask(body, url):\n"
        "    robots = RobotFileParser()\n"
        f"    robots.parse({_TEXT}.splitlines())\n"
        "    return robots.can_fetch('mybot', url)\n",
    ),
    "Protego 0.7.0": _python(
        "protego==0.7.0",
        "from protego import Protego\n"
        "def ask(body, url):\n"
        "    return Protego.parse(body.decode('utf-8', 'ignore')).can_fetch(url, 'mybot')\n",
    ),
    "robotspy 0.13.0": _python(
        "robotspy==0.13.0",
        "from robots import RobotsParser\n"
        "def ask(body, url):\n"
        f"    return RobotsParser.from_string({_TEXT}).can_fetch('mybot', url)\n",
    ),
    "robotexclusionrulesparser 1.7.1": _python(
        "robotexclusionrulesparser==1.7.1",
        "from robotexclusionrulesparser import RobotExclusionRulesParser\n"
        "def ask(body, url):\n"
        "    robots = RobotExclusionRulesParser()\n"
        "    robots.parse(body)\n"
        "    return robots.is_allowed('mybot', url)\n",
    ),
    "gpyrobotstxt 1.0.0": _python(
        "gpyrobotstxt==1.0.0",
        "from gpyrobotstxt.robots_cc import RobotsMatcher\n"
        "def ask(body, url):\n"
        "    return RobotsMatcher().one_agent_allowed_by_robots(body, 'mybot', url)\n",
    ),
    "jwm.robotstxt 1.0.8": _python(
        "jwm.robotstxt==1.0.8",
        "from jwm.robotstxt.googlebot import RobotsMatcher\n"
        "def ask(body, url):\n"
        "    return RobotsMatcher().OneAgentAllowedByRobots(body, 'mybot', url)\n",
    ),
    "fast-robotstxt 1.1.0": _python(
        "fast-robotstxt==1.1.0",
        "from robotstxt.robots import RobotsMatcher\n"
        "def ask(body, url):\n"
        f"    return RobotsMatcher().is_allowed({_TEXT}, 'mybot', url)\n",
    ),
    "texting-robots-py 0.2.2": _python(
        "texting-robots-py==0.2.2",
        "from texting_robots import Robot\n"
        "def ask(body, url):\n"
        "    return Robot('mybot', body).allowed(url)\n",
    ),
    "robotstxt 1.1.2": _python(
        "robotstxt==1.1.2",
        "from robotstxt import robots_file\n"
        "def ask(body, url):\n"
        f"    return not robots_file({_TEXT}).test_url(url, 'mybot')['disallowed']\n",
    ),
    "respectscraper 0.2.0": _python(
        "respectscraper==0.2.0",
        "from respectscraper.robots import RobotsTxt\n"
        "def ask(body, url):\n"
        f"    answer = RobotsTxt.parse({_TEXT}).check(url, 'mybot')\n"
        "    return answer[0] if isinstance(answer, tuple) else answer.allowed\n",
    ),
    "reppy2 0.3.6": _python(
        "reppy2==0.3.6",
        "from reppy.parser import Rules\n"
        "def ask(body, url):\n"
        f"    return Rules('{HOST}/robots.txt', 200, {_TEXT}, 0).allowed(url, 'mybot')\n",
    ),
    "ai-crawler-robots 1.0.10": _python(
        "ai-crawler-robots==1.0.10",
        "from ai_crawler_robots import is_allowed\n"
        "def ask(body, url):\n"
        f"    return is_allowed({_TEXT}, 'mybot', url.removeprefix('{HOST}'))['allowed']\n",
    ),
    "scrape-plan 0.1.3": _python(
        "scrape-plan==0.1.3",
        "from scrape_plan.robots import evaluate\n"
        "def ask(body, url):\n"
        f"    return evaluate({_TEXT}, url, 'mybot').allowed\n",
    ),
    "robotsparsetools 1.3.3": _python(
        "robotsparsetools==1.3.3",
        "from robotsparsetools.lib.parse import Read\n"
        "def ask(body, url):\n"
        f"    robots = Read({_TEXT})\n"
        f"    robots.home = '{HOST}/'\n"
        "    return robots.can_crawl(url, 'mybot')\n",
    ),
    "npm robots-parser 3.0.1": Parser(
        ("robots-parser@3.0.1",),
        f"const parse = require('robots-parser');\n"
        f"const ask = (text, url) => parse('{HOST}/robots.txt', text).isAllowed(url, 'mybot');\n",
        npm=True,
    ),
    "npm robots-txt-parser 2.0.3": Parser(
        ("robots-txt-parser@2.0.3",),
        "const make = require('robots-txt-parser');\n"
        "const ask = (text, url) => {\n"
        "  const robots = make({ userAgent: 'mybot', allowOnNeutral: true });\n"
        f"  robots.parseRobots('{HOST}', text);\n"
        f"  robots.useRobotsFor('{HOST}');\n"
        "  return robots.canCrawlSync(url);\n"
        "};\n",
        npm=True,
    ),
    "npm robots 0.10.1": Parser(
        ("robots@0.10.1",),
        "const { RobotsParser } = require('robots');\n"
        "const ask = (text, url) => {\n"
        "  const robots = new RobotsParser();\n"
        "  robots.parse(text.split(/\\r\\n|\\n|\\r/));\n"
        f"  return robots.canFetchSync('mybot', url.slice({len(HOST)}));\n"
        "};\n",
        npm=True,
    ),
    "npm robots-txt-parse 2.0.1 with guard 1.0.2": Parser(
        ("robots-txt-parse@2.0.1", "robots-txt-guard@1.0.2"),
        "const parse = require('robots-txt-parse');\n"
        "const guard = require('robots-txt-guard');\n"
        "const { Readable } = require('stream');\n"
        "const ask = async (text, url) =>\n"
        f"  guard(await parse(Readable.from([text]))).isAllowed('mybot', url.slice({len(HOST)}));\n",
        npm=True,
    ),
}
_PYTHON = """
import json, sys
answers = []
for text, url in json.load(sys.stdin):
    try:
        answers.append(bool(ask(text.encode(), url)))
    except Exception as error:
        answers.append(f"{type(error).__name__}: {error}")
print(json.dumps(answers))
"""
_NODE = """
(async () => {
  const answers = [];
  for (const [text, url] of JSON.parse(require('fs').readFileSync(0))) {
    try { answers.push(Boolean(await ask(text, url))); } catch (error) { answers.push(String(error)); }
  }
  console.log(JSON.stringify(answers));
})();
"""


def answers_of(parser: Parser, directory: Path) -> list[bool | str]:
    """Return the parser's answers to all questions: a bool each, or the text of an error. It is installed in `directory`."""
    command = [sys.executable, "ask.py"]
    if parser.npm:
        install = ["npm", "install", "--no-audit", "--no-fund", *parser.packages]
        subprocess.run(install, cwd=directory, capture_output=True, check=True)
        command = ["node", "ask.js"]
    elif parser.packages:
        subprocess.run([sys.executable, "-m", "venv", directory / "env"], check=True)
        python = str(directory / "env" / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", *parser.packages], check=True)
        command = [python, "ask.py"]
    (directory / command[1]).write_text(parser.code + (_NODE if parser.npm else _PYTHON), "utf-8")
    asked = json.dumps([(question.lines, HOST + question.path) for question in QUESTIONS])
    ended = subprocess.run(
        command, cwd=directory, input=asked.encode(), stdout=subprocess.PIPE, check=True
    )
    answers: list[bool | str] = json.loads(ended.stdout.splitlines()[-1])
    return answers


def row(name: str, answers: list[bool | str]) -> str:
    """Return the parser's row: the numbers of the questions that it allows, refuses or cannot read, against what is right."""
    numbered = list(zip(range(1, len(QUESTIONS) + 1), QUESTIONS, answers, strict=True))
    cells = [
        [number for number, question, answer in numbered if answer is True and not question.right],
        [number for number, question, answer in numbered if answer is False and question.right],
    ]
    failed = [f"{number} fails" for number, _, answer in numbered if isinstance(answer, str)]
    texts = [", ".join(map(str, cell)) for cell in cells]
    return f"| {name} | {texts[0]} | {', '.join(filter(None, [texts[1], *failed]))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PARSER", help=", ".join(PARSERS))
    for name in parser.parse_args().names or PARSERS:
        with tempfile.TemporaryDirectory(prefix="parser-") as directory:
            try:
                print(row(name, answers_of(PARSERS[name], Path(directory))), flush=True)
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
