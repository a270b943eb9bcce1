#!/bin/sh
# Versions: Apache 2.4.71 and Varnish 7.1.1 (Debian 12).
# Apache 2.4.71 (Debian 12) with mod_cache_disk: if an application sets "Cache-Control: max-age=600" on all its answers, Apache stores
# its 503, too, and serves it from the cache after the application has recovered. Varnish 7.1.1 (Debian 12) asks each time. So the
# robots.txt of a site that was away for a moment stays a 503 for ten minutes.
# Seen: the origin answers 503 once, then 200. Through Apache: 503, 503, 503; through Varnish: 503, 200, 200.
set -eu
PATH=$PATH:/usr/sbin
command -v varnishd >/dev/null || { echo "varnishd is missing: apt-get install varnish"; exit 77; }
varnishd -V 2>&1 | grep -q 'varnish-7\.1\.1 ' || { echo "this is another version of varnishd"; exit 77; }
PATH=$PATH:/usr/sbin
command -v apache2 >/dev/null || { echo "apache2 is missing: apt-get install apache2"; exit 77; }
apache2 -v 2>&1 | grep -q 'Apache/2\.4\.71 ' || { echo "this is another version of apache2"; exit 77; }
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
    return 503 if len(asked) == 1 else 200, {"Cache-Control": "max-age=600"}, b"User-agent: *\n"


asked = []
origin = serve(answer)
here = os.getcwd()
os.mkdir("cache", 0o777)
os.mkdir("work", 0o777)
os.chmod("cache", 0o777)
os.chmod("work", 0o777)
modules = {"mpm_event": "", "authz_core": "", "proxy": "", "proxy_http": "", "cache": "", "cache_disk": ""}
lines = [f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in modules]
lines += [f"ServerName localhost\nListen 127.0.0.1:{port}\nPidFile {here}/pid\nErrorLog {here}/errors\nCacheRoot {here}/cache"]
lines += [f"CacheEnable disk /\nProxyPass / http://127.0.0.1:{origin}/\nDefaultRuntimeDir {here}"]
pathlib.Path("apache.conf").write_text("\n".join(lines) + "\n")
commands = {
    "Apache": ["apache2", "-f", f"{here}/apache.conf", "-DFOREGROUND"],
    "Varnish": ["varnishd", "-F", "-a", f"127.0.0.1:{port}", "-b", f"127.0.0.1:{origin}", "-n", f"{here}/work"],
}
seen = {}
for name, command in commands.items():
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait(server)
        time.sleep(2)
        asked.clear()
        seen[name] = [status("/robots.txt")[0].status for _ in range(3)]
    finally:
        server.terminate()
        server.wait()
print(seen)
assert seen == {"Apache": [503, 503, 503], "Varnish": [503, 200, 200]}
PY
python3 finding.py
