"""docs/servers.md: each row about servers is one or several rows of the table that the lane runs, and tells the same outcome."""

import re
from collections.abc import Iterator

import pytest

from ..support.documentation import text_of
from .configurations import ALLOW, OBEY, Row, every_row

PAGE = text_of("docs/servers.md")
ROWS = dict(every_row())
# How the page calls what becomes of an origin.
SAYS = {
    "unreachable": {("full disallow", "forbidden")},
    "full allow": {(ALLOW, "fetched")},
    "its rules count": {(OBEY, "forbidden")},
    "everything is allowed": {(OBEY, "fetched")},
    "**whole**": {(OBEY, "fetched")},
    "good for": {(OBEY, "forbidden")},
}
# Which rows of the lane a line of the page tells, by what the line has in its first cell.
SHOWN = {
    "nginx `limit_req` |": ["nginx:S2.14-limit-req-503"],
    "`limit_req_status 429`": ["nginx:S2.12-limit-req-429", "haproxy:S2.12-deny-429"],
    "and `add_header Retry-After 120` |": ["nginx:S2.18-maintenance-loses-retry-after"],
    "and `add_header Retry-After 120 always` |": ["nginx:S2.16-maintenance-always"],
    "Apache `R=503`": ["apache:S2.18-maintenance-loses-retry-after", "apache:S2.16-maintenance-page-keeps-retry-after",
        "apache:S2.16-maintenance-always"],
    "`error_page 503 =200`": ["nginx:S2.4-maintenance-as-200"],
    'page is "Page not found" |': ["nginx:S2.19-not-found-as-500"],
    "any other text that does not mean": ["nginx:S2.14-broken-as-500"],
    "that is down, behind nginx": ["nginx:S2.14-application-is-down", "caddy:S2.14-application-is-down",
        "squid:S2.20-application-is-down"],
    "that is down, behind Apache": ["apache:S2.14-application-is-down", "lighttpd:S2.14-application-is-down",
        "haproxy:S2.14-server-is-down", "haproxy:S2.14-no-server"],
    "that is down, behind Varnish": ["varnish:S2.16-backend-is-down"],
    "that hangs": ["nginx:S2.14-application-hangs", "haproxy:S2.14-server-hangs"],
    "tarpit": ["haproxy:S2.14-tarpit"],
    "`return 444`": ["nginx:S2.20-return-444", "haproxy:S2.20-silent-drop"],
    "`limit_rate`": ["nginx:S2.20-100-bytes-a-second"],
    "a single-page application": ["nginx:S2.4-single-page-application", "caddy:S2.4-single-page-application"],
    "`server.error-handler-404`": ["lighttpd:S2.4-error-handler-says-200"],
    "`ErrorDocument 404` with a full URL": ["apache:S2.5-errordocument-as-url"],
    "Caddy, asked for a host": ["caddy:S2.27-another-name"],
    "only `robots.txt.gz`": ["apache:S4.5-multiviews-robots.txt.gz"],
    "`robots.txt.de`": ["apache:S2.11-languages-406"],
    "a folder with the name": ["nginx:S2.5-a-folder-of-that-name", "lighttpd:S2.5-a-folder-of-that-name"],
    "`mod_speling`": ["apache:S2.5-mod-speling"],
    "without a media type": ["nginx:S4.1-another-media-type", "apache:S4.1-default-charset"],
    "may not read": ["nginx:S2.11-unreadable-file", "nginx:S2.11-deny-all", "nginx:S2.11-no-symlinks", "apache:S2.11-unreadable-file",
        "lighttpd:S2.11-access-deny"],
    "a password for the whole site": ["nginx:S2.11-a-password", "apache:S2.11-a-password"],
    "nginx `gzip`": ["nginx:RFC9110-8.4-gzip", "nginx:RFC9110-8.4-brotli", "nginx:RFC9110-8.4-gzip-static-unasked",
        "apache:RFC9110-8.4-deflate", "caddy:RFC9110-8.4-gzip"],
    "`expires 10d`": ["nginx:S3.4-expires-10d"],
    "a redirect to https": ["nginx:S2.8-to-https", "nginx:S2.5-five-redirects"],
    "six redirects": ["nginx:S2.5-six-redirects", "nginx:S2.9-in-a-loop"],
    "without a server": ["nginx:S2.20-to-a-dead-port"],
    "Varnish, Squid as an accelerator": ["varnish:S3.4-cache-with-age", "squid:S3.4-cache-with-age"],
    "nginx `proxy_cache`": ["nginx:S3.4-cache-without-age"],
    "(`grace`)": ["varnish:S3.4-stale-in-grace"],
    "with no copy": ["varnish:S2.16-backend-is-down", "squid:S2.20-application-is-down"],
    "103 Early Hints": ["haproxy:S2.3-early-hints", "hypercorn:S2.3-http2-early-hints"],
    "`keepalive_requests 1`": ["nginx:S2.20-http2-goaway"],
    "nginx that requires a client certificate": ["nginx:S2.11-client-certificate"],
    "Apache that requires a client certificate": ["apache:S2.20-client-certificate"],
    "`ssl_reject_handshake`": ["nginx:S2.20-unknown-name"],
    "a certificate that no authority has signed": ["nginx:S2.3-tls", "nginx:S2.3-tls-http2"],
    "550 for a file": ["vsftpd:S2.28-missing-550", "vsftpd:S2.28-unreadable-550"],
    "530 to an anonymous login (vsftpd": ["vsftpd:S2.28-anonymous-530", "pyftpdlib:S2.28-anonymous-530"],
    "the pages have a login": ["pyftpdlib:S2.28-anonymous-530-and-a-login"],
    "wants TLS (vsftpd": ["vsftpd:S2.28-tls-demanded"],
    "passive mode is off": ["vsftpd:S2.28-no-passive-mode"],
    "407, because the proxy wants a login": ["proxy:S2.11-squid-407"],
    "in reply to `CONNECT`": ["proxy:S2.20-squid-connect-403", "proxy:S2.11-squid-connect-407"],
    "any status with `X-Squid-Error`": ["proxy:S2.20-squid-403", "proxy:S2.20-squid-to-a-dead-port"],
    "500 or 503 without such a header": ["proxy:S2.14-tinyproxy-to-a-dead-port", "proxy:S2.14-privoxy-to-a-dead-port"],
    "401, 402, 403 or 451 without such a header": ["proxy:S2.11-tinyproxy-403"],
    "404 without such a header": ["proxy:S2.11-privoxy-no-such-domain"],
}  # fmt: skip
# The table of what breaks off: rows in chunks, and by length.
BREAKS_OFF = {
    "nothing (gunicorn": (["gunicorn:S2.21-application-fails-midway", "hypercorn:S2.21-application-fails-midway"], []),
    "HTTP/1.0 to the application": (["nginx:S2.3-application-cut-healed"], ["nginx:S2.21-application-cut-by-length"]),
    "`proxy_http_version 1.1` (": (["nginx:S2.21-application-cut-http-1.1"], []),
    "Apache, HAProxy": (["apache:S2.21-application-cut-chunks", "haproxy:S2.21-application-cut-chunks"],
        ["apache:S2.21-application-cut-by-length", "haproxy:S2.21-application-cut-by-length"]),
    "Varnish, Squid |": (["varnish:S2.21-application-cut-chunks", "squid:S2.21-application-cut-chunks"], []),
    "Caddy, lighttpd": (["caddy:S2.3-application-cut-healed", "lighttpd:S2.3-application-cut-healed"],
        ["caddy:S2.21-application-cut-by-length", "lighttpd:S2.21-application-cut-by-length"]),
}  # fmt: skip
# A line that a row of the lane has as its exception, for one handler.
BY_ONE_HANDLER = {"and without `http2`": ("nginx:S2.3-tls", "h2")}
# No server of the lane is of this kind.
NOT_RUN = ("does not support ALPN",)
NOT_TRIED = "-"


