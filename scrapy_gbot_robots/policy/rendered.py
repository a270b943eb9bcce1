"""The text of a robots.txt out of the page in which a browser shows it.

Pure. A download handler that drives a browser hands over the browser's document, in which a text file is the content of
a `pre` element, escaped. Read as it is, the line with the first user agent would be lost, and the rules below it with it.
Source: what Chromium, Firefox and WebKit make of a file of type text/plain.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

RENDERED = "playwright"  # what scrapy-playwright puts into the flags of a response that a browser made

_TEXT_FILE = re.compile(
    rb"\A<html><head>(?:<(?:meta|link)[^<>]{0,200}>){0,4}</head><body><pre[^<>]{0,200}>([^<]*)</pre></body></html>\Z"
)


def as_served(body: bytes, flags: Collection[str]) -> bytes:
    """Return the text file that `body` shows if `flags` say that a browser made it, and `body` itself if not."""
    shown = _TEXT_FILE.match(body) if RENDERED in flags else None
    if shown is None:
        return body
    text = shown[1].decode("utf-8", "surrogateescape")
    return html.unescape(text).encode("utf-8", "surrogateescape")
