"""Define the web that `soak` crawls, and the oracle for the pages that may be crawled.

Everything is computed from a seed and the number of an origin, so the server and the crawl, which
are two processes, need not share anything else. The oracle knows how each origin was made. It has
its own matcher, and does not use the plugin's.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from random import Random
from typing import TypeAlias

AGENT = "soakbot"
LIMIT = 512_000  # the number of bytes of a robots.txt that are read
MOST_HOPS = 5

SHARE_REFUSED = 0.15  # the share of the dead origins that refuse connections
SHARE_NONE = 0.2  # the share of the other origins without a robots.txt
SHARE_MOVED = 0.2  # the share of origins that redirect
SHARE_FLAKY = 0.3  # the share of origins that fail at first

SNAPPY = (
    # The beginning of a stream in the coding snappy. A text would be read as if it had no coding.
    b"\xff\x06\x00\x00sNaPpY"
)
ZEROS = gzip.compress(b"#" + bytes(8 * LIMIT))

_WORDS = ("a", "ab", "b", "cart", "x")
_ENDINGS = ("html", "pdf", "php")


class End(Enum):
    """The unusual ways in which a connection can end."""

    RESET = "reset"
    SILENCE = "nothing more comes, until the other side gives up"


# The bytes that are sent, the pauses between them in seconds, and the end of the connection.
Answer: TypeAlias = tuple[bytes | float | End, ...]
# A function that makes an answer from the bytes of a robots.txt.
Kind: TypeAlias = Callable[[Random, bytes], Answer]


@dataclass(frozen=True)
class Rule:
    allow: bool
    pattern: str

    def matches(self, path: str) -> bool:
        """Return whether the pattern matches. The stars are tried one after the other."""

        def tried(pattern: str, at: int) -> bool:
            if not pattern:
                return True
            if pattern == "$":
                return at == len(path)
            if pattern[0] == "*":
                return any(tried(pattern[1:], later) for later in range(at, len(path) + 1))
            return path[at : at + 1] == pattern[0] and tried(pattern[1:], at + 1)

        return tried(self.pattern, 0)


# The following functions make whole answers.


def plain(dice: Random, body: bytes, status: str = "200 OK", *headers: str) -> Answer:
    return (head(f"Content-Length: {len(body)}", *headers, status=status) + body,)


def zipped(dice: Random, body: bytes) -> Answer:
    coding, packed = dice.choice((("gzip", gzip.compress(body)), ("deflate", zlib.compress(body))))
    return plain(dice, packed, "200 OK", f"Content-Encoding: {coding}")


def chunked(dice: Random, body: bytes) -> Answer:
    pieces, at = [head("Transfer-Encoding: chunked")], 0
    while at < len(body):
        piece = body[at : at + dice.randrange(1, 2000)]
        pieces.append(b"%x\r\n%s\r\n" % (len(piece), piece))
        at += len(piece)
    return (b"".join(pieces) + b"0\r\n\r\n",)


def until_closed(dice: Random, body: bytes) -> Answer:
    return (head() + body,)


def slow(dice: Random, body: bytes) -> Answer:
    (whole,) = dice.choice(FRAMED)(dice, body)
    assert isinstance(whole, bytes)
    cut = dice.randrange(len(whole))
    return (dice.random() / 4, whole[:cut], dice.random() / 4, whole[cut:])


def bomb(dice: Random, body: bytes) -> Answer:
    return plain(dice, gzip.compress(body) + ZEROS, "200 OK", "Content-Encoding: gzip")


def too_long(dice: Random, body: bytes) -> Answer:
    """Return the rules, padding up to the limit, and then rules that must not be read."""
    padding = b"#" * (LIMIT - len(body) - 1) + b"\n"
    return plain(
        dice, body + padding + b"user-agent: *\nuser-agent: soakbot\ndisallow: /\nallow: /*.html$\n"
    )


# After the following answers, there is no robots.txt.


def absent(dice: Random, body: bytes) -> Answer:
    return plain(
        dice,
        body,
        dice.choice(("400 Bad", "401 Who", "403 No", "404 Not Found", "410 Gone", "451 Law")),
    )


def loop(dice: Random, body: bytes) -> Answer:
    return plain(
        dice, body, "302 Found", dice.choice(("Location: ?", "X-Location: /", "Location: data:,x"))
    )


def soft_404(dice: Random, body: bytes) -> Answer:
    return plain(dice, b"<title>Page not found</title>" + body, "500 Oh")


def empty(dice: Random, body: bytes) -> Answer:
    return plain(dice, b"", "200 OK")


# After the following answers, the robots.txt is unreachable.


def ill(dice: Random, body: bytes) -> Answer:
    return plain(
        dice,
        body,
        dice.choice(("500 Oh", "502 Bad", "503 Busy", "504 Late", "599 Odd", "304 Same")),
    )


def too_many(dice: Random, body: bytes) -> Answer:
    return plain(dice, body, dice.choice(("429 Slow", "503 Busy")), "Retry-After: 1")


def broken_off(dice: Random, body: bytes) -> Answer:
    (whole,) = dice.choice(FRAMED)(dice, body)
    assert isinstance(whole, bytes)
    cut = dice.randrange(len(whole))
    return (whole[:cut], *dice.choice(((), (0.02, End.RESET), (End.SILENCE,))))


def garbage(dice: Random, body: bytes) -> Answer:
    return dice.choice(
        (
            (b"220 mail.example ESMTP\r\n" + body,),
            (head("Transfer-Encoding: chunked") + b"zz\r\n" + body,),
            plain(dice, body, "200 OK", "Content-Encoding: gzip"),
            plain(dice, SNAPPY + body, "200 OK", "Content-Encoding: snappy"),
        )
    )


FRAMED: tuple[Kind, ...] = (plain, zipped, chunked)
FILES: dict[Kind, float] = {
    plain: 40,
    zipped: 10,
    chunked: 15,
    until_closed: 10,
    slow: 20,
    bomb: 3,
    too_long: 2,
}
NONE: dict[Kind, float] = {absent: 60, loop: 15, soft_404: 15, empty: 10}
FAULTS: dict[Kind, float] = {ill: 30, too_many: 20, broken_off: 40, garbage: 10}
KINDS = {"file": FILES, "none": NONE, "fault": FAULTS}


def drawn(dice: Random, kinds: dict[Kind, float], body: bytes) -> Answer:
    (kind,) = dice.choices(list(kinds), list(kinds.values()))
    return kind(dice, body)


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "Connection: close", "", ""]).encode()


@dataclass(frozen=True)
class World:
    """All origins and all pages of one seed.

    Attributes:
        failures: the greatest number of failures of a flaky origin before it works.
        dead: the share of origins that never work.
        silence: whether some answers break off and leave the connection open until a time-out ends it.
    """

    seed: int
    origins: int
    requests: int
    failures: int
    dead: float
    silence: bool

    def origin(self, number: int) -> Origin:
        return Origin(number, self)

    def paths(self, number: int) -> list[str]:
        """Return the paths of the pages of an origin. Each path contains the number of its page."""
        dice = Random(f"{self.seed} {number} pages")
        return [
            f"/{dice.choice(_WORDS)}/{page}-{dice.choice(_WORDS)}.{dice.choice(_ENDINGS)}"
            for page in range(number, self.requests, self.origins)
        ]


class Origin:
    """An origin: its answers, and the pages that may be crawled.

    Attributes:
        host: the address of the origin on loopback.
        refused: whether connections are refused, because no program listens on the port.
        hops: how many redirects lead to its robots.txt.
        answers: the answers to the requests for its robots.txt, in order. The last answers repeat.
    """

    def __init__(self, number: int, world: World) -> None:
        dice = Random(f"{world.seed} {number}")
        self.host = host(number)
        self.number = number
        self._world = world
        self._end = (
            "fault"
            if dice.random() < world.dead
            else "none"
            if dice.random() < SHARE_NONE
            else "file"
        )
        self.refused = self._end == "fault" and dice.random() < SHARE_REFUSED
        self.hops = dice.randrange(1, MOST_HOPS + 2) if dice.random() < SHARE_MOVED else 0
        self._failures = (
            dice.randrange(1, world.failures + 1)
            if world.failures and dice.random() < SHARE_FLAKY
            else 0
        )
        self._rules = [_rule(dice) for _ in range(dice.randrange(8))]
        self._dice = dice

    @cached_property
    def answers(self) -> tuple[list[Answer], list[Answer]]:
        """Return the answers before the origin works, and the answers from then on."""
        dice, body, last = self._dice, self._body(self._dice), KINDS[self._end]
        first = [drawn(dice, FAULTS, body) for _ in range(self._failures)]
        return [self._heard(each) for each in first], [
            self._heard(drawn(dice, last, body)) for _ in range(3)
        ]

    def _heard(self, answer: Answer) -> Answer:
        return (
            answer
            if self._world.silence
            else tuple(part for part in answer if part is not End.SILENCE)
        )

    def may(self, path: str) -> bool:
        """Return whether `AGENT` may crawl a path. This is the oracle."""
        if self.refused:
            return False
        if self.hops > MOST_HOPS:
            return True
        if self._end != "file":
            return self._end == "none"
        matching = [(len(rule.pattern), rule.allow) for rule in self._rules if rule.matches(path)]
        # The longest rule decides. Of two equally long rules, the allow rule decides.
        return max(matching)[1] if matching else True

    def _body(self, dice: Random) -> bytes:
        """Return a robots.txt with the rules of this origin, and other rules for other user agents.

        The rules are in a group for `AGENT` or for "*".
        """
        others = [_rule(dice) for _ in range(3)]
        ours = list(self._rules)
        if dice.random() < 0.4 and ours:
            groups = [
                (f"{AGENT}/1.{dice.randrange(9)}", ours[:2]),
                ("*", others),
                (AGENT.upper(), ours[2:]),
            ]
        elif ours:
            groups = [("otherbot", others), ("*", ours)]
        else:
            groups = [("otherbot", others)]
        newline = dice.choice(("\n", "\r\n", "\r"))
        lines = ["# made by dice"]
        for user_agent, rules in groups:
            lines += [
                "",
                f"{dice.choice(('User-agent', 'user-agent ', 'USER-AGENT'))}: {user_agent}",
            ]
            for rule in rules:
                lines.append(
                    f"{'Allow' if rule.allow else dice.choice(('Disallow', 'disallow'))}:{rule.pattern} # so"
                )
                lines += ["", "crawl-delay: 9", "nonsense"][: dice.randrange(4)]
        return newline.join([*lines, ""]).encode()


def _rule(dice: Random) -> Rule:
    a, b, ending = dice.choice(_WORDS), dice.choice(_WORDS), dice.choice(_ENDINGS)
    shapes = (
        f"/{a}",
        f"/{a}/",
        f"/{a}/*-{b}.",
        f"/*.{ending}$",
        f"/{a}*.{ending}",
        f"/*{b}$",
        "/",
        f"/{a}/*1",
    )
    return Rule(dice.random() < 0.4, dice.choice(shapes))


def host(number: int) -> str:
    return f"127.{1 + number // 62500}.{number // 250 % 250}.{1 + number % 250}"


def number_of(host: str) -> int:
    """Return the number of the origin with the address `host`."""
    _, a, b, c = map(int, host.split("."))
    return (a - 1) * 62500 + b * 250 + c - 1
