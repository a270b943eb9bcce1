"""`python -m scrapy_gbot_robots`: the same as `scrapy robots`, wherever it runs."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        from .commands.command import main

        sys.exit(main())
    except KeyboardInterrupt:  # while modules are loaded: after that, the command looks after it
        sys.exit(130)
