#!/bin/sh
# Versions: Squid 5.7 (Debian 12).
# Squid 5.7 (Debian 12) with the refresh_pattern lines of Debian's configuration: a robots.txt without Cache-Control
# stays fresh for a fifth of the age of its Last-Modified, and for three days at most. Google's page says that a crawler
# usually uses a file for up to a day; behind such a proxy it may be three days older.
# Seen: a file changed 400 days ago that arrives with Age: 216000 (60 hours) is stored, and the second request is a HIT with
# the old rules.
set -eu
PATH=$PATH:/usr/sbin
command -v squid >/dev/null || { echo "squid is missing: apt-get install squid"; exit 77; }
squid -v | grep -q 'Version 5\.7$' || { echo "this is another version of squid"; exit 77; }
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
import email.utils
import os
import socket
import subprocess
import time
import urllib.request

from web import serve

asked = []


def answer(request):
    asked.append(request.path)
    headers = {
        "Content-Type": "text/plain",
        "Last-Modified": email.utils.formatdate(time.time() - 400 * 86_400, usegmt=True),
        "Age": "216000",
    }
    return 200, headers, b"User-agent: *\nDisallow: /%d\n" % len(asked)


origin = serve(answer)
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
here = os.getcwd()
with open("squid.conf", "w") as file:
    file.write(
        f"""
refresh_pattern ^ftp: 1440 20% 10080
refresh_pattern ^gopher: 1440 0% 1440
refresh_pattern . 0 20% 4320
http_port 127.0.0.1:{port}
http_access allow all
pid_filename {here}/squid.pid
access_log none
cache_log {here}/cache.log
cache_mem 16 MB
coredump_dir {here}
netdb_filename none
shutdown_lifetime 0 seconds
"""
    )
command = ["squid", "-N", "-n", f"finding{os.getpid()}", "-f", f"{here}/squid.conf"]
squid = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
opener = urllib.request.build_opener(
    urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{port}"})
)
try:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.2)
    seen = []
    for _ in range(2):
        with opener.open(f"http://127.0.0.1:{origin.server_port}/robots.txt", timeout=10) as got:
            seen.append((got.headers["X-Cache"].split()[0], got.read().split()[-1].decode()))
finally:
    squid.terminate()
    squid.wait()
print(seen)
assert seen == [("MISS", "/1"), ("HIT", "/1")]
PY
python3 finding.py
