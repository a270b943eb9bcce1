"""The well-known crawlers: data for `scrapy robots agents`, as their operators describe them.

To add a crawler, add a row. As of November 2026. A crawler that falls back, as Applebot does to Googlebot, has several
tokens: the first that has a group counts, then "*".
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..core.agents import Crawler, product_token

AS_OF: Final = "2026-11"

SEARCH: Final = "search"  # an index in which people search
ANSWERS: Final = "AI answers"  # an index from which answers are made
TRAINING: Final = (
    "AI training"  # data for models; a "-Extended" token fetches nothing itself, it only asks for a permission
)
USER: Final = "user-triggered"  # one page, because a person asked for it
DATA: Final = "data"  # link indexes, archives, research
PREVIEW: Final = "preview"  # the card that is shown for a link

PURPOSES: Final = (SEARCH, ANSWERS, TRAINING, USER, DATA, PREVIEW)


class Known(NamedTuple):
    """A well-known crawler: its tokens in fall-back order, who runs it, what for, and whether it says it obeys."""

    tokens: tuple[str, ...]
    operator: str
    purpose: str
    obeys: bool = True

    @property
    def crawler(self) -> Crawler:
        """What it heeds in a robots.txt; Google's crawlers are as Google lists them."""
        if self.operator == "Google":
            return Crawler.of(self.tokens[0])
        return Crawler(self.tokens[0], tuple(map(product_token, self.tokens)))


KNOWN_CRAWLERS: Final = (
    Known(("Googlebot",), "Google", SEARCH),
    Known(("Googlebot-Image",), "Google", SEARCH),
    Known(("Googlebot-News",), "Google", SEARCH),
    Known(("Bingbot",), "Microsoft", SEARCH),
    Known(("Applebot", "Googlebot"), "Apple", SEARCH),
    Known(("DuckDuckBot",), "DuckDuckGo", SEARCH),
    Known(("YandexBot", "Yandex"), "Yandex", SEARCH),
    Known(("Baiduspider",), "Baidu", SEARCH),
    Known(("Slurp",), "Yahoo", SEARCH),
    Known(("SeznamBot",), "Seznam", SEARCH),
    Known(("Yeti",), "Naver", SEARCH),
    Known(("PetalBot",), "Huawei", SEARCH),
    Known(("MojeekBot",), "Mojeek", SEARCH),
    Known(("OAI-SearchBot",), "OpenAI", ANSWERS),
    Known(("Claude-SearchBot",), "Anthropic", ANSWERS),
    Known(("PerplexityBot",), "Perplexity", ANSWERS),
    Known(("DuckAssistBot",), "DuckDuckGo", ANSWERS),
    Known(("Amazonbot",), "Amazon", ANSWERS),
    Known(("GPTBot",), "OpenAI", TRAINING),
    Known(("ClaudeBot",), "Anthropic", TRAINING),
    Known(("Google-Extended",), "Google", TRAINING),
    Known(("Applebot-Extended",), "Apple", TRAINING),
    Known(("meta-externalagent",), "Meta", TRAINING),
    Known(("Bytespider",), "ByteDance", TRAINING),
    Known(("CCBot",), "Common Crawl", TRAINING),
    Known(("ChatGPT-User",), "OpenAI", USER),
    Known(("Claude-User",), "Anthropic", USER),
    Known(("Perplexity-User",), "Perplexity", USER, obeys=False),
    Known(("MistralAI-User",), "Mistral", USER),
    Known(("meta-externalfetcher",), "Meta", USER, obeys=False),
    Known(("AhrefsBot",), "Ahrefs", DATA),
    Known(("SemrushBot",), "Semrush", DATA),
    Known(("MJ12bot",), "Majestic", DATA),
    Known(("DotBot",), "Moz", DATA),
    Known(("Diffbot",), "Diffbot", DATA),
    Known(("facebookexternalhit",), "Meta", PREVIEW, obeys=False),
    Known(("Twitterbot",), "X", PREVIEW),
    Known(("LinkedInBot",), "LinkedIn", PREVIEW),
)
