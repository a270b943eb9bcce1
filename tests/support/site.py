"""The documentation's site, built once for all tests of a process, and a loopback server for it."""

import os
import sys
from collections.abc import Mapping
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from .documentation import HOME
from .processes import run
from .web import Reply, Site

PYODIDE = HOME / "build" / "npm" / "node_modules" / "pyodide"
KINDS = {".mjs": "text/javascript", ".wasm": "application/wasm"}


@cache
def _built() -> TemporaryDirectory[str]:
    place = TemporaryDirectory(prefix="site-")  # gone when the process ends
    # `--quiet` would hide the warnings, dead links for example, that `--strict` takes for errors.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", place.name]
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    done = run(command, HOME, {**os.environ, **quiet})
    assert done.returncode == 0, done.stderr
    return place


def built_site() -> Path:
    """The built site."""
    pytest.importorskip("mkdocs")
    return Path(_built().name)


class SiteServer(Site):
    """Serves the built site. `headers` go with each response."""

    def __init__(self, place: Path) -> None:
        super().__init__({})
        self.headers: dict[str, str] = {}
        self._place = place

    def _content(self, path: str, headers: Mapping[str, str]) -> Reply:
        file = self._place / path.partition("?")[0].lstrip("/")
        if file.is_dir():
            file /= "index.html"
        if not file.is_file():
            return Reply(404)
        kind = KINDS.get(file.suffix) or guess_type(file.name)[0] or "application/octet-stream"
        return Reply(200, file.read_bytes(), {"Content-Type": kind, **self.headers})
