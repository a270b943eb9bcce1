"""The well-known crawlers: data for `agents` and `lint`, as their operators described them in November 2026.

To add a crawler, add a row, and set `AS_OF`. A crawler that falls back, such as Applebot to Googlebot, has several tokens:
the first that has a group counts, else "*".
"""

from __future__ import annotations

from typing import Final, NamedTuple

from .crawlers import GOOGLE_NAMES, Crawler, product_token

AS_OF: Final = "2026-11"

# What a crawler fetches pages for.
SEARCH: Final = "search"  # an index for a search engine
ANSWERS: Final = "AI answers"  # an index for answers that a model writes
TRAINING: Final = "AI training"  # data for models; a "-Extended" token fetches nothing, it only asks for permission
USER: Final = "user-triggered"  # one page that a person asked for
DATA: Final = "data"  # link indexes, archives, research
PREVIEW: Final = "preview"  # the card for a link

PURPOSES: Final = (SEARCH, ANSWERS, TRAINING, USER, DATA, PREVIEW)


class KnownCrawler(NamedTuple):
    """A well-known crawler.

    Attributes:
        tokens: its product tokens, in fall-back order.
        operator: the company that runs it.
        purpose: one of `PURPOSES`.
        obeys: whether it always obeys robots.txt, by its operator's own words.
    """

    tokens: tuple[str, ...]
    operator: str
    purpose: str
    obeys: bool = True

    @property
    def crawler(self) -> Crawler:
        """What it heeds in a robots.txt. Google's crawlers are in a table of their own."""
        if self.operator == "Google":
            return Crawler.of(self.tokens[0])
        return Crawler(self.tokens[0], tuple(map(product_token, self.tokens)))


KNOWN_CRAWLERS: Final = (
    KnownCrawler(("Googlebot",), "Google", SEARCH),
    KnownCrawler(("Googlebot-Image",), "Google", SEARCH),
    KnownCrawler(("Googlebot-News",), "Google", SEARCH),
    KnownCrawler(("Bingbot",), "Microsoft", SEARCH),
    KnownCrawler(("Applebot", "Googlebot"), "Apple", SEARCH),
    KnownCrawler(("DuckDuckBot",), "DuckDuckGo", SEARCH),
    KnownCrawler(("YandexBot", "Yandex"), "Yandex", SEARCH),
    KnownCrawler(("Baiduspider",), "Baidu", SEARCH),
    KnownCrawler(("Slurp",), "Yahoo", SEARCH),
    KnownCrawler(("SeznamBot",), "Seznam", SEARCH),
    KnownCrawler(("Yeti",), "Naver", SEARCH),
    KnownCrawler(("PetalBot",), "Huawei", SEARCH),
    KnownCrawler(("MojeekBot",), "Mojeek", SEARCH),
    KnownCrawler(("OAI-SearchBot",), "OpenAI", ANSWERS),
    KnownCrawler(("Claude-SearchBot",), "Anthropic", ANSWERS),
    KnownCrawler(("PerplexityBot",), "Perplexity", ANSWERS),
    KnownCrawler(("DuckAssistBot",), "DuckDuckGo", ANSWERS),
    KnownCrawler(("Amazonbot",), "Amazon", ANSWERS),
    KnownCrawler(("GPTBot",), "OpenAI", TRAINING),
    KnownCrawler(("ClaudeBot",), "Anthropic", TRAINING),
    KnownCrawler(("Google-Extended",), "Google", TRAINING),
    KnownCrawler(("Applebot-Extended",), "Apple", TRAINING),
    KnownCrawler(("meta-externalagent",), "Meta", TRAINING),
    KnownCrawler(("Bytespider",), "ByteDance", TRAINING),
    KnownCrawler(("CCBot",), "Common Crawl", TRAINING),
    KnownCrawler(("ChatGPT-User",), "OpenAI", USER),
    KnownCrawler(("Claude-User",), "Anthropic", USER),
    KnownCrawler(("Perplexity-User",), "Perplexity", USER, obeys=False),
    KnownCrawler(("MistralAI-User",), "Mistral", USER),
    KnownCrawler(("meta-externalfetcher",), "Meta", USER, obeys=False),
    KnownCrawler(("AhrefsBot",), "Ahrefs", DATA),
    KnownCrawler(("SemrushBot",), "Semrush", DATA),
    KnownCrawler(("MJ12bot",), "Majestic", DATA),
    KnownCrawler(("DotBot",), "Moz", DATA),
    KnownCrawler(("Diffbot",), "Diffbot", DATA),
    KnownCrawler(("facebookexternalhit",), "Meta", PREVIEW, obeys=False),
    KnownCrawler(("Twitterbot",), "X", PREVIEW),
    KnownCrawler(("LinkedInBot",), "LinkedIn", PREVIEW),
)


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


_REAL: Final = {name.lower(): name for row in KNOWN_CRAWLERS for name in (*row.tokens, *GOOGLE_NAMES)}
_BY_LETTERS: Final = {_letters(name): name for name in _REAL.values()}


def meant_by(name: str) -> list[str]:
    """Return the crawlers that `name` may mean if it is none itself: "GPT-Bot" another spelling, "ChatGPT" a product."""
    if name.lower() in _REAL:
        return []
    if _letters(name) in _BY_LETTERS:
        return [_BY_LETTERS[_letters(name)]]
    return [row.tokens[0] for row in KNOWN_CRAWLERS if name.lower() in (_product(row.tokens[0]), row.operator.lower())]


def _product(name: str) -> str:
    """Return the product that a crawler is named after, in lower case: "claude" for Claude-User, "bing" for Bingbot."""
    return name.partition("-")[0].lower().removesuffix("bot").removesuffix("spider")
