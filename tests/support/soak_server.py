"""Run the servers of a `soak_world`: `python -m tests.support.soak_server WORLD`.

All servers are in one process and on one port.

WORLD is a JSON object with the fields of `World`. At first, the program prints its port, and a port
on which no program listens. When its input ends, it prints a JSON list with how often each page was
requested, and how often each robots.txt was requested.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from functools import lru_cache
from random import Random

from .soak_world import Answer, End, Origin, World, head, host, number_of, plain

SILENT_SECS = 60.0
SHARE_BAD_PAGES = 0.05


class Servers:
    def __init__(self, world: World) -> None:
        self.world = world
        self.pages = [0] * world.requests  # how often each page was requested
        self.robots = [0] * world.origins
        self.port = 0
        self.origin = lru_cache(maxsize=1000)(world.origin)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            address, _ = writer.get_extra_info("sockname")
            for part in self.answer(self.origin(number_of(address)), request.split(" ")[1]):
                if isinstance(part, bytes):
                    writer.write(part)
                    await writer.drain()
                elif isinstance(part, float):
                    await asyncio.sleep(part)
                elif part is End.RESET:
                    linger = struct.pack("ii", 1, 0)
                    writer.get_extra_info("socket").setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, linger
                    )
                    writer.transport.abort()
                else:
                    await asyncio.wait_for(reader.read(), SILENT_SECS)
        except (asyncio.IncompleteReadError, asyncio.TimeoutError, OSError):
            pass
        finally:
            writer.close()

    def answer(self, origin: Origin, path: str) -> Answer:
        match path.split("/")[1:]:
            case ["robots.txt"]:
                return self._robots_txt(origin)
            case ["hop", number, hop]:
                return self._hop(self.origin(int(number)), int(hop))
            case [_, name]:
                self.pages[int(name.partition("-")[0])] += 1
                return _page()
        return plain(_DICE, b"", "404 Not Found")

    def _robots_txt(self, origin: Origin) -> Answer:
        first, last = origin.answers
        asked = self.robots[origin.number]
        self.robots[origin.number] += 1
        if asked < len(first):
            return first[asked]
        return self._hop(origin, 0) if origin.hops else last[asked % len(last)]

    def _hop(self, origin: Origin, hop: int) -> Answer:
        """Return a redirect to the next hop, which is on another origin.

        The last hop has the answer.
        """
        if hop == origin.hops:
            return origin.answers[1][self.robots[origin.number] % 3]
        to = f"http://{host(_DICE.randrange(self.world.origins))}:{self.port}/hop/{origin.number}/{hop + 1}"
        status = _DICE.choice(("301 Moved", "302 Found", "303 Other", "307 Now", "308 For ever"))
        return plain(_DICE, b"user-agent: *\ndisallow: /", status, f"Location: {to}")


_DICE = Random(0)


def _page() -> Answer:
    if _DICE.random() < SHARE_BAD_PAGES:
        return _DICE.choice(
            (plain(_DICE, b"", "500 Oh"), (End.RESET,), (head("Content-Length: 9") + b"x",))
        )
    return plain(_DICE, b"<html>" + b"x" * 1000)


async def main(world: World) -> None:
    servers = Servers(world)
    # The server listens on all addresses of 127.0.0.0/8.
    listening = await asyncio.start_server(servers.serve, "0.0.0.0", 0, backlog=1024)
    servers.port = listening.sockets[0].getsockname()[1]
    with socket.socket() as deaf:
        deaf.bind(("0.0.0.0", 0))
        print(servers.port, deaf.getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps([servers.pages, servers.robots]), flush=True)


if __name__ == "__main__":
    asyncio.run(main(World(**json.loads(sys.argv[1]))))
