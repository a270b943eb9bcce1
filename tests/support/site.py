"""The documentation's site, built once for all tests of a process, and a loopback server for it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

HOME = Path(__file__).parents[2]
PYODIDE = HOME / "build" / "npm" / "node_modules" / "pyodide"


def build(home: Path, place: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    """Build the site of the mkdocs.yml in `home`. Strict: a warning, such as a dead link, is an error."""
    # `--quiet` would hide the warnings that `--strict` counts
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    return subprocess.run(
        command,
        cwd=home,
        env={**os.environ, **quiet, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@cache
def _built() -> TemporaryDirectory[str]:
    place = TemporaryDirectory(prefix="site-")  # gone when the process ends
    done = build(HOME, Path(place.name))
    if done.returncode:
        place.cleanup()
    assert done.returncode == 0, done.stderr
    return place


def built_site() -> Path:
    """The built site."""
    pytest.importorskip("mkdocs")
    return Path(_built().name)


class _Handler(SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012 - as in the class above
        **SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }
    server: "SiteServer"

    def do_GET(self) -> None:
        self.server.requested.append(self.path)
        super().do_GET()

    def end_headers(self) -> None:
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class SiteServer(ThreadingHTTPServer):
    """Serves the built site. `headers` go with each response; `requested` are the paths so far."""

    daemon_threads = True

    def __init__(self, place: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(_Handler, directory=str(place)))
        self.headers: dict[str, str] = {}
        self.requested: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def served(place: Path) -> Iterator[SiteServer]:
    with SiteServer(place) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
