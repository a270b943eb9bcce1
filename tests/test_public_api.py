"""Public names: none vanishes or changes its parameters unseen. `python -m tests.support.public_api` records them anew."""

from __future__ import annotations

from .support.public_api import SNAPSHOT, public_api

RECORDED = set(SNAPSHOT.read_text(encoding="utf-8").splitlines())


def test_no_public_name_vanishes_or_changes_unseen() -> None:
    assert RECORDED - set(public_api()) == set()


def test_new_public_names_are_recorded() -> None:
    assert set(public_api()) - RECORDED == set(), "run: python -m tests.support.public_api"
