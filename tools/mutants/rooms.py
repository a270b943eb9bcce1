"""The rooms whose mutants are tried, their modules, and the tests that have to notice the mutants."""

from __future__ import annotations

from pathlib import Path

HOME = Path(__file__).parent.parent.parent
PACKAGE = "scrapy_gbot_robots"

ROOMS = {
    "core": "tests/core",
    "policy": "tests/policy",
    "fetching": "tests/fetching",
    "answers": "tests/answers tests/obeying/test_outages.py tests/obeying/test_overrides.py",
    "obeying": "tests/obeying tests/fetching/test_fetcher.py",
    "storage": "tests/storage",
    "sitemaps": "tests/sitemaps",
    "pages": "tests/pages",
    "report": "tests/report tests/experimental/test_crawls.py",
    "bulk": "tests/bulk tests/commands/test_audit.py",
    "experimental": "tests/experimental tests/core/test_lint.py tests/commands/test_check.py",
    "commands": "tests/commands",
    "engine": "tests/test_engine.py tests/obeying/test_waiting.py tests/obeying/test_crawl_delay.py"
    " tests/fetching/test_fetcher.py",
    "concurrency": "tests/test_concurrency.py tests/answers/test_lookup.py tests/obeying/test_closing.py",
    "settings": "tests/test_settings.py",
    "addon": "tests/test_addon.py tests/test_settings.py",
}


def modules(where: str) -> list[Path]:
    """The modules of a room, or the one that is named, as in "answers/lookup". Raises SystemExit if there is none."""
    path = HOME / PACKAGE / where
    found = sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    if where.partition("/")[0] not in ROOMS or not found[0].exists():
        raise SystemExit(
            f"{where} is neither a room ({', '.join(ROOMS)}) nor a module of one, such as answers/lookup"
        )
    return [module for module in found if module.name != "__init__.py"]
