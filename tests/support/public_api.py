"""The public names with their signatures, one a line: `python -m tests.support.public_api` writes tests/data/public_api.txt."""

import inspect
from importlib import import_module
from pathlib import Path

import scrapy_gbot_robots
from scrapy_gbot_robots.commands.command import SUBCOMMANDS
from scrapy_gbot_robots.settings import GbotSettings

SNAPSHOT = Path(__file__).parents[1] / "data" / "public_api.txt"
MODULES = (
    "exceptions",
    "meta",
    "signals",
    "storage.base",
    "storage.codec",
)  # their names are public too; see MAINTAINING.md
BULK = ("bulk.judge", "bulk.judge_batch")

# What Scrapy calls: the names and parameters are its own.
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
_OF_PYTHON = {"annotations", "TYPE_CHECKING"}


def public_api() -> list[str]:
    """Every public name: of the package, of the modules that are public, settings and sub-commands."""
    lines = [
        line
        for name in scrapy_gbot_robots.__all__
        for line in _described(name, getattr(scrapy_gbot_robots, name))
    ]
    for name in MODULES:
        module = import_module(f"scrapy_gbot_robots.{name}")
        for each, value in vars(module).items():
            if each not in getattr(module, "__all__", [each]):
                continue
            own = getattr(value, "__module__", module.__name__) == module.__name__ or not callable(
                value
            )
            if (
                not each.startswith("_")
                and each not in _OF_PYTHON
                and own
                and not inspect.ismodule(value)
            ):
                lines += _described(f"{name}.{each}", value)
    bulk = import_module("scrapy_gbot_robots.bulk")
    lines += [
        line
        for name in BULK
        for line in _described(name, getattr(bulk, name.removeprefix("bulk.")))
    ]
    lines += [f"setting GBOT_ROBOTS_{name.upper()}" for name in GbotSettings.__dataclass_fields__]
    lines += [f"command {name}" for name in SUBCOMMANDS]
    return sorted(set(lines))


def _described(name: str, value: object) -> list[str]:
    if not inspect.isclass(value):
        return [f"{name}{_signature(value)}" if callable(value) else name]
    members = {
        member: each
        for cls in reversed(value.__mro__)
        if cls.__module__.startswith("scrapy_gbot_robots")
        for member, each in vars(cls).items()
        if not member.startswith("_") and HOOKS.isdisjoint({member, f"{name}.{member}"})
    }
    lines = [
        f"class {name}",
        *(f"{name}.{member}" for member in getattr(value, "__members__", ())),
    ]  # of an Enum
    for member, each in members.items():
        function = each.__func__ if isinstance(each, (classmethod, staticmethod)) else each
        lines.append(
            f"{name}.{member}{_signature(function) if inspect.isfunction(function) else ''}"
        )
    return lines


def _signature(value: object) -> str:
    """The parameters by name and kind, without annotations, which differ between Python versions."""
    try:
        parameters = inspect.signature(value).parameters.values()  # type: ignore[arg-type]  # some are not callable
    except (TypeError, ValueError):
        return "(...)"
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    return (
        str(inspect.Signature([each.replace(default=inspect.Parameter.empty) for each in bare]))
        if bare
        else "()"
    )


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(public_api()) + "\n", encoding="utf-8")
