"""`scrapy robots`: the entry from Scrapy, from `gbot-robots`, and from `python -m`.

It reads the arguments. Each sub-command is a module of its own with `add_arguments` and `run`,
which is loaded when it is named. Every `scrapy` command imports this module, so it imports little:
`ending` has how a run ends.
"""

from __future__ import annotations

from argparse import PARSER, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.project import get_project_settings

from .. import __version__

SUBCOMMANDS = {
    "check": "Say whether URLs may be fetched, and why",
    "lint": "Say what is wrong or odd in robots.txt files, the greatest harm first",
    "test": "Test a robots.txt against a file of expectations",
    "diff": "Show what changed between two versions of a robots.txt",
    "agents": "Show which well-known crawlers may fetch a URL, for search, AI or link previews",
    "audit": "Say for each URL of a list, however long it is, whether it may be fetched",
    "cache": "List, show or forget the robots.txt files that are stored between runs",
}
_LISTED = "".join(f"\n  {name:<8}{text}" for name, text in SUBCOMMANDS.items())


class RobotsCommand(ScrapyCommand):
    """The command, for the entry point `scrapy.commands`."""

    name = "scrapy robots"  # in usage and errors
    requires_crawler_process = False  # a sub-command that fetches something makes its own
    _subcommand: ModuleType

    def syntax(self) -> str:
        """What follows the command's name in its usage."""
        return "[options] <sub-command> ..."

    def short_desc(self) -> str:
        """One line for Scrapy's list of commands."""
        return (
            "Explain robots.txt files: why a URL is disallowed, what is wrong in a file, "
            "what the storage holds"
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """Add Scrapy's own options, `--version`, and the sub-command with all that follows it."""
        super().add_options(parser)
        parser.add_argument(
            "--version", action="version", version=f"scrapy-gbot-robots {__version__}"
        )
        subcommand = parser.add_argument(
            "subcommand", nargs=PARSER, metavar="<sub-command>", help="one of these, see below"
        )
        subcommand.required = False  # `process_options` lists them all if it is missing
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = f"Sub-commands:{_LISTED}"

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Read the arguments of the sub-command, and turn Scrapy's options into settings.

        Raises:
            UsageError: an argument is not understood.
        """
        if args:
            raise UsageError(
                f"unrecognized arguments: {' '.join(args)}; "
                "options of a sub-command stand behind its name",
                print_help=False,
            )
        if not opts.subcommand:
            raise UsageError(f"a sub-command is missing:{_LISTED}", print_help=False)
        name, *arguments = opts.subcommand
        if name not in SUBCOMMANDS:
            raise UsageError(_unknown(name), print_help=False)
        parser = ArgumentParser(prog=f"{self.name} {name}", description=f"{SUBCOMMANDS[name]}.")
        parser.add_argument(
            "-s",
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="use this value of a setting; may be repeated",
        )
        self._subcommand = import_module(f".{name}", __package__)
        self._subcommand.add_arguments(parser)
        opts.subcommand = name
        # the project's level is for crawls
        opts.set = ["LOG_LEVEL=WARNING", *opts.set]
        super().process_options(args, parser.parse_intermixed_args(arguments, opts))

    def run(self, args: list[str], opts: Namespace) -> None:
        """Run the sub-command, and set `exitcode`. No fault of a user's raises an exception."""
        ending = import_module(".ending", __package__)
        name = f"{self.name} {opts.subcommand}"
        self.exitcode = ending.status_of(self._subcommand.run, opts, self.settings, name)


def _unknown(name: str) -> str:
    """Say that there is no sub-command of this name, and which one may be meant."""
    meant = get_close_matches(name, [*SUBCOMMANDS, "--help"], n=1)
    if "://" in name:
        meant = [f"check {name}"]
    if meant:
        return f"there is no sub-command {name!r}; did you mean {meant[0]}?"
    return f"there is no sub-command {name!r}:{_LISTED}"


def main(argv: list[str] | None = None, *, prog: str = "python -m scrapy_gbot_robots") -> int:
    """Run the command without Scrapy's command line; return the exit status.

    Args:
        argv: the arguments; None for those of the process.
        prog: the command's name, for its usage.
    """
    command = RobotsCommand()
    command.name = prog
    parser = ArgumentParser(prog=prog, description=command.long_desc())
    try:
        command.settings = get_project_settings()
    except Exception as error:  # whatever a module of settings raises
        parser.error(f"the project's settings cannot be loaded: {error}")
    command.add_options(parser)
    opts, args = parser.parse_known_args(argv)
    try:
        command.process_options(args, opts)
    except UsageError as error:
        parser.error(str(error))
    command.run(args, opts)
    return command.exitcode
