"""How a storage that answers again gets the entries that the crawl has learnt meanwhile.

The entries are in memory, and more may come while they are handed over. So they go over in batches until there is no new
one. The storage keeps an entry of its own that is newer: other processes may have reached it all the time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..storage.batches import Settled, Wanted, find, settle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ..policy.outages import Entry
    from ..storage.base import Storage
    from ..storage.memory import MemoryStorage

_MOST_TOGETHER = 32  # entries in a batch


async def hand_over(
    instead: MemoryStorage, ask: Callable[[Callable[[Storage], object]], Awaitable[object]], lease_secs: float
) -> None:
    """Give a storage all entries of `instead` that are newer than its own.

    Args:
        instead: the entries.
        ask: calls a function with the storage, in the storage's thread. What it raises is raised here.
        lease_secs: for how long the storage leases origins meanwhile.
    """
    await ask(partial(_write_and_forget, lease_secs))
    handed: dict[str, Entry] = {}
    while news := [
        (origin, entry)
        for origin in instead.origins()
        if (entry := instead.get(origin)) is not None and handed.get(origin) is not entry
    ]:
        for start in range(0, len(news), _MOST_TOGETHER):
            some = dict(news[start : start + _MOST_TOGETHER])
            await ask(partial(_put_newer, some, lease_secs))
            handed |= some


def _write_and_forget(lease_secs: float, driver: Storage) -> None:
    """Check that a storage can be written to."""
    driver.release("", driver.lease("", lease_secs) or "")


def _put_newer(entries: Mapping[str, Entry], lease_secs: float, driver: Storage) -> None:
    """Put each entry unless the driver has a newer one. A lease does not prevent that: it may be a lost one of ours."""
    wanted = [Wanted(origin, partial(_is_newer, entry)) for origin, entry in entries.items()]
    found = find(driver, wanted, lease_secs)
    news = [
        Settled(each.origin, entries[each.origin], one.token or "")
        for each, one in zip(wanted, found, strict=True)
        if not each.is_good(one.entry)
    ]
    settle(driver, news)


def _is_newer(ours: Entry, theirs: Entry | None) -> bool:
    return _fetched_at(theirs) > _fetched_at(ours)


def _fetched_at(entry: Entry | None) -> float:
    return entry.copy.fetched_at if entry is not None and entry.copy is not None else 0.0
