"""What the tests of this room share."""

from ..support.clock import clock
from ..support.command import project

__all__ = ["clock", "project"]
