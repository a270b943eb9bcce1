"""`gbot-robots` and `python -m scrapy_gbot_robots`: the command without a Scrapy project."""

from __future__ import annotations

import sys

_INTERRUPTED = 130  # The exit status of a shell after Ctrl-C.

try:
    from .commands.command import main
except KeyboardInterrupt:  # Ctrl-C was pressed while modules were loaded.
    sys.exit(_INTERRUPTED)


def console(prog: str = "gbot-robots") -> None:
    """Run the command, and end the process with its exit status."""
    try:
        sys.exit(main(prog=prog))
    except KeyboardInterrupt:  # Sub-commands handle Ctrl-C, so none was running.
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    console("python -m scrapy_gbot_robots")
