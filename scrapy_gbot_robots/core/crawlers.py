"""Which crawler asks, and what it heeds: its tokens, from the most specific one on, and "*".

A crawler follows the groups of its first token that has any; if none has, those of "*".

The product token is the name by which a robots.txt can speak to a crawler. Browsers send long
headers that name many products, and crawlers imitate them. So a header is searched for the one
product that no browser names, the surest places first:

1. after "compatible": in "Mozilla/5.0 (compatible; Bot/2.1; +url)" it is Bot
2. at the very beginning: "Bot/1.0 (+url)"
3. in a comment, with a version or with a name that sounds like a bot:
   "Mozilla/5.0 (X11; Linux x86_64; Bot/1.0)"
4. beside the comments:
   "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Safari/537.36 Bot/1.0"

Source: RFC 9309 2.2.1 for what a token is; Google's page ("Order of precedence for user agents"),
and Google's lists of common crawlers, special-case crawlers and user-triggered fetchers with their
headers, as of September 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from .lines import GLOBAL, MAX_LINE_BYTES

# Google's crawlers by what they do if no group names them. The name of each is its token, too.
_HEED_GLOBAL = """
    Googlebot Googlebot-Image Googlebot-Video Googlebot-News Storebot-Google
    Google-InspectionTool GoogleOther GoogleOther-Image GoogleOther-Video Google-CloudVertexBot
    Google-Extended DuplexWeb-Google
""".split()  # DuplexWeb-Google, retired, may have ignored "*"; here the site is believed
_IGNORE_GLOBAL = """
    APIs-Google AdsBot-Google-Mobile AdsBot-Google Mediapartners-Google
    AdsBot-Google-Mobile-Apps
""".split()
_IGNORE_ROBOTS = """
    Google-Safety googleweblight Google-CWS FeedFetcher-Google Google-Agent GoogleMessages
    Google-GeminiNotebook Google-NotebookLM Google-Pinpoint GoogleProducer Google-Read-Aloud
    google-speakr Google-Site-Verification
