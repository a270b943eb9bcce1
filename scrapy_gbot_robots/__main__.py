"""`python -m scrapy_gbot_robots` and `gbot-robots`: the same as `scrapy robots`, anywhere."""

from __future__ import annotations

import sys

_INTERRUPTED = 130  # Ctrl-C, as shells say it

try:
    from .commands.command import main
except KeyboardInterrupt:  # while modules are loaded, which takes a second
    sys.exit(_INTERRUPTED)


def console(prog: str = "gbot-robots") -> None:
    """Run the command, and end the process with its exit status."""
    try:
        sys.exit(main(prog=prog))
    except KeyboardInterrupt:  # before a sub-command runs, which handles it
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    console("python -m scrapy_gbot_robots")
