"""Find the crawler that a name or a User-Agent header identifies, and the groups that it follows.

The product token is the name by which a robots.txt can address a crawler. A crawler may have
several product tokens, such as "Googlebot-Image" and "Googlebot", with the most specific one first.
The crawler follows the groups of the first of its tokens that the robots.txt names. If the
robots.txt names none of the tokens, the crawler follows the groups of "*".

In a User-Agent header, the first product usually names the crawler, because the products are in
order of significance. Text in parentheses is a comment (RFC 9110 10.1.5). But many crawlers imitate
a browser, so the first product in their header names a browser, such as "Mozilla". In the header of
such a crawler, the following places are searched in this order, and names of browsers are passed
over. A name "sounds like a bot" if it contains "bot", "crawl", "spider" or "google".

1. A name after "compatible", as in "Mozilla/5.0 (compatible; Bot/2.1; +url)".
2. A name outside the comments that sounds like a bot, as in
   "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Safari/537.36 Bot/1.0".
3. A name with a version, in a comment, that sounds like a bot, as in
   "Mozilla/5.0 (X11; Linux x86_64; Bot/1.0)".
4. Any other name outside the comments.
5. Any other name with a version, in a comment.
6. Any other name in a comment that sounds like a bot.
7. A name that ends with "bot", "crawler" or "spider" and has a number directly behind it, as in
   "Mozilla/5.0 (X11; Linux x86_64; Bot0.5.0)".

The logs of some servers have a plus sign for each space, and users copy headers from them. So in a
header without spaces and with "+(", as in "Mozilla/5.0+(compatible;+Bot/2.1;++url)", a plus sign
means a space.

Sources: RFC 9309 2.2.1 for tokens; Google's page ("Order of precedence for user agents"); Google's
lists of common crawlers, special-case crawlers and user-triggered fetchers with their headers, as
of September 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from .lines import GLOBAL, MAX_LINE_BYTES

# Google's crawlers, in three lists. The crawlers in the first list follow "*" if no group names
# them. The crawlers in the second list ignore "*". The crawlers in the third list ignore
# robots.txt. Each name is also the product token.
_HEED_GLOBAL = """
    Googlebot Googlebot-Image Googlebot-Video Googlebot-News Storebot-Google
    Google-InspectionTool GoogleOther GoogleOther-Image GoogleOther-Video Google-CloudVertexBot
    Google-Extended DuplexWeb-Google
""".split()
# DuplexWeb-Google is retired. Perhaps it ignored "*". It is safer to assume that it followed "*".
_IGNORE_GLOBAL = """
    APIs-Google AdsBot-Google-Mobile AdsBot-Google Mediapartners-Google
    AdsBot-Google-Mobile-Apps
""".split()
_IGNORE_ROBOTS = """
    Google-Safety googleweblight Google-CWS FeedFetcher-Google Google-Agent GoogleMessages
    Google-GeminiNotebook Google-NotebookLM Google-Pinpoint GoogleProducer Google-Read-Aloud
    google-speakr Google-Site-Verification
