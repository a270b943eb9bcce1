"""List the public names with their signatures, one on each line.

`python -m tests.support.public_api` writes the list to tests/data/public_api.txt.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import scrapy_gbot_robots.bulk
from scrapy_gbot_robots.commands.command import SUBCOMMANDS
from scrapy_gbot_robots.settings import GbotSettings

SNAPSHOT = Path(__file__).parents[1] / "data" / "public_api.txt"
# The names in these modules are also public (docs/maintaining.md).
MODULES = ("components", "exceptions", "meta", "signals", "storage.base", "storage.codec")
BULK = ("bulk.judge", "bulk.judge_arrow")

# Scrapy calls methods with these names, and defines their parameters.
HOOKS = set(
    """
    from_crawler update_settings start extract_links get_processed_request get_processed_item
    process_item open_spider
    open close enqueue_request next_request has_pending_requests
    process_request process_response process_exception process_start process_spider_input
    process_spider_output process_spider_output_async process_spider_exception
    GbotRobotParser.allowed GbotRobotParser.crawl_delay GbotRobotParser.sitemaps
    """.split()
)


def public_api() -> list[str]:
    """Return the names of the package and its public modules, of settings and of sub-commands."""
    lines = [f"setting GBOT_ROBOTS_{name.upper()}" for name in GbotSettings.__dataclass_fields__]
    lines += [f"command {name}" for name in SUBCOMMANDS]
    for name in scrapy_gbot_robots.__all__:
        lines += _described(name, getattr(scrapy_gbot_robots, name))
    for name in BULK:
        lines += _described(name, getattr(scrapy_gbot_robots.bulk, name.removeprefix("bulk.")))
    for name in MODULES:
        module = import_module(f"scrapy_gbot_robots.{name}")
        for own, value in vars(module).items():
            if own in getattr(module, "__all__", _own_names(module)):
                lines += _described(f"{name}.{own}", value)
    return sorted(lines)


def _own_names(module: ModuleType) -> list[str]:
    """Return the names that a module defines itself, without the names that it imports."""
    names = [name for name in vars(module) if name[0] != "_" and name != "annotations"]
    homes = {name: getattr(vars(module)[name], "__module__", module.__name__) for name in names}
    return [name for name in names if homes[name] == module.__name__]


def _described(name: str, value: object) -> list[str]:
    if not inspect.isclass(value):
        return [f"{name}{_signature(value)}" if callable(value) else name]
    lines = [f"class {name}"]
    lines += (f"{name}.{member}" for member in getattr(value, "__members__", ()))  # of an Enum
    members: dict[str, object] = {}
    for cls in reversed(value.__mro__):
        if cls.__module__.startswith("scrapy_gbot_robots"):
            members |= vars(cls)
    for member, each in members.items():
        if member[0] != "_" and HOOKS.isdisjoint({member, f"{name}.{member}"}):
            function = each.__func__ if isinstance(each, (classmethod, staticmethod)) else each
            parameters = _signature(function) if inspect.isfunction(function) else ""
            lines.append(f"{name}.{member}{parameters}")
    return list(dict.fromkeys(lines))


def _signature(value: Callable[..., object]) -> str:
    """Return the parameters with names and kinds.

    Annotations are left out, because they differ between Python versions.
    """
    empty = inspect.Parameter.empty
    parameters = inspect.signature(value).parameters.values()
    bare = [parameter.replace(annotation=empty, default=empty) for parameter in parameters]
    return str(inspect.Signature(bare))


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(public_api()) + "\n", encoding="utf-8")
