"""A stand-in for the Zyte API on loopback."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RULES = "user-agent: *\ndisallow: /no\n"


@contextmanager
def zyte_api() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A stand-in for the API: its URL, and a list of the requests to it. It fails for hosts that begin with "ill"."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(wanted)
            is_robots_txt = wanted["url"].endswith("/robots.txt")
            answer = {
                "url": wanted["url"],
                "statusCode": 404 if "://none" in wanted["url"] and is_robots_txt else 200,
                "httpResponseBody": base64.b64encode(
                    RULES.encode() if is_robots_txt else b"page"
                ).decode(),
                "httpResponseHeaders": [
                    {"name": "content-type", "value": "text/plain"},
                    {"name": "content-encoding", "value": "gzip"},  # the API has decoded it already
                ],
            }
            ill = "://ill" in wanted["url"]
            body = json.dumps(
                {"type": "/download/internal-error", "status": 500} if ill else answer
            ).encode()
            self.send_response(500 if ill else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/", asked
    finally:
        server.shutdown()
        server.server_close()
