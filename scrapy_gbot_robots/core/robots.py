"""RobotsTxt: one robots.txt, ready to be asked.

There are two ways through a body. The fast way is for crawls: bytes -> one crawler's rules (scan.py, rules.py) -> Verdict,
and bytes -> sitemaps (sitemaps.py). The careful way tells all there is to know, and is the specification of the fast one:
bytes -> lines (lines.py) -> groups (groups.py) and remarks (remarks.py).

Nothing is read before it is asked for. No bytes raise: anything odd becomes a remark.
Source: RFC 9309, Google's page, and where these are silent Google's parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import grammar
from .agents import AllOf, agents_heeded
from .lines import read_lines
from .scan import scan, scan_all

if TYPE_CHECKING:
    from .agents import Crawler
    from .groups import FieldLine, Group
    from .lines import Line
    from .preferences import Preferences
    from .remarks import Remark
    from .rules import Rules
    from .scan import ScannedGroup, Signal
    from .sitemaps import SitemapLine
    from .verdict import Verdict

_MOST_AGENTS: Final = 100  # whose rules are kept at a time


class RobotsTxt:
    """What a robots.txt says, to any crawler.

    Attributes:
        truncated: whether bytes past the size limit were left out (Google's page, "File format").
    """

    __slots__ = ("_body", "_rules", "_strict", "truncated")

    def __init__(self, body: bytes, strict: bool, truncated: bool) -> None:
        self._body = body
        self._strict = strict
        self._rules: dict[str | bytes | Crawler | AllOf, Rules] = {}
        self.truncated = truncated

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the bytes only: everything else can be read from them again."""
        return RobotsTxt, (self._body, self._strict, self.truncated)

    @classmethod
    def parse(
        cls,
        body: bytes | bytearray | memoryview,
        *,
        strict: bool = False,
        max_bytes: int | None = grammar.MAX_BYTES,
        cut: bool = False,
    ) -> RobotsTxt:
        """Take the bytes of a robots.txt, whatever they are.

        Args:
            body: the bytes.
            strict: whether to leave out what Google's parser accepts beyond the written text: misspelt field names, names
                that only begin like a field's, a missing colon, index.htm for its directory.
            max_bytes: the rest of `body` is ignored (Google's page: 500 KiB); None means no limit.
            cut: whether more was served than `body`.

        Raises:
            TypeError: `body` is not bytes.
        """
        if not isinstance(body, (bytes, bytearray, memoryview)):
            raise TypeError(f"a robots.txt is bytes, not {type(body).__name__}")
        raw = body if isinstance(body, bytes) else bytes(body)
        if max_bytes is None or len(raw) <= max_bytes:
            return cls(raw, strict, cut)
        return cls(raw[:max_bytes], strict, True)

    def allowed(self, url: str | bytes, user_agent: str | bytes | Crawler | AllOf) -> bool:
        """Return whether the crawler may fetch `url`: the answer of `verdict` without its reason, and faster."""
        try:
            rules = self._rules[user_agent]
        except KeyError:
            rules = self.rules_for(user_agent)
        return rules.allowed(url)

    def verdict(self, url: str | bytes, user_agent: str | bytes | Crawler | AllOf) -> Verdict:
        """Return whether the crawler may fetch `url`, and the rule that decides.

        A product token, or a whole User-Agent header, means this one token and then "*" (RFC 9309 2.2.1). A `Crawler`
        falls back from token to token, then to "*". `AllOf` refuses a URL that is refused to any of its crawlers. Only the
        path of `url` counts.
        """
        return self.rules_for(user_agent).verdict(url)

    def rules_for(self, user_agent: str | bytes | Crawler | AllOf) -> Rules:
        """Return the merged rules that the crawler follows. They do not keep this object alive."""
        rules = self._rules.get(user_agent)
        if rules is None:
            if len(self._rules) >= _MOST_AGENTS:
                self._rules.clear()
            if isinstance(user_agent, AllOf):
                rules = self._rules_of_all(user_agent)
            else:
                rules = scan(self._body, agents_heeded(user_agent), self._strict)
            self._rules[user_agent] = rules
        return rules

    def _rules_of_all(self, crawlers: AllOf) -> Rules:
        from .all_of import RulesOfAll  # noqa: PLC0415 - most ask as one crawler

        return RulesOfAll([(crawler.name, self.rules_for(crawler)) for crawler in crawlers])

    def crawl_delay(self, user_agent: str | bytes | Crawler | AllOf) -> float | None:
        """Return the crawl delay in seconds for the crawler, None if there is none. Google ignores this field."""
        return self.rules_for(user_agent).crawl_delay

    def preferences(self, url: str | bytes, user_agent: str | bytes | Crawler | AllOf) -> Preferences:
        """Return what the site says, in `Content-Usage` and `Content-Signal` lines, about the use of `url`'s content.

        The lines of the crawler's group count, and `Content-Signal` lines before any group. A URL that is disallowed has
        no preference. Experimental: both fields are drafts (see preferences.py).
        """
        return self.rules_for(user_agent).preferences(url)

    def fields(self, name: str) -> tuple[FieldLine, ...]:
        """Return all lines of the field `name` in file order, each with the agents of its group. Case does not matter."""
        from .groups import field_lines  # noqa: PLC0415 - a crawl never asks for this

        return tuple(field_lines(self.lines, name.lower().encode("utf-8", "replace")))

    @property
    def licenses(self) -> tuple[str, ...]:
        """The absolute http, https and ftp URLs of `License` lines (RSL 1.0), in file order, each once.

        They are for the whole file, wherever a line stands.
        """
        from .origin import is_absolute  # noqa: PLC0415 - verdicts do not need it

        urls = dict.fromkeys(field.value for field in self.fields("license"))
        return tuple(url for url in urls if is_absolute(url))

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, as in the line report of Google's parser: kind, flags, key and value."""
        return tuple(read_lines(self._body, strict=self._strict))

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups in file order, before groups for the same agent are merged."""
        from .groups import read_groups  # noqa: PLC0415 - a crawl never asks for this

        return tuple(read_groups(self.lines))

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was odd, by line."""
        from .remarks import remarks_on  # noqa: PLC0415 - a crawl never asks for this

        bad = frozenset(sitemap.line for sitemap in self.sitemap_lines if sitemap.url is None)
        cut_at = len(self._body) if self.truncated else None
        return tuple(remarks_on(self.lines, bad_sitemaps=bad, cut_at=cut_at))

    @property
    def may_list_sitemaps(self) -> bool:
        """Whether there may be sitemap lines. A quick look: False is certain, True is not."""
        from .sitemaps import may_list_sitemaps  # noqa: PLC0415 - as above

        return may_list_sitemaps(self._body)

    @property
    def sitemap_lines(self) -> tuple[SitemapLine, ...]:
        """All sitemap lines in file order, also malformed ones. They belong to no group (Google's page)."""
        from .sitemaps import read_sitemaps  # noqa: PLC0415 - verdicts do not need it

        return tuple(read_sitemaps(self._body, strict=self._strict))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http, https and ftp URLs of the sitemap lines, in file order, each once."""
        return tuple(dict.fromkeys(sitemap.url for sitemap in self.sitemap_lines if sitemap.url is not None))


def groups_of_all(robotstxt: RobotsTxt) -> tuple[list[ScannedGroup], list[Signal]]:
    """Return the groups of all agents as a crawl reads them, and the `Content-Signal` lines before any group."""
    return scan_all(robotstxt._body, robotstxt._strict)  # noqa: SLF001 - no user of `RobotsTxt` needs them
