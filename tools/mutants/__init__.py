"""Which changes of the code the tests do not notice: `python -m tools.mutants [WHERE ...] [--sample N] [--seed S ...]`.

A mutant is the code with one small change: a number, a comparison, a `not`. A test that fails kills it; a mutant that
survives shows what no test checks, unless it means the same.

A room has thousands of mutants, so a sample is tried (`drawing`). A mutant has to cost little, so that many can be tried:

1. The room's tests run once, traced, to learn which test runs which line, and how long each test takes (`tracing`).
2. A mutant meets only the tests that run its line, the fastest first, and the first failure ends its run.
3. Each run is a fork of one process, which has imported Scrapy and the other libraries once for all of them (`runs`).

Mutants are written into copies of the project, never into the project itself. `fork` makes this a tool for POSIX alone.
"""
