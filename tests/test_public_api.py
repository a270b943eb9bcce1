"""Public names: none is removed or changes its parameters unnoticed. `python -m tests.support.public_api` records them."""

from __future__ import annotations

from .support.public_api import SNAPSHOT, public_api

RECORDED = set(SNAPSHOT.read_text(encoding="utf-8").splitlines())


def test_no_public_name_is_removed_or_changed_unnoticed() -> None:
    assert RECORDED - set(public_api()) == set()


def test_new_public_names_are_recorded() -> None:
    assert set(public_api()) - RECORDED == set(), "run: python -m tests.support.public_api"
