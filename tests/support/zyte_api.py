"""A stand-in for the Zyte API on loopback: `with ZyteApi() as api`, whose `endpoint` is the setting ZYTE_API_URL."""

import json
from base64 import b64encode
from typing import Any

from .web import Asked, Reply, Site

RULES = "user-agent: *\ndisallow: /no\n"
HEADERS = {"content-type": "text/plain", "content-encoding": "gzip"}  # the API has decoded it


class ZyteApi(Site):
    """Fails for hosts that begin with "ill". `wanted` are the requests to it."""

    def __init__(self) -> None:
        super().__init__({})
        self.endpoint = self.url("/v1/")
        self.wanted: list[dict[str, Any]] = []

    def _answer(self, asked: Asked) -> Reply:
        wanted = json.loads(asked.body)
        self.wanted.append(wanted)
        is_robots_txt = wanted["url"].endswith("/robots.txt")
        page = RULES if is_robots_txt else "page"
        answer: dict[str, Any] = {
            "url": wanted["url"],
            "statusCode": 404 if "://none" in wanted["url"] and is_robots_txt else 200,
            "httpResponseBody": b64encode(page.encode()).decode(),
            "httpResponseHeaders": [{"name": name, "value": HEADERS[name]} for name in HEADERS],
        }
        ill = "://ill" in wanted["url"]
        if ill:
            answer = {"type": "/download/internal-error", "status": 500}
        body = json.dumps(answer).encode()
        return Reply(500 if ill else 200, body, {"Content-Type": "application/json"})
