"""Read the results of Google's own parser, with which tests compare the results of this package.

The synthetic data and the unit tests are in tests/data. The larger part of the data consists of
test inputs of other projects and of real files. It is read from the directory that the environment
variable GBOT_ROBOTS_REFERENCE names.
"""

import gzip
import json
import os
import tarfile
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .rows import row

DATA = Path(__file__).parents[1] / "data"
REFERENCE = Path(os.environ.get("GBOT_ROBOTS_REFERENCE", "no-reference-data"))
needs_reference = pytest.mark.skipif(
    not REFERENCE.is_dir(), reason="GBOT_ROBOTS_REFERENCE names no directory"
)
FILES = [
    row("synthetic", DATA / "synthetic-cases.jsonl.gz"),
    row("published", REFERENCE / "published-cases.jsonl.gz", marks=needs_reference),
    row("real", REFERENCE / "real-verdicts.jsonl.gz", marks=needs_reference),
]


def read(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@cache
def real_bodies() -> dict[str, bytes]:
    with tarfile.open(REFERENCE / "robots-bodies.tar.gz") as archive:
        files = ((Path(member.name).name, archive.extractfile(member)) for member in archive)
        return {name: file.read() for name, file in files if file}


def body_of(case: dict[str, Any]) -> bytes:
    return b64decode(case["body_b64"]) if "body_b64" in case else real_bodies()[case["body_ref"]]
