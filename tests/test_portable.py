"""Portability, as far as one system can test it. CI runs all tests on Windows and macOS (.github/workflows/ci.yml)."""

import ast
from pathlib import Path

import pytest

import scrapy_gbot_robots
from scrapy_gbot_robots.report.extension import write
from scrapy_gbot_robots.storage.base import StorageError
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

PACKAGE = Path(scrapy_gbot_robots.__file__).parent
POSIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
POSIX_NAMES = set(
    """
    chown fork forkpty geteuid getgid getuid killpg mkfifo setsid sysconf uname
    SIGALRM SIGHUP SIGKILL SIGUSR1 SIGUSR2 alarm pthread_kill setitimer AF_UNIX
    """.split()
)


def imports_of(node: ast.AST) -> set[str]:
    """The modules and names that a node imports."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return set()
    return {getattr(node, "module", None) or "", *(alias.name for alias in node.names)}


def test_modules_use_nothing_of_posix_and_open_text_files_with_an_encoding() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert POSIX_MODULES.isdisjoint(imports_of(node)), path
            assert getattr(node, "attr", "") not in POSIX_NAMES, path
            if isinstance(node, ast.Call):
                opens = getattr(node.func, "attr", "") in {"read_text", "write_text"}
                names = {keyword.arg for keyword in node.keywords}
                assert "encoding" in names or not opens, path  # not the locale's


def test_test_modules_import_nothing_of_posix_as_they_are_collected() -> None:
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            assert POSIX_MODULES.isdisjoint(imports_of(node)), path


def refuse(*_: object) -> None:
    """Raise what Windows raises for a file that another process has open."""
    why = "The process cannot access the file because it is being used by another process"
    raise PermissionError(13, why)


def test_files_open_elsewhere_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage, report = tmp_path / "robots.sqlite", tmp_path / "report.html"
    SqliteStorage(storage).close()
    storage.write_bytes(broken := storage.read_bytes()[:100] + b"x" * 4000)
    before = "<!DOCTYPE html>\n<title>robots.txt in the crawl of before</title>"
    report.write_text(before, encoding="utf-8")
    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="being used by another process"):
        write(report, "<!doctype html>after")
    with pytest.raises(StorageError, match="being used by another process"):
        SqliteStorage(storage)
    assert report.read_text(encoding="utf-8") == before
    assert storage.read_bytes() == broken
    assert not list(tmp_path.glob(".*"))
