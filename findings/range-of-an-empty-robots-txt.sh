#!/bin/sh
# Versions: aiohttp 3.14.5, Starlette 1.10.0, Flask 3.1.3 with Werkzeug 3.1.9.
# An empty robots.txt allows everything. A crawler that asks for no more than it reads, "Range: bytes=0-511999" (Google's limit), gets
# 416 for it from aiohttp 3.14.5 and Starlette 1.10.0, and 200 from Flask 3.1.3. Without the range all three answer 200. A crawler that takes
# each 4xx but 404 for an error has no rules then.
# Seen: with the range: aiohttp 416, Starlette 416, Flask 200; a file of one line: 206 by all.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'aiohttp==3.14.5' 'starlette==1.10.0' 'uvicorn==0.54.0' 'flask==3.1.3' 'werkzeug==3.1.9'
mkdir public
: > public/robots.txt
printf 'User-agent: *\n' > public/other.txt
cat > finding.py <<'PY'
import http.client
import socket
import subprocess
import sys
import time

SERVERS = {
    "aiohttp": """
from aiohttp import web
app = web.Application()
app.router.add_static("/", "public")
web.run_app(app, host="127.0.0.1", port=PORT, print=None)
""",
    "Starlette": """
import uvicorn
from starlette.staticfiles import StaticFiles
uvicorn.run(StaticFiles(directory="public"), host="127.0.0.1", port=PORT, log_level="critical")
""",
    "Flask": """
from flask import Flask
Flask("finding", static_folder="public", static_url_path="", root_path=".").run("127.0.0.1", PORT)
""",
}
seen = {}
for name, code in SERVERS.items():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", code.replace("PORT", str(port))]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        seen[name] = []
        for path, headers in (
            ("/robots.txt", {}),
            ("/robots.txt", {"Range": "bytes=0-511999"}),
            ("/other.txt", {"Range": "bytes=0-511999"}),
        ):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", path, headers=headers)
            seen[name].append(connection.getresponse().status)
            connection.close()
    finally:
        server.terminate()
        server.wait()
print(seen)
assert seen == {"aiohttp": [200, 416, 206], "Starlette": [200, 416, 206], "Flask": [200, 200, 206]}
PY
v/bin/python finding.py
