"""`scrapy robots`: the entry from Scrapy's command line, from `gbot-robots` and from `python -m scrapy_gbot_robots`.

It has the options, and decides how each run ends. Each sub-command is a module of its own with `HELP`, `add_arguments` and
`run`. Every `scrapy` command imports this module, so it imports little.
"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from .. import __version__

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

FINE = 0  # allowed, clean, unchanged
FOUND = 1  # something is disallowed, found, changed, or not as expected
FAILED = 2  # wrong usage, or something could not be read or fetched
INTERRUPTED = 130  # Ctrl-C, as shells say it
PIPE_CLOSED = 141  # the reader of the output has ended, as shells say it
TERMINATED = 143  # SIGTERM, as shells say it

CONSOLE = "gbot-robots"  # the console command
SUBCOMMANDS = (
    "check",
    "lint",
    "test",
    "diff",
    "history",
    "agents",
    "audit",
    "stats",
    "sitemaps",
    "cache",
    "fleet",
    "overrides",
)


class CommandError(Exception):
    """The command cannot do its work. The message is one line for the user."""


class RobotsCommand(ScrapyCommand):
    """The command, for the entry point `scrapy.commands`."""

    name = "scrapy robots"  # in errors
    requires_crawler_process = False  # a sub-command that fetches something makes its own

    def syntax(self) -> str:
        """What follows the command's name in its usage."""
        return "[options] <sub-command> ..."

    def short_desc(self) -> str:
        """One line for Scrapy's list of commands."""
        return "Explain robots.txt files: why a URL is blocked, what is wrong in a file, what the storage holds"

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the sub-commands with their options. Scrapy's own options may stand before or after the sub-command."""
        super().add_options(parser)
        parser.add_argument("--version", action="version", version=f"scrapy-gbot-robots {__version__}")
        subparsers = parser.add_subparsers(
            title="Sub-commands", dest="subcommand", metavar="<sub-command>", prog=self._prog(parser)
        )
        for name in SUBCOMMANDS:
            module = import_module(f".{name}", __package__)
            subparser = subparsers.add_parser(name, help=module.HELP, description=f"{module.HELP}.")
            module.add_arguments(subparser)
            shared = subparser.add_argument_group("Scrapy's options")
            shared.add_argument(
                "-s",
                "--set",
                dest="late_set",
                action="append",
                default=[],
                metavar="NAME=VALUE",
                help="use this value of a setting; may be repeated",
            )
            shared.add_argument(
                "-L",
                "--loglevel",
                dest="late_loglevel",
                metavar="LEVEL",
                help="log from this level on (default: WARNING)",
            )
            shared.add_argument("--nolog", dest="late_nolog", action="store_true", help="log nothing")

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Turn Scrapy's options into settings.

        Raises:
            UsageError: an argument is not understood.
        """
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}", print_help=False)
        if opts.subcommand is None:
            listed = "".join(f"\n  {name:<10} {import_module(f'.{name}', __package__).HELP}" for name in SUBCOMMANDS)
            raise UsageError(f"a sub-command is missing:{listed}", print_help=False)
        opts.set += opts.late_set
        opts.loglevel = opts.late_loglevel or opts.loglevel
        opts.nolog = opts.late_nolog or opts.nolog
        super().process_options(args, opts)
        if not opts.loglevel:
            assert self.settings is not None  # noqa: S101  for the type checker
            self.settings.set("LOG_LEVEL", "WARNING", "cmdline")  # the project's level is for crawls

    def run(self, args: list[str], opts: Namespace) -> None:
        """Run the sub-command, and set `exitcode`. No fault of a user's raises an exception."""
        from ..settings import mistakes  # noqa: PLC0415  see the module's law
        from .inputs import checked  # noqa: PLC0415
        from .output import standard  # noqa: PLC0415

        out, err = standard()
        try:
            try:
                assert self.settings is not None  # noqa: S101  for the type checker
                checked(self.settings)
                for text in mistakes(self.settings):
                    err.say((f"note: {text}", "warning"))
                with _sigterm_raises():
                    self.exitcode = import_module(f".{opts.subcommand}", __package__).run(opts, self.settings, out, err)
                out.flush()
            except CommandError as error:
                err.say((f"{self.name} {opts.subcommand}: error: {error}", "bad"))
                self.exitcode = FAILED
            except KeyboardInterrupt as error:
                self.exitcode = TERMINATED if error.args else INTERRUPTED
        except OSError as error:  # of a write; sub-commands handle errors of reads
            self.exitcode = PIPE_CLOSED if isinstance(error, BrokenPipeError) else FAILED
            out.abandon()
            if self.exitcode == FAILED:
                err.say((f"{self.name} {opts.subcommand}: error: the output cannot be written: {error}", "bad"))

    @staticmethod
    def _prog(parser: ArgumentParser) -> str:
        return parser.prog if parser.usage is None else "scrapy robots"


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does, so that no half of a file is left behind."""
    if threading.current_thread() is not threading.main_thread():  # only that one may set a handler
        yield
        return

    def end(*_: object) -> None:
        raise KeyboardInterrupt("SIGTERM")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(argv: list[str] | None = None, *, prog: str = "python -m scrapy_gbot_robots") -> int:
    """Run the command without Scrapy's command line; return the exit status.

    Args:
        argv: the arguments; None for those of the process.
        prog: the command's name, for its usage.
    """
    from argparse import ArgumentParser  # noqa: PLC0415  see the module's law

    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    command = RobotsCommand()
    command.settings = get_project_settings()
    parser = ArgumentParser(prog=prog, description=command.long_desc())
    if prog == CONSOLE:
        command.name = prog
    command.add_options(parser)
    opts, args = parser.parse_known_args(sys.argv[1:] if argv is None else argv)
    try:
        command.process_options(args, opts)
    except UsageError as error:
        parser.error(str(error))
    command.run(args, opts)
    return command.exitcode
