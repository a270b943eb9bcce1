"""Read the arguments of the command, and run the sub-command that they name.

A user can start the command in two ways:

* `gbot-robots`, or `python -m scrapy_gbot_robots`, calls `main` directly. It does not read the
  settings of a Scrapy project, and imports Scrapy only to fetch files or to open a storage.
* `scrapy robots` calls `main` through the module `scrapy_command`, with the settings of the
  project.

Each sub-command is a module with the functions `add_arguments` and `run`. The module is imported
only if the arguments name the sub-command.
"""

from __future__ import annotations

from argparse import (
    PARSER,
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import __version__
from .ending import status_of
from .output import Terminal
from .world import World

if TYPE_CHECKING:
    from ..settings import Words

SUBCOMMANDS = {
    "check": "Show whether URLs may be fetched, and why",
    "lint": "Find what is wrong or odd in robots.txt files, the greatest harm first",
    "test": "Test a robots.txt against a file of expectations",
    "diff": "Show what changed between two versions of a robots.txt",
    "agents": "Show which well-known crawlers may fetch a URL, for search, AI or link previews",
    "audit": "Show for each URL of a list of any length whether it may be fetched",
    "cache": "List, show or forget the robots.txt files that are stored between runs",
}
_LISTED = "".join(f"\n  {name:<8}{text}" for name, text in SUBCOMMANDS.items())
_EXAMPLES = """

Examples:
  {prog} lint robots.txt
  {prog} check /cart/1 --as Googlebot --robots robots.txt
  {prog} audit --urls urls.txt --robots robots.txt

In a Scrapy project, `scrapy robots` does the same with the project's settings and storage."""


def main(
    argv: list[str] | None = None,
    *,
    prog: str = "python -m scrapy_gbot_robots",
    world_of: Callable[[Words], World] = World,
) -> int:
    """Run the command, and return the exit status.

    Args:
        argv: the arguments; None for the arguments of the process.
        prog: the name of the command, for its usage and its error messages.
        world_of: a function that returns a `World`. From this object, the sub-command gets its
            settings and files. The argument of the function is a dict with the settings that the
            user has given with the option `-s`.
    """
    parser = ArgumentParser(
        prog=prog,
        usage="%(prog)s [-h] [--version] <sub-command> ...",
        description="Explain robots.txt files as Google reads them.",
    )
    add_subcommand(parser)
    parser.epilog = f"{parser.epilog}{_EXAMPLES.format(prog=prog)}"
    options, others = parser.parse_known_args(argv)
    if others:
        parser.error(
            f"unrecognized arguments: {' '.join(others)}; "
            "put the options of a sub-command behind its name"
        )
    if not options.subcommand:
        parser.error(f"a sub-command is missing:{_LISTED}")
    name, *arguments = options.subcommand
    if name not in SUBCOMMANDS:
        parser.error(_unknown(name))
    subcommand = import_module(f".{name}", __package__)
    of_subcommand = ArgumentParser(prog=f"{prog} {name}", description=f"{SUBCOMMANDS[name]}.")
    of_subcommand.add_argument(
        "-s",
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="use this value of a setting; may be repeated",
    )
    subcommand.add_arguments(of_subcommand)
    options = of_subcommand.parse_intermixed_args(arguments)
    world = world_of(dict(options.set))
    return status_of(
        partial(_run, subcommand, options, world),
        of_subcommand.prog,
        as_json=getattr(options, "json", False),
    )


def _run(subcommand: Any, options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    """Run the sub-command in the module `subcommand`, and return its exit status.

    Before the sub-command runs, a note is written for each setting that is probably a mistake, such
    as a misspelt name.
    """
    for text in world.mistakes():
        err.say((f"note: {text}", "warning"))
    status: int = subcommand.run(options, world, out, err)
    return status


def add_subcommand(parser: ArgumentParser) -> None:
    """Add the option `--version` and the argument `subcommand` to `parser`.

    `subcommand` takes the name of the sub-command and all arguments after it. `main` reads these
    arguments with the parser of the sub-command.
    """
    parser.add_argument("--version", action="version", version=f"scrapy-gbot-robots {__version__}")
    subcommand = parser.add_argument("subcommand", nargs=PARSER, help=SUPPRESS)
    # `main` reports a missing sub-command, because its message can list all sub-commands.
    subcommand.required = False
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = f"Sub-commands:{_LISTED}"


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ArgumentTypeError("Invalid -s value, use -s NAME=VALUE")
    return name, value


def _unknown(name: str) -> str:
    """Return the message for an unknown sub-command. It suggests the most similar sub-command."""
    meant = get_close_matches(name, [*SUBCOMMANDS, "--help"], n=1)
    if "://" in name:
        meant = [f"check {name}"]
    if meant:
        return f"there is no sub-command {name!r}; did you mean {meant[0]}?"
    return f"there is no sub-command {name!r}:{_LISTED}"
