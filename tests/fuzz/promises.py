"""What holds for every input: each promise a function that asserts it of one input.

Hypothesis (test_*.py) and atheris (coverage_guided.py) both call them, with what each thinks of.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from scrapy_gbot_robots import Crawler, Origin, RobotsTxt
from scrapy_gbot_robots.core import grammar, index, lines
from scrapy_gbot_robots.core import rules as rules_module
from scrapy_gbot_robots.core.agents import agents_heeded
from scrapy_gbot_robots.policy.ladder import DAY, Policy, decide, renew
from scrapy_gbot_robots.policy.outcome import Failure, failed
from scrapy_gbot_robots.storage.codec import decode, encode

from . import oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_gbot_robots import Rules
    from scrapy_gbot_robots.policy.entry import Entry


_NOW: Final = 1_700_000_000.0
_POLICY: Final = Policy()

# Where the fast ways begin, are cut or change, as module, name and a number that short inputs get past.
_SMALL: Final = (
    (lines, "_BLOCK", 24),
    (grammar, "MAX_LINE_BYTES", 60),
    (index, "_FEW_STEMS", 2),
    (index, "_FEW_NEEDLES", 1),
    (index, "_MANY_NEEDLES", 6),
    (index, "_CROWD", 1),
    (index, "_CROWDED_STEM", 1),
    (index, "_FEW_SHORT_NEEDLES", 1),
)


@contextmanager
def small_limits() -> Iterator[None]:
    """Let short inputs meet what only long ones do: several blocks, over-long lines, many rules."""
    before = [getattr(module, name) for module, name, _ in _SMALL]
    for module, name, number in _SMALL:
        setattr(module, name, number)
    try:
        yield
    finally:
        for (module, name, _), number in zip(_SMALL, before, strict=True):
            setattr(module, name, number)


def robots_txt_has_one_meaning(body: bytes, url: str | bytes, user_agent: str | bytes, *, strict: bool) -> None:
    """The fast reader and the index say what trying each rule of the careful reader says."""
    robots = RobotsTxt.parse(body, strict=strict)
    groups = robots.groups
    as_googles = Crawler.of(user_agent)
    for who in (user_agent,) if agents_heeded(as_googles) == agents_heeded(user_agent) else (user_agent, as_googles):
        followed = oracle.followed_by(groups, who)
        rules = robots.rules_for(who)
        assert (rules.group, rules.crawl_delay) == (followed.group, followed.delay)
        for allow, patterns in ((False, rules._disallows), (True, rules._allows)):
            assert patterns.entries() == [(rule.pattern, rule.line) for rule in followed.rules if rule.allow == allow]
        expected = oracle.verdict_of(followed, url, who, strict)
        assert str(expected).isprintable()
        assert robots.allowed(url, who) == expected.allowed
        assert robots.verdict(url, who) == expected
        _ask_often(rules, url)
        assert {rules.allowed(url), rules.allowed(url)} == {expected.allowed}
        assert rules.verdict(url) == expected


def _ask_often(rules: Rules, url: str | bytes) -> None:
    """Bring `rules` to where they are indexed, without asking as many questions as that takes."""
    rules._questions = rules_module._FEW_QUESTIONS
    rules.allowed(url)
    assert rules._index is not None


def robots_txt_is_told_in_full(body: bytes, *, strict: bool) -> None:
    """Lines, remarks and sitemaps are there for any bytes, printable and consistent with one another."""
    robots = RobotsTxt.parse(body, strict=strict)
    told = robots.lines
    assert [line.number for line in told] == list(range(1, len(told) + 1))
    for remark in robots.remarks:
        assert 1 <= remark.line <= len(told)
        assert str(remark).isprintable()
    assert [(sitemap.line, sitemap.raw) for sitemap in robots.sitemap_lines] == [
        (line.number, line.value) for line in told if line.kind == grammar.SITEMAP
    ]
    for sitemap in robots.sitemaps:
        assert Origin.of(sitemap)


def origin_is_stable(url: str | bytes) -> None:
    """A URL has an origin that is the origin of its own text and of its robots.txt, or none, told by ValueError."""
    try:
        origin = Origin.of(url)
    except ValueError as error:
        refusal = str(error)
        origin = None
    if origin is None:
        assert refusal.isprintable()
        assert Origin.of_robots_txt(url) is None
        return
    assert Origin.of(str(origin)) == origin
    assert Origin.of_robots_txt(origin.robots_url) == origin
    assert origin.scheme in {"http", "https", "ftp"}
    assert 0 < origin.port < 65_536
    assert origin.host.isascii()
    assert origin.host == origin.host.lower()


def bytes_are_an_entry_or_a_miss(data: bytes) -> Entry | None:
    """No bytes raise; what is read as an entry has a meaning, and can be kept as it is and after the next failure."""
    entry = decode(data)
    if entry is not None:
        assert decode(encode(entry)) == entry
        assert decide(entry, _NOW, _POLICY).why or entry.copy  # whose words are those of who wrote the bytes
        after_a_failure = renew(entry, failed(Failure.RESET), _NOW, _POLICY)
        assert decide(after_a_failure, _NOW, _POLICY).refresh_at <= _NOW + DAY
        kept = decode(encode(after_a_failure))
        assert kept is not None
        assert kept.copy == entry.copy
        assert kept.outage is not None
        assert kept.outage.since <= _NOW
    return entry
