"""The tool for mutants finds the modules and the tests that it names: a rename would leave a room without tests."""

import pytest

from tools.mutants.rooms import HOME, ROOMS, modules


@pytest.mark.parametrize("room", ROOMS)
def test_room_has_modules_and_every_path_of_its_tests_exists(room: str) -> None:
    assert modules(room)
    assert [path for path in ROOMS[room].split() if not (HOME / path).exists()] == []
