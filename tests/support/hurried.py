"""Scrapy's command line with shorter waits: `python -m tests.support.hurried runspider ...`.

An idle spider looks for work five times a second instead of every five seconds.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from scrapy.cmdline import execute
    from scrapy.core.engine import ExecutionEngine

    ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.2
    execute(["scrapy", *sys.argv[1:]])
