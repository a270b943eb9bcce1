#!/bin/sh
# Versions: aiohttp 3.14.5.
# aiohttp 3.14.5, web.static: if robots.txt.gz lies beside robots.txt, a client that accepts gzip gets the
# .gz file, also if it is older and has other rules. A crawler and `curl` then see different rules.
# Seen: Accept-Encoding: identity: /new/; gzip: /old/.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'aiohttp==3.14.5'
cat > finding.py <<'PY'
import asyncio
import gzip
import os
from pathlib import Path

from aiohttp import ClientSession, web

files = Path("public")
files.mkdir()
old = files / "robots.txt.gz"
old.write_bytes(gzip.compress(b"User-agent: *\nDisallow: /old/\n"))
os.utime(old, (1_700_000_000, 1_700_000_000))
(files / "robots.txt").write_text("User-agent: *\nDisallow: /new/\n")


async def main():
    app = web.Application()
    app.router.add_static("/", files)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    seen = {}
    async with ClientSession() as session:
        for coding in ("identity", "gzip"):
            headers = {"Accept-Encoding": coding}
            async with session.get(f"http://127.0.0.1:{port}/robots.txt", headers=headers) as got:
                seen[coding] = (await got.text()).split()[-1]
    await runner.cleanup()
    print(seen)
    assert seen == {"identity": "/new/", "gzip": "/old/"}


asyncio.run(main())
PY
v/bin/python finding.py
