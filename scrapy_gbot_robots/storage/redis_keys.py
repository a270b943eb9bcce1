"""The names of the plugin's keys in a Redis, and the ids of the processes that share it."""

from __future__ import annotations

import secrets
from typing import Final

PREFIX: Final = "gbot_robots:"
ID_DIGITS: Final = 8  # of a process; the token of each lease begins with its holder's


def new_id() -> str:
    """An id for a process."""
    return secrets.token_hex(ID_DIGITS // 2)


def new_token(process: str) -> str:
    """A token for a lease of the process with the id `process`."""
    return process + secrets.token_hex(6)
