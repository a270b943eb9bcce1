"""The robots.txt parsers to compare with, each behind the same two functions. Parsers that are not installed are left out.

reppy, which is compiled, has no wheel for current Pythons, and its C++ needs two headers that it does not include:
`CFLAGS="-include limits -include cstdint" pip install 'cython<3' setuptools reppy --no-build-isolation`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

AGENT = "examplebot"


class Peer(NamedTuple):
    """A parser: `parse` takes a body as bytes and as text; `ask` takes the result and URLs to ask about."""

    name: str
    parse: Callable[[bytes, str], Any]
    ask: Callable[[Any, Iterable[str]], None]


def ours() -> Peer:
    from scrapy_gbot_robots import RobotsTxt

    def ask(robots: RobotsTxt, urls: Iterable[str]) -> None:
        for url in urls:
            robots.allowed(url, AGENT)

    return Peer("here", lambda raw, _: RobotsTxt.parse(raw), ask)


def protego() -> Peer:
    from protego import Protego

    def ask(robots: Protego, urls: Iterable[str]) -> None:
        for url in urls:
            robots.can_fetch(url, AGENT)

    return Peer("Protego", lambda _, text: Protego.parse(text), ask)


def _like_urllib(name: str, parser: Callable[[], Any]) -> Peer:
    def parse(_: bytes, text: str) -> Any:
        robots = parser()
        robots.parse(text.splitlines())
        return robots

    def ask(robots: Any, urls: Iterable[str]) -> None:
        for url in urls:
            robots.can_fetch(AGENT, url)

    return Peer(name, parse, ask)


def urllib() -> Peer:
    from urllib.robotparser import RobotFileParser

    def parser() -> RobotFileParser:
        robots = RobotFileParser()
        robots.modified()  # else it refuses to answer
        return robots

    return _like_urllib("urllib", parser)


def robotspy() -> Peer:
    from robots.robotparser import RobotFileParser

    return _like_urllib("robotspy", RobotFileParser)


def robotexclusionrulesparser() -> Peer:
    from robotexclusionrulesparser import RobotExclusionRulesParser

    def parse(_: bytes, text: str) -> Any:
        robots = RobotExclusionRulesParser()
        robots.parse(text)
        return robots

    def ask(robots: Any, urls: Iterable[str]) -> None:
        for url in urls:
            robots.is_allowed(AGENT, url)

    return Peer("robotexclusionrulesparser", parse, ask)


def reppy() -> Peer:
    from reppy.robots import Robots

    def ask(robots: Any, urls: Iterable[str]) -> None:
        for url in urls:
            robots.allowed(url, AGENT)

    return Peer(
        "reppy (C++)", lambda raw, _: Robots.parse("http://www.example.com/robots.txt", raw), ask
    )


def installed() -> list[Peer]:
    """Return all parsers that are installed, this project's first and Protego second."""
    peers = [ours(), protego()]
    for module, peer in {
        "urllib.robotparser": urllib,
        "robots": robotspy,
        "robotexclusionrulesparser": robotexclusionrulesparser,
        "reppy.robots": reppy,
    }.items():
        try:
            import_module(module)
        except ImportError:  # noqa: PERF203
            print(f"{module} is not installed: left out", file=sys.stderr)
        else:
            peers.append(peer())
    return peers
