"""Find the fenced blocks of code in the pages of the documentation.

A test may need more than a reader, for example code that runs before the block. This is in HTML
comments directly above a block, which neither GitHub nor the site shows:

    <!-- before: printf 'User-agent: *\nDisallow: /cart/\n' > robots.txt -->
    <!-- exit: 1 -->

Code after `before:` runs before the block, in the same shell or module. `exit:` is the exit status
of the block's last line. Without `exit:`, each line of the block must end with status 0.
"""

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
    """Return the text of a file. `name` is its path in the project."""
    return (HOME / name).read_text(encoding="utf-8")


class Block(NamedTuple):
    """A fenced block.

    `line` is the number of its first line, and a comment sets `before` and `exit`.
    """

    page: Path
    line: int
    kind: str
    text: str
    before: str = ""
    exit: int = 0

    @property
    def id(self) -> str:
        return f"{self.page.stem}:{self.line}"

    @property
    def script(self) -> str:
        """Return the code to run, which ends with status 0 if the block does what it should.

        If the block has `exit`, its last line must end with that status.
        """
        text = self.text
        if self.exit:
            text = f"{text.rstrip()} && exit 99 || test $? -eq {self.exit}\n"
        return f"{self.before}\n{text}" if self.before else text

    @property
    def engine(self) -> str | None:
        """The data engine of which the block is an example; None if there is none."""
        engines = r"^(?:import|from) (duckdb|polars|pyarrow(?=\.parquet)|pyspark|warcio)\b"
        found = re.search(engines, self.text, re.MULTILINE)
        return found[1] if found else None


_BLOCK = re.compile(
    r"^((?:<!-- (?:before|exit):.*?-->\n)*)```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"<!-- (\w+):(.*?)-->", re.DOTALL)


def blocks(page: Path, kind: str | None = None) -> Iterator[Block]:
    """Yield the blocks of a page in order, or only the blocks of one kind, such as "python"."""
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        if kind in (None, found[2]):
            line = text.count("\n", 0, found.end(1)) + 1
            comments = {name: value.strip() for name, value in _COMMENT.findall(found[1])}
            before, status = comments.get("before", ""), int(comments.get("exit", 0))
            yield Block(page, line, found[2], found[3], before, status)
