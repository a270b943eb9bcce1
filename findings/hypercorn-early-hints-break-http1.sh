#!/bin/sh
# Versions: hypercorn 0.18.0, httpx 0.28.1.
# hypercorn 0.18.0: an ASGI application that sends "http.response.early_hint" works over HTTP/2. Over HTTP/1.1 the same request
# ends in 500, since the server has that extension for HTTP/2 alone. A crawler by HTTP/1.1 sees a failing site, a browser a healthy one.
# Seen: HTTP/1.1: 500; HTTP/2: 200.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'hypercorn==0.18.0' 'httpx[http2]==0.28.1'
cat > app.py <<'PY'
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    await send({"type": "http.response.early_hint", "links": [b"</style.css>; rel=preload"]})
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"User-agent: *\n"})
PY
cat > finding.py <<'PY'
import socket
import subprocess
import sys
import time

import httpx

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
command = [sys.executable, "-m", "hypercorn", "-b", f"127.0.0.1:{port}", "app:app"]
server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
seen = {}
try:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    for name, only_2 in (("HTTP/1.1", False), ("HTTP/2", True)):
        with httpx.Client(http1=not only_2, http2=only_2) as client:
            seen[name] = client.get(f"http://127.0.0.1:{port}/robots.txt").status_code
finally:
    server.terminate()
    server.wait()
print(seen)
assert seen == {"HTTP/1.1": 500, "HTTP/2": 200}
PY
v/bin/python finding.py