""".split()
_FALL_BACK = {  # the token that counts if no group names the own one
    "Googlebot-Image": ("Googlebot",),
    "Googlebot-Video": ("Googlebot",),
    "Googlebot-News": ("Googlebot",),
    "Google-InspectionTool": ("Googlebot",),
    "Google-CloudVertexBot": ("Googlebot",),
    "GoogleOther-Image": ("GoogleOther",),
    "GoogleOther-Video": ("GoogleOther",),
    "AdsBot-Google-Mobile-Apps": ("AdsBot-Google",),
}

_TOKEN = r"[A-Za-z_-]+"  # noqa: S105 - of a product
_PRODUCT = r"([A-Za-z_-]+)(/\S*)?"
_COMMENT = r"\(([^()]*)\)"
BETWEEN_PRODUCTS = re.compile(r"[\s/;,()]+")
_BOT_WORDS = re.compile("bot|crawl|spider|google", re.IGNORECASE)

# Products that browsers name, in lower case. Any other product in a browser's header is the
# crawler.
_BROWSER = frozenset(
    """
    mozilla opera applewebkit khtml gecko chrome chromium safari mobile version firefox edge edg
    edga edgios opr crios fxios headlesschrome seamonkey konqueror epiphany vivaldi yabrowser
    samsungbrowser ucbrowser ubuntu fedora debian msie trident presto windows macintosh linux
    android iphone ipad ipod cros compatible like build web minefield iceweasel palemoon waterfox
    electron instagram fban fbav whale brave miuibrowser silk phantomjs qtwebengine """.split()
)


class UserAgent(NamedTuple):
    """What a crawler heeds in a robots.txt.

    Attributes:
        name: its product token.
        tokens: are tried in order; the crawler follows the groups of the first that has any.
        heeds_global: whether the crawler falls back to the groups of "*".
    """

    name: str
    tokens: tuple[str, ...]
    heeds_global: bool = True

    @classmethod
    def of(cls, user_agent: str | bytes | Iterable[str | bytes]) -> UserAgent:
        """Return the crawler that a product token or a whole User-Agent header names.

        Google's crawlers heed what Google lists for them. Any other heeds its one token and "*", or
        "*" alone if there is no token in `user_agent`. A list of names makes one crawler, which
        tries the tokens of all in this order.

        Raises:
            ValueError: the list of names is empty.
            TypeError: a name is neither str nor bytes.
        """
        if not isinstance(user_agent, (str, bytes)) and isinstance(user_agent, Iterable):
            return _first_of([cls.of(name) for name in user_agent])
        header = as_text(user_agent)
        token = product_token(header)
        # other names in Google's pages
        if token.lower() == "googlebot-images" or "google favicon" in header.lower():
            token = "Googlebot-Image"  # noqa: S105 - of a product
        return _GOOGLE.get(token.lower()) or _one_token(token)


GOOGLE_NAMES = (*_HEED_GLOBAL, *_IGNORE_GLOBAL, *_IGNORE_ROBOTS)
_GOOGLE = {
    name.lower(): UserAgent(
        name,
        () if name in _IGNORE_ROBOTS else (name, *_FALL_BACK.get(name, ())),
        name in _HEED_GLOBAL,
    )
    for name in GOOGLE_NAMES
}


def _one_token(token: str) -> UserAgent:
    return UserAgent(token, (token,) if token else ())


def _first_of(crawlers: Sequence[UserAgent]) -> UserAgent:
    if not crawlers:
        raise ValueError("no crawler is named")
    tokens = dict.fromkeys(chain.from_iterable(crawler.tokens for crawler in crawlers))
    heeds_global = any(crawler.heeds_global for crawler in crawlers)
    names = dict.fromkeys(crawler.name for crawler in crawlers if crawler.name)
    return UserAgent(", ".join(names), tuple(tokens), heeds_global)


@lru_cache(maxsize=1_000)
def agents_heeded(user_agent: str | bytes | UserAgent) -> tuple[bytes, ...]:
    """Return the agents whose groups to look for, in this order.

    They are tokens in lower case, and last "*" if it is heeded. A product token or a header means
    its one token, then "*". A crawler that ignores robots.txt has no agents.
    """
    if not isinstance(user_agent, UserAgent):
        user_agent = _one_token(product_token(user_agent))
    tokens = filter(None, user_agent.tokens)
    user_agents = [token.lower().encode("ascii", "replace") for token in tokens]
    if user_agent.heeds_global:
        user_agents.append(GLOBAL)
    return tuple(user_agents)


def product_token(user_agent: str | bytes) -> str:
    """Return the product token in a User-Agent header, "" if there is none.

    The header may be a token alone. A token is letters, "-" and "_" (RFC 9309 2.2.1), so "bot2000"
    gives "bot". A browser's header gives its first word, which is "Mozilla".
    """
    header = as_text(user_agent)
    for token in _candidates(header):
        if token and token.lower() not in _BROWSER:
            return token
    return _leading_token(header)


def is_browser_like(user_agent: str | bytes) -> bool:
    """Whether the header is a browser's and names no crawler. No robots.txt will ever name it."""
    return product_token(user_agent).lower() in _BROWSER


def cut_token(user_agent: str) -> str | None:
    """The product token if it is only the beginning of a name, else None.

    It is "bot" of "bot2000/1.0", and "my" of "my bot".
    """
    token = product_token(user_agent)
    names = BETWEEN_PRODUCTS.split(user_agent)
    rest = user_agent.removeprefix(token)
    if not token:
        return None
    if token not in names:
        return token
    follows_word = rest[:1].isspace() and rest.lstrip()[:1].isalpha()
    if names[0] == token and follows_word and UserAgent.of(user_agent).name == token:
        return token
    return None


def as_text(user_agent: str | bytes) -> str:
    """Return a user agent as text, cut to what a line of a robots.txt can name.

    Raises TypeError if it is of another type.
    """
    if isinstance(user_agent, bytes):
        return user_agent[:MAX_LINE_BYTES].decode("latin-1")
    if isinstance(user_agent, str):
        return user_agent[:MAX_LINE_BYTES]
    raise TypeError(f"a user agent is str, bytes or Crawler, not {type(user_agent).__name__}")


def _leading_token(text: str) -> str:
    token = re.match(_TOKEN, text.lstrip())
    return token[0] if token else ""


def _candidates(header: str) -> Iterator[str]:
    """Yield the products that may be the crawler, in the order above."""
    comments = ";;".join(re.findall(_COMMENT, header))  # an empty item parts them
    items = [item.strip() for item in comments.split(";")]
    for before, item in pairwise(items):
        if before == "compatible":
            yield _leading_token(item)
    yield _leading_token(header)
    if "/" not in header and "(" not in header:
        return  # a name alone
    product_in = re.compile(_PRODUCT).fullmatch
    for product in filter(None, map(product_in, items)):
        if product[2] or _BOT_WORDS.search(product[1]):
            yield product[1]
    words = re.sub(_COMMENT, " ", header).split()
    for product in filter(None, map(product_in, words)):
        yield product[1]
