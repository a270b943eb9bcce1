"""Fixtures and options of all tests. In CI (`CI=true`) a test fails where elsewhere it is skipped."""

import gc
import logging
import os
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress

import pytest
import scrapy
from hypothesis import HealthCheck, settings

from .support.crawls import DOWNLOAD_HANDLERS, QUIET, download_with
from .support.forks import FORKS
from .support.reactors import ALWAYS_HAS_A_REACTOR
from .support.redis_server import NO_TLS, NO_VALKEY
from .support.web import Site

# Without a deadline: a busy machine must not fail a test.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("patient"), max_examples=2_000)
settings.load_profile("patient")

# What a shell runs in the background ignores Ctrl-C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with suppress(ValueError):  # this is not the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)

IN_CI = os.environ.get("CI", "").lower() in {"true", "1"}  # `CI=false` is no CI

# Reasons of skips with the oldest Scrapy, with which CI runs some tests again.
_LACKING = ("this Scrapy has no", "of Scrapy 2.14", "backports.zstd")

MAY_BE_SKIPPED_IN_CI = [
    *(_LACKING if scrapy.version_info < (2, 18) else ()),
    *(("this Scrapy has no aiohttp handler",) if scrapy.version_info < (2, 19) else ()),
    *(("the HTTP/2 handler of this Scrapy",) if scrapy.version_info < (2, 19) else ()),
    *((NO_VALKEY,) if sys.version_info < (3, 11) else ()),  # which it asks for
    NO_TLS,  # what a machine's redis-server can do is not ours to say
    "its commits are not known",  # a job may check out the last one alone
    "GBOT_ROBOTS_REFERENCE",  # data that this repository does not carry
    ALWAYS_HAS_A_REACTOR,  # the oldest Scrapy, with which CI runs some tests again
    *(() if "GBOT_ROBOTS_ENGINES" in os.environ else ("`engines`",)),  # one job installs them
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--download-handler",
        choices=[*DOWNLOAD_HANDLERS],
        default="http11",
        help="what crawls of this run download with",
    )


def pytest_configure(config: pytest.Config) -> None:
    download_with(config.getoption("--download-handler"))
    if config.getoption("--download-handler") == "aiohttp":
        # Scrapy does not close the handler of a crawl that stops before it has begun.
        unclosed = "ignore:.*ClientSession.__del__:pytest.PytestUnraisableExceptionWarning"
        config.addinivalue_line("filterwarnings", unclosed)
    if scrapy.version_info < (2, 15):  # it leaves the files open of queues that it resumes empty
        unclosed = "ignore:.*requests.queue:pytest.PytestUnraisableExceptionWarning"
        config.addinivalue_line("filterwarnings", unclosed)
    if config.getoption("--reactor") != "asyncio":
        QUIET["TWISTED_REACTOR"] = None  # take the reactor that is installed, not Scrapy's default
        # The lane with the asyncio reactor runs them.
        MAY_BE_SKIPPED_IN_CI.extend(["needs the asyncio reactor", "needs asyncio"])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector what stays to the end: it would look at all tests again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionfinish() -> None:
    FORKS.end()


@pytest.fixture(autouse=True)
def _settings_module() -> Generator[None]:
    """Restore SCRAPY_SETTINGS_MODULE, which Scrapy's command line puts into the environment."""
    before = os.environ.get("SCRAPY_SETTINGS_MODULE")
    yield
    os.environ.pop("SCRAPY_SETTINGS_MODULE", None)
    if before is not None:
        os.environ["SCRAPY_SETTINGS_MODULE"] = before


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What a crawl logs, at INFO and above."""
    caplog.set_level(logging.INFO)
    return caplog


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A site whose robots.txt is the `RULES` of the test's module. If there are none, it allows everything."""
    with Site({"/robots.txt": getattr(request.module, "RULES", b""), "*": b"ok"}) as site:
        yield site


def pytest_runtest_setup() -> None:
    """End a run whose reactor was stopped, as by SIGTERM. All further tests would fail."""
    from twisted.internet import reactor  # the one that pytest-twisted has installed

    if getattr(reactor, "_stopped", False) and getattr(reactor, "_startedBefore", False):
        pytest.exit("the reactor was stopped, as by SIGTERM; no further test can run", returncode=1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and IN_CI and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2])
        may_be = hasattr(report, "wasxfail") or any(map(reason.__contains__, MAY_BE_SKIPPED_IN_CI))
        if not may_be:
            report.outcome = "failed"
            report.longrepr = f"{report.nodeid} is skipped; in CI nothing may be missing: {reason}"
    return report
