#!/bin/sh
# Versions: aiohttp 3.14.5, Starlette 1.10.0, Flask 3.1.3 with Werkzeug 3.1.9.
# aiohttp 3.14.5, Starlette 1.10.0, Flask 3.1.3: their handlers of static files answer /tea.html/, with a final slash, with the file
# /tea.html and 200. A rule such as "Disallow: /tea.html$" does not match that address, and relative links in the page lead to
# /tea.html/cup.html. Python's http.server answers 404.
# Seen: /tea.html/ and /robots.txt/: 200 by the first three, 404 by http.server.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'aiohttp==3.14.5' 'starlette==1.10.0' 'uvicorn==0.54.0' 'flask==3.1.3' 'werkzeug==3.1.9'
mkdir public
echo '<a href="cup.html">cup</a>' > public/tea.html
printf 'User-agent: *\nDisallow: /tea.html$\n' > public/robots.txt
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
    "http.server": """
import functools, http.server
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="public")
http.server.HTTPServer(("127.0.0.1", PORT), handler).serve_forever()
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
        for path in ("/tea.html", "/tea.html/", "/robots.txt/"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", path)
            seen[name].append(connection.getresponse().status)
            connection.close()
    finally:
        server.terminate()
        server.wait()
print(seen)
assert seen == {
    "aiohttp": [200, 200, 200],
    "Starlette": [200, 200, 200],
    "Flask": [200, 200, 200],
    "http.server": [200, 404, 404],
}
PY
v/bin/python finding.py
