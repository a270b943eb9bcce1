"""Chromium with the "Try it" page, driven by playwright.

Its calls block, which is not possible in a thread with an event loop, such as the one that the
reactor has. So tests that visit the page run in a thread of their own.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ..support.browser import CHROMIUM
from ..support.site import PYODIDE, SiteServer, built_site
from ..support.try_page import TryPage

_THREAD = ThreadPoolExecutor(1)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    names = pyfuncitem._fixtureinfo.argnames
    if "visit" not in names:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    _THREAD.submit(pyfuncitem.obj, **arguments).result()
    return True


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    driver = _THREAD.submit(playwright.sync_playwright().start).result()
    options = {"executable_path": CHROMIUM, "args": ["--no-sandbox"]}
    browser = _THREAD.submit(driver.chromium.launch, **options).result()
    yield browser
    _THREAD.submit(browser.close).result()
    _THREAD.submit(driver.stop).result()


@pytest.fixture(scope="session")
def place() -> Path:
    if not PYODIDE.exists():
        pytest.skip(f"{PYODIDE} is missing: docs/maintaining.md says how npm puts it there")
    return built_site()


@pytest.fixture
def server(place: Path) -> Iterator[SiteServer]:
    with SiteServer(place) as server:
        yield server


@pytest.fixture
def visit(browser: Any, server: SiteServer) -> Iterator[Callable[..., TryPage]]:
    """Open the page in a browser without a past. Takes the fragment and options of the context."""
    contexts = []

    def visit(fragment: str = "", **options: Any) -> TryPage:
        contexts.append(browser.new_context(**options))
        return TryPage.opened(contexts[-1], server.url(f"/try/{fragment}"))

    yield visit
    for context in contexts:
        _THREAD.submit(context.close).result()