""".split()
# Each key is a crawler that falls back to another token. If no group names the crawler, it follows
# the groups of the token in the value.
_FALL_BACK = {
    "Googlebot-Image": ("Googlebot",),
    "Googlebot-Video": ("Googlebot",),
    "Googlebot-News": ("Googlebot",),
    "Google-InspectionTool": ("Googlebot",),
    "Google-CloudVertexBot": ("Googlebot",),
    "GoogleOther-Image": ("GoogleOther",),
    "GoogleOther-Video": ("GoogleOther",),
    "AdsBot-Google-Mobile-Apps": ("AdsBot-Google",),
}

_TOKEN = r"[A-Za-z_-]+"  # noqa: S105 - a product token
# This matches a product in a User-Agent header. The two groups of the expression are the token and
# the version, as in "mybot/1.0". The version may be missing.
_PRODUCT = re.compile(rf"({_TOKEN})(/\S*)?")
# This matches "(" or ")", or a backslash and the character after it. In a comment of a header, the
# backslash means that the character is ordinary text, so "\)" does not end the comment (RFC 9110
# 5.6.4 and 5.6.5).
_BRACKET = re.compile(r"(\\.|[()])")
# Each of "(", ")", ";" and "," separates names in a header, unless there is a backslash before it.
# After a backslash, the character is replaced by a space.
_NO_SEPARATORS = str.maketrans("();,", "    ")
_COMPATIBLE = re.compile(r"compatible(?![\w-])[\s:-]*", re.IGNORECASE)
# In a comment such as "(mybot +https://example.com/bot)", this matches the address of the operator
# after the name of the crawler.
_ADDRESS = re.compile(r"(?<!\s)\s+\+?(?:https?://|www\.)\S*\Z", re.IGNORECASE)
# This matches a word in a header that cannot be the name of a crawler. Such a word is empty, a URL,
# an e-mail address, the name of the header itself, or one of the letters "U", "I" and "N", with
# which old browsers reported the strength of their encryption.
_NO_NAME = re.compile(r"[UIN]?\Z|\+|\S*(?:://|@)|user-agent:", re.IGNORECASE)
# This matches a plus sign that means a space. In "++https://example.com", only the first plus
# sign means a space. The second one is part of the text, so the capturing group includes it.
_PLUS = re.compile(r"\+(\+?)")
BETWEEN_PRODUCTS = re.compile(r"[\s/;,()]+")
_BOT_WORDS = re.compile("bot|crawl|spider|google", re.IGNORECASE)
# This matches a name with a number directly behind it. The group of the expression is the token.
_NUMBERED = re.compile(r"([A-Za-z_-]*(?:bot|crawler|spider))\d[\d.]*(?:/\S*)?", re.IGNORECASE)

# Products that occur in the headers of browsers, in lower case. If a header begins with one of them
# and contains another product, the other product is taken for the crawler.
_BROWSER = frozenset(
    """
    mozilla opera applewebkit khtml gecko chrome chromium safari mobile version firefox edge edg
    edga edgios opr crios fxios headlesschrome seamonkey konqueror epiphany vivaldi yabrowser
    samsungbrowser ucbrowser ubuntu fedora debian msie trident presto windows macintosh linux
    android iphone ipad ipod cros compatible like build web minefield iceweasel palemoon waterfox
    electron instagram fban fbav whale brave miuibrowser silk phantomjs qtwebengine docomo
    gsa ddg micromessenger qqbrowser mqqbrowser maxthon puffin oculusbrowser huaweibrowser
    heytapbrowser vivobrowser coc_coc_browser
    """.split()
)
# This matches a string that occurs in the headers of browsers on old phones. Such a header begins
# with the name of the phone's maker, which is not the name of a crawler.
_PHONES = re.compile(r"UP\.Browser|Profile/MIDP|Configuration/CLDC")


class UserAgent(NamedTuple):
    r"""A crawler, with the names by which a robots.txt can address it.

    `UserAgent.of` returns the crawler that a name or a header means. If your crawler tries several
    names or ignores "*", you can also set the fields yourself, as in this example.

    >>> from scrapy_gbot_robots import RobotsTxt, UserAgent
    >>> mybot = UserAgent("mybot", ("mybot-news", "mybot"), heeds_global=False)
    >>> robots = RobotsTxt.parse(b"User-agent: mybot\nDisallow: /drafts")
    >>> robots.allowed("https://example.com/drafts/1", mybot)
    False

    Attributes:
        name: the product token of the crawler; "" if it has none.
        tokens: the product tokens, the most specific one first. The crawler follows the groups of
            the first token that the robots.txt names.
        heeds_global: whether the crawler follows the groups of "*" if no token has a group.
    """

    name: str
    tokens: tuple[str, ...]
    heeds_global: bool = True

    @classmethod
    def of(cls, user_agent: str | bytes | Iterable[str | bytes]) -> UserAgent:
        """Return the crawler that a product token or a whole User-Agent header names.

        A crawler of Google gets the tokens that Google documents. For any other crawler, the token
        in `user_agent` is its only token, and the crawler follows "*" if no group names this token.
        If `user_agent` contains no token, the crawler follows only "*". If `user_agent` is a list
        of names, the crawler gets the tokens of all these names, in the order of the list.

        >>> from scrapy_gbot_robots import UserAgent
        >>> UserAgent.of("mybot/1.2 (+https://example.com/bot)")
        UserAgent(name='mybot', tokens=('mybot',), heeds_global=True)
        >>> UserAgent.of("Googlebot-Image").tokens
        ('Googlebot-Image', 'Googlebot')
        >>> UserAgent.of("AdsBot-Google").heeds_global
        False
        >>> UserAgent.of(["mybot-news", "mybot"]).tokens
        ('mybot-news', 'mybot')

        Raises:
            ValueError: the list of names is empty.
            TypeError: a name is neither str nor bytes.
        """
        if not isinstance(user_agent, (str, bytes)) and isinstance(user_agent, Iterable):
            return _first_of([cls.of(name) for name in user_agent])
        header = as_text(user_agent)
        token = product_token(header)
        # Google's pages have two other names for Googlebot-Image.
        is_favicon = token.lower() == "google" and "google favicon" in header.lower()
        if is_favicon or token.lower() == "googlebot-images":
            token = "Googlebot-Image"  # noqa: S105 - a product token
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
    """Return the user agents whose groups a crawler follows, in the order in which it tries them.

    The result contains the product tokens of the crawler in lower case, and "*" at the end if the
    crawler follows "*". If the crawler ignores robots.txt, the result is empty. For a token or a
    header, such as "mybot/1.0", the result contains its product token and "*": (b"mybot", b"*").
    """
    if not isinstance(user_agent, UserAgent):
        user_agent = _one_token(product_token(user_agent))
    tokens = filter(None, user_agent.tokens)
    user_agents = [token.lower().encode("ascii", "replace") for token in tokens]
    if user_agent.heeds_global:
        user_agents.append(GLOBAL)
    return tuple(user_agents)


def product_token(user_agent: str | bytes) -> str:
    """Return the product token in a User-Agent header; "" if there is none.

    The header may also be a token alone. A token consists of letters, "-" and "_" (RFC 9309 2.2.1),
    so the result for "bot2000" is "bot", and the result for "360bot" is "". The result for the
    header of a browser is the first word, usually "Mozilla".
    """
    header = as_text(user_agent).strip(" \t\"'")
    beside, comments = _parts_of(header)
    words = [word for word in beside.split() if not _NO_NAME.match(word)]
    first = ""
    if words:
        first = _leading_token(words[0])
        if first.lower() not in _BROWSER and not _PHONES.search(beside):
            return first
    if "/" in header or comments:
        for token in _candidates(words, comments):
            if token and token.lower() not in _BROWSER:
                return token
    return first


def is_browser_like(user_agent: str | bytes) -> bool:
    """Return whether a User-Agent header comes from a browser and does not name a crawler.

    A robots.txt cannot address a crawl that sends such a header, except with "*".
    """
    return product_token(user_agent).lower() in _BROWSER


def cut_token(user_agent: str) -> str | None:
    """Return the product token of a name if parsers would cut off the rest; otherwise None.

    Parsers cut a name at a character that a token cannot contain, such as a digit or a space. So
    the result for "bot2000/1.0" is "bot", and the result for "my bot" is "my". A version after the
    name does not matter, so the result for "mybot/1.0" is None.
    """
    token = product_token(user_agent)
    header = as_text(user_agent)
    names = BETWEEN_PRODUCTS.split(header)
    rest = header.removeprefix(token)
    if not token:
        return None
    if token not in names:
        return token
    follows_word = rest[:1].isspace() and rest.lstrip()[:1].isalpha()
    if names[0] == token and follows_word and UserAgent.of(user_agent).name == token:
        return token
    return None


def as_text(user_agent: str | bytes) -> str:
    """Return a product token or a User-Agent header as text.

    The text is cut to the length of the longest line that Google's parser reads. If a header has
    plus signs in place of spaces, they are replaced by spaces.

    Raises:
        TypeError: `user_agent` is neither str nor bytes.
    """
    if isinstance(user_agent, bytes):
        header = user_agent[:MAX_LINE_BYTES].decode("latin-1")
    elif isinstance(user_agent, str):
        header = user_agent[:MAX_LINE_BYTES]
    else:
        raise TypeError(f"a user agent is str, bytes or UserAgent, not {type(user_agent).__name__}")
    if "+(" in header and len(header.split()) == 1:
        return _PLUS.sub(r" \1", header)
    return header


def _leading_token(text: str) -> str:
    token = re.match(_TOKEN, text.lstrip())
    return token[0] if token else ""


def _parts_of(header: str) -> tuple[str, list[str]]:
    """Return the text outside the comments of a header, and a list of the comments.

    If a comment contains another comment, both are items of the list. If the header ends within a
    comment, the text of this comment is also added to the text outside the comments.
    """
    beside: list[str] = []
    comments: list[list[str]] = []
    # The first item of this list is `beside`, the text outside the comments. The other items are
    # the open comments, from the outermost to the innermost. Each piece of the header is added to
    # the last item.
    around = [beside]
    for piece in _BRACKET.split(header):
        if piece == "(":
            comments.append([])
            around.append(comments[-1])
            continue
        if piece == ")" and len(around) > 1:
            around.pop()
        if piece.startswith("\\") and len(around) > 1:
            around[-1].append(piece[1].translate(_NO_SEPARATORS))
            continue
        around[-1].append(piece.replace(")", " "))
    for comment in around[1:]:
        beside += [" ", *comment]
    return "".join(beside), ["".join(comment) for comment in comments]


def _candidates(words: Iterable[str], comments: Iterable[str]) -> Iterator[str]:
    """Yield the possible names of a crawler in a header that begins like the header of a browser.

    The places are searched in the order in which the docstring of this module lists them.
    """
    items = [re.split("[;,]", comment) for comment in comments]
    for of_one_comment in items:
        yield from _after_compatible(of_one_comment)
    beside = [*filter(None, map(_PRODUCT.fullmatch, words))]
    names = [_ADDRESS.sub("", item.strip()) for item in chain(*items)]
    inside = [*filter(None, map(_PRODUCT.fullmatch, names))]
    with_version = [product for product in inside if product[2]]
    yield from filter(_BOT_WORDS.search, _names(beside))
    yield from filter(_BOT_WORDS.search, _names(with_version))
    yield from _names(beside)
    yield from _names(with_version)
    yield from filter(_BOT_WORDS.search, _names(inside))
    yield from _names(filter(None, map(_NUMBERED.fullmatch, chain(words, names))))


def _names(products: Iterable[re.Match[str]]) -> list[str]:
    return [product[1] for product in products]


def _after_compatible(items: Iterable[str]) -> Iterator[str]:
    """Yield the name that follows the word "compatible" among the items of a comment."""
    is_next = False
    for item in items:
        name = item.strip()
        compatible = _COMPATIBLE.match(name)
        if compatible is not None:
            is_next = True
            name = name[compatible.end() :]
        if is_next and not _NO_NAME.match(name):
            # In a robots.txt, the name of the crawler "Yahoo! Slurp" is "Slurp".
            yield _leading_token(name.removeprefix("Yahoo! "))
            is_next = False
