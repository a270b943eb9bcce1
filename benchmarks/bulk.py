"""`scrapy robots audit` of very many URLs by an archive of robots.txt files, beside Protego in a loop over the same join.

Run it as `python -m benchmarks.bulk DIRECTORY`; the directory has real robots.txt files. The archive gives these files to
the origins in turn. `--files` says how alike the files are:

* `rules` adds a rule of its own to each group for all crawlers, so no two files have the same rules;
* `comment` adds a comment, so no two files are the same, though they may have the same rules;
* `shared` leaves them as they are.

The URLs are those of `benchmarks.parser`: 70 % ordinary ones and 30 % made from the rules of the origin's file, in random
order. Both runs use the command's join; they differ only in the judge.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .parser import SITE, Robots, ordinary_urls, urls_of_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AGENT = "examplebot"
POOL = 100  # paths for each body
BATCH = 100_000


def host(number: int) -> str:
    return f"https://www.host{number}.example"


def own(body: bytes, number: int, files: str) -> bytes:
    """Return the file of an origin."""
    if files == "rules":
        return body + f"\nUser-agent: *\nDisallow: /of-host-{number}/\n".encode()
    return body + (f"\n# {host(number)}\n".encode() if files == "comment" else b"")


def make_archive(path: Path, bodies: Sequence[bytes], origins: int, files: str) -> int:
    """Write the WARC; return how many bytes its records have."""
    total = 0
    with path.open("wb") as file:
        for number in range(origins):
            body = own(bodies[number % len(bodies)], number, files)
            block = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + body
            head = (
                f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {host(number)}/robots.txt\r\n"
                "WARC-Date: 2026-11-01T00:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(block)}\r\n\r\n"
            ).encode()
            total += len(head) + len(block) + 4
            file.write(gzip.compress(head + block + b"\r\n\r\n", 6))
    return total


def make_urls(path: Path, bodies: Sequence[bytes], origins: int, count: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    chance = random.Random(1)
    pools = []
    for number, body in enumerate(bodies):
        urls = ordinary_urls(POOL * 7 // 10, number) + urls_of_rules(
            Robots(body, ""), POOL * 3 // 10, number
        )
        pools.append([url.removeprefix(SITE) for url in urls])
    schema = pa.schema([("url", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, count, BATCH):
            numbers = [chance.randrange(origins) for _ in range(min(BATCH, count - begin))]
            urls = [host(number) + chance.choice(pools[number % len(bodies)]) for number in numbers]
            writer.write_table(pa.table([urls], schema=schema))


# Code that runs in the measured process


def timed(answers: Callable[..., Any], secs: list[float]) -> Callable[..., Any]:
    """Note the seconds that judging takes. The rest of the run is reading, joining and writing."""

    def measured(*arguments: Any, **options: Any) -> Any:
        began = time.thread_time()
        found = answers(*arguments, **options)
        secs.append(time.thread_time() - began)
        return found

    return measured


def ask_protego(_judge: Any, urls: Sequence[str], robots: Any, **_options: Any) -> Any:
    """The usual loop: a parser for each site, a question for each URL."""
    from protego import Protego

    from scrapy_gbot_robots.bulk.judging import sites

    column = bytearray()
    for origin, some in sites(urls):
        parsed = Protego.parse(robots[origin].body.decode("utf-8", "ignore"))
        column += bytes(parsed.can_fetch(url, AGENT) for url in some)
    return [column], []


def run_audit(name: str, workers: int) -> None:
    """Run the command in this process, with its judge replaced or timed."""
    from scrapy_gbot_robots.bulk.judging import Judge
    from scrapy_gbot_robots.commands.command import main

    secs: list[float] = []
    Judge.judged = timed(ask_protego if name == "Protego" else Judge.judged, secs)  # type: ignore[method-assign]
    arguments = [
        "--robots",
        "robots.warc.gz",
        "--urls",
        "urls.parquet",
        "--as",
        AGENT,
        "--output",
        f"{name}.parquet",
    ]
    status = main(["audit", *arguments, "--workers", str(workers)])
    assert status == 0, status
    print(sum(secs))


def measure(name: str, home: Path, urls: int, workers: int = 1) -> None:
    command = [sys.executable, "-m", "benchmarks.bulk", "--run", name, "--workers", str(workers)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent.parent),
        "TMPDIR": str(home),
    }
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        judging = float(process.stdout.read())
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    secs, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
    row = f"{secs:8.1f} s {urls / secs:9,.0f}/s {cpu:8.1f} s {urls / cpu:9,.0f}/s {used.ru_maxrss / 1024:7.0f} MiB"
    over_the_join = f"{judging:8.1f} s {urls / judging:10,.0f}/s" if judging else ""
    print(f"{name:8} {workers} {row} {over_the_join}", flush=True)


def same_answers(home: Path) -> str:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    ours, theirs = (
        pq.read_table(home / f"{name}.parquet", columns=[AGENT])[AGENT]
        for name in ("here", "Protego")
    )
    return f"{pc.sum(pc.not_equal(ours, theirs)).as_py() or 0:,} of {len(ours):,} answers differ"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("directory", type=Path, nargs="?", help="of real robots.txt files")
    options.add_argument("--urls", type=int, default=1_000_000)
    options.add_argument("--origins", type=int, default=20_000)
    options.add_argument(
        "--files",
        choices=["rules", "comment", "shared"],
        default="rules",
        help="how alike they are",
    )
    options.add_argument("--two", action="store_true", help="run with two workers, too")
    options.add_argument("--run", help=argparse.SUPPRESS)
    options.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.run:
        run_audit(given.run, given.workers)
        return
    if given.directory is None:
        options.error("the directory of real robots.txt files is missing")
    bodies = [path.read_bytes() for path in sorted(given.directory.rglob("*")) if path.is_file()]
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        total = make_archive(home / "robots.warc.gz", bodies, given.origins, given.files)
        make_urls(home / "urls.parquet", bodies, given.origins, given.urls)
        size = (home / "robots.warc.gz").stat().st_size
        print(
            f"{given.urls:,} URLs, {given.origins:,} robots.txt files; WARC {size / 1e6:.0f} MB, {total / 1e6:.0f} MB"
        )
        print(
            "         n     wall clock                  processor time        peak memory  of it judging",
            flush=True,
        )
        measure("here", home, given.urls)
        measure("Protego", home, given.urls)
        print(same_answers(home))
        if given.two:
            (home / "here.parquet").unlink()
            measure("here", home, given.urls, 2)


if __name__ == "__main__":
    main()
