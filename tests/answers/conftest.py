"""What the tests of this room share."""

from ..support.clock import clock

__all__ = ["clock"]
