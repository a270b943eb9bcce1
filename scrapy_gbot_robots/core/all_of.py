"""The rules of several crawlers at once. A URL is disallowed if it is disallowed to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rules import Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .preferences import Preferences
    from .verdict import Verdict


class RulesOfAll(Rules):
    """The rules of several crawlers. `group` is that of the first crawler; `crawl_delay` is the largest, in seconds."""

    __slots__ = ("_by_crawler",)

    def __init__(self, by_crawler: Sequence[tuple[str, Rules]]) -> None:
        """Take the name of each crawler and its rules, in the order in which to ask them."""
        delays = [rules.crawl_delay for _, rules in by_crawler if rules.crawl_delay is not None]
        super().__init__(group=by_crawler[0][1].group, crawl_delay=max(delays, default=None))
        self._by_crawler = tuple(by_crawler)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rules of each crawler."""
        return RulesOfAll, (self._by_crawler,)

    @property
    def parts(self) -> tuple[Rules, ...]:
        """The rules of each crawler."""
        return tuple(rules for _, rules in self._by_crawler)

    @property
    def weight(self) -> int:
        """How many bytes of memory these rules take at the most, with their indexes."""
        return sum(rules.weight for _, rules in self._by_crawler)

    def allowed(self, url: str | bytes) -> bool:
        """Return whether all of the crawlers may fetch `url`."""
        return all(rules.allowed(url) for _, rules in self._by_crawler)

    def takes_long(self, url: str | bytes) -> bool:
        """Return whether `allowed` or `verdict` may take more than some five milliseconds for `url`."""
        return any(rules.takes_long(url) for _, rules in self._by_crawler)

    def verdict(self, url: str | bytes) -> Verdict:
        """Return the verdict for the first crawler that may not fetch `url`, with its name; if all may, for the first."""
        for name, rules in self._by_crawler:
            verdict = rules.verdict(url)
            if not verdict.allowed:
                return verdict._replace(crawler=name or "*")
        return self._by_crawler[0][1].verdict(url)

    def preferences(self, url: str | bytes) -> Preferences:
        """Return what the site says to the crawlers about the use of `url`'s content; the most restrictive counts."""
        from .preferences import NOTHING_SAID, combined  # noqa: PLC0415 - most crawls never ask

        return combined(rules.preferences(url) for _, rules in self._by_crawler) if self.allowed(url) else NOTHING_SAID
