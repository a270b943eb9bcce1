"""Verdicts of Scrapy's default parser and of this plugin on the same robots.txt: `python -m benchmarks.beside_scrapy`.

This run checks the cells about Scrapy and Protego in README.md, docs/comparison.md and docs/migration.md. Each question has
the name of a cell, a robots.txt, a crawler and a URL path. The run prints whether each parser lets the crawler fetch it.
"""

from __future__ import annotations

from importlib.metadata import version

from protego import Protego

from scrapy_gbot_robots import GbotRobotParser

LONG = 20_000

# cell, robots.txt, crawler, path
QUESTIONS: list[tuple[str, str | bytes, str, str]] = [
    (
        "its own URL, which a crawl does not ask about",
        "user-agent: *\ndisallow: /",
        "mybot",
        "/robots.txt",
    ),
    ("bytes that are not UTF-8", b"user-agent: *\ndisallow: /a\xffb", "mybot", "/ab"),
    ("line ends: form feed", "user-agent: *\n# x\x0cdisallow: /x", "mybot", "/x"),
    ("line ends: U+2028", "user-agent: *\n# x\u2028disallow: /x", "mybot", "/x"),
    ("over-long line", f"user-agent: *\ndisallow: /{'a' * LONG}", "mybot", f"/{'a' * LONG}"),
    ("over-long line, cut", f"user-agent: *\ndisallow: /{'a' * LONG}", "mybot", f"/{'a' * 17_000}"),
    ("useragent", "useragent: *\ndisallow: /x", "mybot", "/x"),
    ("user agent", "user agent: *\ndisallow: /x", "mybot", "/x"),
    ("dissallow", "user-agent: *\ndissallow: /x", "mybot", "/x"),
    ("disalow", "user-agent: *\ndisalow: /x", "mybot", "/x"),
    ("disallowed:", "user-agent: *\ndisallowed: /x", "mybot", "/x"),
    ("missing colon", "user-agent *\ndisallow /x", "mybot", "/x"),
    ("path without /", "user-agent: *\ndisallow: x", "mybot", "/x"),
    ("path that begins with *", "user-agent: *\ndisallow: *x", "mybot", "/x"),
    ("empty disallow", "user-agent: *\ndisallow:", "mybot", "/x"),
    (
        "Crawl-delay between user agents",
        "user-agent: mybot\ncrawl-delay: 5\nuser-agent: b\ndisallow: /x",
        "mybot",
        "/x",
    ),
    (
        "unknown field between user agents",
        "user-agent: mybot\nnoindex: /\nuser-agent: b\ndisallow: /x",
        "mybot",
        "/x",
    ),
    (
        "Sitemap between user agents",
        "user-agent: mybot\nsitemap: http://e.com/\nuser-agent: b\ndisallow: /x",
        "mybot",
        "/x",
    ),
    (
        "Host between user agents",
        "user-agent: mybot\nhost: e.com\nuser-agent: b\ndisallow: /x",
        "mybot",
        "/x",
    ),
    ("rules before any user agent", "disallow: /x", "mybot", "/x"),
    ("goo* within a user agent", "user-agent: goo*\ndisallow: /x", "google", "/x"),
    ("googlebot/1.2", "user-agent: googlebot/1.2\ndisallow: /x", "googlebot", "/x"),
    ("Foo Bar", "user-agent: Foo Bar\ndisallow: /x", "foo", "/x"),
    ("beginning of a token", "user-agent: my\ndisallow: /x", "mybot", "/x"),
    (
        "several groups",
        "user-agent: mybot\ndisallow: /a\n\nuser-agent: mybot\ndisallow: /x",
        "mybot",
        "/x",
    ),
    (
        "named group and *",
        "user-agent: mybot\ndisallow: /a\n\nuser-agent: *\ndisallow: /x",
        "mybot",
        "/x",
    ),
    ("* for AdsBot", "user-agent: *\ndisallow: /x", "AdsBot-Google", "/x"),
    ("longest rule", "user-agent: *\nallow: /x\ndisallow: /x/y", "mybot", "/x/y"),
    ("equal length", "user-agent: *\ndisallow: /x\nallow: /x", "mybot", "/x"),
    ("wildcards counted", "user-agent: *\nallow: /xy\ndisallow: /*y", "mybot", "/xy"),
    ("trailing * counted", "user-agent: *\nallow: /x\ndisallow: /x*", "mybot", "/x"),
    ("%62 in a rule", "user-agent: *\ndisallow: /a%62", "mybot", "/ab"),
    ("%2A in a rule: as a star", "user-agent: *\ndisallow: /a%2Ab", "mybot", "/a*b"),
    ("%2A in a rule: as a wildcard", "user-agent: *\ndisallow: /a%2Ab", "mybot", "/axb"),
    ("%24 in a rule", "user-agent: *\ndisallow: /a%24", "mybot", "/a$"),
    ("non-ASCII path", "user-agent: *\ndisallow: /café", "mybot", "/caf%C3%A9"),
    ("$ in mid-pattern", "user-agent: *\ndisallow: /a$b", "mybot", "/a$b"),
    ("$ in mid-pattern: as the end", "user-agent: *\ndisallow: /a$b", "mybot", "/a"),
    ("index.html", "user-agent: *\nallow: /x/index.html\ndisallow: /x/", "mybot", "/x/"),
    ("rules after 500 KiB", "# padding\n" * 52_000 + "user-agent: *\ndisallow: /x", "mybot", "/x"),
    ("fragment of a path", "user-agent: *\ndisallow: /x", "mybot", "/%78"),
    ("mybot/1.2", "user-agent: mybot/1.2\ndisallow: /x", "mybot", "/x"),
    (
        "a line that is user-agent alone",
        "user-agent: mybot\ndisallow: /x\nuser-agent\ndisallow: /y",
        "mybot",
        "/y",
    ),
    ("$ at the end, in the URL", "user-agent: *\ndisallow: /x/abc$", "mybot", "/x/abc$"),
    ("%3D in a rule", "user-agent: *\ndisallow: /a%3Db", "mybot", "/a=b"),
    ("%3C in a URL", "user-agent: *\ndisallow: /a<b", "mybot", "/a%3Cb"),
    ("space in a rule", "user-agent: *\ndisallow: /a b", "mybot", "/a%20b"),
    (
        "%3D in a URL, allowed",
        "user-agent: *\ndisallow: /\nallow: /*/filter/page=*/$",
        "mybot",
        "/x/filter/page%3D5/",
    ),
    ("dot segments", "user-agent: *\ndisallow: /x", "mybot", "/a/../x"),
    ("index.htm", "user-agent: *\nallow: /x/index.htm\ndisallow: /x/", "mybot", "/x/"),
    ("byte-order mark", b"\xef\xbb\xbfuser-agent: *\ndisallow: /x", "mybot", "/x"),
    ("scheme and host in a rule", "user-agent: *\ndisallow: http://host/", "mybot", "/"),
]


def verdicts(body: bytes, crawler: str, path: str) -> tuple[bool, bool]:
    """Return whether `crawler` may fetch `path`: by Protego, and by this plugin, both as Scrapy asks them."""
    url = f"https://example.com{path}"
    stock = Protego.parse(body.decode("utf-8-sig", "ignore"))  # as Scrapy decodes it
    ours = GbotRobotParser.from_crawler(None, body)  # type: ignore[arg-type]  # as for Scrapy's own
    return stock.can_fetch(url, crawler), ours.allowed(url, crawler)


def main() -> None:
    print(f"Scrapy {version('scrapy')}, Protego {version('protego')}; + is allowed, - disallowed\n")
    print(f"{'cell':38} Protego  here")
    differ = 0
    for cell, text, crawler, path in QUESTIONS:
        body = text if isinstance(text, bytes) else text.encode()
        stock, ours = verdicts(body, crawler, path)
        differ += stock != ours
        print(f"{cell:38} {'-+'[stock]:8} {'-+'[ours]}{'   differ' if stock != ours else ''}")
    print(f"\n{len(QUESTIONS)} questions, {differ} answered differently")


if __name__ == "__main__":
    main()
