"""Which changes of the code the tests do not notice: `python -m tests.mutants ROOM [--sample N] [--seed S]`.

A mutant is the code with one small change: a number, a comparison, a `not`. It is killed when a test of its room fails;
one that survives shows what no test looks at, unless it means the same. cosmic-ray makes the mutants, in a copy of the
project. A room has thousands of them and each takes a run of its tests, so a sample is tried: the same seed, the same sample.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome

HOME = Path(__file__).parent.parent

# What is mutated, and the tests that have to notice.
ROOMS = {
    "policy": "tests/policy",
    "fetching": "tests/fetching tests/policy",
    "obeying": "tests/obeying",
    "storage": "tests/storage tests/obeying/test_entries.py tests/obeying/test_storage_faults.py",
    "sitemaps": "tests/sitemaps tests/spider",
}

# Operators between types (`int | None`) mean nothing at run time; a decorator that is gone is another program.
_LEFT_OUT = ("BinaryOperator_BitOr", "RemoveDecorator", "ReplaceBinaryOperator_Mul_Pow")

_CONFIG = """
[cosmic-ray]
module-path = "scrapy_gbot_robots/{room}"
timeout = {secs}
excluded-modules = ["scrapy_gbot_robots/{room}/__init__.py"]
test-command = "{python} -m pytest -x -q -p no:cacheprovider -W ignore {tests}"

[cosmic-ray.distributor]
name = "local"
"""


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "project"
        shutil.copytree(HOME, copy, ignore=shutil.ignore_patterns(".venv*", ".git", ".nox", "*.sqlite", "__pycache__"))
        config, session = copy / "mutants.toml", copy / "mutants.sqlite"
        config.write_text(
            _CONFIG.format(room=options.room, secs=options.timeout, python=sys.executable, tests=ROOMS[options.room])
        )
        _cosmic_ray(copy, "init", config, session)
        _draw(session, options.sample, options.seed)
        _cosmic_ray(copy, "exec", config, session)
        return _report(session)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("room", choices=[*ROOMS])
    parser.add_argument("--sample", type=int, default=100, help="mutants to try (default: %(default)s)")
    parser.add_argument("--seed", default="1", help="another one draws another sample")
    parser.add_argument("--timeout", type=float, default=120, help="seconds after which a mutant counts as killed")
    return parser.parse_args()


def _cosmic_ray(copy: Path, *command: object) -> None:
    program = [sys.executable, "-m", "cosmic_ray.cli", *map(str, command)]
    subprocess.run(program, cwd=copy, check=True, env=_environment(copy))


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}


def _draw(session: Path, sample: int, seed: str) -> None:
    """Keep the same number of mutants of each module, as far as it has them."""
    with use_db(str(session), WorkDB.Mode.open) as db:
        items = [
            item for item in db.work_items if not any(word in item.mutations[0].operator_name for word in _LEFT_OUT)
        ]
        dice = random.Random(seed)
        dice.shuffle(items)
        kept = sorted(items[:sample], key=lambda item: str(item.mutations[0].module_path))
        db.clear()
        db.add_work_items(kept)


def _report(session: Path) -> int:
    tried: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    with use_db(str(session), WorkDB.Mode.open) as db:
        for item, result in db.completed_work_items:
            (mutation,) = item.mutations
            module = str(mutation.module_path)
            tried[module] += 1
            if result.test_outcome == TestOutcome.SURVIVED:
                survived[module] += 1
                print(f"{module}:{mutation.start_pos[0]} {mutation.operator_name}\n{_changed(result.diff)}")
    for module in sorted(tried):
        print(f"{module}: {tried[module] - survived[module]} of {tried[module]} killed")
    print(f"{tried.total() - survived.total()} of {tried.total()} killed")
    return 1 if survived else 0


def _changed(diff: str | None) -> str:
    lines = (diff or "").splitlines()
    return "\n".join(f"    {line}" for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))


if __name__ == "__main__":
    sys.exit(main())
