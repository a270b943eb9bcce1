"""`scrapy robots`: the entry from Scrapy, from `gbot-robots`, and from `python -m`.

It has the options, and decides how each run ends. Each sub-command is a module of its own with
`add_arguments` and `run`, which is loaded when it is run. Every `scrapy` command imports this
module, so it imports little.
"""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from .. import __version__

if TYPE_CHECKING:
    from .output import Terminal

FINE = 0  # allowed, clean, unchanged
FOUND = 1  # something is disallowed, found, changed, or not as expected
FAILED = 2  # wrong usage, or something could not be read or fetched
INTERRUPTED = 130  # Ctrl-C, as shells say it
PIPE_CLOSED = 141  # the reader of the output has ended, as shells say it
TERMINATED = 143  # SIGTERM, as shells say it

CONSOLE = "gbot-robots"  # the console command
SUBCOMMANDS = {
    "check": "Say whether URLs may be fetched, and why",
    "lint": "Say what is wrong or odd in robots.txt files, the greatest harm first",
    "test": "Test a robots.txt against a file of expectations",
    "diff": "Show what changed between two versions of a robots.txt",
    "agents": "Show which well-known crawlers may fetch a URL, for search, AI or link previews",
    "audit": "Say for each URL of a list, however long it is, whether it may be fetched",
    "cache": "List, show or forget the robots.txt files that are stored between runs",
}


class CommandError(Exception):
    """The command cannot do its work. The message is one line for the user."""


class _SubParser(ArgumentParser):
    """Reads the arguments of one sub-command, whose module is loaded only then."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the arguments of the sub-command, and read them.

        An unknown one ends the process, with this usage.
        """
        import_module(f".{self.prog.split()[-1]}", __package__).add_arguments(self)
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown


class RobotsCommand(ScrapyCommand):
    """The command, for the entry point `scrapy.commands`."""

    name = "scrapy robots"  # in errors
    requires_crawler_process = False  # a sub-command that fetches something makes its own

    def syntax(self) -> str:
        """What follows the command's name in its usage."""
        return "[options] <sub-command> ..."

    def short_desc(self) -> str:
        """One line for Scrapy's list of commands."""
        return (
            "Explain robots.txt files: why a URL is blocked, what is wrong in a file, "
            "what the storage holds"
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the sub-commands with their options.

        Scrapy's own options stand before the sub-command, `-s` also after it.
        """
        super().add_options(parser)
        parser.add_argument(
            "--version", action="version", version=f"scrapy-gbot-robots {__version__}"
        )
        prog = parser.prog
        if parser.usage is not None:  # Scrapy's own, with more words in it
            prog = "scrapy robots"
        subparsers = parser.add_subparsers(
            title="Sub-commands",
            dest="subcommand",
            metavar="<sub-command>",
            prog=prog,
            parser_class=_SubParser,
        )
        late = _SubParser(add_help=False)
        late.add_argument(
            *("-s", "--set"),
            dest="late_set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="use this value of a setting; may be repeated",
        )
        for name, text in SUBCOMMANDS.items():
            subparsers.add_parser(name, parents=[late], help=text, description=f"{text}.")

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Turn Scrapy's options into settings.

        Raises:
            UsageError: an argument is not understood.
        """
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}", print_help=False)
        if opts.subcommand is None:
            listed = "".join(f"\n  {name:<10} {text}" for name, text in SUBCOMMANDS.items())
            raise UsageError(f"a sub-command is missing:{listed}", print_help=False)
        opts.set += opts.late_set
        super().process_options(args, opts)
        if not opts.loglevel:
            assert self.settings is not None  # noqa: S101  for the type checker
            # the project's level is for crawls
            self.settings.set("LOG_LEVEL", "WARNING", "cmdline")

    def run(self, args: list[str], opts: Namespace) -> None:
        """Run the sub-command, and set `exitcode`. No fault of a user's raises an exception."""
        from .output import Terminal  # noqa: PLC0415  see the module's law

        out, err = Terminal(sys.stdout, as_json=getattr(opts, "json", False)), Terminal(sys.stderr)
        try:
            self.exitcode = self._ended(opts, out, err)
            out.flush()
        except BrokenPipeError:
            self.exitcode = PIPE_CLOSED
            out.abandon()
        except OSError as error:  # of a write; sub-commands handle errors of reads
            self.exitcode = FAILED
            out.abandon()
            err.say((f"{self._error_of(opts)}the output cannot be written: {error}", "bad"))

    def _error_of(self, opts: Namespace) -> str:
        return f"{self.name} {opts.subcommand}: error: "

    def _ended(self, opts: Namespace, out: Terminal, err: Terminal) -> int:
        """Run the sub-command, and return the exit status of any end but that of the output."""
        try:
            with handling(signal.SIGTERM, on_sigterm):
                status = self._answered(opts, out, err)
            out.flush()
        except CommandError as error:
            err.say((f"{self._error_of(opts)}{error}", "bad"))
            return FAILED
        except KeyboardInterrupt as error:
            if error.args:
                return TERMINATED
            return INTERRUPTED
        return status

    def _answered(self, opts: Namespace, out: Terminal, err: Terminal) -> int:
        """Run the sub-command, and return the exit status."""
        from ..settings import mistakes  # noqa: PLC0415

        assert self.settings is not None  # noqa: S101  for the type checker
        try:
            notes = list(mistakes(self.settings))
        except ValueError as error:  # a setting has a wrong value
            raise CommandError(str(error)) from None
        for text in notes:
            err.say((f"note: {text}", "warning"))
        status: int = import_module(f".{opts.subcommand}", __package__).run(
            opts, self.settings, out, err
        )
        return status


@contextmanager
def handling(number: int, handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Handle a signal by `handler` meanwhile."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def on_sigterm(*_: object) -> None:
    """Raise what Ctrl-C raises, so that no half of a file is left behind."""
    raise KeyboardInterrupt("SIGTERM")


def main(argv: list[str] | None = None, *, prog: str = "python -m scrapy_gbot_robots") -> int:
    """Run the command without Scrapy's command line; return the exit status.

    Args:
        argv: the arguments; None for those of the process.
        prog: the command's name, for its usage.
    """
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    command = RobotsCommand()
    command.settings = get_project_settings()
    parser = ArgumentParser(prog=prog, description=command.long_desc())
    if prog == CONSOLE:
        command.name = prog
    command.add_options(parser)
    opts, args = parser.parse_known_args(argv)
    try:
        command.process_options(args, opts)
    except UsageError as error:
        parser.error(str(error))
    command.run(args, opts)
    return command.exitcode
