"""Add the command `scrapy robots`, with Scrapy's own options and the settings of the project.

Whenever a `scrapy` command starts, Scrapy imports this module. To keep the other commands
fast, this module imports the rest of the package only when `scrapy robots` runs.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from importlib import import_module

from scrapy.commands import ScrapyCommand


class RobotsCommand(ScrapyCommand):
    """The command `scrapy robots`. The entry point `scrapy.commands` names this class."""

    # Scrapy does not have to make a crawler process. A sub-command that runs a crawl makes its own.
    requires_crawler_process = False

    def syntax(self) -> str:
        """Return the part of the usage line that follows "scrapy robots"."""
        return "[options] <sub-command> ..."

    def short_desc(self) -> str:
        """Return the text for Scrapy's list of commands."""
        return (
            "Explain robots.txt files: why a URL is disallowed, what is wrong in a file, "
            "what the storage holds"
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """Add Scrapy's own options and the arguments of `command.add_subcommand`."""
        super().add_options(parser)
        import_module(".command", __package__).add_subcommand(parser)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Turn Scrapy's options into settings. The log level is WARNING unless `-s` sets it."""
        opts.set = ["LOG_LEVEL=WARNING", *opts.set]
        super().process_options(args, opts)

    def run(self, args: list[str], opts: Namespace) -> None:
        """Run the sub-command, and set `exitcode` to its exit status, even if it has failed."""
        self.exitcode = import_module(".command", __package__).main(
            [*args, *(opts.subcommand or [])], prog="scrapy robots", world_of=self._world
        )

    def _world(self, given: Mapping[str, str]) -> object:
        """Return the `World` of the project, with the settings `given` by the option `-s`."""
        return import_module(".project_crawl", __package__).world_of(self.settings, given)
