#!/bin/sh
# Versions: Squid 5.7 (Debian 12).
# Squid 5.7 (Debian 12): a 404 with "Cache-Control: max-age=60" is not kept, although the header asks for it and RFC 9111 allows it, and a
# 410 with the same header is. So a site without a robots.txt answers each crawler's request itself, and one that answers 410 does not.
# Seen: of three requests in four seconds, the origin gets at least 3 for the 404, 1 for the 410, and 1 for a 200.
set -eu
PATH=$PATH:/usr/sbin
command -v squid >/dev/null || { echo "squid is missing: apt-get install squid"; exit 77; }
squid -v 2>&1 | grep -q 'Version 5\.7$' || { echo "this is another version of squid"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 777 .
cat > web.py <<'PY'
import http.server
import threading


def serve(answer):
    """Serve `answer(path)` -> (status, headers, body) on a free loopback port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port
PY
cat > finding.py <<'PY'
import http.client
import os
import pathlib
import socket
import subprocess
import time

from web import serve

METHOD = "GET"
STATUS = {"/missing": 404, "/gone": 410}
HEADERS = {"Cache-Control": "max-age=60"}

def status(path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(METHOD, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    return response, response.read()


def wait(process):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert process.poll() is None, "the server has ended"
            time.sleep(0.1)


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

def answer(path):
    asked.append(path)
    return STATUS.get(path, 200), HEADERS, b"text"


def count(path, times=3):
    asked.clear()
    statuses = set()
    for _ in range(times):
        statuses.add(status(path)[0].status)
        time.sleep(1.2)
    return statuses, len(asked)


asked = []
origin = serve(answer)

here = os.getcwd()
pathlib.Path("squid.conf").write_text(f"""http_port 127.0.0.1:{port} accel defaultsite=127.0.0.1 no-vhost
cache_peer 127.0.0.1 parent {origin} 0 no-query originserver
http_access allow all
pid_filename {here}/pid
cache_log {here}/squid.log
access_log none
coredump_dir {here}
cache_mem 8 MB
pinger_enable off
refresh_pattern . 0 20% 4320
""")
server = subprocess.Popen(["squid", "-N", "-f", "squid.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    wait(server)
    time.sleep(2)
    seen = {path: count(path) for path in ("/missing", "/gone", "/there")}
finally:
    server.terminate()
    server.wait()
print(seen)
assert seen["/missing"][0] == {404} and seen["/missing"][1] >= 3
assert seen["/gone"] == ({410}, 1) and seen["/there"] == ({200}, 1)
PY
python3 finding.py
