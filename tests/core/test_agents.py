"""What each of Google's crawlers heeds (its lists of crawlers and fetchers), and any other crawler."""

from __future__ import annotations

import pytest

from scrapy_gbot_robots import Crawler, RobotsTxt

from ..support.examples import CHROME, GOOGLEBOT_SMARTPHONE

# (row, user agent, tokens in fall-back order, heeds "*")
CRAWLERS: list[tuple[str, str, tuple[str, ...], bool]] = [
    ("googlebot", "Googlebot", ("Googlebot",), True),
    ("googlebot-header", GOOGLEBOT_SMARTPHONE, ("Googlebot",), True),
    ("image", "Googlebot-Image/1.0", ("Googlebot-Image", "Googlebot"), True),
    ("image-lower-case", "googlebot-image", ("Googlebot-Image", "Googlebot"), True),
    ("images-sic", "googlebot-images", ("Googlebot-Image", "Googlebot"), True),
    ("video", "Googlebot-Video/1.0", ("Googlebot-Video", "Googlebot"), True),
    ("news", "Googlebot-News", ("Googlebot-News", "Googlebot"), True),
    ("storebot", "Storebot-Google/1.0", ("Storebot-Google",), True),
    ("inspection", "Google-InspectionTool/1.0", ("Google-InspectionTool", "Googlebot"), True),
    ("other", "GoogleOther", ("GoogleOther",), True),
    ("other-image", "GoogleOther-Image/1.0", ("GoogleOther-Image", "GoogleOther"), True),
    ("other-video", "GoogleOther-Video/1.0", ("GoogleOther-Video", "GoogleOther"), True),
    ("vertex", "Google-CloudVertexBot", ("Google-CloudVertexBot", "Googlebot"), True),
    ("extended", "Google-Extended", ("Google-Extended",), True),
    ("apis", "APIs-Google", ("APIs-Google",), False),
    ("adsbot-mobile", "AdsBot-Google-Mobile", ("AdsBot-Google-Mobile",), False),
    ("adsbot", "AdsBot-Google (+http://www.google.com/adsbot.html)", ("AdsBot-Google",), False),
    ("mediapartners", "Mediapartners-Google", ("Mediapartners-Google",), False),
    ("safety", "Google-Safety", (), False),
    ("mobile-apps", "AdsBot-Google-Mobile-Apps", ("AdsBot-Google-Mobile-Apps", "AdsBot-Google"), False),
    ("duplex", "DuplexWeb-Google/1.0", ("DuplexWeb-Google",), True),
    ("favicon", "Google Favicon", ("Googlebot-Image", "Googlebot"), True),
    ("favicon-header", f"{CHROME} Google Favicon", ("Googlebot-Image", "Googlebot"), True),
    ("weblight", "googleweblight", (), False),
    ("cws", "Mozilla/5.0 (compatible; Google-CWS)", (), False),
    ("feedfetcher", "FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)", (), False),
    ("agent", f"{CHROME} (compatible; Google-Agent; +https://x)", (), False),
    ("messages", "GoogleMessages", (), False),
    ("gemini-notebook", "Google-GeminiNotebook", (), False),
    ("notebooklm", "Google-NotebookLM", (), False),
    ("pinpoint", "Google-Pinpoint", (), False),
    ("producer", "GoogleProducer; (+http://goo.gl/7y4SX)", (), False),
    ("read-aloud", f"{CHROME} (compatible; Google-Read-Aloud; +https://x)", (), False),
    ("speakr", "google-speakr", (), False),
    ("verification", "Mozilla/5.0 (compatible; Google-Site-Verification/1.0)", (), False),
    ("anybody", "MyBot/1.0 (+https://e.com)", ("MyBot",), True),
    ("nobody", "\0\xff", (), True),
]


@pytest.mark.parametrize(
    ("user_agent", "tokens", "heeds_global"), [pytest.param(*row, id=f"S11-{id}") for id, *row in CRAWLERS]
)
def test_crawler_heeds(user_agent: str, tokens: tuple[str, ...], heeds_global: bool) -> None:
    crawler = Crawler.of(user_agent)
    assert (crawler.tokens, crawler.heeds_global) == (tokens, heeds_global)
    assert crawler.ignores_robots == (not tokens and not heeds_global)
    assert Crawler.of(user_agent.encode("latin-1", "replace")) == crawler


def test_crawler_that_ignores_robots_is_allowed_everything() -> None:
    verdict = RobotsTxt.parse(b"user-agent: *\nuser-agent: Google-Safety\ndisallow: /").verdict(
        "http://e.com/", Crawler.of("Google-Safety")
    )
    assert str(verdict) == "allowed: this crawler does not heed robots.txt"


def test_crawler_without_a_token_heeds_the_global_group() -> None:
    assert not RobotsTxt.parse(b"user-agent: *\ndisallow: /").allowed("http://e.com/", Crawler.of("\0"))


def test_chain_stops_at_the_first_token_with_a_group() -> None:
    robots = RobotsTxt.parse(b"user-agent: googlebot\ndisallow: /\nuser-agent: googlebot-image\n")
    assert robots.verdict("http://e.com/", Crawler.of("Googlebot-Image")).group == "googlebot-image"
    assert robots.allowed("http://e.com/", Crawler.of("Googlebot-Image"))
    assert not robots.allowed("http://e.com/", Crawler.of("Googlebot-Video"))
