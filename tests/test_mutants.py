"""The tool for mutants finds the modules and the tests that it names: a rename would leave a room without tests."""

from __future__ import annotations

import pytest

from tools.mutants.rooms import HOME, ROOMS, modules


@pytest.mark.parametrize("room", ROOMS)
def test_room_has_modules_and_every_path_of_its_tests_exists(room: str) -> None:
    assert modules(room)
    assert [path for path in ROOMS[room].split() if not (HOME / path).exists()] == []


@pytest.mark.parametrize("where", ["obeying/no_such_module", "no_such_room", "core", "addon"])
def test_what_is_no_room_with_tests_and_no_module_of_one_is_named(where: str) -> None:
    with pytest.raises(SystemExit, match=f"{where} is neither a room"):
        modules(where)


def test_module_of_a_room_is_found_by_its_name() -> None:
    assert [path.name for path in modules("obeying/lookup")] == ["lookup.py"]