def lines_of(heading: str) -> Iterator[str]:
    """The lines of the first table of a part of the page, without its head."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return iter(re.findall(r"^\| .*", part, re.MULTILINE)[1:])


PARTS = [
    "Limits, maintenance, errors",
    "A page, or another file, instead of the robots.txt",
    "Caches",
    "HTTP/2, TLS, early hints",
    "FTP",
    "Forward proxies",
]
LINES = [line for part in PARTS for line in lines_of(part)]


def becomes(each: Row) -> tuple[str, str]:
    return each.state, each.private


def outcomes_told(line: str) -> set[tuple[str, str]]:
    """What a line says becomes of an origin: by the first word of `SAYS` behind its first cell."""
    text = line.split("|", 2)[2]
    first = min((text.index(word), word) for word in SAYS if word in text)
    return SAYS[first[1]]


@pytest.mark.parametrize("key", SHOWN)
def test_page_tells_what_the_lane_holds(key: str) -> None:
    (line,) = [line for line in LINES if key in line]
    assert {becomes(ROWS[name]) for name in SHOWN[key]} == outcomes_told(line)


@pytest.mark.parametrize("key", BY_ONE_HANDLER)
def test_page_has_the_outcome_and_the_log_of_one_handler(key: str) -> None:
    (line,) = [line for line in LINES if key in line]
    name, handler = BY_ONE_HANDLER[key]
    state, why = ROWS[name].by[handler]
    assert outcomes_told(line) == {(state, "forbidden")}
    assert why in line


def test_every_line_of_the_page_is_run() -> None:
    keys = (*SHOWN, *BY_ONE_HANDLER, *NOT_RUN)
    assert [line for line in LINES if not any(key in line for key in keys)] == []


@pytest.mark.parametrize("key", BREAKS_OFF)
def test_page_tells_who_hides_that_a_body_broke_off(key: str) -> None:
    (line,) = [line for line in lines_of("A robots.txt that breaks off") if key in line]
    _, _, *cells, _ = line.split("|")
    for cell, names in zip(cells, BREAKS_OFF[key], strict=True):
        expected = outcomes_told(f"||{cell}") if names else set()
        assert {becomes(ROWS[name]) for name in names} == expected
        assert (cell.strip() != NOT_TRIED) == bool(names)


def test_every_server_that_breaks_off_is_told() -> None:
    lines = [*lines_of("A robots.txt that breaks off")]
    assert [line for line in lines if not any(key in line for key in BREAKS_OFF)] == []
