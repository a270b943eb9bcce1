#!/bin/sh
# Versions: Squid 5.7 (Debian 12).
# Squid 5.7 (Debian 12): a site whose port refuses connections gives 503 (ERR_CONNECT_FAIL) through Squid as a forward proxy, and
# 502 (ERR_READ_ERROR) through the same Squid as an accelerator in front of it. Both bear X-Squid-Error.
# Seen: forward 503 "ERR_CONNECT_FAIL 111", accelerator 502 "ERR_READ_ERROR 0".
set -eu
PATH=$PATH:/usr/sbin
command -v squid >/dev/null || { echo "squid is missing: apt-get install squid"; exit 77; }
squid -v | grep -q 'Version 5\.7$' || { echo "this is another version of squid"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 777 .
cat > finding.py <<'PY'
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


dead, forward, accelerator = free_port(), free_port(), free_port()
here = os.getcwd()
with open("squid.conf", "w") as file:
    file.write(
        f"""
http_port 127.0.0.1:{forward}
http_port 127.0.0.1:{accelerator} accel defaultsite=site.example
acl behind myport {accelerator}
cache_peer 127.0.0.1 parent {dead} 0 no-query originserver name=site
cache_peer_access site allow behind
cache_peer_access site deny all
never_direct allow behind
http_access allow all
pid_filename {here}/squid.pid
access_log none
cache_log {here}/cache.log
coredump_dir {here}
netdb_filename none
shutdown_lifetime 0 seconds
"""
    )
command = ["squid", "-N", "-n", f"finding{os.getpid()}", "-f", f"{here}/squid.conf"]
squid = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def answer(url, proxy):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy} if proxy else {}))
    try:
        opener.open(url, timeout=20)
    except urllib.error.HTTPError as error:
        return error.code, error.headers["X-Squid-Error"]


try:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", forward), 1).close()
            break
        except OSError:
            time.sleep(0.2)
    seen = [
        answer(f"http://127.0.0.1:{dead}/robots.txt", f"http://127.0.0.1:{forward}"),
        answer(f"http://127.0.0.1:{accelerator}/robots.txt", None),
    ]
finally:
    squid.terminate()
    squid.wait()
print(seen)
assert seen == [(503, "ERR_CONNECT_FAIL 111"), (502, "ERR_READ_ERROR 0")]
PY
python3 finding.py
