"""Which hosts are private."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.fetching.private_hosts import is_private, is_private_address


@pytest.mark.parametrize(
    ("host", "private"),  # None: only a resolver can tell
    [
        pytest.param("127.0.0.1", True, id="loopback"),
        pytest.param("169.254.169.254", True, id="cloud-metadata"),
        pytest.param("100.64.0.1", True, id="carrier-grade-nat"),
        pytest.param("0.0.0.0", True, id="unspecified"),
        pytest.param("192.0.0.1", True, id="protocol-assignments"),
        pytest.param("192.0.0.200", True, id="protocol-assignments-to-the-end"),
        pytest.param("[::ffff:192.0.0.200]", True, id="protocol-assignments-mapped"),
        pytest.param("192.0.1.1", False, id="behind-the-protocol-assignments"),
        pytest.param("224.0.0.1", True, id="multicast"),
        pytest.param("127.0.0.1.", True, id="final-dot"),
        pytest.param("127.1", True, id="two-numbers"),
        pytest.param("[::1]", True, id="ipv6-loopback"),
        pytest.param("[fec0::1]", True, id="ipv6-site-local"),
        pytest.param("[ff02::1]", True, id="ipv6-multicast"),
        pytest.param("[::ffff:127.0.0.1]", True, id="ipv4-mapped"),
        pytest.param("[::7f00:1]", True, id="ipv4-compatible"),
        pytest.param("[64:ff9b::10.0.0.1]", True, id="nat64"),
        pytest.param("[64:ff9b:1::808:808]", True, id="nat64-of-a-network"),
        pytest.param("[::ffff:0:10.0.0.1]", True, id="siit"),
        pytest.param("[5f00::1]", True, id="srv6"),
        pytest.param("[3fff:fff::1]", True, id="documentation-of-rfc9637"),
        pytest.param("[2002:7f00:1::]", True, id="6to4"),
        pytest.param("[2001:0:4136:e378:8000:63bf:80ff:fffe]", True, id="teredo"),
        pytest.param("localhost", True, id="localhost"),
        pytest.param("LocalHost.", True, id="localhost-in-capitals"),
        pytest.param("localhost.localdomain", True, id="localdomain"),
        pytest.param("printer.local", True, id="multicast-dns"),
        pytest.param("metadata.google.internal", True, id="internal"),
        pytest.param("router.home.arpa", True, id="home-arpa"),
        pytest.param("redis", True, id="name-without-a-dot"),
        pytest.param("", True, id="nothing"),
        pytest.param("8.8.8.8", False, id="public-ipv4"),
        pytest.param("[2606:4700::1111]", False, id="public-ipv6"),
        pytest.param("[::ffff:8.8.8.8]", False, id="public-ipv4-mapped"),
        pytest.param("[64:ff9b::808:808]", False, id="public-nat64"),
        pytest.param("[2002:808:808::1]", False, id="public-6to4"),
        pytest.param("example.com", None, id="name"),
        pytest.param("1.2.3.256", None, id="number-too-large"),
        pytest.param("notlocalhost.com", None, id="name-with-localhost-in-it"),
    ],
)
def test_host_is_private_public_or_a_name_that_may_be_either(
    host: str, private: bool | None
) -> None:
    assert is_private(host) is private


@pytest.mark.parametrize(
    ("address", "private"),
    [("127.0.0.1", True), ("fe80::1%eth0", True), ("::ffff:10.0.0.1", True), ("1.1.1.1", False)],
)
def test_address_of_a_resolver_is_judged(address: str, private: bool) -> None:
    assert is_private_address(address) is private


def test_what_is_no_address_is_an_error() -> None:
    with pytest.raises(ValueError, match="localhost"):
        is_private_address("localhost")


@given(st.text(max_size=40))
def test_no_host_raises(host: str) -> None:
    assert is_private(host) in {True, False, None}


@given(st.integers(0, 2**32 - 1))
def test_all_spellings_of_an_ipv4_address_are_judged_alike(number: int) -> None:
    dotted = ".".join(map(str, number.to_bytes(4, "big")))
    octal = ".".join(f"0{part:o}" for part in number.to_bytes(4, "big"))
    spellings = {dotted, octal, hex(number), str(number), f"[::ffff:{dotted}]"}
    assert len({is_private(spelling) for spelling in spellings}) == 1
