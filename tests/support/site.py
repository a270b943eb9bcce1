"""Build the site of the documentation once for all tests of a process, and serve it on loopback."""

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
    place = TemporaryDirectory(prefix="site-")  # It is deleted when the process ends.
    # `--strict` turns warnings into errors, for example about dead links. `--quiet` would hide
    # them.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", place.name]
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    done = run(command, HOME, {**os.environ, **quiet})
    assert done.returncode == 0, done.stderr
    return place


def built_site() -> Path:
    """Return the directory of the built site."""
    pytest.importorskip("mkdocs")
    return Path(_built().name)


class SiteServer(Site):
    """A server for the built site. It sends `headers` with each response."""

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
