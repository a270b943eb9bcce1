#!/bin/sh
# Versions: Varnish 7.1.1 (Debian 12).
# Varnish 7.1.1 (Debian 12), default VCL: a 404 for robots.txt without Cache-Control is kept for two minutes
# (default_ttl), so crawlers see no robots.txt though the site has one by then.
# Seen: the origin answers 404 once, then 200; through Varnish three requests within two seconds get 404.
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
            status, headers, body = answer(self)
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
    return server
PY
cat > finding.py <<'PY'
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

from web import serve

asked = []


def answer(request):
    asked.append(request.path)
    if len(asked) == 1:
        return 404, {}, b"no file yet"
    return 200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /drafts/\n"


def status(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/robots.txt", timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


origin = serve(answer)
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
os.mkdir("work", 0o777)
os.chmod("work", 0o777)
backend = f"127.0.0.1:{origin.server_port}"
command = ["varnishd", "-F", "-a", f"127.0.0.1:{port}", "-b", backend, "-n", os.path.abspath("work")]
varnish = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    for _ in range(100):
        try:
            seen = [status(port)]
            if seen != [503]:
                break
        except OSError:
            pass
        time.sleep(0.2)
    for _ in range(2):
        time.sleep(1)
        seen.append(status(port))
finally:
    varnish.terminate()
    varnish.wait()
print(seen, "the origin was asked", len(asked), "time")
assert seen == [404, 404, 404]
assert len(asked) == 1
PY
python3 finding.py
