"""`python -m scrapy_gbot_robots`: the same as `scrapy robots`, wherever it runs."""

from __future__ import annotations

import sys

from .commands import main

if __name__ == "__main__":
    sys.exit(main())
