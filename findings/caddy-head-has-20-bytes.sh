#!/bin/sh
# Versions: Caddy 2.6.2 (Debian 12).
# Caddy 2.6.2 (Debian 12) with `encode gzip` and `file_server`: HEAD of a file, with Accept-Encoding: gzip, has "Content-Length: 20",
# whatever the file is. That is the size of an empty text after gzip. GET brings the compressed file. A crawler that asks for a size by HEAD
# takes each such file for an empty one.
# Seen: HEAD: gzip, 20, for files of 5 and of 50 kB; GET brings over 100 bytes; HEAD without Accept-Encoding has the true sizes.
set -eu
PATH=$PATH:/usr/sbin
command -v caddy >/dev/null || { echo "caddy is missing: apt-get install caddy"; exit 77; }
caddy version 2>&1 | grep -q '^2\.6\.2' || { echo "this is another version of caddy"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat > finding.py <<'PY'
import gzip
import http.client
import os
import pathlib
import socket
import subprocess
import time

METHOD = "HEAD"

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

files = pathlib.Path("public").absolute()
files.mkdir()
bodies = {f"/{count}.txt": b"".join(b"Disallow: /%d/\n" % number for number in range(count)) for count in (300, 3000)}
for path, body in bodies.items():
    (files / path[1:]).write_bytes(body)
pathlib.Path("Caddyfile").write_text(
    f"{{\n admin off\n}}\nhttp://127.0.0.1:{port} {{\n root * {files}\n encode gzip\n file_server\n}}\n"
)
environ = {**os.environ, "HOME": os.getcwd(), "XDG_DATA_HOME": os.getcwd(), "XDG_CONFIG_HOME": os.getcwd()}
server = subprocess.Popen(["caddy", "run", "--config", "Caddyfile", "--adapter", "caddyfile"], env=environ, stderr=subprocess.DEVNULL)
try:
    wait(server)
    for path, body in bodies.items():
        head, _ = status(path, Accept_Encoding="gzip")
        plain, _ = status(path)
        METHOD = "GET"
        _, packed = status(path, Accept_Encoding="gzip")
        METHOD = "HEAD"
        sizes = head.getheader("Content-Length"), plain.getheader("Content-Length"), len(packed)
        print(path, head.status, head.getheader("Content-Encoding"), sizes)
        assert (head.status, head.getheader("Content-Encoding")) == (200, "gzip")
        assert sizes[0] == "20" and int(sizes[1]) == len(body) and sizes[2] > 100
        assert gzip.decompress(packed) == body
finally:
    server.terminate()
    server.wait()
PY
python3 finding.py
