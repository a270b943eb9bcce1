"""Which hosts are private."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.private_addresses import is_private, is_private_address


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("127.0.0.1", id="loopback"),
        pytest.param("127.255.255.254", id="all-of-127"),
        pytest.param("10.1.2.3", id="rfc1918-10"),
        pytest.param("172.16.0.1", id="rfc1918-172"),
        pytest.param("172.31.255.255", id="rfc1918-172-end"),
        pytest.param("192.168.1.1", id="rfc1918-192"),
        pytest.param("169.254.169.254", id="cloud-metadata"),
        pytest.param("169.254.0.1", id="link-local"),
        pytest.param("100.64.0.1", id="carrier-grade-nat"),
        pytest.param("100.100.100.200", id="cloud-metadata-in-100"),
        pytest.param("0.0.0.0", id="unspecified"),
        pytest.param("0.1.2.3", id="this-network"),
        pytest.param("255.255.255.255", id="broadcast"),
        pytest.param("224.0.0.1", id="multicast"),
        pytest.param("240.0.0.1", id="reserved"),
        pytest.param("127.0.0.1.", id="final-dot"),
        pytest.param("127.1", id="two-numbers"),
        pytest.param("10.1", id="two-numbers-10"),
        pytest.param("0x7f.0.0.1", id="hexadecimal"),
        pytest.param("0177.0.0.1", id="octal"),
        pytest.param("0X7F000001", id="one-hexadecimal-number"),
        pytest.param("2130706433", id="one-number"),
        pytest.param("[::1]", id="ipv6-loopback"),
        pytest.param("[::]", id="ipv6-unspecified"),
        pytest.param("[fe80::1]", id="ipv6-link-local"),
        pytest.param("[fc00::1]", id="ipv6-ula"),
        pytest.param("[fd00:ec2::254]", id="ipv6-cloud-metadata"),
        pytest.param("[fec0::1]", id="ipv6-site-local"),
        pytest.param("[ff02::1]", id="ipv6-multicast"),
        pytest.param("[::ffff:127.0.0.1]", id="ipv4-mapped"),
        pytest.param("[::ffff:a00:1]", id="ipv4-mapped-in-hexadecimal"),
        pytest.param("[::7f00:1]", id="ipv4-compatible"),
        pytest.param("[64:ff9b::10.0.0.1]", id="nat64"),
        pytest.param("[64:ff9b:1::808:808]", id="nat64-of-a-network"),
        pytest.param("[64:ff9b:1:ffff:ffff:ffff:ffff:ffff]", id="nat64-of-a-network-end"),
        pytest.param("[::ffff:0:10.0.0.1]", id="siit"),
        pytest.param("[5f00::1]", id="srv6"),
        pytest.param("[3fff:fff::1]", id="documentation-of-rfc9637"),
        pytest.param("[2002:7f00:1::]", id="6to4"),
        pytest.param("[2001:0:4136:e378:8000:63bf:80ff:fffe]", id="teredo"),
        pytest.param("localhost", id="localhost"),
        pytest.param("LocalHost.", id="localhost-in-capitals"),
        pytest.param("www.localhost", id="below-localhost"),
        pytest.param("localhost.localdomain", id="localdomain"),
        pytest.param("printer.local", id="multicast-dns"),
        pytest.param("metadata.google.internal", id="internal"),
        pytest.param("router.home.arpa", id="home-arpa"),
        pytest.param("redis", id="name-without-a-dot"),
        pytest.param("", id="nothing"),
    ],
)
def test_host_is_private(host: str) -> None:
    assert is_private(host) is True


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("8.8.8.8", id="ipv4"),
        pytest.param("172.15.0.1", id="before-rfc1918"),
        pytest.param("172.32.0.1", id="after-rfc1918"),
        pytest.param("100.63.255.255", id="before-carrier-grade-nat"),
        pytest.param("100.128.0.1", id="after-carrier-grade-nat"),
        pytest.param("0x08.010.8.8", id="odd-spelling"),
        pytest.param("[2606:4700::1111]", id="ipv6"),
        pytest.param("[::ffff:8.8.8.8]", id="ipv4-mapped"),
        pytest.param("[64:ff9b::808:808]", id="nat64"),
        pytest.param("[2002:808:808::1]", id="6to4"),
    ],
)
def test_address_is_public(host: str) -> None:
    assert is_private(host) is False


@pytest.mark.parametrize(
    "host", ["example.com", "localhost.example.com", "mylocal.example", "1.2.3.4.5", "1.2.3.256", "notlocalhost.com"]
)
def test_name_may_be_either(host: str) -> None:
    assert is_private(host) is None


@pytest.mark.parametrize(
    ("address", "private"), [("127.0.0.1", True), ("fe80::1%eth0", True), ("::ffff:10.0.0.1", True), ("1.1.1.1", False)]
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
