"""Applications for servers from PyPI. This file is copied to the folder of the servers, so it imports nothing of the tests.

Each sends half of a robots.txt without its length, and fails then, as an application does that meets a bug while it streams.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

RULES = b"User-agent: *\nDisallow: /private/\n"
HALF = b"User-agent: *\nDisallow: /a/\n"  # the line with /private/ would follow


def wsgi_half(environ: dict[str, Any], start_response: Any) -> Any:
    if environ["PATH_INFO"] != "/robots.txt":
        start_response("200 OK", [("Content-Type", "text/html")])
        return [b"a page"]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return _half()


def _half() -> Iterator[bytes]:
    yield HALF
    raise RuntimeError("the application fails")


async def asgi_half(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    is_robots = scope["path"] == "/robots.txt"
    await _begin(send)
    await send({"type": "http.response.body", "body": HALF, "more_body": is_robots})
    if is_robots:
        await asyncio.sleep(0.2)
        raise RuntimeError("the application fails")


async def asgi_hints(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Send 103 Early Hints before each answer, where the protocol lets it."""
    if scope["type"] != "http":
        return
    if "http.response.early_hint" in scope.get("extensions", {}):
        await send({"type": "http.response.early_hint", "links": [b"</style.css>; rel=preload"]})
    await _begin(send)
    await send({"type": "http.response.body", "body": RULES})


async def asgi_whole(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    await _begin(send)
    await send({"type": "http.response.body", "body": RULES})


async def _begin(send: Any) -> None:
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
