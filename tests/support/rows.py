"""Make the tables of data with which a test is run."""

from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def table(names: str, *rows: object) -> pytest.MarkDecorator:
    """Run a test once for each row.

    `names` are the arguments of the test that get the row's values.
    """
    return pytest.mark.parametrize(names, rows)


def row(id: str, *values: object, marks: Any = ()) -> ParameterSet:
    """Return a row with a name.

    The name is, for example, the section of a specification that requires the result. `marks` is a
    mark of pytest, or a list of marks.
    """
    return pytest.param(*values, id=id, marks=marks)
