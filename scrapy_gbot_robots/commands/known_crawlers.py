"""The well-known crawlers: data for `scrapy robots agents`, as their operators described them in November 2026.

To add a crawler, add a row, and set `AS_OF`. A crawler that falls back, such as Applebot to Googlebot, has several tokens:
the first that has a group counts, else "*".
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..core.crawlers import Crawler, product_token

AS_OF: Final = "2026-11"

# What a crawler fetches pages for.
SEARCH: Final = "search"  # an index for a search engine
ANSWERS: Final = "AI answers"  # an index for answers that a model writes
TRAINING: Final = "AI training"  # data for models; a "-Extended" token fetches nothing, it only asks for permission
USER: Final = "user-triggered"  # one page that a person asked for
DATA: Final = "data"  # link indexes, archives, research
PREVIEW: Final = "preview"  # the card for a link

PURPOSES: Final = (SEARCH, ANSWERS, TRAINING, USER, DATA, PREVIEW)


class Known(NamedTuple):
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
