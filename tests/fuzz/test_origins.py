"""A URL has one origin: also when it is written in another way, and when the origin is read from its own text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url, safe_url_string

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.core.urls import DEFAULT_PORTS

from ..support.strategies import HOSTS, PATHS, URLS
from . import promises

SCHEMES = st.sampled_from(sorted(DEFAULT_PORTS))


@given(URLS)
def test_origin_of_any_url_is_stable_or_refused(url: str) -> None:
    promises.assert_origin_is_stable(url)
    promises.assert_origin_is_stable(url.encode("utf-8", "surrogatepass"))


def in_any_case(text: str) -> st.SearchStrategy[str]:
    return st.tuples(*(st.sampled_from([char, char.upper()]) for char in text)).map("".join)


@given(SCHEMES, HOSTS, st.none() | st.integers(1, 65_535), PATHS, st.data())
def test_ways_to_write_a_url_have_one_origin(
    scheme: str, host: str, port: int | None, path: str, data: st.DataObject
) -> None:
    number = port or DEFAULT_PORTS[scheme]
    ports = [f":{number}", f":000{number}"] + ["", ":"] * (number == DEFAULT_PORTS[scheme])
    user_info = data.draw(st.sampled_from(["", "user@", "user:pass@", "a@b:80@", ":@"]))
    written = f"{data.draw(in_any_case(scheme))}://{user_info}{data.draw(in_any_case(host))}{data.draw(st.sampled_from(ports))}"
    end = data.draw(st.sampled_from(["", "#f", "?q=http://other.example:81/", path, path + "#//other.example"]))
    assert Origin.of(written + end) == Origin(scheme, host, number)
    assert Origin.of(f"{written}/robots.txt") == Origin.of_robots_txt(f"{written}/robots.txt")


@given(SCHEMES, HOSTS, st.sampled_from(["", ":80", ":443", ":8080", ":"]), PATHS)
def test_normalising_a_url_leaves_its_origin(scheme: str, host: str, port: str, path: str) -> None:
    url = f"{scheme.upper()}://{host}{port}{path}"
    for normalised in (safe_url_string(url), canonicalize_url(url)):
        assert Origin.of(normalised) == Origin.of(url)
