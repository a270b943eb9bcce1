"""The tables of benchmarks/README.md say how they were measured."""

import re
import subprocess
from importlib.util import find_spec

import pytest

from benchmarks.__main__ import PARTS, written

from .support.documentation import HOME, text_of

# This test is about the project itself, so it runs in the slow lane.
pytestmark = pytest.mark.slow

README = text_of("benchmarks/README.md")


@pytest.mark.parametrize("name", PARTS)
def test_part_names_a_benchmark_that_exists_and_a_commit_of_this_repository(name: str) -> None:
    assert find_spec(PARTS[name].command.split()[0])
    assert README.count(f"<!-- {name} -->\n") == README.count(f"<!-- end of {name} -->") == 1
    table = README.split(f"<!-- {name} -->\n")[1].split(f"<!-- end of {name} -->")[0]
    commits = re.findall(r"commit ([0-9a-f]{7,})", table)
    assert len(commits) == bool(table)  # it may not have been measured yet
    if not (HOME / ".git").exists():
        pytest.skip("this is no checkout, so its commits are not known")
    shallow = ["git", "rev-parse", "--is-shallow-repository"]
    if subprocess.check_output(shallow, cwd=HOME, text=True).strip() == "true":
        pytest.skip("this is a shallow checkout, so its commits are not known")
    for commit in commits:
        asked = ["git", "merge-base", "--is-ancestor", commit, "HEAD"]
        assert subprocess.run(asked, cwd=HOME, check=False).returncode == 0, commit


def test_only_the_text_of_one_part_is_written_anew() -> None:
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\n<!-- y -->\n<!-- end of y -->\n"
    assert written(page, "x", r"new \1") == page.replace("old", r"new \1")
    assert written(page, "y", "new") == page.replace("<!-- y -->\n", "<!-- y -->\nnew\n")
