"""A real server that is ill as a crawl begins, and is mended while requests wait for its robots.txt: no page is lost."""

import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from ..support.rows import row, table
from ..support.systems import needs_posix
from ..support.until import block_until
from .conftest import begin, end, handlers_here, settings_of
from .lane import Lane, MissingError, program

pytestmark = [pytest.mark.servers, needs_posix]

HANDLERS = ("default", "aiohttp", "httpx")
# Longer than the three tries after which a crawl gives up a host that refuses connections.
ILL_SECS = 6

ILL = {
    "S2.15-deploy-503": ("", "return 503;"),
    "S2.20-certificate-not-loaded": (" ssl", "ssl_reject_handshake on;"),
    "S2.16-retry-after": ("", "add_header Retry-After 3 always; return 503;"),
    "S2.15-application-restarts": ("", "location / { proxy_pass http://127.0.0.1:@dead@; }"),
}


@pytest.fixture(scope="module")
def reports() -> Iterator[dict[str, dict[str, Any]]]:
    """What became of the pages of all of `ILL`, by handlers."""
    try:
        path = program("nginx")
    except MissingError as missing:
        pytest.skip(str(missing))
    with ExitStack() as stack:
        lane = Lane(stack)
        folder = lane.folder("nginx")

        def configured(*, ill: bool) -> str:
            servers = []
            for name, (tls, config) in ILL.items():
                what = lane.filled_in(config) if ill else f"root {lane.place}/rules;"
                servers.append(f"server {{ listen 127.0.0.1:{lane.port(name)}{tls}; {what} }}")
            paths = "client_body proxy fastcgi uwsgi scgi".split()
            return (
                f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;\n"
                "events { worker_connections 200; }\n"
                f"http {{ log_format asked '$request_uri $status $http_user_agent'; access_log {folder}/asked asked;\n"
                f"{' '.join(f'{each}_temp_path {folder}/{each};' for each in paths)}\n"
                + lane.filled_in(
                    "ssl_certificate @certificate@; ssl_certificate_key @certificate@;"
                )
                + "\n".join([*servers, "}", ""])
            )

        file = lane.file("nginx.conf", configured(ill=True))
        command = [path, "-e", f"{folder}/error.log", "-c", str(file)]
        nginx = lane.start(command, [lane.port(name) for name in ILL])
        asked = folder / "asked"

        def have_asked() -> set[str]:
            """The handlers, by their user agents, whose crawls have asked for the robots.txt."""
            return set(re.findall(r"/robots\.txt 503 (\w+)bot", asked.read_text()))

        targets = [{"id": name, "base": base(lane, name), "meta": {}} for name in ILL]
        crawls = {
            handler: begin(
                lane,
                handler,
                targets,
                USER_AGENT=f"{handler}bot",
                GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=60,
            )
            for handler in handlers_here(HANDLERS)
        }
        block_until(lambda: have_asked() == {*crawls})
        time.sleep(ILL_SECS)
        lane.file("nginx.conf", configured(ill=False))
        nginx.send_signal(signal.SIGHUP)
        yield end(crawls)[0]


def base(lane: Lane, name: str) -> str:
    scheme = "https" if ILL[name][0] else "http"
    return f"{scheme}://127.0.0.1:{lane.port(name)}"


@table(
    "handler, name",
    *(row(f"{handler}:{name}", handler, name) for handler in HANDLERS for name in ILL),
)
def test_no_page_is_lost(handler: str, name: str, reports: dict[str, dict[str, Any]]) -> None:
    settings_of(handler)  # skips, if there is none
    got = reports[handler][name]
    assert (got["public"], got["private"]) == ("fetched", "forbidden")
    assert got["state"] == "rules"
