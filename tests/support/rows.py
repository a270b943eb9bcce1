"""Tables of data for tests, and their rows."""

from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def table(names: str, *rows: object) -> pytest.MarkDecorator:
    """Run a test once for each row. `names` are those of the arguments that have the row's values."""
    return pytest.mark.parametrize(names, rows)


def row(id: str, *values: object, marks: Any = ()) -> ParameterSet:
    """A row with a name, such as the clause that says what is expected. `marks` are those of pytest, one or several."""
    return pytest.param(*values, id=id, marks=marks)
