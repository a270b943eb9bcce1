"""A replacement for the Zyte API, on loopback.

In `with ZyteApi() as api`, the attribute `api.endpoint` is the value for the setting ZYTE_API_URL.
"""

import json
from base64 import b64encode
from typing import Any

from .web import Asked, Reply, Site

RULES = "user-agent: *\ndisallow: /no\n"
# The API has already decoded the body, although it passes on the Content-Encoding.
HEADERS = {"content-type": "text/plain", "content-encoding": "gzip"}


class ZyteApi(Site):
    """The server of the API. It fails for hosts whose names begin with "ill".

    Attributes:
        endpoint: the URL of the API.
        wanted: the requests to the API, as JSON objects.
    """

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
