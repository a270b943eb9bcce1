"""Which hosts are private."""

from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.fetching.private_hosts import is_private

from ..support.rows import table

# Loopback, link-local, shared, reserved and multicast addresses, in all spellings, also those that carry
# an IPv4 address; then names.
PRIVATE = (
    "127.0.0.1 169.254.169.254 100.64.0.1 0.0.0.0 192.0.0.1 192.0.0.200 [::ffff:192.0.0.200] "
    "224.0.0.1 127.0.0.1. 127.1 [::1] [fec0::1] [ff02::1] [::ffff:127.0.0.1] [::7f00:1] "
    "[64:ff9b::10.0.0.1] [64:ff9b:1::808:808] [::ffff:0:10.0.0.1] [5f00::1] [3fff:fff::1] "
    "[2002:7f00:1::] [2001:0:4136:e378:8000:63bf:80ff:fffe] localhost LocalHost. "
    "localhost.localdomain printer.local metadata.google.internal router.home.arpa redis"
)
PUBLIC = "192.0.1.1 8.8.8.8 [2606:4700::1111] [::ffff:8.8.8.8] [64:ff9b::808:808] [2002:808:808::1]"
NAMES = "example.com 1.2.3.256 notlocalhost.com"


@table(
    "host, private",  # None: only a resolver can tell
    ("", True),
    *((host, True) for host in PRIVATE.split()),
    *((host, False) for host in PUBLIC.split()),
    *((host, None) for host in NAMES.split()),
)
def test_host_is_private_public_or_a_name_of_either_kind(host: str, private: bool | None) -> None:
    assert is_private(host) is private


@given(st.text(max_size=40))
def test_no_host_raises(host: str) -> None:
    assert is_private(host) in {True, False, None}


@given(st.integers(0, 2**32 - 1))
def test_all_spellings_of_an_ipv4_address_are_judged_alike(number: int) -> None:
    dotted = ".".join(map(str, number.to_bytes(4, "big")))
    octal = ".".join(f"0{part:o}" for part in number.to_bytes(4, "big"))
    spellings = {dotted, octal, hex(number), str(number), f"[::ffff:{dotted}]"}
    assert len({is_private(spelling) for spelling in spellings}) == 1
