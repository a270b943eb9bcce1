"""`python -m tools.mutants [WHERE ...] [--sample N] [--seed S ...]`: prints the mutants that survive, and how many were killed."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING

from .drawing import draw
from .rooms import ROOMS, modules
from .runs import copies_of_the_project, killers, without_a_mutant

if TYPE_CHECKING:
    from .drawing import Mutant


def main() -> int:
    options = _options()
    sources = [path for where in options.where for path in modules(where)]
    mutants = {seed: draw(sources, options.sample, seed) for seed in options.seed}
    rooms = sorted({mutant.room for sample in mutants.values() for mutant in sample})
    tried: Counter[str] = Counter()
    killed: Counter[str] = Counter()
    with copies_of_the_project(options.jobs) as copies:
        for room in rooms:
            tests = without_a_mutant(copies[0], room, options.longest)
            for test in tests.left_out:
                print(f"left out, as it fails without a mutant or takes long: {test}")
            for seed, sample in mutants.items():
                here = [mutant for mutant in sample if mutant.room == room]
                print(
                    f"\n{room}, seed {seed}: {len(here)} mutants, {len(tests.secs)} tests",
                    flush=True,
                )
                for mutant, killer, met in killers(here, tests, copies):
                    tried[mutant.module] += 1
                    killed[mutant.module] += bool(killer)
                    _tell(mutant, killer, met)
    for module in sorted(tried):
        print(f"{module}: {killed[module]} of {tried[module]} killed")
    print(f"{killed.total()} of {tried.total()} killed", flush=True)
    return 1 if killed.total() < tried.total() else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants", description="Changes of the code that no test notices"
    )
    parser.add_argument(
        "where",
        nargs="*",
        default=[*ROOMS],
        help=f"a room ({', '.join(ROOMS)}), or modules of one, as answers/lookup (default: all rooms)",
    )
    parser.add_argument(
        "--sample", type=int, default=100, help="mutants to try (default: %(default)s)"
    )
    parser.add_argument("--seed", nargs="+", default=["1"], help="another one draws another sample")
    parser.add_argument(
        "--jobs", type=int, default=2, help="mutants tried at a time (default: %(default)s)"
    )
    parser.add_argument(
        "--longest", type=float, default=6, help="leave out tests that take more seconds alone"
    )
    return parser.parse_args()


def _tell(mutant: Mutant, killer: str, met: int) -> None:
    where = f"{mutant.module}:{mutant.line} {mutant.operator}"
    if killer:
        print(f"killed {where} by {killer}", flush=True)
    else:
        print(
            f"SURVIVED {where} ({met} tests)\n    - {mutant.before}\n    + {mutant.after}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
