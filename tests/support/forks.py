"""Runs `python -m scrapy_gbot_robots` and `python -m scrapy` in processes that need not import Scrapy again.

The imports take nine tenths of the CPU time of a command that fetches one robots.txt. So one process imports the
modules, and a fork of this process runs each command. The fork has its own arguments, environment, folder, streams and
reactor. Its garbage collector does not look at the modules: to write to all of them would copy the memory of them all,
which takes two thirds of what is left.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile

from .until import FAR_TOO_LONG_SECS

ROOT = Path(__file__).parents[2]

# Python reads these variables when it starts, so a fork would not heed a change.
_READ_AT_START = ("PYTHON", "LANG", "LC_")

# The process that forks. It must not install a reactor, because each fork installs its own. A fork leaves the loop, so
# it ends as any process of Python does, except that it does not take all modules apart, which takes longer than most
# commands do.
_FORKING = """
import atexit, gc, json, os, runpy, socket, sys, threading
import scrapy.cmdline, scrapy.core.downloader.contextfactory, scrapy.core.downloader.handlers.http11
import scrapy.core.engine, scrapy.core.scraper, scrapy.core.scheduler, scrapy.downloadermiddlewares.redirect
import scrapy_gbot_robots.commands.project_crawl, scrapy_gbot_robots.commands.scrapy_command
import scrapy_gbot_robots.components, scrapy_gbot_robots.storage.sqlite

assert "twisted.internet.reactor" not in sys.modules
gc.collect()
gc.freeze()
door = socket.socket(fileno=int(sys.argv[1]))
while True:
    message, streams, _, _ = socket.recv_fds(door, 1 << 20, 3)
    if not message:
        os._exit(0)
    pid = os.fork()
    if not pid:
        break
    for stream in streams:
        os.close(stream)
    door.sendall(b"%d" % pid)
    door.recv(1)
    door.sendall(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
door.close()
for number, stream in enumerate(streams):
    os.dup2(stream, number)
    os.close(stream)
order = json.loads(message)
os.environ.clear()
os.environ.update(order["env"])
os.chdir(order["cwd"])
sys.path[0] = order["cwd"]
sys.argv[1:] = order["arguments"]
status = 0
try:
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
except SystemExit as ended:
    status = ended.code or 0
    if not isinstance(status, int):
        raise
gc.collect()  # So what was left open or was never awaited is told.
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
"""


def can_fork(env: Mapping[str, str]) -> bool:
    """Return whether a fork behaves as a new process of Python with the environment `env`.

    It does on Linux, if `env` has the variables of this process that Python reads when it starts, and `ROOT` as its
    PYTHONPATH. While coverage is measured, the answer is False, because coverage is measured in new processes only.
    """
    if sys.platform != "linux" or any(name.startswith("COVERAGE_") for name in os.environ):
        return False
    usual = {**os.environ, "PYTHONPATH": str(ROOT)}
    changed = {name for name in {*env, *usual} if env.get(name) != usual.get(name)}
    return not any(name.startswith(_READ_AT_START) for name in changed)


class Forks:
    """A process that forks, and starts with the first fork."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None

    def run(
        self, module: str, arguments: list[str], cwd: Path, env: Mapping[str, str], given: str
    ) -> tuple[int, str, str]:
        """Run a module, which reads `given`, to its end. Return its exit status, and what it wrote."""
        door = self._door or self._begin()
        order = {"module": module, "arguments": arguments, "cwd": str(cwd), "env": {**env}}
        with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
            stdin.write(given.encode())
            stdin.seek(0)
            streams = [stdin.fileno(), stdout.fileno(), stderr.fileno()]
            socket.send_fds(door, [json.dumps(order).encode()], streams)
            door.settimeout(FAR_TOO_LONG_SECS)
            pid = int(door.recv(100))
            door.sendall(b".")
            is_late = False
            try:
                status = int(door.recv(100))
            except TimeoutError:
                is_late = True
                os.kill(pid, signal.SIGABRT)  # It writes the stacks of its threads.
                door.settimeout(20)
                status = int(door.recv(100))
            written = []
            for stream in (stdout, stderr):
                stream.seek(0)
                written.append(stream.read().decode().replace("\r\n", "\n"))
        if is_late:
            late = f"{module} {arguments} has not ended within {FAR_TOO_LONG_SECS} s"
            raise AssertionError("\n".join([late, *written]))
        return status, written[0], written[1]

    def _begin(self) -> socket.socket:
        self._door, theirs = socket.socketpair()
        with theirs:
            number = str(theirs.fileno())
            env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1"}
            self._process = subprocess.Popen(
                [sys.executable, "-c", _FORKING, number],
                cwd=ROOT,
                env=env,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        return self._door

    def end(self) -> None:
        """End the process that forks, if it has started."""
        if self._door is not None and self._process is not None:
            self._door.close()
            self._process.wait(FAR_TOO_LONG_SECS)
        self._door = self._process = None


FORKS = Forks()
