#!/bin/sh
# Versions: Varnish 7.1.1 (Debian 12).
# Varnish 7.1.1 (Debian 12), default VCL: many applications send "Expires: 0", or a date of long ago, to have an answer not kept. RFC 9111
# (5.3) has both read as a time in the past. Varnish keeps the answer for its default of two minutes nevertheless, and serves it with
# an Age. With "Cache-Control: no-cache" it keeps nothing.
# Seen: of three requests, the origin gets 1 with "Expires: 0", 1 with a date in 1970, and 3 with no-cache.
set -eu
PATH=$PATH:/usr/sbin
command -v varnishd >/dev/null || { echo "varnishd is missing: apt-get install varnish"; exit 77; }
varnishd -V 2>&1 | grep -q 'varnish-7\.1\.1 ' || { echo "this is another version of varnishd"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 755 .
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
FORMS = {"/0": {"Expires": "0"}, "/1970": {"Expires": "Thu, 01 Jan 1970 00:00:00 GMT"}, "/no": {"Cache-Control": "no-cache"}}

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
    return 200, FORMS[path], b"text"


def count(path, times=3):
    asked.clear()
    statuses = set()
    for _ in range(times):
        statuses.add(status(path)[0].status)
        time.sleep(1.2)
    return statuses, len(asked)


asked = []
origin = serve(answer)

os.mkdir("work", 0o777)
os.chmod("work", 0o777)
command = ["varnishd", "-F", "-a", f"127.0.0.1:{port}", "-b", f"127.0.0.1:{origin}", "-n", os.path.abspath("work")]
server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    wait(server)
    time.sleep(2)
    seen = {path: count(path) for path in FORMS}
finally:
    server.terminate()
    server.wait()
print(seen)
assert seen == {"/0": ({200}, 1), "/1970": ({200}, 1), "/no": ({200}, 3)}
PY
python3 finding.py
