"""The answers that a crawl has in memory, bounded in number and in bytes: the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.origin import Origin
    from .answer import Answer

MOST_BYTES = 128 * 2**20  # of memory for answers, by `Answer.weight`


class AnswerCache:
    """Answers by origin. The least recently used ones make room for new ones.

    Args:
        most_answers: the most answers.
        most_bytes: the most bytes of all answers together, by `Answer.weight`. The newest is cached whatever its weight.
    """

    def __init__(self, most_answers: int, most_bytes: int | None = None) -> None:
        self._most_answers = most_answers
        self._most_bytes = MOST_BYTES if most_bytes is None else most_bytes
        self._answers: OrderedDict[Origin, Answer] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, origin: Origin) -> Answer | None:
        """The answer of `origin`, or None. This does not count as a use."""
        return self._answers.get(origin)

    def shares_host(self, origin: Origin) -> bool:
        """Whether another origin of the same host has an answer. This looks at all answers: a millisecond for 10,000."""
        return any(other.host == origin.host and other != origin for other in self._answers)

    def use(self, origin: Origin) -> None:
        """Note that the answer of `origin` is in use. It must be cached."""
        self._answers.move_to_end(origin)

    def put(self, answer: Answer) -> None:
        """Cache `answer`, in place of the last one of its origin."""
        old = self._answers.pop(answer.origin, None)
        self._bytes += answer.weight - (old.weight if old is not None else 0)
        self._answers[answer.origin] = answer
        while len(self._answers) > self._most_answers or (self._bytes > self._most_bytes and len(self._answers) > 1):
            _, gone = self._answers.popitem(last=False)
            self._bytes -= gone.weight
