"""Portability, as far as one system can test it: no module needs POSIX, and files that Windows locks are left alone.

CI runs all tests on Windows and macOS (.github/workflows/ci.yml).
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scrapy_gbot_robots
from scrapy_gbot_robots.report.page import write
from scrapy_gbot_robots.storage.base import StorageError
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(scrapy_gbot_robots.__file__).parent
POSIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
POSIX_NAMES = {
    *("chown", "fork", "forkpty", "geteuid", "getgid", "getuid", "killpg", "mkfifo", "setsid", "sysconf", "uname"),
    *("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "alarm", "pthread_kill", "setitimer", "AF_UNIX"),
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def nodes(path: Path) -> Iterator[ast.AST]:
    yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_no_module_needs_what_only_posix_has() -> None:
    imported = {
        (path.stem, alias.name)
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert {(where, name) for where, name in imported if name.split(".")[0] in POSIX_MODULES} == set()
    used = {(path.stem, node.attr) for path in MODULES for node in nodes(path) if isinstance(node, ast.Attribute)}
    assert {(where, name) for where, name in used if name in POSIX_NAMES} == set()


def test_text_files_are_opened_with_an_encoding() -> None:
    """The default is the locale's, which on Windows is rarely UTF-8."""
    calls = [
        (path, node)
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    texts = [(path, node) for path, node in calls if getattr(node.func, "attr", "") in {"read_text", "write_text"}]
    assert texts
    for path, node in texts:
        assert "encoding" in {keyword.arg for keyword in node.keywords}, (path, node.lineno)


@pytest.mark.slow
def test_every_module_can_be_imported_without_posix_modules() -> None:
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in MODULES]
    script = (
        "import sys\n"
        "from unittest.mock import Mock\n"
        "sys.modules['twisted.internet.reactor'] = Mock()  # one for POSIX would be installed\n"
        f"sys.modules.update(dict.fromkeys({sorted(POSIX_MODULES - {'posix'})!r}))\n"
        "from importlib import import_module\n"
        f"for name in {[name for name in names if not name.endswith('__main__')]!r}: import_module(name.removesuffix('.__init__'))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def refuse(*_: object) -> None:
    """Raise what Windows raises for a file that another process has open."""
    raise PermissionError(13, "The process cannot access the file because it is being used by another process")


def test_a_report_that_another_process_has_open_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "report.html"
    page.write_text("<!doctype html>before", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="being used by another process"):
        write(page, "<!doctype html>after")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert page.read_text(encoding="utf-8") == "<!doctype html>before"


def test_a_broken_storage_that_another_process_has_open_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "robots.sqlite"
    SqliteStorage(path).close()
    broken = path.read_bytes()[:100] + b"x" * 4000
    path.write_bytes(broken)
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(StorageError, match="being used by another process"):
        SqliteStorage(path)
    assert path.read_bytes() == broken
