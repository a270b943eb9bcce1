"""The robots.txt parsers to compare with, each behind the same two functions; those that are not installed are left out.

reppy, the compiled one, has no wheel for a Python of today, and its C++ needs two headers more than it names:
`CFLAGS="-include limits -include cstdint" pip install 'cython<3' setuptools reppy --no-build-isolation`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = "examplebot"


class Peer(NamedTuple):
    """A parser: `parse` takes the body as text (as bytes where the parser wants them); `ask` takes that and a URL."""

    name: str
    parse: Callable[[bytes, str], Any]
    ask: Callable[[Any, str], bool]


def ours() -> Peer:
    from scrapy_gbot_robots import RobotsTxt

    return Peer("here", lambda raw, _: RobotsTxt.parse(raw), lambda robots, url: robots.allowed(url, AGENT))


def protego() -> Peer:
    from protego import Protego

    return Peer("Protego", lambda _, text: Protego.parse(text), lambda robots, url: robots.can_fetch(url, AGENT))


def urllib() -> Peer:
    from urllib.robotparser import RobotFileParser

    def parse(_: bytes, text: str) -> RobotFileParser:
        robots = RobotFileParser()
        robots.parse(text.splitlines())
        return robots

    return Peer("urllib", parse, lambda robots, url: robots.can_fetch(AGENT, url))


def robotspy() -> Peer:
    from robots.robotparser import RobotFileParser

    def parse(_: bytes, text: str) -> Any:
        robots = RobotFileParser()
        robots.parse(text.splitlines())
        return robots

    return Peer("robotspy", parse, lambda robots, url: robots.can_fetch(AGENT, url))


def robotexclusionrulesparser() -> Peer:
    from robotexclusionrulesparser import RobotExclusionRulesParser

    def parse(_: bytes, text: str) -> Any:
        robots = RobotExclusionRulesParser()
        robots.parse(text)
        return robots

    return Peer("robotexclusionrulesparser", parse, lambda robots, url: robots.is_allowed(AGENT, url))


def reppy() -> Peer:
    from reppy.robots import Robots

    return Peer(
        "reppy (C++)",
        lambda raw, _: Robots.parse("http://www.example.com/robots.txt", raw),
        lambda robots, url: robots.allowed(url, AGENT),
    )


def installed() -> list[Peer]:
    """All that are there, this project's first and Protego second."""
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
