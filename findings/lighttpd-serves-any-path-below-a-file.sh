#!/bin/sh
# Versions: lighttpd 1.4.69 (Debian 12).
# lighttpd 1.4.69 (Debian 12) with mod_staticfile alone: a path that goes on after the name of a file, such as /tea.html/x/y, is answered
# with that file and 200, as is /robots.txt/x. So each page has any number of addresses, and relative links in it lead ever deeper. The
# rule "Disallow: /tea.html$" holds for the first address alone.
# Seen: /tea.html, /tea.html/, /tea.html/x/y, /robots.txt/x: 200; /coffee.html: 404; with static-file.disable-pathinfo
# 403 for the middle three.
set -eu
PATH=$PATH:/usr/sbin
command -v lighttpd >/dev/null || { echo "lighttpd is missing: apt-get install lighttpd"; exit 77; }
lighttpd -v 2>&1 | grep -q 'lighttpd/1\.4\.69 ' || { echo "this is another version of lighttpd"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat > finding.py <<'PY'
import http.client
import pathlib
import socket
import subprocess
import time

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

files = pathlib.Path("public").absolute()
files.mkdir()
(files / "tea.html").write_text('<a href="cup.html">cup</a>')
(files / "robots.txt").write_text("User-agent: *\nDisallow: /tea.html$\n")
seen = []
for extra in ("", 'static-file.disable-pathinfo = "enable"\n'):
    pathlib.Path("lighttpd.conf").write_text(
        f'server.bind = "127.0.0.1"\nserver.port = {port}\nserver.document-root = "{files}"\n'
        'server.modules = ("mod_staticfile")\nmimetype.assign = (".html" => "text/html", ".txt" => "text/plain")\n' + extra
    )
    server = subprocess.Popen(["lighttpd", "-D", "-f", "lighttpd.conf"])
    try:
        wait(server)
        paths = ("/tea.html", "/tea.html/", "/tea.html/x/y", "/robots.txt/x", "/coffee.html")
        seen.append([status(path)[0].status for path in paths])
    finally:
        server.terminate()
        server.wait()
print(seen)
assert seen == [[200, 200, 200, 200, 404], [200, 403, 403, 403, 404]]
PY
python3 finding.py
