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


def test_modules_use_nothing_of_posix_and_open_text_files_with_an_encoding() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                assert node.attr not in POSIX_NAMES, path
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                named = {getattr(node, "module", None), *(alias.name for alias in node.names)}
                assert POSIX_MODULES.isdisjoint(named), path
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {
                "read_text",
                "write_text",
            }:
                assert "encoding" in {keyword.arg for keyword in node.keywords}, (
                    path,
                    node.lineno,
                )  # not the locale's


def test_test_modules_import_nothing_of_posix_as_they_are_collected() -> None:
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                named = {getattr(node, "module", None), *(alias.name for alias in node.names)}
                assert POSIX_MODULES.isdisjoint(named), path


def refuse(*_: object) -> None:
    """Raise what Windows raises for a file that another process has open."""
    raise PermissionError(
        13, "The process cannot access the file because it is being used by another process"
    )


def test_files_that_another_process_has_open_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
