"""The pages of the documentation, and their fenced blocks of code."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parents[2]
PAGES = sorted(
    [
        *HOME.glob("*.md"),
        *HOME.glob("docs/**/*.md"),
        *HOME.glob("benchmarks/**/*.md"),
        *HOME.glob(".github/*.md"),
    ]
)


def text_of(name: str) -> str:
    """The text of a file, by its path in the project."""
    return (HOME / name).read_text(encoding="utf-8")


class Block(NamedTuple):
    """A fenced block and its place: `line` is the line of its fence, from 1."""

    page: Path
    line: int
    kind: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.page.stem}:{self.line}"

    @property
    def engine(self) -> str | None:
        """The data engine that the block is an example for, if any."""
        engines = r"^(?:import|from) (duckdb|polars|pyarrow(?=\.parquet)|pyspark|warcio)\b"
        found = re.search(engines, self.text, re.MULTILINE)
        return found[1] if found else None


def blocks(page: Path, kind: str | None = None) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if kind in (None, found[1]):
            yield Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])
