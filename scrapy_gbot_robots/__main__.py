"""`python -m scrapy_gbot_robots` and `gbot-robots`: the same as `scrapy robots`, anywhere."""

from __future__ import annotations

import sys


def run(prog: str) -> None:
    """Run the command, and end the process with its exit status."""
    try:
        from .commands.command import main  # noqa: PLC0415  Ctrl-C may come while modules are loaded

        sys.exit(main(prog=prog))
    except KeyboardInterrupt:  # while modules are loaded; later, the command itself handles it
        sys.exit(130)


def console() -> None:
    """Run `gbot-robots`, the console command."""
    run("gbot-robots")


if __name__ == "__main__":
    run("python -m scrapy_gbot_robots")
