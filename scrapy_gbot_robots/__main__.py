"""Run the command `gbot-robots`. `python -m scrapy_gbot_robots` does the same.

The command does not need a Scrapy project.
"""

from __future__ import annotations

import sys

_INTERRUPTED = 130  # the usual exit status of a command after Ctrl-C

try:
    from .commands.command import main
except KeyboardInterrupt:  # The user has pressed Ctrl-C while modules were being imported.
    sys.exit(_INTERRUPTED)


def console(prog: str = "gbot-robots") -> None:
    """Run the command, and end the process with its exit status.

    Args:
        prog: the name of the program in its help texts.
    """
    try:
        sys.exit(main(prog=prog))
    # While a sub-command such as `lint` runs, Ctrl-C is handled elsewhere. So if the exception
    # arrives here, the user has pressed Ctrl-C before the sub-command began, or after it ended.
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    console("python -m scrapy_gbot_robots")
