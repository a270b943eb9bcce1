"""Tables of data for tests, and their rows."""

from collections.abc import Collection

import pytest
from _pytest.mark.structures import ParameterSet


def table(names: str, *rows: object) -> pytest.MarkDecorator:
    """Run a test once for each row. `names` are those of the arguments that have the row's values."""
    return pytest.mark.parametrize(names, rows)


def row(
    id: str, *values: object, marks: pytest.MarkDecorator | Collection[pytest.MarkDecorator] = ()
) -> ParameterSet:
    """A row with a name, such as the clause that says what is expected."""
    return pytest.param(*values, id=id, marks=marks)
